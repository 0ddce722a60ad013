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
 * Whatever the driver is now, it is not called any more. A thread that polls a queue at this moment
 * is waited for a little; then its work is only counted. A forked child has none.
 */
__attribute__((destructor)) static void ze_destructor(void)
{
	struct af_ze_lane *l;

	if (!af_inject_session())
		return;
	af_ze_check_fork();
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

void af_ze_tick_after_fork(void)
{
	atomic_store(&next_tick_ns, 0);
}
