#include "trace/write/stream.h"
#include "trace/packet_has.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/pages.h"
#include "base/system/clock.h"
#include "base/system/fs.h"
#include "base/write.h"

static int64_t clock_ahead_ns;

uint64_t af_now_ns(void)
{
	return af_clock_ns(CLOCK_MONOTONIC) - (uint64_t)clock_ahead_ns;
}

void af_now_ahead(int64_t ahead_ns)
{
	clock_ahead_ns = ahead_ns;
}

static struct af_packet *ring_packet(const struct af_ring *ring, uint32_t slot)
{
	return (void *)((char *)ring + AF_RING_PAGE + (size_t)slot * AF_SLOT_BYTES);
}

/*
 * Make the first slots real. fallocate, because a hole in tmpfs that cannot be filled is a SIGBUS;
 * not posix_fallocate, which falls back to writing bytes. Where the kernel cannot populate through
 * the mapping later (before Linux 5.14) the ring gets a fixed, larger size at once.
 */
static int ring_reserve(int fd, void *probe_page, uint32_t *nr_slots)
{
	*nr_slots = AF_RING_SLOTS_FIRST;
	if (madvise(probe_page, AF_RING_PAGE, MADV_POPULATE_WRITE) && errno == EINVAL)
		*nr_slots = AF_RING_SLOTS_FIXED;

	while (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0,
	                 AF_RING_PAGE + (off_t)*nr_slots * AF_SLOT_BYTES)) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

int af_stream_open_ring(struct af_stream *s, const char *path, uint64_t instance, uint32_t process,
                        uint32_t pid, uint32_t tid)
{
	return af_stream_open_ring_at(s, AT_FDCWD, path, instance, process, pid, tid);
}

