/*
 * The interposed functions that run another program, and those that end this one at once.
 */
#ifndef AF_INJECT_SAMPLER_EXEC_H
#define AF_INJECT_SAMPLER_EXEC_H

/*
 * Add @wait, which is called before each attempt of this process to run another program, also in a
 * child of vfork(). Four at most; one that is there already is not added again.
 */
void af_exec_await(void (*wait)(void));

/*
 * The same for @last, which is called by _exit() and _Exit(), but not in a child of vfork(). It may
 * run in a signal handler of the program.
 */
void af_exit_await(void (*last)(void));

/* Remove our library from LD_PRELOAD in the environment that this process hands on. */
void af_exec_hide_us(void);

#endif
