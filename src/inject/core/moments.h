/*
 * The samplers' hooks: functions to call at certain moments in the life of a process and of its
 * threads. Code that keeps contexts, streams and definitions calls them without knowing the
 * samplers; begin.c sets them before recording starts.
 */
#ifndef AF_INJECT_CORE_MOMENTS_H
#define AF_INJECT_CORE_MOMENTS_H

#include <stdbool.h>

struct af_regs;
struct af_thread_context;

struct af_moments {
	/* Once, when the session is there and before anything of the process has been written. */
	void (*starts)(void);

	/* In a forked child, while the parent's state is dropped. */
	void (*forked)(void);

	/*
	 * The process has a number in the trace, after a start or a fork: called before its first
	 * event (@exec: it may have run another program before), and after it.
	 */
	void (*process_begins)(bool exec);
	void (*process_begun)(void);

	/* The process ends, or is about to run another program: write what was only counted. */
	void (*flush)(void);

	/* No more recording, not even by a system call: see af_inject_forbidden(). */
	void (*forbidden)(void);

	/*
	 * The calling thread ends: call @leave with @arg where there is room on a stack for it. 0,
	 * or an error and @leave was not called. @leave passes the thread's entered context to
	 * @thread_ends, with the registers of the caller of the thread's destructor; @thread_over
	 * comes last.
	 */
	int (*run)(void (*leave)(void *arg), void *arg);
	void (*thread_ends)(struct af_thread_context *t, const struct af_regs *regs);
	void (*thread_over)(void);
};

/* Call it before af_inject_start(). Without it nothing is sampled. */
void af_moments_set(const struct af_moments *moments);

/* The table that was set; before that one without functions. Never NULL. */
const struct af_moments *af_moments(void);

/* One of them, or @none where it is NULL: nothing to do. */
#define AF_MOMENT(function, none, ...)                                                             \
	(af_moments()->function ? af_moments()->function(__VA_ARGS__) : (none))

#endif
