/*
 * Stacks of our own. A sample needs about 10 KiB, and the interrupted code may have less: a thread
 * of 16 KiB, a coroutine of 8 KiB with a neighbour beneath. So the handler switches to a stack that
 * its thread has for that, and takes a few hundred bytes of the program's.
 */
#ifndef AF_INJECT_SAMPLER_STACK_H
#define AF_INJECT_SAMPLER_STACK_H

#include <stdbool.h>

/*
 * Call @run with @arg on the calling thread's own stack, made or taken from the pool at its first
 * call; a thread that is on that stack already stays there. 0, or @run was not called: -ENOMEM,
 * there is no stack; -EBUSY, another thread is on it, or just entering or leaving it (a bare
 * clone() shares thread-local data). In handlers, too.
 */
int af_stack_run(void (*run)(void *arg), void *arg);

/* The calling thread ends: it gives its stack back, now and after each later call. */
void af_stack_thread_ends(void);

/* All stacks but the calling thread's are free; in a forked child. */
void af_stack_after_fork(void);

#endif
