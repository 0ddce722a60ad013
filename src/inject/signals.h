/*
 * Four signals are ours in a recorded process: SIGTRAP and SIGPROF carry samples, SIGSEGV and
 * SIGBUS repair guarded reads. The program may use all of them as before: sigaction() and signal()
 * are interposed for these four, its action is kept aside, and the kernel gets ours with the
 * program's flags and mask. What is not ours is handed on exactly as the kernel would have
 * delivered it.
 */
#ifndef AF_INJECT_SIGNALS_H
#define AF_INJECT_SIGNALS_H

#include <stdbool.h>

/* Install the repair of guarded reads; before the first walk. */
void af_signals_start(void);

/* Install the handler of the sampling signal @signo (SIGTRAP or SIGPROF). */
void af_signals_sample(int signo);

#endif
