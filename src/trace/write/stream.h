/*
 * The writer: one stream, one thread. Calls in order:
 *
 *	af_stream_open_ring() or af_stream_open_file()
 *	{ af_stream_owner() when another thread takes over }
 *	{ p = af_stream_begin(); fill p; af_stream_end(); }*
 *	af_stream_close()
 *
 * begin/end must not nest, not even from a signal handler of the same thread: the caller prevents
 * that (inject/core/thread.h). No call allocates from the heap or takes a lock, so all are safe in
 * a signal handler. libc only.
 */
#ifndef AF_TRACE_WRITE_STREAM_H
#define AF_TRACE_WRITE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/layout.h"
#include "trace/packet.h"

struct af_err;

struct af_stream {
	struct af_packet *packet; /* the one being filled, NULL when none could be had */
	uint32_t used;            /* bytes of it up to the last whole event */
	uint32_t reserved;        /* bytes the event being written will end at */
	uint32_t capacity;        /* bytes of the packet, 0 when there is none */
	uint32_t slot;            /* number of its slot in the ring */
	uint32_t nr_freed;        /* of the ring, when it was last searched for a slot */
	bool full;                /* there was no slot for the last event */
	uint64_t last_ns;         /* time of the last event: times never go back in a stream */
	uint64_t discarded;
	uint64_t seq;
	uint64_t instance;
	uint32_t process, pid, tid;
	int fd;               /* file stream: where packets go; -1 for a ring */
	int error;            /* file stream: the first -errno that writing gave */
	struct af_ring *ring; /* NULL for a file stream */
};

/*
 * Now, on the trace's clock: CLOCK_MONOTONIC of the recorder's time namespace (time_namespaces(7)).
 * _ahead: in this process that clock shows @ahead_ns more; for the process's only thread.
 */
uint64_t af_now_ns(void);
void af_now_ahead(int64_t ahead_ns);

/*
 * A stream in shared memory: makes @path (mode 0600, must not exist), reserves its first slots and
 * maps it. The descriptor is not kept. -ENOSPC when the file system has no room: touching a page
 * that could not be reserved would raise SIGBUS in the target. -EFBIG under a limit of file sizes.
 */
int af_stream_open_ring(struct af_stream *s, const char *path, uint64_t instance, uint32_t process,
                        uint32_t pid, uint32_t tid);

/* The same of @name in the directory @dir_fd. */
int af_stream_open_ring_at(struct af_stream *s, int dir_fd, const char *name, uint64_t instance,
                           uint32_t process, uint32_t pid, uint32_t tid);

/* A stream written straight to a file of the trace; takes ownership of @fd. For the recorder. */
int af_stream_open_file(struct af_stream *s, int fd, uint64_t instance, uint32_t process);

/*
 * Another thread takes the stream over. It must write a THREAD event first; the events after that
 * in the packet are its own. (Closing the packet instead would let a few dozen threads that live
 * for microseconds fill the ring with almost empty packets.)
 */
void af_stream_owner(struct af_stream *s, uint32_t tid);

/* Close the current packet: of a file stream it is written, of a ring it may be drained. */
void af_stream_flush(struct af_stream *s);

/*
 * Close the stream. A ring's file can be removed once it is drained; a file stream returns the
 * first error of writing.
 */
int af_stream_close(struct af_stream *s);

/* Slow path of af_stream_begin: get a packet with room for @size. False: the event is counted. */
bool af_stream_next_packet(struct af_stream *s, uint32_t size, uint64_t time_ns);

/* Count @n events that could not be written. */
void af_stream_discard(struct af_stream *s, uint64_t n);

/* Does an event of @payload bytes go into the current packet? Without one, none does. */
static inline bool af_stream_has_room(const struct af_stream *s, size_t payload)
{
	return s->capacity - s->used >= sizeof(struct af_event_header) + payload;
}

/*
 * Start an event of @kind with @payload bytes after the header. Returns where the payload goes,
 * or NULL when there is no room (counted as discarded; then do not call end). A time older than
 * the stream's last event is raised to it.
 */
static inline void *af_stream_begin(struct af_stream *s, enum af_kind kind, uint64_t time_ns,
                                    size_t payload)
{
	size_t size = sizeof(struct af_event_header) + payload;

	if (__builtin_expect(!af_stream_has_room(s, payload), 0)) {
		if (size > AF_SLOT_BYTES - sizeof(struct af_packet) ||
		    !af_stream_next_packet(s, (uint32_t)size, time_ns)) {
			af_stream_discard(s, 1);
			return NULL;
		}
	}
	if (time_ns < s->last_ns)
		time_ns = s->last_ns;
	s->last_ns = time_ns;

	struct af_event_header *h = (void *)((char *)s->packet + s->used);
	__builtin_prefetch((char *)h + 512, 1); /* a packet's pages are cold: 9 % of a call */
	h->kind = (uint16_t)kind;
	h->size = (uint16_t)size;
	h->time_ns = time_ns;
	s->reserved = s->used + (uint32_t)size;
	return h + 1;
}

/* Before the end: the event has only @payload bytes after its header, fewer than it began with. */
static inline void af_stream_trim(struct af_stream *s, size_t payload)
{
	struct af_event_header *h = (void *)((char *)s->packet + s->used);

	h->size = (uint16_t)(sizeof *h + payload);
	s->reserved = s->used + h->size;
}

/* Publish the event by one store. From then on it survives the death of every process. */
static inline void af_stream_end(struct af_stream *s)
{
	s->used = s->reserved;
	atomic_store_explicit((_Atomic uint64_t *)&s->packet->content_bits, (uint64_t)s->used * 8,
	                      memory_order_release);
}

/* Write an event of fixed fields only. False when it was discarded. */
#define af_stream_put(s, KIND, time_ns, ...)                                                       \
	({                                                                                         \
		struct af_ev_##KIND ev_ = {__VA_ARGS__};                                           \
		void *at_ =                                                                        \
		    af_stream_begin((s), (enum af_kind)AF_KIND_OF_##KIND, (time_ns), sizeof ev_);  \
		if (at_) {                                                                         \
			__builtin_memcpy(at_, &ev_, sizeof ev_);                                   \
			af_stream_end(s);                                                          \
		}                                                                                  \
		at_ != NULL;                                                                       \
	})

/* AF_KIND_OF_sample and so on, for af_stream_put. */
enum {
#define AF_K(number, NAME, name, meaning) AF_KIND_OF_##name = number,
	AF_KINDS(AF_K)
#undef AF_K
};

/* The same with tail fields, in the order of the table. */
struct af_tail {
	const void *data;
	uint32_t len;     /* bytes, without a string's NUL */
	uint32_t element; /* 0: a STR; else a SEQ of elements of this size */
};

/*
 * Write an event of @fixed fields and @nr_tail tails. False when it was discarded, which is
 * counted.
 */
bool af_stream_put_tail(struct af_stream *s, enum af_kind kind, uint64_t time_ns, const void *fixed,
                        size_t fixed_size, const struct af_tail *tail, unsigned nr_tail);

#endif
