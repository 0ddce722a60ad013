/* Callbacks of OMPT for constructs of the host. Another tool's are outside of what is timed. */
#include "inject/omp/host.h"

#include "inject/api/api.h"
#include "inject/core/inject.h"
#include "inject/omp/next.h"
#include "inject/omp/omp.h"

enum { KIND_FIRST = 0x3000, KIND_LAST = 0x33ff };

/* Hand a callback on to the other tool. */
#define NEXT(type, event, ...)                                                                     \
	do {                                                                                       \
		type next_ = (type)af_omp_next_registered(event);                                  \
		if (next_)                                                                         \
			next_(__VA_ARGS__);                                                        \
	} while (0)

/* The wait for a mutex that this thread is in. One that it does not get has no end. */
static __thread struct {
	uint64_t begin_ns, wait;
} mutex_wait;

bool af_omp_host_is_wanted(void)
{
	return af_api_is_traced(KIND_FIRST, KIND_LAST);
}

static uint64_t number_of(const struct af_omp_team *t)
{
	return t ? t->number : 0;
}

static uint64_t place_of(const struct af_omp_team *t)
{
	return t ? (uintptr_t)t->at : 0;
}

static void thread_begin(int type, union af_ompt_data *thread)
{
	const uint64_t args[] = {(uint64_t)(int64_t)type};

	NEXT(af_ompt_on_thread_begin, AF_OMPT_THREAD_BEGIN, type, thread);
	af_omp_check_fork();
	af_omp_span_begin(AF_OMP_THREAD, NULL, false, args, 1, NULL);
}

static void thread_end(union af_ompt_data *thread)
{
	af_omp_check_fork();
	af_omp_span_end(AF_OMP_THREAD);
	NEXT(af_ompt_on_thread_end, AF_OMPT_THREAD_END, thread);
}

/*
 * The region's room is the only thing that all of its threads get. Where there is another tool it
 * is that one's, and regions are not known.
 */
static void parallel_begin(union af_ompt_data *task, const void *frame,
                           union af_ompt_data *parallel, unsigned requested, int flags,
                           const void *region)
{
	struct af_omp_team *team = af_omp_next_works() ? NULL : af_omp_team_begin(region);
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	NEXT(af_ompt_on_parallel_begin, AF_OMPT_PARALLEL_BEGIN, task, frame, parallel, requested,
	     flags, region);
	af_omp_check_fork();
	const uint64_t args[] = {number_of(team), requested, (uint32_t)flags, (uintptr_t)region};
	if (af_omp_span_begin(AF_OMP_PARALLEL, team, true, args, 4, &regs) && team)
		parallel->pointer = team;
}

static void parallel_end(union af_ompt_data *parallel, union af_ompt_data *task, int flags,
                         const void *region)
{
	af_omp_check_fork();
	af_omp_span_end(AF_OMP_PARALLEL);
	NEXT(af_ompt_on_parallel_end, AF_OMPT_PARALLEL_END, parallel, task, flags, region);
}

/* The initial task is the program itself. */
static void implicit_task(int scope, union af_ompt_data *parallel, union af_ompt_data *task,
                          unsigned parallelism, unsigned index, int flags)
{
	const bool counts = !(flags & AF_OMPT_TASK_INITIAL);

	if (scope & AF_OMPT_BEGIN)
		NEXT(af_ompt_on_implicit_task, AF_OMPT_IMPLICIT_TASK, scope, parallel, task,
		     parallelism, index, flags);
	af_omp_check_fork();
	if (counts && scope & AF_OMPT_BEGIN) {
		struct af_omp_team *team =
		    parallel && !af_omp_next_works() ? af_omp_team_use(parallel->pointer) : NULL;
		const uint64_t args[] = {number_of(team), 0, parallelism, index, place_of(team)};
		af_omp_span_begin(AF_OMP_IMPLICIT_TASK, team, true, args, 5, NULL);
	}
	if (counts && scope & AF_OMPT_END)
		af_omp_span_end(AF_OMP_IMPLICIT_TASK);
	if (!(scope & AF_OMPT_BEGIN))
		NEXT(af_ompt_on_implicit_task, AF_OMPT_IMPLICIT_TASK, scope, parallel, task,
		     parallelism, index, flags);
}

static void work(int type, int scope, union af_ompt_data *parallel, union af_ompt_data *task,
                 uint64_t count, const void *at)
{
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	if (scope & AF_OMPT_BEGIN)
		NEXT(af_ompt_on_work, AF_OMPT_WORK, type, scope, parallel, task, count, at);
	af_omp_check_fork();
	if (scope & AF_OMPT_BEGIN) {
		const struct af_omp_team *team = af_omp_span_team();
		const uint64_t args[] = {number_of(team), (uint64_t)(int64_t)type, count,
		                         (uintptr_t)at};
		af_omp_span_begin(AF_OMP_WORK, NULL, false, args, 4, &regs);
	}
	if (scope & AF_OMPT_END)
		af_omp_span_end(AF_OMP_WORK);
	if (!(scope & AF_OMPT_BEGIN))
		NEXT(af_ompt_on_work, AF_OMPT_WORK, type, scope, parallel, task, count, at);
}

