/* Finds threads, processes and the sums of calls by their keys. */
#include "analyse/usage/private.h"
#include "base/arena.h"
#include "base/hash.h"

enum { MOMENTS_MOST = 4096 };

uint32_t usage_process_find(struct usage *u, uint32_t ordinal)
{
	bool fresh;
	uint64_t *slot = af_map_at(&u->by_process, ordinal, &fresh);

	if (fresh) {
		AF_GROW(u->processes, u->nr_processes, u->cap_processes);
		u->processes[u->nr_processes] = (struct usage_process){
		    .ordinal = ordinal, .count = u->in_part ? USAGE_PART_COUNT : USAGE_FIRST_COUNT};
		*slot = u->nr_processes++;
	}
	return (uint32_t)*slot;
}

uint32_t usage_thread_find(struct usage *u, uint32_t process, uint32_t tid)
{
	bool fresh;
	uint64_t *slot = af_map_at(&u->by_thread, (uint64_t)process << 32 | tid, &fresh);

	if (fresh) {
		AF_GROW(u->threads, u->nr_threads, u->cap_threads);
		u->threads[u->nr_threads] =
		    (struct usage_thread){.process = usage_process_find(u, process),
		                          .ordinal = process,
		                          .tid = tid,
		                          .has_waited = !u->in_part,
		                          .has_waited_tasks = !u->in_part,
		                          .has_called = !u->in_part};
		*slot = u->nr_threads++;
	}
	return (uint32_t)*slot;
}

static bool is_sum(const struct usage_sum *a, const struct usage_sum *b)
{
	return a->kind == b->kind && a->thread == b->thread && a->function == b->function &&
	       a->path == b->path && a->peer == b->peer;
}

/* Few sums get most of the calls: they are found without their keys. */
struct usage_sum *usage_sum_of(struct usage *u, const struct usage_sum *like)
{
	uint32_t *near = &u->near_sums[af_near(USAGE_NEAR_BITS, like->path, like->function,
	                                       like->thread, like->peer ^ like->kind << 29)];
	bool fresh;

	if (*near && is_sum(&u->sums[*near - 1], like))
		return &u->sums[*near - 1];
	uint64_t *slot = af_keys_at(
	    &u->by_sum, AF_KEY(like->kind, like->thread, like->function, like->path, like->peer),
	    &fresh);
	if (fresh) {
		AF_GROW(u->sums, u->nr_sums, u->cap_sums);
		u->sums[u->nr_sums] = *like;
		*slot = u->nr_sums++;
	}
	*near = (uint32_t)*slot + 1;
	return &u->sums[*slot];
}

/* Two and two become one where there are too many. */
static void moments_thin(struct usage_moments *m)
{
	for (uint32_t i = 0; i < m->nr / 2; i++) {
		m->all[i] = m->all[2 * i];
		m->all[i].time_ns += m->all[2 * i + 1].time_ns;
		m->all[i].calls += m->all[2 * i + 1].calls;
	}
	m->nr /= 2;
	m->stride *= 2;
}

void usage_moments_add(struct usage_moments *m, uint64_t start_ns, uint64_t ns, bool in_part)
{
	m->stride += !m->stride;
	if (m->nr && m->all[m->nr - 1].calls < m->stride) {
		m->all[m->nr - 1].calls++;
		m->all[m->nr - 1].time_ns += ns;
		return;
	}
	if (m->nr == MOMENTS_MOST && !in_part)
		moments_thin(m);
	AF_GROW(m->all, m->nr, m->cap);
	m->all[m->nr++] = (struct usage_moment){start_ns, ns, 1};
}
