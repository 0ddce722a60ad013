#include "analyse/scale/scale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ranks/ranks.h"
#include "analyse/scale/private.h"

static void wall_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct af_scale_rank *rank = out->query.own;
	uint64_t ns = w->last_ns > w->first_ns ? w->last_ns - w->first_ns : 0;
	uint64_t off_ns = w->lost[AF_LOST_PAUSED];

	(void)self;
	rank->wall_ns = ns > off_ns ? ns - off_ns : 0;
}

static const struct af_pass_ops pass_wall = {
    .name = "wall",
    .question = "how long was the rank recorded?",
    .answers = AF_ANSWER_TALLY,
    .finish = wall_finish,
};

const struct af_pass_ops *const af_scale_passes[] = {&af_pass_flame, &af_pass_tally, &pass_wall,
                                                     NULL};

struct af_scale *af_scale_open(bool weak)
{
	static const struct af_tree_weight weight = {"time", "ns", 1};
	struct af_scale *s = af_xcalloc(1, sizeof *s);

	s->weak = weak;
	af_tree_open(&s->paths, &weight, 1);
	return s;
}

void af_scale_close(struct af_scale *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->nr; i++) {
		for (uint32_t k = 0; k < SCALE_KINDS; k++)
			free(s->sets[i].ns[k]), free(s->sets[i].most[k]);
		free(s->sets[i].calls_ns);
	}
	free(s->calls);
	af_keys_free(&s->by_call);
	af_tree_close(&s->paths);
	af_arena_free(&s->arena);
	free(s);
}

void af_scale_begin(struct af_scale *s, const char *name)
{
	if (s->nr < AF_SCALE_SETS)
		s->sets[s->nr++] =
		    (struct scale_set){.name = af_arena_strdup(&s->arena, name, strlen(name))};
}

uint32_t af_scale_ranks(const struct af_scale *s)
{
	return s->nr ? s->sets[s->nr - 1].nr_ranks : 0;
}

static void add_to(uint64_t *sum, uint64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = UINT64_MAX;
}

/* By node of @t, its path; processes of one program are one. */
static uint32_t *paths_of(struct af_scale *s, const struct af_tree *t)
{
	uint32_t *path = af_xcalloc(t->nr, sizeof *path);

	for (uint32_t i = 1; i < t->nr; i++)
		path[i] = af_ranks_path_of(&s->paths, path[t->nodes[i].parent], t, i);
	return path;
}

static void tree_add(struct af_scale *s, const struct af_tree *t, const uint32_t *path,
                     enum scale_kind kind)
{
	struct scale_set *set = &s->sets[s->nr - 1];
	const uint64_t *ns = t->self[kind == SCALE_WAIT ? AF_WEIGHT_OFF_CPU : AF_WEIGHT_TIME];

	AF_REACH(set->ns[kind], s->paths.nr, set->cap[kind]);
	for (uint32_t i = 0; i < t->nr; i++) {
		add_to(&set->ns[kind][path[i]], ns[i]);
		bool measured =
		    kind == SCALE_WAIT || (kind == SCALE_DEVICE && t->self[AF_WEIGHT_COUNT][i]);
		if (measured || !t->self[AF_WEIGHT_SAMPLES][i])
			continue;
		add_to(&set->samples[kind], t->self[AF_WEIGHT_SAMPLES][i]);
		add_to(&set->sampled_ns[kind], ns[i]);
	}
}

static void calls_add(struct af_scale *s, const struct af_tally *calls)
{
	struct scale_set *set = &s->sets[s->nr - 1];

	for (uint32_t i = 0; i < calls->nr; i++) {
		const struct af_tally_row *row = &calls->rows[i];
		char key[512];
		bool fresh;
		int len = snprintf(key, sizeof key, "%s %s", row->api, row->function);
		if (len < 0 || (size_t)len >= sizeof key)
			continue;
		uint64_t *slot = af_keys_at(&s->by_call, key, (size_t)len, &fresh);
		if (fresh) {
			AF_GROW(s->calls, s->nr_calls, s->cap_calls);
			s->calls[s->nr_calls] = (struct scale_call){
			    af_arena_strdup(&s->arena, row->function, strlen(row->function)),
			    af_arena_strdup(&s->arena, row->api, strlen(row->api))};
			*slot = s->nr_calls++;
		}
		AF_REACH(set->calls_ns, *slot, set->cap_calls);
		add_to(&set->calls_ns[*slot], row->stats.time_ns);
		if (row->level == AF_TALLY_MPI)
			add_to(&set->mpi_ns, row->stats.time_ns);
	}
}

/* Is this the rank with most, at any path? @t is finished. */
static void most_take(struct af_scale *s, const struct af_tree *t, const uint32_t *path,
                      enum scale_kind kind)
{
	struct scale_set *set = &s->sets[s->nr - 1];
	uint64_t *sums = af_xcalloc(s->paths.nr, sizeof *sums);

	AF_REACH(set->most[kind], s->paths.nr, set->cap_most[kind]);
	for (uint32_t i = 0; i < t->nr; i++)
		add_to(&sums[path[i]], t->total[AF_WEIGHT_TIME][i]);
	for (uint32_t p = 0; p < s->paths.nr; p++)
		if (sums[p] > set->most[kind][p])
			set->most[kind][p] = sums[p];
	free(sums);
}

void af_scale_add(struct af_scale *s, const struct af_results *r, const struct af_scale_rank *rank)
{
	struct scale_set *set = &s->sets[s->nr - 1];
	const struct af_tree *cpu = &r->trees[AF_VIEW_CPU], *gpu = &r->trees[AF_VIEW_GPU];

	set->nr_ranks++;
	set->wall_ns = rank->wall_ns > set->wall_ns ? rank->wall_ns : set->wall_ns;
	if (cpu->nr) {
		uint32_t *path = paths_of(s, cpu);
		tree_add(s, cpu, path, SCALE_CPU);
		tree_add(s, cpu, path, SCALE_WAIT);
		most_take(s, cpu, path, SCALE_CPU);
		free(path);
	}
	if (gpu->nr) {
		uint32_t *path = paths_of(s, gpu);
		tree_add(s, gpu, path, SCALE_DEVICE);
		most_take(s, gpu, path, SCALE_DEVICE);
		free(path);
	}
	calls_add(s, &rank->calls);
}

uint64_t scale_total(const struct af_scale *s, uint32_t i, enum scale_kind kind)
{
	uint64_t sum = 0;

	for (uint32_t p = 0; p < s->paths.nr && p < s->sets[i].cap[kind]; p++)
		add_to(&sum, s->sets[i].ns[kind][p]);
	return sum;
}

void scale_sort(struct af_scale *s)
{
	for (uint32_t i = 1; i < s->nr; i++)
		for (uint32_t j = i; j && s->sets[j].nr_ranks < s->sets[j - 1].nr_ranks; j--) {
			struct scale_set was = s->sets[j];
			s->sets[j] = s->sets[j - 1];
			s->sets[j - 1] = was;
		}
}
