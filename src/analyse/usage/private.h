/* Between the files of this room: calls of APIs, and what is known of how they are used. */
#ifndef AF_ANALYSE_USAGE_PRIVATE_H
#define AF_ANALYSE_USAGE_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/usage/usage.h"
#include "base/keys.h"
#include "base/map.h"

struct af_call;
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
	USAGE_MPI_WAIT,
	USAGE_MAPPING, /* they copy what OpenMP maps */
	/* OpenMP's on the host: */
	USAGE_REGION,   /* a parallel region of OpenMP */
	USAGE_TASK,     /* a thread's part of one */
	USAGE_BARRIER,  /* a thread's wait in one */
	USAGE_TASK_NEW, /* a task of OpenMP is made */
	USAGE_TASK_WAIT /* a thread waits for all tasks that it made */
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
	struct usage_value region, inside; /* of OpenMP: its place, and the time in it */
	struct usage_value flags;          /* of a task */
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

/* Calls of one use: of a thread, function and path; of messages also to one peer,
 * of mappings of one address of the host, by a hash, of waits in one region, by its index. */
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
	struct usage_loop *loops; /* that go on */
	uint32_t nr_loops, cap_loops;
	uint64_t works;    /* pieces of device work since its last wait */
	uint64_t messages; /* that it sent */
	uint64_t tasks;    /* target tasks that it made since its last wait for them */
	/*
	 * In a part of the trace these are false until the thread has waited, so that all of its
	 * works are known, and until it has made another call than queries. The part keeps the
	 * queries before that.
	 */
	bool has_waited, has_called, has_waited_tasks;
	struct usage_loop *first_loops;
	uint32_t nr_first_loops;
};

/* A wait; those that depend on what came before a part of the trace are kept until it is known. */
struct usage_wait {
	uint32_t thread, function, path;
	uint64_t ns, bytes, works, handle;
	bool needless, by_queue; /* or by an event */
	bool of_tasks;           /* works are target tasks */
	bool has_works;          /* works are all since the thread's last wait */
	uint8_t depends;         /* bits USAGE_ON_…: whether it is needless */
};

enum {
	USAGE_ON_ALL = 1,   /* on the last wait for all queues */
	USAGE_ON_QUEUE = 2, /* on what its queue was when the part began */
	USAGE_ON_WORK = 4   /* on whether there was any work on it */
};

/*
 * The count of a process when the trace begins, and when a part of it begins, of which is not known
 * how many came before.
 */
#define USAGE_FIRST_COUNT 1ull
#define USAGE_PART_COUNT (1ull << 62)

/* A queue or an event: numbers are of the process's count, 0 for never (in the part). */
struct usage_queue {
	uint64_t work, waited; /* the last work on it; all work up to this was waited for */
	bool in_order;         /* of OpenCL: a blocking copy on it waits for all before it */
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
	bool in_part;                     /* of one of several parts of the trace */
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
	/* Parallel regions; path: of one that has ended, or 0. */
	struct usage_region {
		uint64_t place;
		uint32_t process, path;
	} * regions;
	uint32_t nr_regions, cap_regions;
	struct af_keys by_region;
	struct af_map by_process, by_thread;
	struct af_keys by_sum;
	uint32_t near_sums[1 << USAGE_NEAR_BITS]; /* by a hash: index plus 1 */
	struct usage_sum *sums;
	uint32_t nr_sums, cap_sums;
	struct usage_wait *waits; /* that are kept */
	uint32_t nr_waits, cap_waits;
};

static inline struct usage_process *usage_process_of(const struct usage *u, uint32_t thread)
{
	return &u->processes[u->threads[thread].process];
}

/* The part of the function @is; @kind: of its events, if from AF_KIND_API on, else 0. */
void usage_function_learn(struct usage_function *f, const struct af_function *is, uint16_t kind);

/* The value at @v of the event @ev; 0 where there is none. _has: is there one? */
uint64_t usage_value(const struct af_event *ev, struct usage_value v);
bool usage_has(const struct af_event *ev, struct usage_value v);

/* sums.c: a thread or a process, by index; a sum to add to, which is valid until the next call. */
uint32_t usage_process_find(struct usage *u, uint32_t ordinal);
uint32_t usage_thread_find(struct usage *u, uint32_t process, uint32_t tid);
struct usage_sum *usage_sum_of(struct usage *u, const struct usage_sum *like);

/* Add a call. In a part of the trace all calls are kept one by one, as the whole needs them. */
void usage_moments_add(struct usage_moments *m, uint64_t start_ns, uint64_t ns, bool in_part);

/* uses.c: a call of a function whose part is known, and that worked and is in the time range. */
struct usage_call {
	struct usage *u;
	const struct af_call *is;
	const struct af_event *ev;
	const struct usage_function *f;
	uint32_t thread;
	uint64_t ns;
};
void usage_call_counts(const struct usage_call *c);

/* Add a wait of which all is known. */
void usage_wait_add(struct usage *u, const struct usage_wait *wait);

/* Add queries to the thread's loops that go on, if there is room; end these. */
void usage_loop_add(const struct usage *u, struct usage_thread *t, const struct usage_loop *more);
void usage_loops_end(struct usage *u, uint32_t thread);

/* queues.c: a queue is defined; a call put work on a queue. */
void usage_queues_event(struct usage *u, struct usage_process *p, const struct af_event *ev);
void usage_queues_named(struct usage *u, struct usage_process *p, const struct usage_function *f,
                        const struct af_event *ev);
static inline void usage_queues_work(struct usage *u, struct usage_process *p,
                                     const struct usage_function *f, const struct af_event *ev)
{
	p->count++;
	if (f->event.bytes || f->queue.bytes)
		usage_queues_named(u, p, f, ev);
	else
		p->unknown = p->count;
}

/*
 * A call waited: had it nothing to wait for? It sets `needless`, `depends`, `by_queue` and `handle`
 * of @wait. _decide: what they depend on is known now, that is @p when the part began.
 */
void usage_queues_wait(struct usage *u, struct usage_process *p, const struct usage_function *f,
                       const struct af_event *ev, struct usage_wait *wait);
void usage_queues_decide(const struct usage *u, const struct usage_process *p,
                         struct usage_wait *wait);

/* Add the part's process @of, of @from, behind @p. */
void usage_queues_merge(struct usage *u, struct usage_process *p, const struct usage *from,
                        const struct usage_process *of);

/* openmp.c: a region by its place in a process of that ordinal; a call, from USAGE_REGION on. */
uint32_t usage_region_find(struct usage *u, uint32_t process, uint64_t place);
void usage_openmp_call(const struct usage_call *c);

/* Is it none of the program's? */
bool usage_region_is_runtimes(const struct usage *u, const struct af_world *w, uint32_t region);

/* The name for people, in @text: "scale:17 parallel region". */
const char *usage_region_name(const struct usage *u, const struct af_world *w, uint32_t region,
                              char *text, size_t size);

/* host_memory.c: an event of MEMORY; does @address lie in pinned or managed memory? */
void usage_memory(struct usage_process *p, const struct af_event *ev);
bool usage_is_pinned(const struct usage_process *p, uint64_t address);

/* merge.c: as struct af_pass_ops has it. */
bool usage_merge(void *self, const struct af_world *w, const void *from);

/* table.c */
void usage_table(const struct usage *u, const struct af_world *w, struct af_results *out);

#endif
