/* The functions that run another program, which are interposed. */
#ifndef AF_INJECT_SAMPLER_EXEC_H
#define AF_INJECT_SAMPLER_EXEC_H

/* @wait is called before this process runs another program, or fails at it. Once. */
void af_exec_await(void (*wait)(void));

/* LD_PRELOAD names us no longer, in the environment that this process hands on. */
void af_exec_hide_us(void);

#endif
