/* A trace by its headers alone, and what lies near a time range of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/fs.h"
#include "trace/metadata.h"
#include "trace/read/near.h"
#include "trace/read/near_memo.h"
#include "trace/read/overview.h"
#include "trace/read/reader.h"
#include "trace/write/stream.h"

/* Ten seconds of samples, one every 100 us; before each 10000th a call path is defined. */
#define START_NS UINT64_C(5000000000)
#define STEP_NS UINT64_C(100000)
#define SECOND_NS UINT64_C(1000000000)
enum { SAMPLES = 100000, EACH = 10000 };

static char dir[] = "/tmp/aflame-near-XXXXXX";

static void open_stream(struct af_stream *s, int at, const char *name, uint32_t process)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(af_stream_open_file(s, fd, process + 1, process), 0);
}

static int setup(void **state)
{
	struct af_stream s = {0}, names = {0};
	struct af_err err = {0};

	if (!mkdtemp(dir))
		return -1;
	int at = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(af_metadata_write(at, 0, 0, NULL, &err), 0);
	open_stream(&s, at, "s1", 1);
	open_stream(&names, at, "symbols", 0);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		uint64_t now = START_NS + i * STEP_NS;
		if (i % EACH == 0)
			af_stream_put(&s, callpath, now, 1 + i / EACH, 0, 0);
		af_stream_put(&s, sample, now, .callpath = 1 + i / EACH, .weight_ns = STEP_NS);
	}
	/* Names come last, and of all. */
	af_stream_put(&names, callpath, START_NS + 20 * SECOND_NS, 1, 0, 0);
	af_stream_put(&names, sample, START_NS + 20 * SECOND_NS, .callpath = 1);
	assert_int_equal(af_stream_close(&s), 0);
	assert_int_equal(af_stream_close(&names), 0);
	close(at);
	return 0;
}

static int teardown(void **state)
{
	return af_remove_tree(dir);
}

struct read {
	uint32_t samples, paths, last_path, named;
	uint64_t first_ns, last_ns; /* of samples, since the start */
};

static struct read read_near(const struct af_near *near, uint64_t wanted)
{
	struct read r = {0};
	struct af_trace *t;
	struct af_event ev;
	struct af_ev_callpath path;
	struct af_err err = {0};

	assert_int_equal(af_trace_open_near(&t, dir, wanted, near, &err), 0);
	assert_int_equal(af_trace_start_ns(t), START_NS);
	while (af_trace_next(t, &ev)) {
		if (!ev.process) {
			r.named++;
		} else if (ev.kind == AF_KIND_CALLPATH) {
			assert_true(af_event_decode(&ev, &path, sizeof path, NULL));
			assert_int_equal(path.callpath, r.last_path + 1);
			r.last_path = path.callpath;
			r.paths++;
		} else {
			r.first_ns = r.samples++ ? r.first_ns : ev.time_ns - START_NS;
			r.last_ns = ev.time_ns - START_NS;
		}
	}
	assert_string_equal(af_trace_damage(t)->first, "");
	af_trace_close(t);
	return r;
}

static void a_range_has_its_samples_and_what_was_defined_before(void **state)
{
	const struct af_near near = {4 * SECOND_NS, 5 * SECOND_NS};
	const uint64_t packet_ns = 300 * 1000 * 1000; /* longer than any */
	struct read all = read_near(NULL, 0), r = read_near(&near, 0);

	assert_int_equal(all.samples, SAMPLES);
	assert_int_equal(all.named, 2);
	/* With the time around it, and the rest of the packets that reach into that. */
	assert_in_range(r.first_ns, 3 * SECOND_NS - packet_ns, 3 * SECOND_NS);
	assert_in_range(r.last_ns, 6 * SECOND_NS, 6 * SECOND_NS + packet_ns);
	assert_int_equal(r.samples, (r.last_ns - r.first_ns) / STEP_NS + 1);
	/* All definitions up to there, whatever their packets; of names, which come last, all. */
	assert_int_equal(r.paths, r.last_ns / STEP_NS / EACH + 1);
	assert_int_equal(r.named, 1);
	/* A mask of kinds holds as ever. */
	r = read_near(&near, 1ull << AF_KIND_SAMPLE);
	assert_int_equal(r.paths, 0);
	assert_int_equal(r.samples, (r.last_ns - r.first_ns) / STEP_NS + 1);
}

