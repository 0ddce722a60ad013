/*
 * Rings that another process filled with anything, and the stream file that a killed recorder left.
 * The input makes a file's beginning, then a ring whose head and packets are mostly right. Checked
 * on the way: what was written is whole packets of whole events and no more than the ring's packet
 * of that number reported, a pump takes no packet twice, and afterwards the ring is gone.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/disk/drain.h"
#include "trace/layout.h"

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SLOTS = 4, EVENTS = 6 };
static const char name[] = "s1-1";

static void take_bytes(struct input *in, void *to, size_t n)
{
	n = n < in->left ? n : in->left;
	memcpy(to, in->data, n);
	in->data += n;
	in->left -= n;
}

static char shm_path[] = "/dev/shm/aflame-fuzz-XXXXXX", dir_path[] = "/tmp/aflame-fuzz-XXXXXX";
static int shm_fd = -1, dir_fd = -1;

static void folders_remove(void)
{
	unlinkat(shm_fd, name, 0);
	unlinkat(dir_fd, name, 0);
	rmdir(shm_path);
	rmdir(dir_path);
}

static void folders_make(void)
{
	if (shm_fd >= 0)
		return;
	if (!mkdtemp(shm_path) || !mkdtemp(dir_path)) {
		perror("mkdtemp");
		exit(2);
	}
	shm_fd = open(shm_path, O_RDONLY | O_DIRECTORY);
	dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY);
	atexit(folders_remove);
}

/* A file in @dir that is @size bytes of zeros, but for what is written to it. */
static int file_make(int dir, size_t size)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)size)) {
		perror(name);
		exit(2);
	}
	return fd;
}

static struct af_packet reported[SLOTS]; /* the packets as the ring has them */

/* A packet that is right but for what its first byte says. */
static struct af_packet packet_make(struct input *in, uint8_t *at, uint64_t seq)
{
	uint8_t twist = take_byte(in), nr_events = take_byte(in) % EVENTS;
	struct af_packet p = {.magic = AF_PACKET_MAGIC,
	                      .instance = 1,
	                      .packet_bits = AF_SLOT_BYTES * 8,
	                      .begin_ns = 1,
	                      .seq = twist & 1 ? take_byte(in) : seq,
	                      .discarded = twist & 2 ? take_byte(in) : 0};
	size_t len = sizeof p;

	while (nr_events--) {
		struct af_event_header h = {.kind = take_byte(in), .time_ns = len};
		uint8_t payload = take_byte(in);
		h.size = (uint16_t)(sizeof h + payload);
		if (twist & 4)
			h.size = (uint16_t)(h.size + (int8_t)take_byte(in));
		memcpy(at + len, &h, sizeof h);
		take_bytes(in, at + len + sizeof h, payload);
		len += sizeof h + payload;
	}
	p.content_bits = len * 8;
	if (twist & 8)
		p.content_bits += 8 * (uint64_t)(int8_t)take_byte(in);
	if (twist & 16)
		p.content_bits = (uint64_t)take_byte(in) << take_byte(in) % 64;
	if (twist & 32)
		take_bytes(in, &p, sizeof p);
	memcpy(at, &p, sizeof p);
	return p;
}

