/*
 * Where a trace is divided into parts of time: each event is in one part, whatever its packets look
 * like; and what is not divided.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/fs.h"
#include "trace/metadata.h"
#include "trace/parts/parts.h"
#include "trace/read/merge.h"
#include "trace/write/stream.h"

enum { STREAMS = 4, MOST = 64, PACKET = 20 /* events */ };

#define START_NS UINT64_C(5000000000)

struct rig {
	char dir[32];
	int at;
	struct af_stream streams[STREAMS];
	struct af_trace *trace;
	uint64_t nr_samples, nr_paths;
};

static struct rig *rig_open(void)
{
	struct rig *r = calloc(1, sizeof *r);
	struct af_err err = {0};
	char name[8] = "s0";

	strcpy(r->dir, "/tmp/aflame-parts-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	r->at = open(r->dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(af_metadata_write(r->at, 0, 0, NULL, &err), 0);
	for (uint32_t i = 0; i < STREAMS; i++, name[1]++) {
		int fd = openat(r->at, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		assert_int_equal(af_stream_open_file(&r->streams[i], fd, i + 1, i), 0);
	}
	return r;
}

/* A packet of samples in a stream, from @from_ns on and @step_ns apart. */
static void packet(struct rig *r, uint32_t stream, uint64_t from_ns, uint64_t step_ns, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		af_stream_put(&r->streams[stream], sample, START_NS + from_ns + i * step_ns,
		              .callpath = 1);
	af_stream_flush(&r->streams[stream]);
	r->nr_samples += nr;
}

static void path(struct rig *r, uint32_t stream, uint64_t ns, uint32_t id)
{
	af_stream_put(&r->streams[stream], callpath, START_NS + ns, .callpath = id);
	r->nr_paths++;
}

static void rig_written(struct rig *r)
{
	struct af_err err = {0};

	for (uint32_t i = 0; i < STREAMS; i++)
		assert_int_equal(af_stream_close(&r->streams[i]), 0);
	assert_int_equal(af_trace_open(&r->trace, r->dir, 0, &err), 0);
}

static void rig_close(struct rig *r)
{
	af_trace_close(r->trace);
	close(r->at);
	assert_int_equal(af_remove_tree(r->dir), 0);
	free(r);
}

/* Change the packet @index of a stream, which is closed. */
static void packet_change(struct rig *r, const char *name, uint32_t index,
                          void (*change)(struct af_packet *p))
{
	int fd = openat(r->at, name, O_RDWR);
	struct af_packet p;
	off_t at = 0;

	for (uint32_t i = 0;; i++) {
		assert_int_equal(pread(fd, &p, sizeof p, at), sizeof p);
		if (i == index)
			break;
		at += (off_t)(p.packet_bits / 8);
	}
	change(&p);
	assert_int_equal(pwrite(fd, &p, sizeof p, at), sizeof p);
	close(fd);
}

/* The events of a part, which are in order; false: it is damaged. */
static bool part_read(struct rig *r, const struct af_parts *p, uint32_t part, uint64_t *samples,
                      uint64_t *paths)
{
	struct af_trace *t = af_trace_open_part(r->trace, 0, p, part);
	struct af_event ev;
	uint64_t last_ns = 0;

	while (af_trace_next(t, &ev) && ev.time_ns < p->from_ns[part + 1]) {
		assert_true(ev.time_ns >= last_ns);
		last_ns = ev.time_ns;
		if (ev.time_ns < p->from_ns[part])
			continue;
		*samples += ev.kind == AF_KIND_SAMPLE;
		*paths += ev.kind == AF_KIND_CALLPATH;
	}
	bool fine = !af_trace_damage(t)->first[0];
	af_trace_close(t);
	return fine;
}

static uint64_t definitions(struct rig *r, const struct af_parts *p)
{
	struct af_trace *t = af_trace_open_definitions(r->trace, 0, p);
	struct af_event ev;
	uint64_t nr = 0;

	while (af_trace_next(t, &ev)) {
		assert_int_equal(ev.kind, AF_KIND_CALLPATH);
		nr++;
	}
	af_trace_close(t);
	return nr;
}

/* Every event is in one part; the number of parts. */
static uint32_t check(struct rig *r, uint32_t wanted)
{
	const uint64_t bytes = af_trace_size(r->trace) / wanted;
	struct af_parts p;
	uint64_t samples = 0, paths = 0;

	if (!af_parts_find(&p, r->trace, bytes, MOST, 2))
		return 0;
	assert_in_range(p.nr, 2, wanted + 1);
	assert_int_equal(p.from_ns[0], 0);
	for (uint32_t i = 0; i < p.nr; i++) {
		assert_true(p.from_ns[i] < p.from_ns[i + 1]);
		assert_true(part_read(r, &p, i, &samples, &paths));
	}
	assert_int_equal(samples, r->nr_samples);
	assert_int_equal(paths, r->nr_paths);
	assert_int_equal(definitions(r, &p), r->nr_paths);
	uint32_t nr = p.nr;
	af_parts_free(&p);
	return nr;
}

static void every_event_is_in_one_part(void **state)
{
	struct rig *r = rig_open();

	(void)state;
	for (uint32_t i = 0; i < 40; i++) {
		path(r, i % 2, i * 1000, i);
		packet(r, i % 2, i * 1000, 45, PACKET); /* they overlap */
	}
	packet(r, 2, 17500, 1, PACKET); /* the stream 3 stays empty */
	rig_written(r);
	assert_int_equal(check(r, 2), 2);
	assert_int_equal(check(r, 7), 7);
	assert_in_range(check(r, 40), 30, 41);
	rig_close(r);
}

/* All that happened in one moment is in one part, and there is no border in it. */
static void a_burst_is_not_divided(void **state)
{
	struct rig *r = rig_open();

	(void)state;
	packet(r, 0, 0, 10, PACKET);
	for (uint32_t i = 0; i < 30; i++)
		packet(r, i % 3, 500, 0, PACKET);
	packet(r, 1, 600, 10, PACKET);
	rig_written(r);
	assert_in_range(check(r, 16), 2, 3);
	rig_close(r);
}

static void one_moment_is_no_parts(void **state)
{
	struct rig *r = rig_open();

	(void)state;
	for (uint32_t i = 0; i < 30; i++)
		packet(r, i % 3, 0, 0, PACKET);
	rig_written(r);
	assert_int_equal(check(r, 4), 0);
	rig_close(r);
}

static void end_unknown(struct af_packet *p)
{
	p->end_ns = p->begin_ns;
}

/* Packets of a killed writer do not tell when they end. */
static void ends_need_not_be_known(void **state)
{
	struct rig *r = rig_open();

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		packet(r, i % 2, i * 1000, 90, PACKET);
	for (uint32_t i = 0; i < STREAMS; i++)
		af_stream_flush(&r->streams[i]);
	for (uint32_t i = 0; i < 10; i += 3)
		packet_change(r, "s1", i, end_unknown);
	packet_change(r, "s0", 9, end_unknown);
	rig_written(r);
	assert_in_range(check(r, 10), 8, 11);
	rig_close(r);
}

static void says_samples(struct af_packet *p)
{
	p->has = AF_HAS_MOMENTS;
}

/* As in traces of before. */
static void says_nothing(struct af_packet *p)
{
	p->has = 0;
}

/* Packets that say that they define nothing are not walked through. */
static void headers_tell_what_is_in_packets(void **state)
{
	struct rig *r = rig_open();

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		if (i % 5 == 0)
			path(r, 0, i * 1000, i);
		packet(r, 0, i * 1000, 40, PACKET);
	}
	for (uint32_t i = 0; i < 20; i++)
		if (i % 5)
			packet_change(r, "s0", i, says_samples);
	rig_written(r);
	assert_in_range(check(r, 10), 8, 11);
	rig_close(r);
}

/* What --ring leaves: the first packets are gone, and the first event says so. */
static void a_stream_may_begin_in_its_middle(void **state)
{
	struct rig *r = rig_open();

	(void)state;
	r->streams[0].seq = 17;
	r->streams[0].discarded = 5;
	af_stream_put(&r->streams[0], lost, START_NS, AF_LOST_OLDEST, 100);
	for (uint32_t i = 0; i < 20; i++)
		packet(r, i % 2, i * 1000, 40, PACKET);
	rig_written(r);

	struct af_parts p;
	uint64_t samples = 0, paths = 0;
	assert_true(af_parts_find(&p, r->trace, af_trace_size(r->trace) / 5, MOST, 1));
	assert_int_equal(p.discarded, 0);
	for (uint32_t i = 0; i < p.nr; i++)
		assert_true(part_read(r, &p, i, &samples, &paths));
	assert_int_equal(samples, r->nr_samples);
	af_parts_free(&p);
	rig_close(r);
}

/* Of functions of the tables of APIs, the first calls are known, in order. */
static void first_calls_are_found(void **state)
{
	const struct af_api_head head = {0};
	struct rig *r = rig_open();

	(void)state;
	for (uint32_t i = 0; i < 30; i++) {
		for (uint32_t s = 0; s < 2; s++) {
			uint16_t kind = (uint16_t)(AF_KIND_API + (i + s) % 3);
			void *to = af_stream_begin(&r->streams[s], (enum af_kind)kind,
			                           START_NS + i * 1000 + 10 - s, sizeof head);
			memcpy(to, &head, sizeof head);
			af_stream_end(&r->streams[s]);
		}
		packet(r, i % 2, i * 1000 + 20, 10, PACKET);
	}
	rig_written(r);

	struct af_parts p;
	assert_true(af_parts_find(&p, r->trace, af_trace_size(r->trace) / 9, MOST, 2));
	assert_int_equal(p.nr_calls, 6);
	for (uint32_t i = 0; i < 6; i++) {
		/* Stream 1 is a nanosecond earlier, and has the function that is next. */
		assert_int_equal(p.calls[i].process, !(i % 2));
		assert_int_equal(p.calls[i].kind, AF_KIND_API + (i / 2 + !(i % 2)) % 3);
		assert_int_equal(p.calls[i].time_ns, START_NS + i / 2 * 1000 + 9 + i % 2);
	}
	af_parts_free(&p);
	rig_close(r);
}

static void event_of_another_time(struct af_packet *p)
{
	p->begin_ns += 50;
}

static void end_too_early(struct af_packet *p)
{
	p->end_ns -= 50;
}

static void begin_too_early(struct af_packet *p)
{
	p->begin_ns -= 500;
}

static void number_missing(struct af_packet *p)
{
	p->seq++;
}

static void content_too_long(struct af_packet *p)
{
	p->content_bits += 8;
}

/* What damage costs depends on all that was read before: somebody has to notice it. */
static bool is_whole(struct rig *r)
{
	struct af_parts p;
	uint64_t samples = 0, paths = 0;
	bool fine = af_parts_find(&p, r->trace, af_trace_size(r->trace) / 5, MOST, 2);

	for (uint32_t i = 0; fine && i < p.nr; i++)
		fine = part_read(r, &p, i, &samples, &paths);
	af_parts_free(&p);
	return fine;
}

static void damage_is_noticed(void **state)
{
	void (*const changes[])(struct af_packet *) = {event_of_another_time, end_too_early,
	                                               begin_too_early, number_missing,
	                                               content_too_long};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof changes / sizeof *changes; i++) {
		struct rig *r = rig_open();
		bool known = i & 1;
		size_t n = i / 2;
		for (uint32_t i = 0; i < 20; i++)
			packet(r, i % 2, i * 1000, 95, PACKET);
		packet_change(r, "s0", 4, changes[n]);
		packet_change(r, "s0", 4, known ? says_samples : says_nothing);
		rig_written(r);
		assert_false(is_whole(r));
		rig_close(r);
	}
}

static void small_traces_are_not_divided(void **state)
{
	struct rig *r = rig_open();
	struct af_parts p;

	(void)state;
	packet(r, 0, 0, 10, PACKET);
	packet(r, 0, 1000, 10, PACKET);
	rig_written(r);
	assert_false(af_parts_find(&p, r->trace, af_trace_size(r->trace), MOST, 1));
	assert_false(af_parts_find(&p, r->trace, 1, 1, 1));
	assert_int_equal(check(r, 2), 2);
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_event_is_in_one_part),
	    cmocka_unit_test(a_burst_is_not_divided),
	    cmocka_unit_test(one_moment_is_no_parts),
	    cmocka_unit_test(ends_need_not_be_known),
	    cmocka_unit_test(headers_tell_what_is_in_packets),
	    cmocka_unit_test(a_stream_may_begin_in_its_middle),
	    cmocka_unit_test(first_calls_are_found),
	    cmocka_unit_test(damage_is_noticed),
	    cmocka_unit_test(small_traces_are_not_divided),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
