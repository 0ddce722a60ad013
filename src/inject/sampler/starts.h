/*
 * How threads of the program begin: pthread_create() and thrd_create() are interposed, so that a
 * new thread has its signal mask, its timer and its name for the rest (rest.h) before it runs what
 * it was made for. Where it needs none of these it begins as the kernel has it. So does one for
 * which there is no room: more than a thousand that are made and do not run yet.
 */
#ifndef AF_INJECT_SAMPLER_STARTS_H
#define AF_INJECT_SAMPLER_STARTS_H

/* In a forked child: the threads that were being made are its parent's. */
void af_starts_after_fork(void);

#endif