int af_stream_open_ring_at(struct af_stream *s, int dir_fd, const char *name, uint64_t instance,
                           uint32_t process, uint32_t pid, uint32_t tid)
{
	*s = (struct af_stream){.fd = -1};
	if (!af_file_size_allowed(AF_RING_BYTES))
		return -EFBIG;

	int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;

	void *map = MAP_FAILED;
	uint32_t nr_slots = 0;
	int rc = ftruncate(fd, AF_RING_BYTES) ? -errno : 0;
	if (!rc) {
		map = mmap(NULL, AF_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		rc = map == MAP_FAILED ? -errno : ring_reserve(fd, map, &nr_slots);
	}
	close(fd);
	if (rc) {
		if (map != MAP_FAILED)
			munmap(map, AF_RING_BYTES);
		unlinkat(dir_fd, name, 0);
		return rc;
	}

	struct af_ring *ring = map;
	ring->version = AF_TRACE_VERSION;
	ring->process = process;
	ring->pid = pid;
	ring->instance = instance;
	atomic_store_explicit(&ring->nr_slots, nr_slots, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	ring->magic = AF_RING_MAGIC;

	s->ring = ring;
	s->instance = instance;
	s->process = process;
	s->pid = pid;
	s->tid = tid;
	return 0;
}

int af_stream_open_file(struct af_stream *s, int fd, uint64_t instance, uint32_t process)
{
	void *p = af_pages(AF_SLOT_BYTES, 0);
	*s = (struct af_stream){.fd = fd, .instance = instance, .process = process};
	if (!p)
		return s->error = -errno;
	s->packet = p;
	s->pid = s->tid = (uint32_t)getpid();
	s->used = s->capacity = 0; /* the first event opens the packet */
	return 0;
}

void af_stream_discard(struct af_stream *s, uint64_t n)
{
	s->discarded += n;
	if (s->ring)
		atomic_store_explicit(&s->ring->discarded, s->discarded, memory_order_relaxed);
}

static void stream_fill_header(struct af_stream *s, struct af_packet *p, uint64_t time_ns)
{
	*p = (struct af_packet){
	    .magic = AF_PACKET_MAGIC,
	    .instance = s->instance,
	    .packet_bits = AF_SLOT_BYTES * 8,
	    .content_bits = sizeof *p * 8,
	    .begin_ns = time_ns,
	    .end_ns = time_ns,
	    .discarded = s->discarded,
	    .seq = s->seq++,
	    .process = s->process,
	    .pid = s->pid,
	    .tid = s->tid,
	};
	s->packet = p;
	s->used = sizeof *p;
	s->capacity = AF_SLOT_BYTES;
}

/* A free slot, growing the ring by doubling when the drain has not kept up. */
static int ring_take(struct af_stream *s)
{
	struct af_ring *ring = s->ring;
	uint32_t nr = atomic_load_explicit(&ring->nr_slots, memory_order_relaxed);

	/* A full ring is not searched again before the drain has freed something. */
	uint32_t freed = atomic_load_explicit(&ring->nr_freed, memory_order_acquire);
	bool searched = s->full && s->nr_freed == freed;
	s->nr_freed = freed;
	for (uint32_t k = 1; k <= nr && !searched; k++) {
		uint32_t slot = (s->slot + k) % nr;
		if (atomic_load_explicit(&ring->state[slot], memory_order_acquire) == AF_SLOT_FREE)
			return (int)slot;
	}
	if (nr >= AF_RING_SLOTS)
		return -ENOSPC;

	/*
	 * No descriptor is kept (the target may close any), so pages are reserved through the
	 * mapping: MADV_POPULATE_WRITE fails with -EFAULT where a touch would raise SIGBUS.
	 */
	uint32_t more = nr * 2 <= AF_RING_SLOTS ? nr * 2 : AF_RING_SLOTS;
	if (madvise(ring_packet(ring, nr), (size_t)(more - nr) * AF_SLOT_BYTES,
	            MADV_POPULATE_WRITE))
		return -errno;
	atomic_store_explicit(&ring->nr_slots, more, memory_order_release);
	return (int)nr;
}

static void stream_finish_packet(struct af_stream *s)
{
	struct af_packet *p = s->packet;

	if (!p || !s->used)
		return;
	p->end_ns = s->last_ns > p->begin_ns ? s->last_ns : p->begin_ns;
	if (s->ring) {
		atomic_store_explicit(&s->ring->state[s->slot], AF_SLOT_FULL, memory_order_release);
		s->packet = NULL;
	} else {
		p->packet_bits = p->content_bits;
		p->has = af_packet_has(p + 1, s->used - sizeof *p);
		int rc = s->error ? s->error : af_write_all(s->fd, p, s->used);
		if (rc && !s->error)
			s->error = rc;
	}
	s->used = s->capacity = 0;
}

bool af_stream_next_packet(struct af_stream *s, uint32_t size, uint64_t time_ns)
{
	(void)size;
	if (time_ns < s->last_ns)
		time_ns = s->last_ns;
	stream_finish_packet(s);
	if (!s->ring) {
		if (s->error || !s->packet)
			return false;
		stream_fill_header(s, s->packet, time_ns);
		return true;
	}

	int slot = ring_take(s);
	s->full = slot < 0;
	if (slot < 0)
		return false;
	s->slot = (uint32_t)slot;
	stream_fill_header(s, ring_packet(s->ring, s->slot), time_ns);
	atomic_store_explicit(&s->ring->state[slot], AF_SLOT_OPEN, memory_order_release);
	return true;
}

void af_stream_flush(struct af_stream *s)
{
	if (s->packet && s->used > sizeof *s->packet)
		stream_finish_packet(s);
}

void af_stream_owner(struct af_stream *s, uint32_t tid)
{
	s->tid = tid;
	/* An empty packet may still say whose it is. */
	if (s->packet && s->used == sizeof *s->packet)
		s->packet->tid = tid;
}

int af_stream_close(struct af_stream *s)
{
	if (s->ring) {
		stream_finish_packet(s);
		atomic_store_explicit(&s->ring->closed, 1, memory_order_release);
		munmap(s->ring, AF_RING_BYTES);
	} else if (s->packet) {
		stream_finish_packet(s);
		munmap(s->packet, AF_SLOT_BYTES);
		if (close(s->fd) && !s->error)
			s->error = -errno;
	}
	int rc = s->error;
	*s = (struct af_stream){.fd = -1};
	return rc;
}

bool af_stream_put_tail(struct af_stream *s, enum af_kind kind, uint64_t time_ns, const void *fixed,
                        size_t fixed_size, const struct af_tail *tail, unsigned nr_tail)
{
	size_t payload = fixed_size;

	for (unsigned i = 0; i < nr_tail; i++)
		payload += tail[i].len + (tail[i].element ? 4 : 1);

	char *p = af_stream_begin(s, kind, time_ns, payload);
	if (!p)
		return false;
	memcpy(p, fixed, fixed_size);
	p += fixed_size;
	for (unsigned i = 0; i < nr_tail; i++) {
		if (tail[i].element) {
			uint32_t count = tail[i].len / tail[i].element;
			memcpy(p, &count, 4);
			p += 4;
		}
		memcpy(p, tail[i].data, tail[i].len);
		p += tail[i].len;
		if (!tail[i].element)
			*p++ = 0;
	}
	af_stream_end(s);
	return true;
}
