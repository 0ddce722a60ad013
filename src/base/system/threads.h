/*
 * How many threads a command may use for its own work.
 */
#ifndef AF_BASE_SYSTEM_THREADS_H
#define AF_BASE_SYSTEM_THREADS_H

#include <stdint.h>

enum { AF_THREADS_MOST = 64 };

/*
 * The number in the environment variable AFLAME_JOBS, from 1 to AF_THREADS_MOST; where that is not
 * set, or not such a number, the processors that this process may run on, at most AF_THREADS_MOST.
 */
uint32_t af_threads_allowed(void);

/*
 * Call @one for each number below @nr, in any order, by @threads threads at most, of which the
 * caller's is one. Returns when all calls have returned.
 */
void af_threads_each(uint32_t threads, uint32_t nr, void (*one)(void *arg, uint32_t i), void *arg);

#endif
