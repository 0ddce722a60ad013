/*
 * The recording context of one thread of the target: a stream, an unwinder and the tables that make
 * repeated stacks cost an id. Contexts are pooled: a thread that ends gives its context, warm, to
 * the next one, so ten thousand short threads make a handful of streams.
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
#ifndef AF_INJECT_CORE_THREAD_H
#define AF_INJECT_CORE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/arch/arch.h"
#include "inject/core/callpath.h"
#include "inject/core/descriptors.h"
#include "inject/core/inject.h"
#include "inject/walk/unwind.h"
#include "trace/write/stream.h"

/* A stack as a walk left it. */
struct af_capture {
	uint32_t nr, nr_py;
	enum af_stop stop, py_stop;
	uint32_t epoch;
	uint64_t pcs[AF_STACK_MAX];
	uint64_t py[AF_STACK_MAX];
};

struct af_pending_sample {
	uint64_t time_ns, weight_ns;
	uint32_t flags;
	struct af_capture stack;
};

struct af_thread_context {
	struct af_stream stream;
	struct af_callpaths callpaths;
	struct af_work_descriptor_memo descriptors;
	struct af_unwinder *unwinder;
	struct af_unwinder *allocs; /* of src/inject/alloc, or NULL: ids are its sites */
	struct af_capture hook;     /* scratch of af_thread_callpath */
	struct af_launch_choice choice;
	struct af_pending_sample sample; /* scratch of the sampling handler */
	/*
	 * A sample that hit between enter and leave. Its weight is kept apart, because more may be
	 * added to it while it is written.
	 */
	struct af_pending_sample pending;
	_Atomic uint64_t pending_ns;
	volatile bool has_pending; /* the stack of @pending is in use */
	_Atomic uint32_t owner;    /* tid, 0 while in the pool */
	uint32_t epoch;            /* the session's epoch in which its ids were given */
	struct af_thread_context *next_retired; /* of a session that is over */
};

/* Make the pool. 0 or -errno. In the constructor. */
int af_thread_init(void);

/*
 * For resources of which each thread owns one: make @tid the owner of a free one (0), or with @dead
 * of one whose thread ended without notice. False: another thread owns it.
 */
bool af_owner_take(_Atomic uint32_t *owner, uint32_t tid, bool dead);

/* Forget the parent's contexts; in a forked child. */
void af_thread_after_fork(void);

/*
 * All contexts are of a session that is over, and of another epoch: they are retired.
 */
void af_thread_retire(void);

/*
 * @t, which no pool has any more, is of a session that is over. _take: one of them and its
 * unwinder, both zeroed; NULL: there is none. Any thread.
 */
void af_retired_put(struct af_thread_context *t);
struct af_thread_context *af_retired_take(struct af_unwinder **u);

/* The calling thread's part in recording; only thread.c changes more of it than @inside. */
struct af_thread_now {
	struct af_thread_context *context;
	uint32_t epoch; /* of the process that @context belongs to */
	volatile uint32_t inside;
	bool exiting; /* the key's destructor has run */
};
extern __thread struct af_thread_now af_thread_now;

/* Slow paths of the next two. */
struct af_thread_context *af_thread_enter_slowly(void);
void af_thread_leave_slowly(struct af_thread_context *t);

/* The usual case of af_thread_enter(), which calls nothing. NULL: it is another case. */
static inline struct af_thread_context *af_thread_try_enter(void)
{
	const struct af_session *session = af_inject_session();
	struct af_thread_now *now = &af_thread_now;
	struct af_thread_context *t = now->context;

	if (__builtin_expect(!session || !t || af_inject_is_forked(), 0))
		return NULL;
	if (__builtin_expect(now->inside || now->epoch != af_inject_fork_epoch() ||
	                         t->epoch !=
	                             atomic_load_explicit(&session->epoch, memory_order_relaxed),
	                     0))
		return NULL;
	now->inside = 1;
	atomic_signal_fence(memory_order_seq_cst);
	return t;
}

/*
 * Enter the calling thread's context, made or taken from the pool at its first event. NULL when
 * there is no recording, when the thread is already inside, or when no stream can be had (counted).
 */
static inline struct af_thread_context *af_thread_enter(void)
{
	struct af_thread_context *t = af_thread_try_enter();

	return __builtin_expect(t != NULL, 1) ? t : af_thread_enter_slowly();
}

/* Leave it again. A sample that came meanwhile is written. */
static inline void af_thread_leave(struct af_thread_context *t)
{
	struct af_thread_now *now = &af_thread_now;

	if (__builtin_expect(!now->exiting && !t->has_pending, 1)) {
		atomic_signal_fence(memory_order_seq_cst);
		now->inside = 0;
		atomic_signal_fence(memory_order_seq_cst);
		/* A sample may have come between the check and the exit. */
		if (__builtin_expect(!t->has_pending, 1))
			return;
	}
	af_thread_leave_slowly(t);
}

/* Does the calling thread have a context already? */
bool af_thread_has_context(void);

/*
 * Call @take for each thread of this process that has a context, with the tid that the thread
 * itself sees.
 */
void af_threads_each(void (*take)(void *arg, uint32_t tid), void *arg);

/*
 * The calling thread begins: from now on its end is noticed, whether it has a context by then or
 * not.
 */
void af_thread_begins(void);

/*
 * The calling thread has a new name. A thread that has written nothing yet writes its name with its
 * first event.
 */
void af_thread_renamed(void);

/*
 * The id of the call path that leads to the caller of the hook: native stack and Python frames. New
 * definitions are written to the stream. @regs are those at the hook's entry (AF_REGS_CALLER): pc
 * is a return address.
 */
uint32_t af_thread_callpath(struct af_thread_context *t, const struct af_regs *regs);

/* The sampling handler's whole work: walk from the interrupted @regs and write a SAMPLE. */
void af_thread_sample(const struct af_regs *regs, uint64_t weight_ns, uint32_t flags);

/* The stream's memo of work descriptors: af_work_descriptor_id(). */
static inline struct af_work_descriptor_memo *af_thread_descriptors(struct af_thread_context *t)
{
	return &t->descriptors;
}

/*
 * The registers of the caller of this function, from the entry of a hook. Use it in a function that
 * is compiled with frame pointers (src/inject is): pc and sp after its return, fp as its caller has
 * it.
 */
#define AF_REGS_CALLER(regs) AF_ARCH_CALLER(regs)

#endif
