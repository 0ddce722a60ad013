/*
 * The rest: CPU time of a thread after its last sample. A thread that ends before its first sample
 * is nothing but rest; where a program consists of such threads or processes, so is all of its
 * time. When a thread ends, it writes one sample for its rest, beneath the function that it was
 * made for and a mark for the frames that nobody saw (AF_LEFT_OUT).
 *
 * Only where samples are made in the process, by the thread's own clock: samples that the recorder
 * takes from outside are not known here. A rest of more than a few periods is not written: samples
 * were lost then, and filling them in would hide it.
 */
#ifndef AF_INJECT_SAMPLER_REST_H
#define AF_INJECT_SAMPLER_REST_H

#include <stdbool.h>
#include <stdint.h>

struct af_regs;
struct af_thread_context;

/* Is the rest written? Then a thread that begins must call af_rest_thread_begins(). */
bool af_rest_is_wanted(void);

/* The calling thread was made to run @run. */
void af_rest_thread_begins(void (*run)(void));

/* A forked child begins, or a program: @exec when the process may have run another before. */
void af_rest_process_begins(bool exec);

/* Samples of the calling thread count from now on: what it used before is no rest. */
void af_rest_begins(void);

/* In the sampling handler: @weight_ns of the thread's time have a sample now. */
void af_rest_sampled(uint64_t weight_ns);

/*
 * The calling thread, whose context is @t and entered, ends. @regs: of the caller of a destructor
 * of the thread, or NULL when its process ends.
 */
void af_rest_write(struct af_thread_context *t, const struct af_regs *regs);

/*
 * The process is about to run another program: leave it the CPU time that was written of this one.
 */
void af_rest_before_exec(void);

#endif
