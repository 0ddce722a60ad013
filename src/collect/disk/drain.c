#include "collect/disk/drain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/keys.h"
#include "base/map.h"
#include "base/scope.h"
#include "base/system/clock.h"
#include "base/system/fs.h"
#include "trace/layout.h"
#include "trace/packet_has.h"
#include "trace/read/files.h"

void af_drain_open(struct af_drain *d, int shm_fd, int dir_fd, const _Atomic uint64_t *nr_instances)
{
	*d = (struct af_drain){.shm_fd = shm_fd, .dir_fd = dir_fd, .nr_instances = nr_instances};
}

static void ring_unmap(struct af_drain_ring *r)
{
	af_file_unguard(r->watch);
	munmap(r->ring, AF_RING_BYTES);
}

void af_drain_close(struct af_drain *d)
{
	for (uint32_t i = 0; i < d->nr; i++)
		ring_unmap(&d->rings[i]);
	free(d->rings);
	*d = (struct af_drain){.shm_fd = -1, .dir_fd = -1};
}

uint64_t af_drain_file_resume(int fd, struct af_drain_ring *ring)
{
	struct af_packet p;
	off_t at = 0;
	uint64_t next_seq = 0;
	struct stat st;

	if (fstat(fd, &st))
		return 0;
	while (pread(fd, &p, sizeof p, at) == (ssize_t)sizeof p && p.magic == AF_PACKET_MAGIC &&
	       p.packet_bits / 8 >= sizeof p && at + (off_t)(p.packet_bits / 8) <= st.st_size) {
		at += (off_t)(p.packet_bits / 8);
		next_seq = p.seq + 1;
		if (ring) {
			ring->discarded = p.discarded;
			ring->last_ns = p.end_ns;
			ring->file_bytes = (uint64_t)at;
		}
	}
	return ftruncate(fd, at) ? 0 : next_seq;
}

/*
 * Is the ring made? Read, not mapped: of one whose maker finds no room the pages are not there, and
 * where there is no room a look at them is a SIGBUS.
 */
static bool ring_is_made(int fd)
{
	struct af_ring head;
	const size_t size = offsetof(struct af_ring, version) + sizeof head.version;

	ssize_t n = pread(fd, &head, size, 0);
	atomic_thread_fence(memory_order_acquire);
	return n == (ssize_t)size && head.magic == AF_RING_MAGIC &&
	       head.version == AF_TRACE_VERSION;
}

/* Its writer, and whoever else is the same user, may cut it while we read. */
static struct af_ring *ring_map(int shm_fd, const char *name, struct af_file_watch **watch)
{
	size_t size = AF_RING_BYTES;
	scope_close int fd = openat(shm_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || (size_t)st.st_size < size ||
	    !ring_is_made(fd))
		return NULL;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	*watch = af_file_guard(p, size, fd);
	return p;
}

static void drain_add(struct af_drain *d, const char *name)
{
	struct af_drain_ring r = {0};

	if (strlen(name) >= sizeof r.name)
		return;
	r.ring = ring_map(d->shm_fd, name, &r.watch);
	if (!r.ring)
		return;
	strcpy(r.name, name);
	char file[AF_SEGMENT_NAME];
	snprintf(file, sizeof file, "%s", name);
	if (d->segments) {
		r.stream = af_segments_stream(d->segments, name, r.ring->process);
		d->segments->streams[r.stream].ended = false;
		af_segments_name(d->segments, r.stream, file);
	}
	scope_close int fd = af_trace_file_change(d->dir_fd, file);
	if (fd >= 0)
		r.next_seq = af_drain_file_resume(fd, &r);
	AF_GROW(d->rings, d->nr, d->cap);
	d->rings[d->nr++] = r;
}

void af_drain_poll(struct af_drain *d)
{
	DIR *dir = af_dir_list(d->shm_fd);
	struct af_keys known = {0};

	if (!dir)
		return;
	for (uint32_t i = 0; i < d->nr; i++)
		af_keys_at(&known, AF_KEY_TEXT(d->rings[i].name), NULL);
	for (struct dirent *e; (e = readdir(dir));)
		if (e->d_name[0] == 's' && !af_keys_get(&known, AF_KEY_TEXT(e->d_name)))
			drain_add(d, e->d_name);
	af_keys_free(&known);
	closedir(dir);
}

