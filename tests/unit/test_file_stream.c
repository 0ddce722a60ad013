#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/packet_has.h"
#include "trace_maker.h"

static void file_stream_holds_what_was_put(void **state)
{
	struct made m;
	struct af_stream s;
	struct af_trace *t;
	struct af_event ev;

	maker_open(&m, &s, 4);
	for (uint64_t i = 0; i < 10000; i++)
		assert_true(af_stream_put(&s, sample, i, 1, 0, i));
	maker_close(&m, &s);

	size_t nr_packets = 0;
	for (size_t at; (at = maker_packet(&m, (unsigned)nr_packets)) < m.size; nr_packets++) {
		struct af_packet p;
		memcpy(&p, m.data + at, sizeof p);
		assert_int_equal(p.packet_bits, p.content_bits);
		assert_int_equal(p.seq, nr_packets);
		assert_int_equal(p.pid, getpid());
	}
	assert_true(nr_packets > 3);

	struct af_stream_bytes bytes = {m.data, m.size};
	af_trace_open_memory(&t, &bytes, 1, 0);
	for (uint64_t i = 0; i < 10000; i++) {
		struct af_ev_sample sample;
		assert_true(af_trace_next(t, &ev));
		assert_true(af_event_decode(&ev, &sample, sizeof sample, NULL));
		assert_int_equal(sample.weight_ns, i);
	}
	assert_false(af_trace_next(t, &ev));
	af_trace_close(t);
	free(m.data);
}

/* The bits in the header of the first packet of a file stream. */
static uint32_t header_of(void (*put)(struct af_stream *s))
{
	struct af_packet p;
	struct af_stream s;
	struct made m;

	maker_open(&m, &s, 4);
	put(&s);
	maker_close(&m, &s);
	memcpy(&p, m.data, sizeof p);
	free(m.data);
	return p.has;
}

static void put_sample(struct af_stream *s)
{
	af_stream_put(s, sample, 1, 1, 0, 1);
}

static void put_definition(struct af_stream *s)
{
	put_sample(s);
	af_stream_put(s, callpath, 2, 1, 1, 0);
}

static void put_others(struct af_stream *s)
{
	static const struct af_api_head head;

	af_stream_put(s, gpu_window, 1, .window = 1);
	af_stream_put(s, call_seen, 2, 1);
	void *at = af_stream_begin(s, (enum af_kind)(AF_KIND_API + 7), 3, sizeof head);
	memcpy(at, &head, sizeof head);
	af_stream_end(s);
}

static void header_tells_what_the_events_are(void **state)
{
	assert_int_equal(header_of(put_sample), AF_HAS_MOMENTS);
	assert_int_equal(header_of(put_definition), AF_HAS_MOMENTS | AF_HAS_DEFINITIONS);
	assert_int_equal(header_of(put_others),
	                 AF_HAS_DEVICE_SAMPLES | AF_HAS_CALLS_SEEN | AF_HAS_API_CALLS);
}

static void file_stream_without_events_is_empty(void **state)
{
	struct made m;
	struct af_stream s;

	maker_open(&m, &s, 4);
	maker_close(&m, &s);
	assert_int_equal(m.size, 0);
	free(m.data);
}

static void full_disk_is_reported_and_counted(void **state)
{
	struct af_stream s;
	int fd = open("/dev/full", O_WRONLY);

	assert_int_equal(af_stream_open_file(&s, fd, 1, 0), 0);
	uint64_t kept = 0;
	for (uint64_t i = 0; i < 20000; i++)
		kept += af_stream_put(&s, sample, i, 1, 0, i);
	assert_true(kept < 20000);
	assert_int_equal(s.discarded, 20000 - kept);
	assert_int_equal(s.error, -ENOSPC);
	assert_int_equal(af_stream_close(&s), -ENOSPC);
}

static void tails_are_written_as_the_format_says(void **state)
{
	struct made m;
	struct af_stream s;
	struct af_ev_mapping mapping = {.start = 0x1000, .end = 0x2000};
	const struct af_tail tails[] = {{"\1\2\3", 3, 1}, {"a/b", 3, 0}};
	static const uint8_t want[] = "\3\0\0\0\1\2\3a/b";

	maker_open(&m, &s, 4);
	assert_true(af_stream_put_tail(&s, AF_KIND_MAPPING, 5, &mapping, sizeof mapping, tails, 2));
	maker_close(&m, &s);
	size_t at = sizeof(struct af_packet) + sizeof(struct af_event_header);
	assert_int_equal(m.size, at + sizeof mapping + sizeof want);
	assert_memory_equal(m.data + at, &mapping, sizeof mapping);
	assert_memory_equal(m.data + at + sizeof mapping, want, sizeof want);
	free(m.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(file_stream_holds_what_was_put),
	    cmocka_unit_test(header_tells_what_the_events_are),
	    cmocka_unit_test(file_stream_without_events_is_empty),
	    cmocka_unit_test(full_disk_is_reported_and_counted),
	    cmocka_unit_test(tails_are_written_as_the_format_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
