/* A plug-in over the traces of a set, one after the other; their results become those of one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/clocks/times.h"
#include "analyse/set/merge.h"
#include "analyse/set/set.h"
#include "base/err.h"
#include "cmd/output/progress.h"
#include "cmd/plugin/private.h"
#include "cmd/shared/set.h"

/* Trees of one name add up. */
static void trees_merge(struct af_plugin_results *to, const struct af_plugin_results *from)
{
	for (uint32_t i = 0; i < from->nr_trees; i++) {
		const struct af_plugin_tree *t = &from->trees[i];
		struct af_plugin_tree *all = af_plugin_tree_find(to, t->name);
		if (!all)
			all = af_plugin_tree_add(to, t->name, t->title, t->weights,
			                         t->tree.nr_weights);
		af_tree_merge(&all->tree, &t->tree);
	}
}

/* A plug-in that runs over the members of a set. */
struct members {
	const struct af_plugins_options *o;
	uint32_t plugin;
	struct af_set set;
	struct af_set_times times; /* read where only a part of the time is wanted */
	struct af_merge *merge;
};

static int member_run(struct members *all, uint32_t n, struct af_plugin_results *to,
                      struct af_err *err)
{
	const struct af_member *who = &all->set.members[n];
	struct af_plugin_request q = plugins_request(all->o, all->plugin, who->path, who->label);
	struct af_plugin_results one;

	if (all->times.members && !af_set_times_part(&all->times, n, &q.from_ns, &q.to_ns))
		q.from_ns = q.to_ns = UINT64_MAX;
	int rc = af_plugin_run(&q, &one, err);

	if (!rc) {
		struct af_results r = {.tables = one.tables};
		snprintf(r.damage, sizeof r.damage, "%s", one.damage);
		af_merge_add(all->merge, who, &r);
		trees_merge(to, &one);
		if (!to->name)
			to->name = af_arena_strdup(&to->arena, one.name, strlen(one.name));
		to->nr_left += one.nr_slices + one.nr_points;
	}
	af_plugin_results_free(&one);
	return rc ? af_while(err, rc, "%s", who->label) : 0;
}

/* The tables of all, with the table `set` of who is in them. */
static void members_end(struct af_merge *m, struct af_plugin_results *to)
{
	struct af_results r;

	af_merge_end(m, &r);
	to->tables = r.tables;
	r.tables = (struct af_tables){0};
	af_results_close(&r);
	for (uint32_t i = 0; i < to->nr_trees; i++)
		af_tree_finish(&to->trees[i].tree);
}

static int members_run(struct members *all, struct af_plugin_results *to, struct af_err *err)
{
	struct af_progress progress = af_progress_begin("running the plug-in");
	int rc = 0;

	for (uint32_t n = 0; !rc && n < all->set.nr; n++) {
		const char *why = af_set_prepare(&all->set, n);
		af_progress_tell(&progress, n, all->set.nr);
		if (why)
			af_merge_missing(all->merge, &all->set.members[n], why);
		else
			rc = member_run(all, n, to, err);
	}
	af_progress_end(&progress);
	return rc;
}

int plugins_members(const struct af_plugins_options *o, uint32_t i, struct af_plugin_results *to,
                    struct af_err *err)
{
	const struct af_merge_how how = {.query = {.answers = AF_ANSWER_TABLES, .merges = true}};
	struct members all = {.o = o, .plugin = i, .merge = af_merge_open(&how)};
	int rc = af_set_open(&all.set, o->dir, err);

	if (!rc && (o->from_ns || o->to_ns))
		rc = af_set_times_read(&all.times, &all.set, err);
	if (!rc)
		rc = members_run(&all, to, err);
	if (!rc && (!af_merge_members(all.merge) || af_merge_lacks(all.merge)))
		rc = af_set_report(o->dir, all.merge, err);
	if (!rc)
		members_end(all.merge, to);
	af_merge_close(all.merge);
	af_set_times_free(&all.times);
	af_set_close(&all.set);
	return rc;
}
