/*
 * CPU time that processes and threads used, each of itself alone. What a process used is read off
 * its CPU clocks, exact to the nanosecond, which any user may read, and which a process that has
 * ended still has until it was waited for; what its threads used, and the children that it waited
 * for, from /proc, in ticks of 10 ms.
 */
#ifndef AF_BASE_SYSTEM_USED_H
#define AF_BASE_SYSTEM_USED_H

#include <stdbool.h>
#include <stdint.h>

struct rusage;

struct af_used {
	uint64_t user_ns, kernel_ns;
};

/* A thread of a process that somebody looks at now and then. */
struct af_used_thread {
	uint32_t tid;
	struct af_used used;
};
struct af_used_threads {
	struct af_used_thread *all;
	uint32_t nr, cap;
	uint64_t looked_at_ns; /* what the process had used by then */
};

/* Of all CPUs since the machine started, in ticks: time that was used, and time that the machine's
 * own host took from it meanwhile. */
struct af_used_machine {
	uint64_t busy, stolen;
};

/* All 0 where it is not known: proc(5), stat. */
struct af_used_machine af_used_by_machine(void);

/* What process @pid used, without its children; also where it has ended. False: it is gone. */
bool af_used_read(int pid, struct af_used *used);

/* What the children used that process @pid waited for; false: not known. */
bool af_used_children(int pid, struct af_used *used);

/* Both of it and the children that it waited for, as wait4(2) says it. */
struct af_used af_used_of(const struct rusage *r);

/* Look at the threads of @pid, which has used @cpu_ns, unless it has but one or did little. */
void af_used_threads_look(struct af_used_threads *t, int pid, uint64_t cpu_ns);

#endif
