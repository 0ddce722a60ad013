/*
 * Sets as bytes, for another process, and joined: two parts of one set, and all sets with one
 * numbering of paths and calls. Numbers are given in the order of members, then of sets, so it does
 * not matter which process read which member. Nothing that is read is believed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ranks/ranks.h"
#include "analyse/scale/private.h"
#include "analyse/tree/bytes.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"

void scale_set_open(struct scale_set *set, const char *name)
{
	static const struct af_tree_weight weight = {"time", "ns", 1};

	*set = (struct scale_set){.name = name};
	af_tree_open(&set->paths, &weight, 1);
}

void scale_set_close(struct scale_set *set)
{
	for (uint32_t k = 0; k < SCALE_KINDS; k++)
		free(set->ns[k]), free(set->most[k]);
	free(set->calls.all);
	free(set->calls_ns);
	af_keys_free(&set->calls.by_name);
	af_tree_close(&set->paths);
}

void scale_sum(uint64_t *sum, uint64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = UINT64_MAX;
}

uint32_t scale_call_add(struct scale_calls *to, struct af_arena *arena, const char *api,
                        const char *function, uint64_t ns)
{
	char key[512];
	bool fresh;
	int len = snprintf(key, sizeof key, "%s %s", api, function);

	if (len < 0 || (size_t)len >= sizeof key)
		len = (int)sizeof key - 1;
	uint64_t *slot = af_keys_at(&to->by_name, key, (size_t)len, &fresh);
	if (fresh) {
		AF_GROW(to->all, to->nr, to->cap);
		to->all[to->nr] =
		    (struct scale_call){af_arena_strdup(arena, function, strlen(function)),
		                        af_arena_strdup(arena, api, strlen(api)), 0};
		*slot = to->nr++;
	}
	scale_sum(&to->all[*slot].ns, ns);
	return (uint32_t)*slot;
}

static void write_times(struct af_buf *to, const uint64_t *ns, uint32_t nr)
{
	af_buf_leb128(to, nr);
	for (uint32_t i = 0; i < nr; i++)
		af_buf_leb128(to, ns[i]);
}

/* How many of the @cap times belong to paths. */
static uint32_t times_of(const struct scale_set *set, uint32_t cap)
{
	return cap < set->paths.nr ? cap : set->paths.nr;
}

void af_scale_write(const struct af_scale *s, struct af_buf *to)
{
	const struct scale_set *set = &s->sets[s->nr - 1];

	af_buf_leb128(to, set->nr_ranks);
	af_buf_leb128(to, set->wall_ns);
	af_buf_leb128(to, set->mpi_ns);
	af_tree_write(&set->paths, to);
	for (uint32_t k = 0; k < SCALE_KINDS; k++) {
		af_buf_leb128(to, set->samples[k]);
		af_buf_leb128(to, set->sampled_ns[k]);
		write_times(to, set->ns[k], times_of(set, set->cap[k]));
		write_times(to, set->most[k], times_of(set, set->cap_most[k]));
	}
	af_buf_leb128(to, set->calls.nr);
	for (uint32_t i = 0; i < set->calls.nr; i++) {
		const struct scale_call *call = &set->calls.all[i];
		af_buf_add(to, call->api, strlen(call->api) + 1);
		af_buf_add(to, call->function, strlen(call->function) + 1);
		af_buf_leb128(to, call->ns);
	}
}

static uint64_t *read_times(struct af_cursor *from, const struct scale_set *set, uint32_t *cap)
{
	uint64_t nr = af_cursor_uleb(from);

	from->bad |= nr > set->paths.nr;
	if (from->bad || !nr)
		return NULL;
	uint64_t *ns = af_xcalloc(nr, sizeof *ns);
	for (uint64_t i = 0; i < nr; i++)
		ns[i] = af_cursor_uleb(from);
	*cap = (uint32_t)nr;
	return ns;
}

static void read_calls(struct af_cursor *from, struct af_arena *arena, struct scale_set *set)
{
	uint64_t nr = af_cursor_uleb(from);

	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		const char *api = af_cursor_string(from), *function = af_cursor_string(from);
		uint64_t ns = af_cursor_uleb(from);
		if (!from->bad)
			scale_call_add(&set->calls, arena, api, function, ns);
	}
}

