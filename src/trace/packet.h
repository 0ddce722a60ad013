/*
 * The packet: the unit of a stream, in shared memory and on disk. It is a CTF 1.8 packet header and
 * context (CTF specification 1.8.3, sections 5 and 6), so a file of packets beside the metadata is
 * a stream that babeltrace2 reads.
 *
 * A packet is valid at every moment: the writer fills the header before it publishes the packet,
 * and content_bits grows by one store after each whole event. Sizes are in bits, as CTF wants.
 *
 * A shared-memory stream file is one page of struct af_ring, then slots of one packet each. One
 * thread of the target writes and the recorder drains, without a lock: the slot's state tells which
 * of the two may touch it. Packets are ordered by their sequence number, not by their slot.
 */
#ifndef AF_TRACE_PACKET_H
#define AF_TRACE_PACKET_H

#include <stdatomic.h>
#include <stdint.h>

#define AF_PACKET_MAGIC 0xC1FC1FC1u
#define AF_RING_MAGIC 0x31676e6972666100ull /* "\0afring1" */

enum {
	AF_SLOT_BYTES = 64 << 10, /* one packet in memory */
	AF_RING_SLOTS = 256,      /* most slots of a ring: 16 MiB */
	AF_RING_SLOTS_FIRST = 2,  /* slots a ring starts with; it grows when the drain lags */
	AF_RING_SLOTS_FIXED = 16, /* slots of a ring that cannot grow (Linux before 5.14) */
	AF_RING_PAGE = 4096,
	AF_RING_SUMS_AT = AF_RING_PAGE + AF_RING_SLOTS * AF_SLOT_BYTES,
	AF_RING_SUMS_BYTES = 192 << 10,
	AF_RING_BYTES = AF_RING_SUMS_AT + AF_RING_SUMS_BYTES, /* of address space */
};

struct af_packet {
	uint32_t magic;
	uint32_t stream_id;   /* CTF stream class: always 0 */
	uint64_t instance;    /* which stream of the trace */
	uint64_t packet_bits; /* in memory the slot; on disk the content */
	uint64_t content_bits;
	uint64_t begin_ns;
	uint64_t end_ns;    /* written when the packet closes; the drain sets it for an open one */
	uint64_t discarded; /* events lost in this stream so far, counting up */
	uint64_t seq;       /* from 0 in each stream, no gaps */
	uint32_t process;   /* ordinal of the process in the trace, from 1; 0 is the recorder */
	uint32_t pid;
	uint32_t tid;
	uint32_t has; /* bits AF_HAS_…, written when it comes to disk; 0: nobody knows */
};                    /* every member lies where its size wants it: no padding */

_Static_assert(sizeof(struct af_packet) == 80, "the packet header is 80 bytes on disk");

enum af_slot_state {
	AF_SLOT_FREE = 0, /* the writer may take it */
	AF_SLOT_OPEN = 1, /* the writer is filling it */
	AF_SLOT_FULL = 2, /* the drain may take it */
};

/*
 * Calls of traced APIs that a thread is inside of, outermost first. One that waits has its
 * arguments, as the wrapper's C types lie in memory.
 */
enum { AF_OPEN_CALLS = 8, AF_OPEN_ARGS = 12 };

struct af_open_call {
	uint16_t kind, nr_args;
	uint32_t pad;
	uint64_t begin_ns;
	uint64_t args[AF_OPEN_ARGS];
};

struct af_open_calls {
	_Atomic uint32_t depth; /* may be more than there are places */
	uint32_t tid;
	struct af_open_call calls[AF_OPEN_CALLS];
};

/*
 * Sums of what one thread did, behind the slots of its ring: touched only where nothing but sums is
 * recorded. A place belongs to a key once it is set; the recorder reads when the thread is gone.
 */
enum { AF_SUM_BINS = 40, AF_SUM_WORK = 1u << 31 };

struct af_sum {
	uint32_t key; /* the kind of the calls, or AF_SUM_WORK | descriptor; 0: free */
	uint32_t pad;
	uint64_t count, failed, time_ns, min_ns, max_ns, bytes;
	uint32_t times[AF_SUM_BINS]; /* by the logarithm to base 2, the last has all that is more */
	uint32_t sizes[AF_SUM_BINS];
};

enum { AF_SUMS = AF_RING_SUMS_BYTES / sizeof(struct af_sum) };

struct af_ring {
	uint64_t magic;
	uint32_t version; /* AF_TRACE_VERSION */
	uint32_t process;
	uint32_t pid;
	_Atomic uint32_t nr_slots; /* slots that exist so far; only the writer adds */
	uint64_t instance;
	_Atomic uint64_t discarded; /* as in the packet, but current */
	_Atomic uint32_t closed;    /* the writer is done for good */
	_Atomic uint32_t nr_freed;  /* by the drain: grows with each slot that becomes free */
	_Atomic uint32_t has_sums;  /* the sums behind the slots are there */
	_Atomic uint8_t state[AF_RING_SLOTS]; /* enum af_slot_state */
	struct af_open_calls open;
};

_Static_assert(sizeof(struct af_ring) <= AF_RING_PAGE, "the ring's head is one page");

#endif