static enum af_omp_host sync_function(int kind)
{
	switch (kind) {
	case AF_OMPT_BARRIER_IMPLICIT:
	case AF_OMPT_BARRIER_IMPLICIT_WORKSHARE:
	case AF_OMPT_BARRIER_IMPLICIT_PARALLEL:
		return AF_OMP_BARRIER_IMPLICIT;
	case AF_OMPT_BARRIER_EXPLICIT:
		return AF_OMP_BARRIER_EXPLICIT;
	case AF_OMPT_TASKWAIT:
		return AF_OMP_TASKWAIT;
	case AF_OMPT_TASKGROUP:
		return AF_OMP_TASKGROUP;
	default:
		return AF_OMP_BARRIER_OTHER;
	}
}

static void sync_region_wait(int kind, int scope, union af_ompt_data *parallel,
                             union af_ompt_data *task, const void *at)
{
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	if (scope & AF_OMPT_BEGIN)
		NEXT(af_ompt_on_sync_region, AF_OMPT_SYNC_REGION_WAIT, kind, scope, parallel, task,
		     at);
	af_omp_check_fork();
	if (scope & AF_OMPT_BEGIN) {
		const struct af_omp_team *team = af_omp_span_team();
		const uint64_t args[] = {number_of(team), 0, (uint64_t)(int64_t)kind,
		                         place_of(team)};
		af_omp_span_begin(sync_function(kind), NULL, false, args, 4, &regs);
	}
	if (scope & AF_OMPT_END)
		af_omp_span_end(sync_function(kind));
	if (!(scope & AF_OMPT_BEGIN))
		NEXT(af_ompt_on_sync_region, AF_OMPT_SYNC_REGION_WAIT, kind, scope, parallel, task,
		     at);
}

static void mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t wait,
                          const void *at)
{
	NEXT(af_ompt_on_mutex_acquire, AF_OMPT_MUTEX_ACQUIRE, kind, hint, implementation, wait, at);
	mutex_wait.wait = wait;
	mutex_wait.begin_ns = af_omp_span_now();
}

static void mutex_acquired(int kind, uint64_t wait, const void *at)
{
	const uint64_t args[] = {(uint64_t)(int64_t)kind, wait, (uintptr_t)at};
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	af_omp_check_fork();
	if (mutex_wait.begin_ns && mutex_wait.wait == wait)
		af_omp_span_put(AF_OMP_MUTEX_WAIT, mutex_wait.begin_ns, args, 3, &regs);
	mutex_wait.begin_ns = 0;
	NEXT(af_ompt_on_mutex, AF_OMPT_MUTEX_ACQUIRED, kind, wait, at);
}

/* Tasks are known by the places of their rooms, which are theirs for as long as they live. */
static void task_create(union af_ompt_data *task, const void *frame, union af_ompt_data *fresh,
                        int flags, int has_dependences, const void *at)
{
	const uint64_t args[] = {(uintptr_t)task, (uintptr_t)fresh, (uint32_t)flags,
	                         has_dependences != 0, (uintptr_t)at};
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	NEXT(af_ompt_on_task_create, AF_OMPT_TASK_CREATE, task, frame, fresh, flags,
	     has_dependences, at);
	af_omp_check_fork();
	if (!(flags & AF_OMPT_TASK_INITIAL))
		af_omp_span_put(AF_OMP_TASK_CREATE, 0, args, 5, &regs);
}

static void task_schedule(union af_ompt_data *prior, int status, union af_ompt_data *following)
{
	const uint64_t args[] = {(uintptr_t)prior, (uint64_t)(int64_t)status, (uintptr_t)following};
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	af_omp_check_fork();
	af_omp_span_put(AF_OMP_TASK_SCHEDULE, 0, args, 3, &regs);
	NEXT(af_ompt_on_task_schedule, AF_OMPT_TASK_SCHEDULE, prior, status, following);
}

const struct af_omp_callback *af_omp_host_callbacks(size_t *nr)
{
#define F(function) ((af_ompt_function)(function))
	static const struct af_omp_callback callbacks[] = {
	    {AF_OMPT_THREAD_BEGIN, F(thread_begin)},
	    {AF_OMPT_THREAD_END, F(thread_end)},
	    {AF_OMPT_PARALLEL_BEGIN, F(parallel_begin)},
	    {AF_OMPT_PARALLEL_END, F(parallel_end)},
	    {AF_OMPT_IMPLICIT_TASK, F(implicit_task)},
	    {AF_OMPT_WORK, F(work)},
	    {AF_OMPT_SYNC_REGION_WAIT, F(sync_region_wait)},
	    {AF_OMPT_MUTEX_ACQUIRE, F(mutex_acquire)},
	    {AF_OMPT_MUTEX_ACQUIRED, F(mutex_acquired)},
	    {AF_OMPT_TASK_CREATE, F(task_create)},
	    {AF_OMPT_TASK_SCHEDULE, F(task_schedule)},
	};
#undef F

	*nr = sizeof callbacks / sizeof *callbacks;
	return callbacks;
}