/*
 * A process takes its number before it makes the ring, so a change is followed by a few looks. What
 * they miss is found when the process ends, or by who looks now and then.
 */
static bool may_be_new(struct af_drain *d)
{
	if (!d->nr_instances)
		return true;
	uint64_t now = atomic_load_explicit(d->nr_instances, memory_order_relaxed);
	if (now != d->looked_instances) {
		d->looked_instances = now;
		d->polls_left = 4;
	}
	if (!d->polls_left)
		return false;
	d->polls_left--;
	return true;
}

/*
 * Whole events in the first @size bytes; *@last_ns is the time of the last, *@has what they are.
 */
static uint32_t packet_check(const struct af_packet *p, uint32_t size, uint64_t *last_ns,
                             uint32_t *has)
{
	uint32_t at = sizeof *p;

	*last_ns = p->begin_ns;
	*has = 0;
	while (size - at >= sizeof(struct af_event_header)) {
		struct af_event_header h;
		memcpy(&h, (const char *)p + at, sizeof h);
		if (h.size < sizeof h || h.size > size - at)
			break;
		*last_ns = h.time_ns;
		*has |= af_kind_has(h.kind);
		at += h.size;
	}
	return at;
}

static const struct af_packet *ring_packet(const struct af_ring *ring, uint32_t slot)
{
	return (const void *)((const char *)ring + AF_RING_PAGE + (size_t)slot * AF_SLOT_BYTES);
}

/* Bytes up to the end of its last whole event, as its writer says. */
static uint32_t packet_content(const struct af_packet *p)
{
	uint64_t bits =
	    atomic_load_explicit((_Atomic uint64_t *)&p->content_bits, memory_order_acquire);

	return bits / 8 > AF_SLOT_BYTES ? AF_SLOT_BYTES : (uint32_t)(bits / 8);
}

/* The header of @p as it is to be on disk; its size, 0 when it is no packet. */
static uint32_t packet_head(const struct af_packet *p, struct af_packet *head)
{
	uint32_t size = packet_content(p);

	*head = *p;
	if (size < sizeof *head)
		return 0;
	size = packet_check(p, size, &head->end_ns, &head->has);
	if (head->end_ns < head->begin_ns)
		head->end_ns = head->begin_ns;
	head->content_bits = head->packet_bits = (uint64_t)size * 8;
	return size;
}

/*
 * The disk took no more than @size bytes of a packet. A torn one would hide all that follow, and to
 * cut it off may take room too, where files are copied on write: it becomes a packet of the events
 * that are whole, until it is written anew.
 */
static void packet_shorten(struct af_drain_ring *r, const struct af_packet *p,
                           struct af_packet head, uint32_t size, int fd)
{
	head.packet_bits = (uint64_t)size * 8;
	head.content_bits = (uint64_t)packet_check(p, size, &head.end_ns, &head.has) * 8;
	r->torn = true;
	/* Where that takes room as well (btrfs), readers take what is whole of it. */
	(void)!pwrite(fd, &head, sizeof head, (off_t)r->file_bytes);
}

