/*
 * How threads of the program begin. pthread_create() and thrd_create() are interposed, so that a
 * new thread has its signal mask, its timer and its name for the rest (rest.h) before it runs its
 * function. Where it needs none of these, it begins without us. So does a thread for which there is
 * no room: more than a thousand that are made and do not run yet.
 */
#ifndef AF_INJECT_SAMPLER_STARTS_H
#define AF_INJECT_SAMPLER_STARTS_H

#include <stdbool.h>

/*
 * Start a thread of ours in the program, which nobody joins: the program's signals must not land on
 * a thread that it does not know. False: there can be none.
 */
bool af_starts_own(void *(*run)(void *arg));

/* In a forked child: forget the threads that the parent was making. */
void af_starts_after_fork(void);

#endif
