/*
 * OpenMP on the host, with --api omp:full: parallel regions, the tasks and waits in them, and
 * threads. host.c has the callbacks, spans.c writes what they tell, teams.c knows which region a
 * thread works for.
 */
#ifndef AF_INJECT_OMP_HOST_H
#define AF_INJECT_OMP_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/omp/ompt_abi.h"

struct af_regs;

/* Numbers of src/api/models/openmp.api. */
enum af_omp_host {
	AF_OMP_THREAD = 1,
	AF_OMP_PARALLEL = 2,
	AF_OMP_IMPLICIT_TASK = 3,
	AF_OMP_WORK = 4,
	AF_OMP_BARRIER_IMPLICIT = 5,
	AF_OMP_BARRIER_EXPLICIT = 6,
	AF_OMP_BARRIER_OTHER = 7,
	AF_OMP_TASKWAIT = 8,
	AF_OMP_TASKGROUP = 9,
	AF_OMP_MUTEX_WAIT = 10,
	AF_OMP_TASK_CREATE = 11,
	AF_OMP_TASK_SCHEDULE = 12,
};

enum { AF_OMP_HOST_ARGS = 5 };

/* A callback to register with the runtime. */
struct af_omp_callback {
	int event;
	af_ompt_function callback;
};

/* Are constructs of the host recorded? Constant once recording has begun. */
bool af_omp_host_is_wanted(void);

/* Their callbacks, *@nr of them. */
const struct af_omp_callback *af_omp_host_callbacks(size_t *nr);

/* teams.c: a parallel region, from its beginning until its last thread has left it. */
struct af_omp_team {
	_Atomic uint32_t users; /* 0: free */
	uint64_t number;        /* in the process, from 1 */
	const void *at;         /* return address in the program */
	_Atomic uint64_t end_ns;
};

/* A region begins at @at: it, with one user; NULL: there are too many. */
struct af_omp_team *af_omp_team_begin(const void *at);

/* The region that af_omp_team_begin() gave as @pointer, with one more user; NULL: it gave none. */
struct af_omp_team *af_omp_team_use(const void *pointer);

/* One user less; @t may be NULL. */
void af_omp_team_leave(struct af_omp_team *t);

/*
 * spans.c: what the calling thread is inside of. A span of @function begins, for @team (which
 * becomes the span's, or NULL: the region of the span around it). @regs are those of the callback's
 * caller. False: it is too deep, and @team has been left.
 */
bool af_omp_span_begin(enum af_omp_host function, struct af_omp_team *team, bool is_user,
                       const uint64_t *args, uint32_t nr_args, const struct af_regs *regs);

/* The innermost span of @function ends, and with it those in it that were left without an end. */
void af_omp_span_end(enum af_omp_host function);

/* The region that the calling thread works for, NULL: none is known. */
const struct af_omp_team *af_omp_span_team(void);

/* A call without a duration, or one that began at @begin_ns, which is not 0. */
void af_omp_span_put(enum af_omp_host function, uint64_t begin_ns, const uint64_t *args,
                     uint32_t nr_args, const struct af_regs *regs);

/* Now, as spans are timed; 0: nothing is recorded. */
uint64_t af_omp_span_now(void);

#endif
