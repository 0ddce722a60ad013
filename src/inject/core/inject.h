/*
 * The recording state of the process, for all of libaflame.so. Each runtime loads the library
 * through its own entry point; the first entry point that is called calls af_inject_start().
 *
 * Rules of this folder: link libc only; keep no descriptor, and hold no lock while calling into a
 * runtime; never print; on any failure stop recording and count it. A child never writes its
 * parent's streams.
 */
#ifndef AF_INJECT_CORE_INJECT_H
#define AF_INJECT_CORE_INJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/layout.h"
#include "trace/write/session.h"

/* Attach this process to the session in the environment; idempotent. False: not recording. */
bool af_inject_start(void);

/*
 * Attach this process to a session that it has made itself, with AF_SESSION_OWN: @dir and @nonce
 * are those of the session. May be called again, with another session, when the one before is over
 * and no samples are taken any more. 0 or -errno.
 */
int af_inject_start_own(const char *dir, uint64_t nonce);

/* The state that hooks look at with each event; only inject.c changes it. */
extern struct af_inject_now {
	struct af_session *session;
	/*
	 * A page that the kernel empties in every forked child (MADV_WIPEONFORK), whatever kind of
	 * fork it was: 0 means that all we know is the parent's.
	 */
	volatile uint32_t *alive;
	_Atomic uint32_t epoch;
} af_inject_now;

/*
 * The session, NULL when not recording (or no longer). Also while recording is paused, for
 * definitions. Fit for hot paths and handlers.
 */
static inline struct af_session *af_inject_session(void)
{
	struct af_session *s = af_inject_now.session;

	if (!s || atomic_load_explicit(&s->state, memory_order_relaxed) == AF_SESSION_OVER)
		return NULL;
	return s;
}

/* The same, but NULL while recording is paused: for samples and launches. */
static inline struct af_session *af_inject_recording(void)
{
	struct af_session *s = af_inject_now.session;

	if (!s || atomic_load_explicit(&s->state, memory_order_relaxed) != AF_SESSION_ON)
		return NULL;
	return s;
}

/*
 * Do samples and allocations not count yet? With AF_SESSION_HELD, until aflame_begin(): programs
 * that the caller's process runs later by exec count from their start.
 */
static inline bool af_inject_is_held(const struct af_session *s)
{
	return s->flags & AF_SESSION_HELD &&
	       !atomic_load_explicit(&s->has_begun, memory_order_relaxed);
}

/* Is the recording over? Then programs that this process starts must not see its environment. */
bool af_inject_is_over(void);

/* This process's ordinal in the trace; changes in a forked child. */
uint32_t af_inject_process(void);

/*
 * The directory of the session, for making streams: a descriptor that the caller closes. Negative
 * when the directory of that name is no longer the one of the start, or not ours (this process may
 * have changed its user).
 */
int af_inject_dir_open(void);

/*
 * Register at the recorder's control socket, and hand @fd over when it is not -1 (the caller still
 * closes its own). False when nobody listens.
 */
bool af_inject_register(int fd, int sampler_error, bool sees_kernel);

/*
 * Send a request other than the registration to the control socket, and wait for the answer: a
 * tenth of a second at most.
 */
void af_inject_ask(enum af_ask ask);

/*
 * How many calls of OpenCL the calling thread is in that make something or launch work. A driver
 * may do that by Level Zero, whose objects and launches are then OpenCL's.
 */
extern __thread uint32_t af_inject_in_opencl;

/* The value of @call, which runs inside of such a call. */
#define AF_IN_OPENCL(call)                                                                         \
	({                                                                                         \
		af_inject_in_opencl++;                                                             \
		__typeof__(call) result_ = (call);                                                 \
		af_inject_in_opencl--;                                                             \
		result_;                                                                           \
	})

/* Numbers from 1, of one counter. */
uint32_t af_inject_next_id(_Atomic uint32_t *counter);

/* The ids that belong to the process, whichever API they are of. */
enum af_inject_id {
	AF_ID_DEVICE,
	AF_ID_CONTEXT,
	AF_ID_QUEUE,
	AF_ID_PROGRAM,
	AF_ID_KERNEL,
	AF_ID_CODE,
	AF_ID_NODE,
	AF_ID_COUNTER,
	AF_IDS
};

/* The next id for a definition, from 1. Any thread. */
uint32_t af_inject_new_id(enum af_inject_id what);

/* Slow path of af_inject_check_fork(). */
void af_inject_forked(void);

/* Is all that we know the parent's? Of every kind of fork, also of one without atfork handlers. */
static inline bool af_inject_is_forked(void)
{
	volatile uint32_t *alive = af_inject_now.alive;

	return alive && !*alive;
}

/*
 * Check for a fork. When it returns, everything that belongs to the parent has been dropped. Called
 * by af_thread_enter().
 */
static inline void af_inject_check_fork(void)
{
	if (__builtin_expect(af_inject_is_forked(), 0))
		af_inject_forked();
}

/*
 * Is this a child of vfork() (or the like) that runs in its parent's memory? It must not change any
 * state of ours.
 */
bool af_inject_in_vfork_child(void);

/*
 * Stop recording in this process, system calls included, because the process is about to forbid
 * them. The trace notes it, and the recorder samples the process from outside.
 */
void af_inject_forbidden(void);

/* The process is about to install a filter of system calls that allows what recording needs. */
void af_inject_filtered(void);

/*
 * May recording make system calls in this thread? Ask before calls that a program of this kind may
 * never make itself, where one more call does not matter: this notices a filter that was installed
 * by a bare system call, and then ends recording in the process. In handlers.
 */
bool af_inject_may_call(void);

/* Has af_inject_forbidden() or a filter ended recording here? */
bool af_inject_is_forbidden(void);

/*
 * May recording take more memory? Not in a process that is close to RLIMIT_AS or RLIMIT_DATA, whose
 * own threads would lack it: the recorder then samples it from outside.
 */
bool af_inject_may_take_memory(void);

/* Count a sample that came after recording was forbidden. In handlers. */
void af_inject_forbidden_sample(void);

/* A fact about this process, for the summary: a NOTE in the calling thread's stream. */
void af_inject_note(const char *key, const char *value);

/*
 * Count something that was not recorded, in the calling thread's stream; a count of 0 writes
 * nothing.
 */
void af_inject_lost(enum af_lost reason, uint64_t count);

/* The fork epoch: incremented in every forked child. Data made in another epoch is the parent's. */
static inline uint32_t af_inject_fork_epoch(void)
{
	return atomic_load_explicit(&af_inject_now.epoch, memory_order_relaxed);
}

#endif
