/*
 * What one thread of the target owns while it is recorded: a stream, an unwinder and the tables
 * that make repeated stacks cost an id. Contexts are pooled: a thread that ends gives its context,
 * warm, to the next one, so ten thousand short threads make a handful of streams.
 *
 *	struct af_thread *t = af_thread_enter();      NULL: not recording, or already inside
 *	uint32_t callpath = af_thread_callpath(t, &regs);
 *	af_stream_put(&t->stream, launch, af_now_ns(), …);
 *	af_thread_leave(t);
 *
 * A sample that hits between enter and leave is kept aside and written by leave, so the stream
 * never sees nested events and nothing is lost. Between them do not call into a runtime, take a
 * lock or allocate.
 */
#ifndef AF_INJECT_THREAD_H
#define AF_INJECT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/unwind.h"
#include "trace/stream.h"

struct af_thread {
	struct af_stream stream;
	/* private to thread.c from here on */
	struct af_thread_private *private_;
};

/* The calling thread's context, made or taken from the pool at its first event. Handler-safe. */
struct af_thread *af_thread_enter(void);
void af_thread_leave(struct af_thread *t);

/*
 * The id of the call path that leads to the caller of the hook: native stack, Python frames and
 * their definitions are written to the stream when new. @regs are those at the hook's entry
 * (AF_REGS_CALLER): pc is a return address.
 */
uint32_t af_thread_callpath(struct af_thread *t, const struct af_regs *regs);

/*
 * The registers of the caller of this function, from the entry of a hook. Use in a function that
 * is compiled with frame pointers (src/inject is): pc and sp after its return, fp as its caller
 * has it.
 */
#define AF_REGS_CALLER(regs)                                                                       \
	do {                                                                                       \
		const uint64_t *frame_ = __builtin_frame_address(0);                               \
		(regs)->pc = frame_[1];                                                            \
		(regs)->sp = (uint64_t)(frame_ + 2);                                               \
		(regs)->fp = frame_[0];                                                            \
	} while (0)

#endif
