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
	for (uint32_t i = 0; i < s->nr; i++)
		scale_set_close(&s->sets[i]);
	free(s->calls.all);
	af_keys_free(&s->calls.by_name);
	af_tree_close(&s->paths);
	af_arena_free(&s->arena);
	free(s);
}

void af_scale_begin(struct af_scale *s, const char *name)
{
	if (s->nr < AF_SCALE_SETS)
		scale_set_open(&s->sets[s->nr++], af_arena_strdup(&s->arena, name, strlen(name)));
}

void af_scale_empty(struct af_scale *s)
{
	struct scale_set *set = &s->sets[s->nr - 1];
	const char *name = set->name;

	scale_set_close(set);
	scale_set_open(set, name);
}

uint32_t af_scale_ranks(const struct af_scale *s)
{
	return s->nr ? s->sets[s->nr - 1].nr_ranks : 0;
}

/* By node of @t, its path; processes of one program are one. */
static uint32_t *paths_of(struct scale_set *set, const struct af_tree *t)
{
	uint32_t *path = af_xcalloc(t->nr, sizeof *path);

	for (uint32_t i = 1; i < t->nr; i++)
		path[i] = af_ranks_path_of(&set->paths, path[t->nodes[i].parent], t, i);
	return path;
}

static void tree_add(struct scale_set *set, const struct af_tree *t, const uint32_t *path,
                     enum scale_kind kind)
{
	const uint64_t *ns = t->self[kind == SCALE_WAIT ? AF_WEIGHT_OFF_CPU : AF_WEIGHT_TIME];

	AF_REACH(set->ns[kind], set->paths.nr, set->cap[kind]);
	for (uint32_t i = 0; i < t->nr; i++) {
		scale_sum(&set->ns[kind][path[i]], ns[i]);
		bool measured =
		    kind == SCALE_WAIT || (kind == SCALE_DEVICE && t->self[AF_WEIGHT_COUNT][i]);
		if (measured || !t->self[AF_WEIGHT_SAMPLES][i])
			continue;
		scale_sum(&set->samples[kind], t->self[AF_WEIGHT_SAMPLES][i]);
		scale_sum(&set->sampled_ns[kind], ns[i]);
	}
}

static void calls_add(struct af_scale *s, const struct af_tally *calls)
{
	struct scale_set *set = &s->sets[s->nr - 1];

	for (uint32_t i = 0; i < calls->nr; i++) {
		const struct af_tally_row *row = &calls->rows[i];
		scale_call_add(&set->calls, &s->arena, row->api, row->function, row->stats.time_ns);
		if (row->level == AF_TALLY_MPI)
			scale_sum(&set->mpi_ns, row->stats.time_ns);
	}
}

/* Is this the rank with most, at any path? @t is finished. */
static void most_take(struct scale_set *set, const struct af_tree *t, const uint32_t *path,
                      enum scale_kind kind)
{
	uint64_t *sums = af_xcalloc(set->paths.nr, sizeof *sums);

	AF_REACH(set->most[kind], set->paths.nr, set->cap_most[kind]);
	for (uint32_t i = 0; i < t->nr; i++)
		scale_sum(&sums[path[i]], t->total[AF_WEIGHT_TIME][i]);
	for (uint32_t p = 0; p < set->paths.nr; p++)
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
		uint32_t *path = paths_of(set, cpu);
		tree_add(set, cpu, path, SCALE_CPU);
		tree_add(set, cpu, path, SCALE_WAIT);
		most_take(set, cpu, path, SCALE_CPU);
		free(path);
	}
	if (gpu->nr) {
		uint32_t *path = paths_of(set, gpu);
		tree_add(set, gpu, path, SCALE_DEVICE);
		most_take(set, gpu, path, SCALE_DEVICE);
		free(path);
	}
	calls_add(s, &rank->calls);
}

uint64_t scale_total(const struct af_scale *s, uint32_t i, enum scale_kind kind)
{
	uint64_t sum = 0;

	for (uint32_t p = 0; p < s->paths.nr && p < s->sets[i].cap[kind]; p++)
		scale_sum(&sum, s->sets[i].ns[kind][p]);
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
