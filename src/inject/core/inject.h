/*
 * The process's side of recording: what libaflame.so as a whole knows. Every runtime loads the
 * library by its own front door; the first door that opens calls af_inject_start().
 *
 * Laws of this folder: link libc only; keep no descriptor, no lock while calling into a runtime;
 * never print; on any failure go silent, counted. A child never writes its parent's streams.
 */
#ifndef AF_INJECT_CORE_INJECT_H
#define AF_INJECT_CORE_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/write/session.h"

/* Attach this process to the session in the environment; idempotent. False: not recording. */
bool af_inject_start(void);

/*
 * The session, NULL when not recording (or no longer); also while it is paused, for definitions.
 * Fit for hot paths and handlers.
 */
struct af_session *af_inject_session(void);

/* The same for what is recorded while recording is on only: samples and launches. */
struct af_session *af_inject_recording(void);

/* There was a recording, and it is over: what this process starts is to know nothing of it. */
bool af_inject_is_over(void);

/* This process's ordinal in the trace; changes in a forked child. */
uint32_t af_inject_process(void);

/*
 * The directory of the session, for making streams: a descriptor, to be closed; negative where the
 * one of that name is not the one that we began with, or not ours (we may have become another).
 */
int af_inject_dir_open(void);

/*
 * Say hello at the recorder's door, handing @fd over when it is not -1 (the caller still closes its
 * own). False when nobody listens.
 */
bool af_inject_hello(int fd, int sampler_error, bool sees_kernel);

/* Ask at the door for what is not a hello, and wait for the answer: a tenth of a second at most. */
void af_inject_ask(enum af_ask ask);

/* Process-wide dense numbers, from 1, for definitions: devices, queues, programs, kernels. */
uint32_t af_inject_next_id(_Atomic uint32_t *counter);

/*
 * True once after every kind of fork, also one that ran no atfork handler: everything that belongs
 * to the parent has been dropped when it returns. Called by af_thread_enter.
 */
void af_inject_check_fork(void);

/*
 * Is this a child of vfork() (or the like) that runs in its parent's memory? Nothing it does may be
 * remembered here.
 */
bool af_inject_in_vfork_child(void);

/*
 * No more recording in this process, not even by a system call, as it is about to forbid itself
 * those. The trace is told, and the recorder samples it from outside.
 */
void af_inject_forbidden(void);

/* A filter of system calls comes, and it allows what recording needs. */
void af_inject_filtered(void);

/*
 * May recording make system calls in this thread? To be asked before those that a program of this
 * kind may well not make itself, where a call more is no matter: a filter that came by a system
 * call that nobody can stand before is noticed here, and ends recording in the process. In
 * handlers.
 */
bool af_inject_may_call(void);

/* Has either ended it? */
bool af_inject_is_forbidden(void);

/*
 * May recording take memory that it does not have yet? Not of a process that is short of it by
 * RLIMIT_AS or RLIMIT_DATA, whose own threads would go without: that is sampled from outside then.
 */
bool af_inject_may_take_memory(void);

/* Count a sample that comes after that. In handlers. */
void af_inject_forbidden_sample(void);

/* A fact about this process, for the summary: a NOTE in the calling thread's stream. */
void af_inject_note(const char *key, const char *value);

/* Count something that was not recorded, there too; 0 of it is nothing. */
void af_inject_lost(enum af_lost reason, uint64_t count);

/* Incremented in every forked child: what was made under another value is the parent's. */
uint32_t af_inject_generation(void);

#endif
