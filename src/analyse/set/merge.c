/* Merges the results of members: trees here, tables and sums in other files of the room. */
#include "analyse/set/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/annotate/sampled.h"
#include "analyse/idle/rows.h"
#include "analyse/mpi/mpi.h"
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
	set_tables_close(m);
	set_sums_close(m);
	free(m->by_values);
	af_sampled_free(&m->kernels);
	af_strtab_free(&m->texts);
	free(m);
}

const char *set_text_of(struct af_merge *m, const char *text)
{
	return af_strtab_get(&m->texts, af_strtab_id_z(&m->texts, text));
}

static const char *member_group_value(const struct af_member *who, const char *key)
{
	for (uint32_t i = 0; key && i < who->nr_groups; i++)
		if (!strcmp(who->groups[i].key, key))
			return who->groups[i].value;
	return "";
}

static const char *or_unknown(const char *text)
{
	return *text ? text : "not known";
}

const char *af_member_by(const struct af_member *who, enum af_merge_by by, const char *group)
{
	switch (by) {
	case AF_BY_HOST:
		return or_unknown(who->host);
	case AF_BY_RANK:
	case AF_BY_PROCESS:
		return who->label;
	case AF_BY_GROUP:
		return or_unknown(member_group_value(who, group));
	case AF_BY_NOTHING:
	case AF_BY_DEVICE: /* the member's own results have its devices */
		break;
	}
	return "";
}

/* The frame between a member's processes and their stacks, or NULL. */
static const char *member_frame(const struct af_merge *m, const char *by, char *text, size_t size)
{
	const char *key = m->how.by == AF_BY_HOST ? "host " : "";

	if (m->how.by == AF_BY_NOTHING || m->how.by == AF_BY_DEVICE)
		return NULL;
	if (m->how.by == AF_BY_GROUP)
		snprintf(text, size, "[%s %s]", m->how.group ? m->how.group : "group", by);
	else
		snprintf(text, size, "[%s%s]", key, by);
	return text;
}

static void by_count(struct af_merge *m, const char *by, uint64_t nr)
{
	uint32_t text = af_strtab_id_z(&m->texts, by);

	for (uint32_t i = 0; i < m->nr_by; i++)
		if (m->by_values[i].text == text) {
			m->by_values[i].nr += nr;
			return;
		}
	AF_GROW(m->by_values, m->nr_by, m->cap_by);
	m->by_values[m->nr_by++] = (struct set_by_value){text, nr};
}

static void merge_trees(struct af_merge *m, const char *by, const struct af_results *r)
{
	char text[512];
	const char *frame = member_frame(m, by, text, sizeof text);

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

static void named_add(struct af_merge *m, struct set_named *to, const char *label, const char *why)
{
	if (to->nr < SET_NAMED)
		to->first[to->nr] = (struct set_reason){set_text_of(m, label), set_text_of(m, why)};
	to->nr++;
}

void af_merge_missing(struct af_merge *m, const struct af_member *who, const char *why)
{
	named_add(m, &m->missing, who->label, why);
}

static void named_join(struct af_merge *m, struct set_named *to, const struct set_named *later)
{
	uint64_t named = later->nr < SET_NAMED ? later->nr : SET_NAMED;

	for (uint64_t i = 0; i < named; i++)
		named_add(m, to, later->first[i].label, later->first[i].why);
	to->nr += later->nr - named;
}

void af_merge_add(struct af_merge *m, const struct af_member *who, const struct af_results *r)
{
	const char *by = af_member_by(who, m->how.by, m->how.group);

	m->nr_members++;
	merge_trees(m, by, r);
	merge_unit(m, r->count_unit);
	m->summed |= r->summed;
	if (m->how.by == AF_BY_HOST || m->how.by == AF_BY_GROUP)
		by_count(m, by, 1);
	set_tables_add(m, who, by, &r->tables);
	set_sums_add(m, who, r);
	if (r->kernels)
		af_sampled_join(&m->kernels, r->kernels, who->path);
	if (*r->damage)
		named_add(m, &m->parts, who->label, r->damage);
	else if (who->state != AF_MEMBER_COMPLETE)
		named_add(m, &m->parts, who->label, *who->why ? who->why : "not finished");
}

void af_merge_join(struct af_merge *m, struct af_merge *later)
{
	for (int v = 0; v < AF_VIEWS; v++) {
		m->has[v] |= later->has[v];
		af_tree_merge(&m->trees[v], &later->trees[v]);
	}
	set_tables_join(m, later);
	set_sums_join(m, later);
	af_sampled_join(&m->kernels, &later->kernels, NULL);
	named_join(m, &m->missing, &later->missing);
	named_join(m, &m->parts, &later->parts);
	for (uint32_t i = 0; i < later->nr_by; i++)
		by_count(m, af_strtab_get(&later->texts, later->by_values[i].text),
		         later->by_values[i].nr);
	m->nr_members += later->nr_members;
	merge_unit(m, later->count_unit);
	m->summed |= later->summed;
	struct af_merge *empty = af_merge_open(&later->how);
	struct af_merge was = *later;
	*later = *empty;
	*empty = was;
	af_merge_close(empty);
}

static void set_kernels_finish(struct af_merge *m, struct af_results *out)
{
	if (!m->kernels.nr_functions)
		return;
	af_sampled_finish(&m->kernels);
	out->kernels = af_xcalloc(1, sizeof *out->kernels);
	*out->kernels = m->kernels;
	out->kernels_close = af_sampled_close;
	m->kernels = (struct af_sampled){0};
}

void af_merge_end(struct af_merge *m, struct af_results *out)
{
	*out = (struct af_results){
	    .query = m->how.query, .summed = m->summed, .members = m->nr_members};
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
	set_about_table(m, &out->tables);
	set_tables_finish(m, &out->tables);
	set_sums_finish(m, out);
	set_kernels_finish(m, out);
	af_idle_verdicts(&out->tables);
	if (m->how.by == AF_BY_NOTHING)
		af_mpi_verdicts(&out->tables);
	for (struct af_table *t = out->tables.first; t; t = t->next)
		if (!strcmp(t->name, "cpu_top"))
			set_top_names(&out->tables, t, &out->trees[AF_VIEW_CPU]);
}