static int packet_write(struct af_drain *d, struct af_drain_ring *r, const struct af_packet *p)
{
	struct af_packet head;
	uint32_t size = packet_head(p, &head);
	char name[AF_SEGMENT_NAME];

	if (!size)
		return 0;
	snprintf(name, sizeof name, "%s", r->name);
	if (d->segments)
		head.instance |=
		    af_segments_place(d->segments, r->stream, size, name, &r->file_bytes);

	struct iovec iov[2] = {{&head, sizeof head}, {(char *)p + sizeof head, size - sizeof head}};
	scope_close int fd =
	    openat(d->dir_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ssize_t n = pwritev(fd, iov, 2, (off_t)r->file_bytes);
	if (n == (ssize_t)size) {
		r->last_ns = head.end_ns;
		r->file_bytes += size;
		if (r->torn)
			r->torn = ftruncate(fd, (off_t)r->file_bytes) != 0;
		if (d->segments)
			af_segments_wrote(d->segments, r->stream, &head,
			                  (const char *)p + sizeof *p);
		d->packets++;
		d->bytes += size;
		return 0;
	}
	int rc = n < 0 ? -errno : -ENOSPC;
	if (n > (ssize_t)sizeof head)
		packet_shorten(r, p, head, (uint32_t)n, fd);
	else if (n > 0 && ftruncate(fd, (off_t)r->file_bytes))
		rc = -errno;
	return rc;
}

/* The slot in @state that holds packet @seq, or -1. */
static int ring_find(const struct af_drain_ring *r, uint64_t seq, bool open_too)
{
	uint32_t nr = atomic_load_explicit(&r->ring->nr_slots, memory_order_acquire);

	if (nr > AF_RING_SLOTS)
		nr = AF_RING_SLOTS;
	for (uint32_t i = 0; i < nr; i++) {
		uint8_t state = atomic_load_explicit(&r->ring->state[i], memory_order_acquire);
		if (state != AF_SLOT_FULL && !(open_too && state == AF_SLOT_OPEN))
			continue;
		const struct af_packet *p = ring_packet(r->ring, i);
		if (p->magic == AF_PACKET_MAGIC && p->seq == seq)
			return (int)i;
	}
	return -1;
}

static void drain_lose(struct af_drain *d, int rc)
{
	if (!d->error)
		d->error = rc;
	d->lost_packets++;
}

/* @last: the ring goes away, with what cannot be written now. */
static uint64_t ring_pump(struct af_drain *d, struct af_drain_ring *r, bool last)
{
	uint64_t moved = 0;

	for (int slot; (slot = ring_find(r, r->next_seq, last)) >= 0; moved++) {
		const struct af_packet *p = ring_packet(r->ring, (uint32_t)slot);
		int rc = packet_write(d, r, p);
		if (rc && !last)
			break;
		if (rc)
			drain_lose(d, rc);
		r->next_seq++;
		r->discarded = p->discarded;
		atomic_store_explicit(&r->ring->state[slot], AF_SLOT_FREE, memory_order_release);
		atomic_fetch_add_explicit(&r->ring->nr_freed, 1, memory_order_release);
	}
	return moved;
}

uint64_t af_drain_pump(struct af_drain *d)
{
	uint64_t moved = 0;

	if (may_be_new(d))
		af_drain_poll(d);
	for (uint32_t i = 0; i < d->nr; i++)
		moved += ring_pump(d, &d->rings[i], false);
	return moved;
}

uint64_t af_drain_held(const struct af_drain *d)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < d->nr; i++) {
		struct af_ring *ring = d->rings[i].ring;
		uint32_t nr = atomic_load_explicit(&ring->nr_slots, memory_order_acquire);
		for (uint32_t slot = 0; slot < nr && slot < AF_RING_SLOTS; slot++) {
			const struct af_packet *p = ring_packet(ring, slot);
			if (atomic_load_explicit(&ring->state[slot], memory_order_acquire) ==
			    AF_SLOT_FREE)
				continue;
			uint64_t size = packet_content(p);
			bytes += size > sizeof *p ? size : 0;
		}
	}
	return bytes;
}

/* Write a packet of @size bytes of events that the ring alone knows, behind the others. */
static void ring_append(struct af_drain *d, struct af_drain_ring *r, struct af_ring_last *last,
                        size_t size)
{
	uint64_t discarded = atomic_load(&r->ring->discarded), now = af_clock_ns(CLOCK_MONOTONIC);

	last->packet = (struct af_packet){
	    .magic = AF_PACKET_MAGIC,
	    .instance = r->ring->instance,
	    .content_bits = (sizeof last->packet + size) * 8,
	    .begin_ns = size ? last->ns : r->last_ns,
	    .end_ns = size ? now : r->last_ns,
	    .discarded = discarded > r->discarded ? discarded : r->discarded,
	    .seq = r->next_seq,
	    .process = r->ring->process,
	    .pid = r->ring->pid,
	    .tid = size ? r->ring->open.tid : r->ring->pid,
	};
	int rc = packet_write(d, r, &last->packet);
	if (rc)
		drain_lose(d, rc);
	r->next_seq++;
	r->discarded = last->packet.discarded;
}

