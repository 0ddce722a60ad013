/*
 * A trace that keeps its newest events only: what is carried on, what gives way, what is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>

#include "base/system/fs.h"
#include "collect/disk/checkpoint.h"
#include "collect/disk/compact.h"
#include "collect/disk/segments.h"
#include "trace/write/session.h"
#include "trace_maker.h"

struct rig {
	char dir[64];
	int dir_fd;
	struct af_session session;
	struct af_segments segments;
};

static int make_rig(void **state)
{
	struct rig *r = aligned_alloc(_Alignof(struct rig), sizeof *r);

	*state = memset(r, 0, sizeof *r);
	strcpy(r->dir, "/tmp/aflame-test-XXXXXX");
	if (!mkdtemp(r->dir))
		return -1;
	r->dir_fd = open(r->dir, O_RDONLY | O_DIRECTORY);
	af_segments_open(&r->segments, r->dir_fd, &r->session);
	return r->dir_fd < 0;
}

static int remove_rig(void **state)
{
	struct rig *r = *state;

	af_segments_close(&r->segments);
	close(r->dir_fd);
	af_remove_tree(r->dir);
	free(r);
	return 0;
}

static void put_stack(struct af_stream *s, uint32_t id, uint64_t pc)
{
	struct af_ev_stack ev = {.stack = id};
	struct af_tail tail = {&pc, 8, 8};

	assert_true(af_stream_put_tail(s, AF_KIND_STACK, pc, &ev, sizeof ev, &tail, 1));
}

static void file_open(const struct rig *r, struct af_stream *s, const char *name)
{
	assert_int_equal(
	    af_stream_open_file(s, openat(r->dir_fd, name, O_RDWR | O_CREAT, 0600), 7, 1), 0);
}

/* Packets follow each other without padding: @packet is as it lies in the stream. */
static void rig_write(struct rig *r, uint32_t stream, const uint8_t *packet)
{
	char name[AF_SEGMENT_NAME];
	uint64_t offset;
	struct af_packet head;
	memcpy(&head, packet, sizeof head);
	size_t size = head.packet_bits / 8;

	head.instance |= af_segments_place(&r->segments, stream, size, name, &offset);
	int fd = openat(r->dir_fd, name, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(pwrite(fd, &head, sizeof head, (off_t)offset), sizeof head);
	assert_int_equal(
	    pwrite(fd, packet + sizeof head, size - sizeof head, (off_t)(offset + sizeof head)),
	    size - sizeof head);
	close(fd);
	af_segments_wrote(&r->segments, stream, &head, packet + sizeof head);
}

/* @nr packets of a stream: a definition at the beginning, then samples; returns those. */
static uint64_t rig_fill(struct rig *r, const char *name, unsigned nr, uint64_t from_ns)
{
	struct made m;
	struct af_stream s;
	uint64_t events = 0;
	uint32_t stream = af_segments_stream(&r->segments, name, 1);

	maker_open(&m, &s, 0);
	put_stack(&s, 1, from_ns);
	af_stream_put(&s, callpath, from_ns, 1, 1, 0);
	while (s.seq <= nr) {
		af_stream_put(&s, sample, from_ns + events, 1, 0, 1);
		events++;
	}
	maker_close(&m, &s);
	for (size_t at = 0; at < m.size;) {
		struct af_packet head;
		memcpy(&head, m.data + at, sizeof head);
		rig_write(r, stream, m.data + at);
		at += head.packet_bits / 8;
	}
	free(m.data);
	return events;
}

struct sum {
	uint64_t bytes, disk, events, missing, files;
};

/* Every file reads alone, without damage, and defines the call path of its samples. */
static void sum_file(struct sum *sum, int dir_fd, const char *name)
{
	struct af_file f;
	struct af_trace *t;
	struct af_event ev;
	bool defined = false;

	assert_int_equal(af_file_map_at(&f, dir_fd, name), 0);
	struct af_stream_bytes bytes = {.data = f.data, .size = f.size};
	assert_int_equal(af_trace_open_memory(&t, &bytes, 1, 0), 0);
	while (af_trace_next(t, &ev)) {
		defined |= ev.kind == AF_KIND_CALLPATH;
		sum->events += ev.kind == AF_KIND_SAMPLE;
		assert_true(ev.kind != AF_KIND_SAMPLE || defined);
	}
	sum->missing += af_trace_damage(t)->missing + af_trace_damage(t)->packets +
	                af_trace_damage(t)->disordered + af_trace_damage(t)->discarded;
	sum->bytes += f.size;
	sum->disk += (f.size + 4095) / 4096 * 4096 + 512;
	sum->files++;
	af_trace_close(t);
	af_file_unmap(&f);
}

static struct sum sum_dir(const struct rig *r)
{
	struct sum sum = {0};
	DIR *d = opendir(r->dir);

	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			sum_file(&sum, r->dir_fd, e->d_name);
	closedir(d);
	return sum;
}

static void the_oldest_give_way_and_are_counted(void **state)
{
	struct rig *r = *state;
	uint64_t made = 0;

	r->session.ring_bytes = 1 << 20;
	made += rig_fill(r, "s1-0", 4, 1000);
	made += rig_fill(r, "s1-1", 60, 100000000);
	struct sum sum = sum_dir(r);
	assert_in_range(sum.disk, 1 << 19, 1 << 20);
	assert_int_equal(sum.disk, r->segments.bytes);
	assert_int_equal(sum.missing, 0);
	assert_int_equal(sum.events + r->session.lost_oldest, made);
	assert_true(r->session.lost_oldest > 0 && r->session.epoch > 10);
	assert_true(sum.files > 4);
}

static void a_process_that_is_over_leaves_nothing_behind(void **state)
{
	struct rig *r = *state;

	r->session.ring_bytes = 1 << 20;
	uint64_t made = rig_fill(r, "s1-0", 2, 1000);
	af_segments_end(&r->segments, 0);
	r->segments.streams[0].process = 2;
	made += rig_fill(r, "s3-0", 60, 100000000);
	assert_int_not_equal(faccessat(r->dir_fd, "s1-0", F_OK, 0), 0);
	assert_int_not_equal(faccessat(r->dir_fd, "s1-0.1", F_OK, 0), 0);
	assert_int_equal(sum_dir(r).events + r->session.lost_oldest, made);
}

static void processes_that_never_had_an_event_give_way(void **state)
{
	struct rig *r = *state;

	r->session.ring_bytes = 1 << 20;
	for (uint32_t process = 1; process <= 3000; process++) {
		struct made m;
		struct af_stream s;
		char name[32];

		snprintf(name, sizeof name, "s%u-0", process);
		maker_open(&m, &s, 0);
		for (uint32_t id = 1; id <= 20; id++)
			put_stack(&s, id, 1000 * process + id);
		maker_close(&m, &s);
		uint32_t stream = af_segments_stream(&r->segments, name, process);
		rig_write(r, stream, (const uint8_t *)m.data);
		af_segments_end(&r->segments, stream);
		free(m.data);
	}
	struct sum sum = sum_dir(r);
	assert_in_range(sum.disk, 1 << 19, 1 << 20);
	assert_true(r->segments.nr_streams < 2000); /* places are used again */
	assert_int_not_equal(faccessat(r->dir_fd, "s1-0", F_OK, 0), 0);
	assert_int_equal(faccessat(r->dir_fd, "s3000-0", F_OK, 0), 0);
}

static void the_recorders_stream_forgets_processes_of_which_nothing_is_left(void **state)
{
	struct rig *r = *state;
	struct af_stream s;
	struct af_file f;
	struct af_trace *t;
	struct af_event ev;
	unsigned ends = 0, notes = 0;
	struct af_tail note[] = {{"cmd", 3, 0}, {"x", 1, 0}};

	file_open(r, &s, "recorder");
	s.process = 0;
	af_stream_put_tail(&s, AF_KIND_NOTE, 900, "", 0, note, 2);
	for (uint32_t process = 1; process <= 100; process++) {
		af_stream_put(&s, process_end, 1000 + process, .process = process);
		af_stream_put(&s, lost, 1000 + process, AF_LOST_BUSY, 5);
		af_stream_flush(&s);
	}
	af_segments_stream(&r->segments, "s7-0", 7);
	assert_int_equal(af_compact(&r->segments, &s, "recorder", 5000), 0);
	assert_int_equal(r->session.lost_oldest, 99);
	assert_int_equal(r->segments.lost[AF_LOST_BUSY], 500);
	af_stream_put(&s, process_end, 6000, .process = 200);
	af_stream_flush(&s);
	/* Again, with what that began with. */
	assert_int_equal(af_compact(&r->segments, &s, "recorder", 5000), 0);
	af_stream_put(&s, process_end, 7000, .process = 201);
	assert_int_equal(af_stream_close(&s), 0);

	assert_int_equal(af_file_map_at(&f, r->dir_fd, "recorder"), 0);
	struct af_stream_bytes bytes = {.data = f.data, .size = f.size};
	assert_int_equal(af_trace_open_memory(&t, &bytes, 1, 0), 0);
	while (af_trace_next(t, &ev)) {
		ends += ev.kind == AF_KIND_PROCESS_END;
		notes += ev.kind == AF_KIND_NOTE;
	}
	assert_int_equal(ends, 3);
	assert_int_equal(notes, 1);
	assert_int_equal(af_trace_damage(t)->packets + af_trace_damage(t)->missing, 0);
	af_trace_close(t);
	af_file_unmap(&f);
	assert_int_not_equal(faccessat(r->dir_fd, ".segment", F_OK, 0), 0);
}

static void files_of_a_killed_recorder_are_taken_in(void **state)
{
	struct rig *r = *state;
	struct af_segments again;

	r->session.ring_bytes = 1 << 20;
	rig_fill(r, "s1-0", 40, 1000);
	close(openat(r->dir_fd, ".segment", O_CREAT | O_WRONLY, 0600));
	af_segments_open(&again, r->dir_fd, &r->session);
	af_segments_load(&again);
	assert_int_equal(again.bytes, r->segments.bytes);
	assert_int_equal(again.nr_streams, 1);
	assert_int_equal(again.streams[0].newest, r->segments.streams[0].newest);
	assert_int_not_equal(faccessat(r->dir_fd, ".segment", F_OK, 0), 0);
	af_segments_close(&again);
}

static void damaged_files_are_read_as_far_as_they_go(void **state)
{
	struct rig *r = *state;
	struct made m;
	struct af_checkpoint c;

	maker_samples(&m, 1, 3, 50, 1000, 1);
	for (size_t i = 0; i < m.size; i += 7) {
		uint8_t *copy = malloc(m.size);
		memcpy(copy, m.data, m.size);
		copy[i] ^= 0xff;
		int fd = openat(r->dir_fd, "f", O_RDWR | O_CREAT | O_TRUNC, 0600);
		assert_int_equal(write(fd, copy, m.size - i % 5), m.size - i % 5);
		close(fd);
		assert_int_equal(af_checkpoint_read(&c, r->dir_fd, "f"), 0);
		assert_true(c.events <= 150 && c.bytes <= m.size);
		af_checkpoint_free(&c);
		free(copy);
	}
	free(m.data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_rig, remove_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(the_oldest_give_way_and_are_counted),
	    TEST(a_process_that_is_over_leaves_nothing_behind),
	    TEST(processes_that_never_had_an_event_give_way),
	    TEST(the_recorders_stream_forgets_processes_of_which_nothing_is_left),
	    TEST(files_of_a_killed_recorder_are_taken_in),
	    TEST(damaged_files_are_read_as_far_as_they_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
