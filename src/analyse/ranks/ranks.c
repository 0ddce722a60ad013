#include "analyse/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/ranks/private.h"
#include "base/arena.h"

const struct af_pass_ops *const af_ranks_passes[] = {&af_pass_flame, &af_pass_activity, NULL};

static const char *const kind_names[] = {
#define AF_K(NAME, name, title) name,
    AF_RANK_KIND_LIST(AF_K)
#undef AF_K
};

static const char *const kind_titles[] = {
#define AF_K(NAME, name, title) title,
    AF_RANK_KIND_LIST(AF_K)
#undef AF_K
};

const char *af_rank_kind_name(enum af_rank_kind kind)
{
	return kind < AF_RANK_KINDS ? kind_names[kind] : "";
}

const char *af_rank_kind_title(enum af_rank_kind kind)
{
	return kind < AF_RANK_KINDS ? kind_titles[kind] : "";
}

struct af_ranks *af_ranks_open(void)
{
	static const struct af_tree_weight weight = {"time", "ns", 1};
	struct af_ranks *all = af_xcalloc(1, sizeof *all);

	af_tree_open(&all->paths, &weight, 1);
	return all;
}

void af_ranks_close(struct af_ranks *all)
{
	if (!all)
		return;
	for (uint32_t i = 0; i < all->nr; i++)
		free(all->profiles[i].parts);
	free(all->profiles);
	free(all->ranks);
	free(all->result.groups);
	free(all->result.odd);
	af_tree_close(&all->paths);
	af_arena_free(&all->arena);
	free(all);
}

static const char *text_copy(struct af_arena *a, const char *text)
{
	return text ? af_arena_strdup(a, text, strlen(text)) : "";
}

static const struct af_member *member_copy(struct af_ranks *all, const struct af_member *who)
{
	struct af_member *m = af_arena_alloc(&all->arena, sizeof *m);

	*m = *who;
	m->path = text_copy(&all->arena, who->path);
	m->name = text_copy(&all->arena, who->name);
	m->label = text_copy(&all->arena, who->label);
	m->host = text_copy(&all->arena, who->host);
	m->boot_id = text_copy(&all->arena, who->boot_id);
	m->job_key = m->version = m->why = m->selection = "";
	m->groups = NULL;
	m->nr_groups = 0;
	return m;
}

struct ranks_profile *ranks_new(struct af_ranks *all, const struct af_member *who)
{
	AF_GROW(all->profiles, all->nr, all->cap);
	AF_GROW(all->ranks, all->nr, all->cap_ranks);
	all->ranks[all->nr] = (struct af_rank){.who = member_copy(all, who)};
	all->profiles[all->nr] = (struct ranks_profile){0};
	return &all->profiles[all->nr++];
}

void af_ranks_add(struct af_ranks *all, const struct af_member *who, const struct af_results *r)
{
	struct ranks_profile *p = ranks_new(all, who);

	ranks_profile_make(all, p, &all->ranks[all->nr - 1], r);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median_wall(const struct af_ranks *all)
{
	uint64_t *walls = af_xcalloc(all->nr, sizeof *walls), is = 0;

	for (uint32_t i = 0; i < all->nr; i++)
		walls[i] = all->ranks[i].wall_ns;
	if (all->nr) {
		AF_SORT(walls, all->nr, by_size);
		is = walls[all->nr / 2];
	}
	free(walls);
	return is;
}

const struct af_ranks_result *af_ranks_end(struct af_ranks *all)
{
	struct af_ranks_result *r = &all->result;

	af_tree_finish(&all->paths);
	af_trees_tell_apart(&all->paths, 1);
	r->ranks = all->ranks;
	r->nr = all->nr;
	r->paths = &all->paths;
	r->has_waits = all->has_waits;
	r->wall_ns = median_wall(all);
	if (all->nr) {
		ranks_groups_make(all);
		ranks_causes_find(all);
	}
	return r;
}
