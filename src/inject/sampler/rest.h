/*
 * The rest: CPU time of a thread after its last sample. A thread that ends sooner than its first
 * sample is nothing but rest, and where a program is made of such threads or processes, all of it
 * is. As it ends it writes one sample of what is left, beneath the function that it was made for
 * and a mark for the frames that nobody saw (AF_LEFT_OUT).
 *
 * Only where samples are made in here, by the thread's own clock: what the recorder samples from
 * outside is not known to us. A rest of more than a few periods is none: samples were lost, and to
 * fill that in would hide it.
 */
#ifndef AF_INJECT_SAMPLER_REST_H
#define AF_INJECT_SAMPLER_REST_H

#include <stdbool.h>
#include <stdint.h>

struct af_regs;
struct af_thread;

/* Does the end of a thread matter? Then it is to say af_rest_thread_begins(). */
bool af_rest_is_wanted(void);

/* The calling thread was made for @run. */
void af_rest_thread_begins(void (*run)(void));

/* A forked child begins, or a program: @exec when the process may have run another before. */
void af_rest_process_begins(bool exec);

/* In the sampling handler: @weight_ns of the thread's time have a sample. */
void af_rest_sampled(uint64_t weight_ns);

/*
 * The calling thread, whose context is @t and entered, ends. @regs: of the caller of a destructor
 * of the thread, or NULL when its process ends.
 */
void af_rest_write(struct af_thread *t, const struct af_regs *regs);

/* The process is about to become another program, which is told what was written of this one. */
void af_rest_before_exec(void);

#endif