/* The times @from, by node of another tree, are added to @to, or are the most of both. */
static void times_join(uint64_t *to, const uint64_t *from, uint32_t nr, const uint32_t *path,
                       bool most)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t *at = &to[path[i]];
		if (!most)
			scale_sum(at, from[i]);
		else if (from[i] > *at)
			*at = from[i];
	}
}

/* The members of @later come behind those of @set. */
static void set_join(struct scale_set *set, const struct scale_set *later, struct af_arena *arena)
{
	uint32_t *path = af_ranks_paths_join(&set->paths, &later->paths);

	scale_sum(&set->mpi_ns, later->mpi_ns);
	set->nr_ranks += later->nr_ranks;
	set->wall_ns = later->wall_ns > set->wall_ns ? later->wall_ns : set->wall_ns;
	for (uint32_t k = 0; k < SCALE_KINDS; k++) {
		scale_sum(&set->samples[k], later->samples[k]);
		scale_sum(&set->sampled_ns[k], later->sampled_ns[k]);
		AF_REACH(set->ns[k], set->paths.nr, set->cap[k]);
		AF_REACH(set->most[k], set->paths.nr, set->cap_most[k]);
		times_join(set->ns[k], later->ns[k], times_of(later, later->cap[k]), path, false);
		times_join(set->most[k], later->most[k], times_of(later, later->cap_most[k]), path,
		           true);
	}
	for (uint32_t i = 0; i < later->calls.nr; i++) {
		const struct scale_call *call = &later->calls.all[i];
		scale_call_add(&set->calls, arena, call->api, call->function, call->ns);
	}
	free(path);
}

int af_scale_read(struct af_scale *s, const void *data, size_t size, struct af_err *err)
{
	struct af_cursor c = {data, (const uint8_t *)data + size, false};
	struct scale_set later;

	scale_set_open(&later, "");
	uint64_t nr_ranks = af_cursor_uleb(&c);
	c.bad |= nr_ranks > UINT32_MAX - s->sets[s->nr - 1].nr_ranks;
	later.nr_ranks = (uint32_t)nr_ranks;
	later.wall_ns = af_cursor_uleb(&c);
	later.mpi_ns = af_cursor_uleb(&c);
	int rc = af_tree_read(&later.paths, &c, err);
	for (uint32_t k = 0; k < SCALE_KINDS && !rc && !c.bad; k++) {
		later.samples[k] = af_cursor_uleb(&c);
		later.sampled_ns[k] = af_cursor_uleb(&c);
		later.ns[k] = read_times(&c, &later, &later.cap[k]);
		later.most[k] = read_times(&c, &later, &later.cap_most[k]);
	}
	if (!rc && !c.bad)
		read_calls(&c, &s->arena, &later);
	if (!rc && c.bad)
		rc = af_fail_plain(err, -EBADMSG, "the times of another process are damaged");
	if (!rc)
		set_join(&s->sets[s->nr - 1], &later, &s->arena);
	scale_set_close(&later);
	return rc;
}

/* @*ns, by node of the set's own paths, by those of all. */
static void times_move(uint64_t **ns, uint32_t *cap, uint32_t nr, uint32_t nr_paths,
                       const uint32_t *path)
{
	uint64_t *all = af_xcalloc(nr_paths, sizeof *all);

	times_join(all, *ns, nr, path, false);
	free(*ns);
	*ns = all;
	*cap = nr_paths;
}

static void calls_combine(struct af_scale *s, struct scale_set *set)
{
	for (uint32_t i = 0; i < set->calls.nr; i++) {
		const struct scale_call *call = &set->calls.all[i];
		uint32_t at =
		    scale_call_add(&s->calls, &s->arena, call->api, call->function, call->ns);
		AF_REACH(set->calls_ns, at, set->cap_calls);
		set->calls_ns[at] = call->ns;
	}
}

void scale_sets_combine(struct af_scale *s)
{
	for (uint32_t i = 0; i < s->nr; i++) {
		struct scale_set *set = &s->sets[i];
		uint32_t *path = af_ranks_paths_join(&s->paths, &set->paths);
		for (uint32_t k = 0; k < SCALE_KINDS; k++) {
			times_move(&set->ns[k], &set->cap[k], times_of(set, set->cap[k]),
			           s->paths.nr, path);
			times_move(&set->most[k], &set->cap_most[k],
			           times_of(set, set->cap_most[k]), s->paths.nr, path);
		}
		free(path);
		af_tree_close(&set->paths);
		calls_combine(s, set);
	}
}