/*
 * Before the ring is gone: events that were dropped after the last packet was opened, calls that
 * have not returned, and sums.
 */
static void ring_last_word(struct af_drain *d, struct af_drain_ring *r)
{
	struct af_ring_last last = {.ns = af_clock_ns(CLOCK_MONOTONIC)};
	uint32_t sum = 0;
	size_t size = af_open_calls_write(r->ring, last.ns, last.events);

	size +=
	    af_sums_write(r->ring, &sum, last.ns, last.events + size, sizeof last.events - size);
	if (size || atomic_load(&r->ring->discarded) > r->discarded)
		ring_append(d, r, &last, size);
	while (sum < AF_SUMS) {
		size = af_sums_write(r->ring, &sum, last.ns, last.events, sizeof last.events);
		if (size)
			ring_append(d, r, &last, size);
	}
}

void af_drain_finish(struct af_drain *d, uint32_t process)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < d->nr; i++) {
		struct af_drain_ring *r = &d->rings[i];
		if (process && r->ring->process != process) {
			d->rings[kept++] = *r;
			continue;
		}
		ring_pump(d, r, true);
		ring_last_word(d, r);
		if (d->segments)
			af_segments_end(d->segments, r->stream);
		unlinkat(d->shm_fd, r->name, 0);
		d->nr_cut += af_file_guard_is_cut(r->watch);
		ring_unmap(r);
	}
	d->nr = kept;
}

/* The packet that is being filled; a copy, as it may be filled further and reused meanwhile. */
static void rest_take(const struct af_drain_ring *r, uint64_t instance_bits,
                      struct af_drain_rest *rest)
{
	int slot = ring_find(r, r->next_seq, true);

	if (slot < 0)
		return;
	const struct af_packet *p = ring_packet(r->ring, (uint32_t)slot);
	struct af_packet head;
	uint32_t size = packet_head(p, &head);
	if (!size || head.seq != r->next_seq)
		return;
	head.instance |= instance_bits;
	rest->packet = af_xrealloc(NULL, size);
	rest->size = size;
	memcpy(rest->packet, &head, sizeof head);
	memcpy(rest->packet + sizeof head, p + 1, size - sizeof head);
}

uint32_t af_drain_rests(struct af_drain *d, struct af_drain_rest **rests)
{
	*rests = af_xcalloc(d->nr + 1, sizeof **rests);
	for (uint32_t i = 0; i < d->nr; i++) {
		struct af_drain_rest *rest = &(*rests)[i];
		const struct af_drain_ring *r = &d->rings[i];
		uint64_t instance_bits = 0;
		snprintf(rest->name, sizeof rest->name, "%s", r->name);
		if (d->segments)
			instance_bits = af_segments_name(d->segments, r->stream, rest->name);
		rest->file_bytes = r->file_bytes;
		rest_take(r, instance_bits, rest);
	}
	return d->nr;
}

void af_drain_rests_free(struct af_drain_rest *rests, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		free(rests[i].packet);
	free(rests);
}

static int rest_put(int dir_fd, struct af_drain_ring *r)
{
	struct af_drain_rest rest = {0};
	scope_close int fd =
	    openat(dir_fd, r->name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	rest_take(r, 0, &rest);
	r->torn = true;
	ssize_t n = pwrite(fd, rest.packet, rest.size, (off_t)r->file_bytes);
	int rc = n < 0 ? -errno : n != (ssize_t)rest.size ? -ENOSPC : 0;
	free(rest.packet);
	if (!rc && ftruncate(fd, (off_t)(r->file_bytes + rest.size)))
		rc = -errno;
	return rc;
}

int af_drain_put_rests(struct af_drain *d)
{
	int rc = 0;

	for (uint32_t i = 0; i < d->nr; i++) {
		int one = rest_put(d->dir_fd, &d->rings[i]);
		rc = rc ? rc : one;
	}
	return rc;
}