static void a_range_at_the_edges_is_the_same(void **state)
{
	const struct af_near first = {0, 1}, last = {9 * SECOND_NS, 0}, all = {0, 0};
	const struct af_near beyond = {UINT64_MAX - 1, UINT64_MAX};
	struct read r = read_near(&first, 0);

	assert_int_equal(r.first_ns, 0);
	assert_true(r.last_ns < 2 * SECOND_NS);
	r = read_near(&last, 0);
	assert_int_equal(r.paths, SAMPLES / EACH);
	assert_int_equal(r.last_ns, (SAMPLES - 1) * STEP_NS);
	assert_int_equal(read_near(&all, 0).samples, SAMPLES);
	r = read_near(&beyond, 0);
	assert_int_equal(r.samples, 0);
	assert_int_equal(r.paths, SAMPLES / EACH);
}

/* How many packets of the stream of samples the memo knows. */
static uint32_t known(const struct af_near_memo *memo)
{
	uint32_t nr = 0;

	for (uint64_t at = 0; at < 4 << 20; at++)
		nr += af_near_memo_has(memo, 0, at);
	return nr;
}

static void a_memo_changes_nothing_but_what_is_looked_at(void **state)
{
	struct af_near_memo *memo = af_near_memo_make(4 << 20, 2);
	struct af_near near = {4 * SECOND_NS, 5 * SECOND_NS, NULL};
	const struct read plain = read_near(&near, 0);

	assert_non_null(memo);
	near.memo = memo;
	for (int i = 0; i < 3; i++) {
		struct read r = read_near(&near, i == 2 ? 1ull << AF_KIND_CALLPATH : 0);
		assert_int_equal(r.paths, plain.paths);
		assert_int_equal(r.named, plain.named);
		if (i < 2)
			assert_int_equal(r.samples, plain.samples);
		/* One packet in four or five of the first three seconds defines a path. */
		assert_in_range(known(memo), 7, 13);
	}
	/* Packets that are far from one range are near another. */
	near.from_ns = SECOND_NS;
	near.to_ns = 2 * SECOND_NS;
	struct read r = read_near(&near, 0);
	assert_int_equal(r.first_ns, 0);
	assert_int_equal(r.samples, r.last_ns / STEP_NS + 1);
	af_near_memo_free(memo);
}

static void headers_tell_how_much_was_written_when(void **state)
{
	struct af_overview o;
	struct af_err err = {0};
	uint64_t sum = 0;

	assert_int_equal(af_overview_read(&o, dir, &err), 0);
	assert_int_equal(o.start_ns, START_NS);
	assert_int_equal(o.span_ns, (SAMPLES - 1) * STEP_NS);
	assert_int_equal(o.nr_streams, 2);
	assert_int_equal(o.nr_processes, 1);
	assert_int_equal(o.discarded, 0);
	for (uint32_t i = 0; i < AF_OVERVIEW_BINS; i++)
		sum += o.bins[i];
	assert_in_range(sum, o.bytes - 300, o.bytes); /* without the names */
	/* The samples are even, so a part of the time is that part of the bytes. */
	uint64_t quarter_ns = af_overview_first(&o, o.bytes / 4);
	assert_in_range(quarter_ns, o.span_ns * 24 / 100, o.span_ns * 26 / 100);
	assert_in_range(af_overview_bytes(&o, 2 * SECOND_NS, 3 * SECOND_NS), o.bytes * 9 / 100,
	                o.bytes * 11 / 100);
	assert_int_equal(af_overview_first(&o, UINT64_MAX), o.span_ns);
	assert_true(af_overview_first(&o, 0) > 0);
}

static void headers_that_lie_do_no_harm(void **state)
{
	struct af_overview o;
	struct af_err err = {0};
	char path[64];

	snprintf(path, sizeof path, "%s/s2", dir);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	struct af_packet p = {.magic = AF_PACKET_MAGIC,
	                      .packet_bits = UINT64_MAX - 7,
	                      .content_bits = 8 * sizeof p,
	                      .begin_ns = UINT64_MAX - 5,
	                      .end_ns = UINT64_MAX,
	                      .process = 7};
	assert_int_equal(write(fd, &p, sizeof p), sizeof p);
	assert_int_equal(af_overview_read(&o, dir, &err), 0);
	assert_int_equal(o.nr_processes, 2);
	p.begin_ns = 0;
	p.end_ns = 1;
	p.packet_bits = 0;
	assert_int_equal(pwrite(fd, &p, sizeof p, 0), sizeof p);
	assert_int_equal(af_overview_read(&o, dir, &err), 0);
	assert_int_equal(o.nr_processes, 1);
	assert_int_equal(ftruncate(fd, 10), 0);
	assert_int_equal(af_overview_read(&o, dir, &err), 0);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_range_has_its_samples_and_what_was_defined_before),
	    cmocka_unit_test(a_range_at_the_edges_is_the_same),
	    cmocka_unit_test(a_memo_changes_nothing_but_what_is_looked_at),
	    cmocka_unit_test(headers_tell_how_much_was_written_when),
	    cmocka_unit_test(headers_that_lie_do_no_harm),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
