/*
 * CPU time that processes and threads used, each without the others. The time of a process comes
 * from its CPU clocks: exact to the nanosecond, readable by any user, and there after its end until
 * somebody waits for it. The time of its threads, and of the children that it waited for, comes
 * from /proc, in ticks of 10 ms.
 */
#ifndef AF_BASE_SYSTEM_USED_H
#define AF_BASE_SYSTEM_USED_H

#include <stdbool.h>
#include <stdint.h>

struct rusage;

struct af_used {
	uint64_t user_ns, kernel_ns;
};

/* A thread of a process that is polled now and then. */
struct af_used_thread {
	uint32_t tid;
	struct af_used used;
};
struct af_used_threads {
	struct af_used_thread *all;
	uint32_t nr, cap;
	uint64_t polled_ns; /* the process's CPU time at the last look */
};

/*
 * Sums over all CPUs since the machine started, in ticks: time that was used, and time that the
 * machine's own host took away (steal).
 */
struct af_used_machine {
	uint64_t busy, stolen;
};

/* All 0 when it is not known: proc(5), stat. */
struct af_used_machine af_used_by_machine(void);

/* The CPU time of process @pid without its children, also when it has ended. False: it is gone. */
bool af_used_read(int pid, struct af_used *used);

/* The CPU time of the children that process @pid waited for. False: not known. */
bool af_used_children(int pid, struct af_used *used);

/* The CPU time of a process and of the children that it waited for, from wait4(2). */
struct af_used af_used_of(const struct rusage *r);

/*
 * Reads the threads of @pid, which has used @cpu_ns by now. Does nothing when the process has one
 * thread or used little.
 */
void af_used_threads_poll(struct af_used_threads *t, int pid, uint64_t cpu_ns);

#endif
