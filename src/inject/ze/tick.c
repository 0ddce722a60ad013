/* Work is polled and clocks are read now and then, and at the end of the program. */
#include <sched.h>

#include "inject/core/inject.h"
#include "inject/ze/metric.h"
#include "inject/ze/ze.h"

enum {
	TICK_NS = 1000000000,
	END_NS = 20000000,
};

static _Atomic uint64_t next_tick_ns;

void af_ze_harvest_all(void)
{
	struct af_ze_lane *l;

	for (uint32_t i = 0; (l = af_ze_lane_at(i)); i++)
		af_ze_harvest(l);
}

void af_ze_tick(uint64_t now_ns)
{
	uint64_t due = atomic_load_explicit(&next_tick_ns, memory_order_relaxed);

	if (now_ns < due || !atomic_compare_exchange_strong(&next_tick_ns, &due, now_ns + TICK_NS))
		return;
	if (!due)
		return; /* the first event: everything has just begun */
	af_ze_harvest_all();
	af_ze_clocks_read();
}

void af_ze_at_exit(void)
{
	if (!af_inject_session())
		return;
	af_ze_check_fork();
	af_ze_harvest_all();
	af_ze_clocks_read();
	af_ze_queries_report();
}

/*
 * The driver is not called any more. A thread that polls a queue at this moment is waited for a
 * little; then its work is only counted.
 */
static void works_abandon(void)
{
	struct af_ze_lane *l;

	for (uint32_t i = 0; (l = af_ze_lane_at(i)); i++) {
		uint64_t until_ns = af_now_ns() + END_NS;
		if (!atomic_load(&l->nr_pending))
			continue;
		while (atomic_load(&l->busy) && af_now_ns() < until_ns)
			sched_yield();
		if (atomic_load(&l->busy))
			af_inject_lost(AF_LOST_UNFINISHED, atomic_load(&l->nr_pending));
		else
			af_ze_lane_abandon(l);
	}
}

/* The work in flight is only counted. */
static void works_count(void)
{
	struct af_ze_lane *l;
	uint64_t nr = 0;

	for (uint32_t i = 0; (l = af_ze_lane_at(i)); i++)
		nr += atomic_load(&l->nr_pending);
	af_inject_lost(AF_LOST_UNFINISHED, nr);
}

/*
 * In a handler that interrupted a call of the driver, the driver is not called. If the other
 * program cannot be run, work that was in flight until then has no times.
 */
void af_ze_last(void)
{
	if (!af_inject_session() || af_inject_in_vfork_child() || !af_ze_is_ours())
		return;
	if (af_ze_in_call() || af_thread_now.inside) {
		works_count();
		return;
	}
	af_ze_at_exit();
	works_abandon();
}

/* Whatever the driver is now, it is not called any more. A forked child has no work. */
__attribute__((destructor)) static void ze_destructor(void)
{
	if (!af_inject_session())
		return;
	af_ze_check_fork();
	works_abandon();
}

void af_ze_tick_after_fork(void)
{
	atomic_store(&next_tick_ns, 0);
}
