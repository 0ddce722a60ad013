/* Merges the results of members: trees here, tables and sums in other files of the room. */
#include "analyse/set/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/set/private.h"

struct af_merge *af_merge_open(const struct af_merge_how *how)
{
	struct af_merge *m = af_xcalloc(1, sizeof *m);
	struct af_results none;

	m->how = *how;
	af_results_open(&none, &how->query);
	memcpy(m->trees, none.trees, sizeof m->trees);
	return m;
}

void af_merge_close(struct af_merge *m)
{
	if (!m)
		return;
	for (int v = 0; v < AF_VIEWS; v++)
		af_tree_close(&m->trees[v]);
	af_arena_free(&m->texts);
	free(m);
}

static const char *member_group_value(const struct af_member *who, const char *key)
{
	for (uint32_t i = 0; key && i < who->nr_groups; i++)
		if (!strcmp(who->groups[i].key, key))
			return who->groups[i].value;
	return "";
}

/* The frame between a member's processes and their stacks, or NULL. */
static const char *member_frame(const struct af_merge *m, const struct af_member *who, char *text,
                                size_t size)
{
	const char *value = member_group_value(who, m->how.group);

	switch (m->how.by) {
	case AF_BY_HOST:
		snprintf(text, size, "[host %s]", *who->host ? who->host : "not known");
		return text;
	case AF_BY_RANK:
	case AF_BY_PROCESS:
		snprintf(text, size, "[%s]", who->label);
		return text;
	case AF_BY_GROUP:
		snprintf(text, size, "[%s %s]", m->how.group, *value ? value : "not known");
		return text;
	case AF_BY_NOTHING:
	case AF_BY_DEVICE: /* the member's own trees have its devices */
		break;
	}
	return NULL;
}

static void merge_trees(struct af_merge *m, const struct af_member *who, const struct af_results *r)
{
	char text[512];
	const char *frame = member_frame(m, who, text, sizeof text);

	for (int v = 0; v < AF_VIEWS; v++) {
		m->has[v] |= r->has[v];
		if (r->trees[v].nr > 1 || (r->trees[v].nr && r->trees[v].self[0][0]))
			af_tree_merge_below(&m->trees[v], &r->trees[v], frame);
	}
}

/* The unit that all have whose count has one; a mixture has none. */
static void merge_unit(struct af_merge *m, const char *unit)
{
	if (*unit && !*m->count_unit)
		snprintf(m->count_unit, sizeof m->count_unit, "%s", unit);
	else if (*unit && strcmp(m->count_unit, unit) != 0)
		snprintf(m->count_unit, sizeof m->count_unit, "events");
}

void af_merge_add(struct af_merge *m, const struct af_member *who, const struct af_results *r)
{
	m->nr_members++;
	merge_trees(m, who, r);
	merge_unit(m, r->count_unit);
	m->summed |= r->summed;
}

void af_merge_missing(struct af_merge *m, const struct af_member *who, const char *why)
{
	if (m->nr_missing < SET_NAMED)
		m->missing[m->nr_missing] =
		    (struct set_missing){af_arena_strdup(&m->texts, who->label, strlen(who->label)),
		                         af_arena_strdup(&m->texts, why, strlen(why))};
	m->nr_missing++;
}

static void join_missing(struct af_merge *m, const struct af_merge *later)
{
	for (uint64_t i = 0; i < later->nr_missing && i < SET_NAMED; i++)
		if (m->nr_missing + i < SET_NAMED)
			m->missing[m->nr_missing + i] =
			    (struct set_missing){af_arena_strdup(&m->texts, later->missing[i].label,
			                                         strlen(later->missing[i].label)),
			                         af_arena_strdup(&m->texts, later->missing[i].why,
			                                         strlen(later->missing[i].why))};
	m->nr_missing += later->nr_missing;
}

void af_merge_join(struct af_merge *m, struct af_merge *later)
{
	for (int v = 0; v < AF_VIEWS; v++) {
		m->has[v] |= later->has[v];
		af_tree_merge(&m->trees[v], &later->trees[v]);
	}
	join_missing(m, later);
	m->nr_members += later->nr_members;
	merge_unit(m, later->count_unit);
	m->summed |= later->summed;
	struct af_merge *empty = af_merge_open(&later->how);
	struct af_merge was = *later;
	*later = *empty;
	*empty = was;
	af_merge_close(empty);
}

void af_merge_end(struct af_merge *m, struct af_results *out)
{
	*out = (struct af_results){.query = m->how.query, .summed = m->summed};
	memcpy(out->trees, m->trees, sizeof out->trees);
	memcpy(out->has, m->has, sizeof out->has);
	memcpy(out->count_unit, m->count_unit, sizeof out->count_unit);
	memset(m->trees, 0, sizeof m->trees);
	for (int v = 0; v < AF_VIEWS; v++) {
		if (*out->count_unit && v < AF_VIEW_WAKERS)
			out->trees[v].weights[AF_WEIGHT_COUNT].unit = out->count_unit;
		af_tree_finish(&out->trees[v]);
	}
	af_trees_tell_apart(out->trees, AF_VIEWS);
}
