/* Between the files of this room: calls of APIs, and what is known of how they are used. */
#ifndef AF_ANALYSE_USAGE_PRIVATE_H
#define AF_ANALYSE_USAGE_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/usage/usage.h"
#include "base/keys.h"
#include "base/map.h"

struct af_event;
struct af_function;
struct af_results;
struct af_world;

/* The part that calls of a function have in this. */
enum usage_role {
	USAGE_OTHER,   /* they end a loop of queries, as all but queries do */
	USAGE_RUNTIME, /* they are made of calls of another API */
	USAGE_WORK,    /* they put work on a queue */
	USAGE_COPY,    /* likewise, and read or write memory of the host */
	USAGE_WAIT,    /* they wait for a queue, an event or all queues */
	USAGE_QUERY,
	USAGE_MEMORY, /* they allocate or free, without a queue */
	USAGE_LOAD,
	USAGE_MESSAGE,
	USAGE_MPI_WAIT
};

/* Where a value is in the payload of a call; of no bytes: nowhere. */
struct usage_value {
	uint16_t at;
	uint8_t bytes;
};

/* A function of the world. */
struct usage_function {
	bool is_known;
	uint8_t role;        /* enum usage_role */
	bool is_async;       /* of a copy: it need not wait */
	bool is_device_work; /* a kernel, a copy, a fill or a graph */
	bool waits_for_all;  /* of a wait: for all queues of the process */
	/* The queue that it puts work on or waits for; the event that it records or waits for. */
	struct usage_value queue, event;
	struct usage_value host, blocking, bytes, peer;
};

/* Calls from @start_ns on. */
struct usage_moment {
	uint64_t start_ns, time_ns, calls;
};

/* Moments in order of time; of very many calls several lie in one. */
struct usage_moments {
	struct usage_moment *all;
	uint32_t nr, cap;
	uint64_t stride; /* calls in one; 0 is 1 */
};

/* Calls of one use: of a thread, function and path; of messages also to one peer. */
struct usage_sum {
	enum af_usage_kind kind;
	uint32_t thread, function, path, peer;
	uint64_t calls, of_calls, time_ns, bytes, loops, lasted_ns;
	struct usage_moments moments; /* of kinds that count in the steady part alone */
};

/* Queries in a row, of one function. */
struct usage_loop {
	uint32_t function, path;
	uint64_t calls, time_ns, start_ns, end_ns;
};

enum { USAGE_LOOPS = 4, USAGE_NEAR_BITS = 11 };

struct usage_thread {
	uint32_t process; /* index of usage.processes */
	uint32_t ordinal, tid;
	struct usage_loop loops[USAGE_LOOPS]; /* that go on */
	uint32_t nr_loops;
	uint64_t works;    /* pieces of device work since its last wait */
	uint64_t messages; /* that it sent */
};

/* Does a blocking copy on a queue of OpenCL wait for all before it? */
enum usage_order { USAGE_ORDER_UNKNOWN, USAGE_IN_ORDER, USAGE_NO_ORDER };

/* A queue or an event: numbers are of the process's count, 0 for never. */
struct usage_queue {
	uint64_t work, waited; /* the last work on it; all work up to this was waited for */
	enum usage_order order;
};

struct usage_process {
	uint32_t ordinal;
	uint64_t count;       /* of calls that put work on any queue */
	uint64_t unknown;     /* the last of those on a queue that is not known */
	uint64_t waited;      /* all work up to this was waited for */
	bool has_waited;      /* there was a wait for all */
	struct af_map queues; /* handle → index of usage.queues */
	struct usage_host_range {
		uint64_t address, bytes;
	} * ranges; /* of pinned and managed memory, by address */
	uint32_t nr_ranges, cap_ranges;
	bool has_memory; /* its MEMORY events are in the trace */
};

struct usage {
	struct usage_function *functions; /* by function of the world */
	uint32_t cap_functions;
	struct usage_thread *threads;
	struct usage_process *processes;
	struct usage_queue *queues;
	uint32_t nr_threads, cap_threads, nr_processes, cap_processes, nr_queues, cap_queues;
	struct usage_stream {
		uint32_t process, tid, thread; /* thread: index plus 1 */
	} * streams;
	uint32_t cap_streams;
	struct af_map by_process, by_thread;
	struct af_keys by_sum;
	uint32_t near_sums[1 << USAGE_NEAR_BITS]; /* by a hash: index plus 1 */
	struct usage_sum *sums;
	uint32_t nr_sums, cap_sums;
};

/* The part of the function @is; @kind: of its events, if from AF_KIND_API on, else 0. */
void usage_function_learn(struct usage_function *f, const struct af_function *is, uint16_t kind);

/* The value at @v of the event @ev; 0 where there is none. _has: is there one? */
uint64_t usage_value(const struct af_event *ev, struct usage_value v);
bool usage_has(const struct af_event *ev, struct usage_value v);

/* queues.c: a call put work on a queue; a call waited: had it nothing to wait for? */
void usage_queues_named(struct usage *u, const struct af_world *w, struct usage_process *p,
                        const struct usage_function *f, const struct af_event *ev);
static inline void usage_queues_work(struct usage *u, const struct af_world *w,
                                     struct usage_process *p, const struct usage_function *f,
                                     const struct af_event *ev)
{
	p->count++;
	if (f->event.bytes || f->queue.bytes)
		usage_queues_named(u, w, p, f, ev);
	else
		p->unknown = p->count;
}
bool usage_queues_wait(struct usage *u, struct usage_process *p, const struct usage_function *f,
                       const struct af_event *ev);

/* host_memory.c: an event of MEMORY; does @address lie in pinned or managed memory? */
void usage_memory(struct usage_process *p, const struct af_event *ev);
bool usage_is_pinned(const struct usage_process *p, uint64_t address);

/* table.c */
void usage_table(const struct usage *u, const struct af_world *w, struct af_results *out);

#endif
