/*
 * The interposed functions that run another program.
 */
#ifndef AF_INJECT_SAMPLER_EXEC_H
#define AF_INJECT_SAMPLER_EXEC_H

/*
 * Set @wait, which is called before each attempt of this process to run another program. Call it
 * once.
 */
void af_exec_await(void (*wait)(void));

/* Remove our library from LD_PRELOAD in the environment that this process hands on. */
void af_exec_hide_us(void);

#endif
