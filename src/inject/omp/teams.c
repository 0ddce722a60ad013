/*
 * Parallel regions that threads work for. A runtime keeps its workers in a region's last barrier
 * until it needs them again, so a region outlives its end for as long as one of them is there.
 */
#include <stdatomic.h>

#include "inject/omp/host.h"

enum { TEAMS = 4096 };

static struct af_omp_team teams[TEAMS];
static _Atomic uint64_t nr_begun;
static _Atomic uint32_t next_free; /* a guess */

struct af_omp_team *af_omp_team_begin(const void *at)
{
	uint64_t number = atomic_fetch_add_explicit(&nr_begun, 1, memory_order_relaxed) + 1;
	uint32_t first = atomic_load_explicit(&next_free, memory_order_relaxed);

	for (uint32_t i = 0; i < TEAMS; i++) {
		struct af_omp_team *t = &teams[(first + i) % TEAMS];
		uint32_t none = 0;
		if (!atomic_compare_exchange_strong(&t->users, &none, 1))
			continue;
		atomic_store_explicit(&next_free, (first + i + 1) % TEAMS, memory_order_relaxed);
		t->number = number;
		t->at = at;
		atomic_store_explicit(&t->end_ns, 0, memory_order_relaxed);
		return t;
	}
	return NULL;
}

struct af_omp_team *af_omp_team_use(const void *pointer)
{
	uintptr_t from = (uintptr_t)teams, at = (uintptr_t)pointer;

	if (at < from || at >= from + sizeof teams || (at - from) % sizeof *teams)
		return NULL;
	struct af_omp_team *t = &teams[(at - from) / sizeof *teams];
	atomic_fetch_add(&t->users, 1);
	return t;
}

void af_omp_team_leave(struct af_omp_team *t)
{
	if (t)
		atomic_fetch_sub(&t->users, 1);
}
