/* Streams of observation units, of whose reports only the heads are wanted. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/xe_oa/private.h"

enum { READ_BYTES = 192 * 256, READS_MOST = 512 }; /* whole reports of both sizes */

void oa_stream_close(const struct oa_source *s)
{
	if (s->active >= 0)
		close(s->active);
	free(s->clock);
}

/*
 * Read all reports that there are. EIO: some were lost, once; the numbers in heads go on. After
 * another error there are no more.
 */
static void reports_read(struct oa_source *s)
{
	static uint8_t bytes[READ_BYTES];

	for (int i = 0; i < READS_MOST && s->active >= 0; i++) {
		ssize_t n = read(s->active, bytes, sizeof bytes);
		if (n > 0) {
			af_oa_clock_take(s->clock, bytes, (size_t)n);
		} else if (n < 0 && errno == EIO) {
			s->nr_failed++;
		} else if (n < 0 && errno == EINTR) {
			continue;
		} else if (n == 0 || errno == EAGAIN) {
			return;
		} else {
			s->nr_failed++;
			close(s->active);
			s->active = -1;
		}
	}
}

void oa_stream_read(struct oa_counters *c, struct af_event_writer *w, uint32_t at, bool again)
{
	struct oa_source *s = &c->sources[at];
	struct af_source_value value = {.counter = at};
	uint64_t span_ns, odd = s->clock->nr_odd;

	reports_read(s);
	uint64_t now = af_now_ns();
	if (af_oa_clock_mean(s->clock, &value.value, &span_ns) && !again)
		af_reading_write(w, &c->known, now, span_ns, &value, 1);
	s->nr_failed += s->clock->nr_odd - odd;
}