static void ring_make(struct input *in)
{
	int fd = file_make(shm_fd, AF_RING_BYTES);
	uint8_t *at = mmap(NULL, AF_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint8_t twist = take_byte(in), nr = take_byte(in);

	if (at == MAP_FAILED)
		exit(2);
	struct af_ring ring = {.magic = AF_RING_MAGIC,
	                       .version = AF_TRACE_VERSION,
	                       .process = 1,
	                       .nr_slots = twist & 1 ? nr * 0x10101u : nr % (SLOTS + 1),
	                       .discarded = twist & 2 ? take_byte(in) : 0};
	for (int i = 0; i < SLOTS; i++)
		ring.state[i] = take_byte(in) % 4;
	if (twist & 4)
		ring.state[AF_RING_SLOTS - 1] = take_byte(in);
	memcpy(at, &ring, sizeof ring);
	for (unsigned i = 0; i < SLOTS; i++)
		reported[i] = packet_make(in, at + AF_RING_PAGE + (size_t)i * AF_SLOT_BYTES, i);
	munmap(at, AF_RING_BYTES);
	close(fd);
}

static void file_left_make(struct input *in)
{
	static uint8_t bytes[AF_SLOT_BYTES];
	uint8_t nr = take_byte(in) % 3;
	int fd = file_make(dir_fd, 0);

	for (uint8_t seq = 0; seq < nr; seq++) {
		struct af_packet p = {.magic = AF_PACKET_MAGIC, .seq = seq};
		uint8_t len = take_byte(in);
		p.packet_bits = (sizeof p + len) * 8ull;
		if (len & 1)
			take_bytes(in, &p, sizeof p);
		memcpy(bytes, &p, sizeof p);
		take_bytes(in, bytes + sizeof p, len);
		if (write(fd, bytes, sizeof p + len) < 0)
			exit(2);
	}
	close(fd);
}

/* Whether a packet of the ring has this number and says at least so much. */
static bool was_reported(const struct af_packet *p)
{
	for (int i = 0; i < SLOTS; i++)
		if (reported[i].seq == p->seq &&
		    reported[i].content_bits / 8 >= p->content_bits / 8)
			return true;
	/* The last word, about events that were dropped after all packets. */
	return p->content_bits == sizeof *p * 8;
}

/* The packets from @at on, which the drain wrote. */
static void check_packets(const uint8_t *bytes, size_t at, size_t size)
{
	struct af_event_header h;
	struct af_packet p;

	while (at < size) {
		memcpy(&p, bytes + at, sizeof p);
		size_t end = at + p.content_bits / 8;
		if (p.magic != AF_PACKET_MAGIC || p.packet_bits != p.content_bits ||
		    p.end_ns < p.begin_ns || end > size || !was_reported(&p))
			abort();
		for (at += sizeof p; end - at >= sizeof h; at += h.size) {
			memcpy(&h, bytes + at, sizeof h);
			if (h.size < sizeof h || h.size > end - at)
				abort();
		}
		if (at != end)
			abort();
	}
}

/* To go on after what is in the file cuts nothing off. @left bytes are of the killed recorder. */
static void check_file(size_t left)
{
	static uint8_t bytes[3 * 512 + (SLOTS + 2) * AF_SLOT_BYTES];
	struct stat st;
	int fd = openat(dir_fd, name, O_RDWR);

	if (fd < 0)
		abort();
	ssize_t size = pread(fd, bytes, sizeof bytes, 0);
	if (size < (ssize_t)left)
		abort();
	check_packets(bytes, left, (size_t)size);
	af_drain_file_resume(fd, NULL);
	if (fstat(fd, &st) || st.st_size != size)
		abort();
	close(fd);
}

/* Bytes of whole packets in the file that was left. */
static size_t file_left_whole(void)
{
	struct stat st;
	int fd = openat(dir_fd, name, O_RDWR);

	af_drain_file_resume(fd, NULL);
	if (fd < 0 || fstat(fd, &st))
		abort();
	close(fd);
	return (size_t)st.st_size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct af_drain d;

	folders_make();
	file_left_make(&in);
	size_t left = file_left_whole();
	ring_make(&in);
	af_drain_open(&d, shm_fd, dir_fd, NULL);
	af_drain_pump(&d);
	bool known = d.nr;
	if (d.packets)
		check_file(left);
	if (af_drain_pump(&d))
		abort(); /* nobody filled a slot in between */
	af_drain_finish(&d, 0);
	if (d.packets)
		check_file(left);
	if (known && !faccessat(shm_fd, name, F_OK, 0))
		abort();
	af_drain_close(&d);
	return 0;
}
