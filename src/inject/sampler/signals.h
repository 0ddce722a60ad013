/*
 * Four signals are ours in a recorded process: SIGTRAP and SIGPROF carry samples, SIGSEGV and
 * SIGBUS repair guarded reads. The program may use all of them as before: every function that sets
 * a handler or waits for a signal is interposed (signals_interposers.c), the program's action is
 * kept aside, and the kernel gets ours. A signal that is not ours is passed on exactly as the
 * kernel would have delivered it.
 *
 * A handler on a small stack of its own (sigaltstack) has no room for a sample on top of it.
 * Samples then wait until such handlers are done.
 */
#ifndef AF_INJECT_SAMPLER_SIGNALS_H
#define AF_INJECT_SAMPLER_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#ifndef TRAP_PERF /* an si_code of SIGTRAP, since Linux 5.13 */
#define TRAP_PERF 6
#endif

/* Install the repair of guarded reads. Call it before the first walk. */
void af_signals_start(void);

/* Install the handler of the sampling signal @signo (SIGTRAP or SIGPROF). */
void af_signals_sample(int signo);

/* The sampling signal of this process, 0 when it is not sampled. */
int af_signals_sampling(void);

/* Has the program replaced our handler, by a bare system call that nobody can interpose? */
bool af_signals_sampling_is_replaced(void);

/* Does the program ignore that signal, as it believes? */
bool af_signals_sampling_is_ignored(void);

/*
 * Call @last, which must be fit for a handler, before a signal ends the program by its default
 * action. SIGINT, SIGTERM and the other signals that usually end programs are then shared too,
 * where the program neither handles nor ignores them. Once.
 */
void af_signals_ending(void (*last)(void));

/* Is our handler installed for @signo? */
bool af_signals_shares(int signo);

/*
 * Ignored signals stay ignored in the next program, but ours have handlers. So before an exec the
 * kernel gets the program's ignored signals, and after a failed exec our handlers are restored.
 * @faults: SIGSEGV and SIGBUS too, after which a guarded read may end the process.
 */
void af_signals_before_exec(bool faults);
void af_signals_after_exec(void);

/* The program has set an alternate stack of @size bytes. */
void af_signals_alternate(size_t size);

#endif
