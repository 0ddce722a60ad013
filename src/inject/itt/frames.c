/* Frames: of the whole process, begun and ended anywhere, or reported when they are over. */
#include <pthread.h>
#include <stdatomic.h>

#include "inject/core/thread.h"
#include "inject/itt/itt.h"

/* The other collector's clock, and ours, at a moment: its stamps are what programs report. */
static pthread_once_t clock_once = PTHREAD_ONCE_INIT;
static struct {
	uint64_t its, ours_ns;
} first;

static void clock_begin(void)
{
	first.ours_ns = af_now_ns();
	first.its = af_itt_next()->get_timestamp();
}

/* Without another collector stamps are nanoseconds. */
unsigned long long af_itt_get_timestamp(void)
{
	if (!af_itt_next()->get_timestamp)
		return af_now_ns();
	pthread_once(&clock_once, clock_begin);
	return af_itt_next()->get_timestamp();
}

/* From @begin to @end in nanoseconds, by how fast the clock has run so far. */
static uint64_t span_ns(uint64_t begin, uint64_t end)
{
	uint64_t ours_ns = af_now_ns(), now = af_itt_get_timestamp();

	if (end == ITT_TIME_NONE)
		end = now;
	if (begin == ITT_TIME_NONE || end < begin || end > now)
		return 0;
	if (!af_itt_next()->get_timestamp)
		return end - begin;
	if (now <= first.its || ours_ns <= first.ours_ns)
		return 0;
	return (uint64_t)((double)(end - begin) * (double)(ours_ns - first.ours_ns) /
	                  (double)(now - first.its));
}

/* Its beginning is past, where no event can be written any more: the frame is a reading. */
void af_itt_frame_submit_v3(const struct itt_domain *domain, struct itt_id *id,
                            unsigned long long begin, unsigned long long end)
{
	if (af_itt_next()->frame_submit_v3)
		af_itt_next()->frame_submit_v3(domain, id, begin, end);
	uint64_t ns = span_ns(begin, end);
	if (ns)
		af_itt_frame(domain, ns);
}

static struct af_itt_key frame_key(const struct itt_domain *domain, const struct itt_id *id)
{
	return (struct af_itt_key){
	    .kind = id ? AF_ITT_FRAME : AF_ITT_FRAME_UNNAMED,
	    .domain = af_itt_domain_key(domain),
	    .id = id ? *id : (struct itt_id){0},
	};
}

/* A frame is of the whole process. ittnotify.h: beginnings are ignored until the frame ends. */
void af_itt_frame_begin_v3(const struct itt_domain *domain, struct itt_id *id)
{
	const struct af_itt_key key = frame_key(domain, id);

	if (af_itt_next()->frame_begin_v3)
		af_itt_next()->frame_begin_v3(domain, id);
	af_itt_range_start(&key, af_itt_domain(domain), "frame", true);
}

void af_itt_frame_end_v3(const struct itt_domain *domain, struct itt_id *id)
{
	const struct af_itt_key key = frame_key(domain, id);

	af_itt_range_end(&key, af_itt_domain(domain));
	if (af_itt_next()->frame_end_v3)
		af_itt_next()->frame_end_v3(domain, id);
}
