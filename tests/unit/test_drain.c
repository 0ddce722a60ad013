/* How the recorder treats rings that are not whole, and packets that are not full. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/disk/drain.h"
#include "small_tmpfs.h"
#include "trace/write/stream.h"

static int ring_without_room(void)
{
	struct af_drain d;
	int full = open("/dev/shm/control", O_RDWR | O_CREAT, 0600);
	if (full < 0 || fallocate(full, 0, 0, 4096))
		return 1;
	/* As a process has it that has just found no room for a ring. */
	int ring = open("/dev/shm/s1-0", O_RDWR | O_CREAT, 0600);
	if (ring < 0 || ftruncate(ring, AF_RING_BYTES))
		return 2;
	int shm = open("/dev/shm", O_RDONLY | O_DIRECTORY);
	af_drain_open(&d, shm, shm, NULL);
	af_drain_poll(&d);
	uint32_t nr = d.nr;
	af_drain_close(&d);
	return nr ? 3 : 0;
}

static void ring_without_room_is_no_sigbus(void **state)
{
	(void)state;
	in_small_tmpfs("size=4k", ring_without_room);
}

/* The number of marks in @name in @dir, which has whole packets, numbered from 0 on. */
static uint32_t marks_in(int dir, const char *name, uint32_t *nr_packets)
{
	static uint8_t bytes[8 * AF_SLOT_BYTES];
	int fd = openat(dir, name, O_RDONLY);
	ssize_t size = fd < 0 ? 0 : read(fd, bytes, sizeof bytes);
	uint32_t nr = 0;

	assert_true(fd < 0 || !close(fd));
	*nr_packets = 0;
	for (ssize_t at = 0; at < size;) {
		struct af_packet p;
		memcpy(&p, bytes + at, sizeof p);
		assert_int_equal(p.seq, (*nr_packets)++);
		assert_true(at + (ssize_t)(p.packet_bits / 8) <= size);
		for (size_t e = sizeof p; e < p.content_bits / 8;) {
			struct af_event_header h;
			memcpy(&h, bytes + at + e, sizeof h);
			nr += h.kind == AF_KIND_LOST;
			e += h.size;
		}
		at += (ssize_t)(p.packet_bits / 8);
	}
	return nr;
}

static void marks_put(struct af_stream *s, uint32_t nr)
{
	while (nr--)
		assert_true(af_stream_put(s, lost, af_now_ns(), .reason = 1, .count = 1));
}

/* A trace is whole at any moment, and what comes later is written over its last packet. */
static void rests_are_replaced(void **state)
{
	char shm[] = "/tmp/af-drain-XXXXXX", trace[] = "/tmp/af-drain-XXXXXX";
	uint32_t nr_packets;
	struct af_drain d;
	struct af_stream s;

	(void)state;
	assert_non_null(mkdtemp(shm));
	assert_non_null(mkdtemp(trace));
	int shm_fd = open(shm, O_RDONLY | O_DIRECTORY);
	int trace_fd = open(trace, O_RDONLY | O_DIRECTORY);
	assert_int_equal(af_stream_open_ring_at(&s, shm_fd, "s1-0", 1, 1, 2, 3), 0);
	af_drain_open(&d, shm_fd, trace_fd, NULL);
	af_drain_pump(&d);
	assert_int_equal(af_drain_put_rests(&d), 0);
	assert_int_equal(marks_in(trace_fd, "s1-0", &nr_packets), 0);

	marks_put(&s, 3);
	assert_int_equal(af_drain_put_rests(&d), 0);
	assert_int_equal(marks_in(trace_fd, "s1-0", &nr_packets), 3);
	assert_int_equal(nr_packets, 1);
	marks_put(&s, 2);
	assert_int_equal(af_drain_put_rests(&d), 0);
	assert_int_equal(marks_in(trace_fd, "s1-0", &nr_packets), 5);
	assert_int_equal(nr_packets, 1);

	marks_put(&s, 4000); /* of 24 bytes: more than a packet */
	assert_true(af_drain_pump(&d) > 0);
	assert_int_equal(af_drain_put_rests(&d), 0);
	assert_int_equal(marks_in(trace_fd, "s1-0", &nr_packets), 4005);
	assert_true(nr_packets >= 2);
	marks_put(&s, 1);
	af_stream_close(&s);
	af_drain_finish(&d, 0);
	assert_int_equal(marks_in(trace_fd, "s1-0", &nr_packets), 4006);

	af_drain_close(&d);
	assert_int_equal(unlinkat(trace_fd, "s1-0", 0), 0);
	close(shm_fd);
	close(trace_fd);
	assert_int_equal(rmdir(shm), 0); /* the ring is removed */
	assert_int_equal(rmdir(trace), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ring_without_room_is_no_sigbus),
	    cmocka_unit_test(rests_are_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
