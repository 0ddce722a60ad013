/* aflame report --plugin: shared objects of others make tables, trees and slices of a trace. */
#include "cmd/plugin/plugins.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "cmd/output/progress.h"
#include "cmd/plugin/private.h"

struct af_plugin_request plugins_request(const struct af_plugins_options *o, uint32_t i,
                                         const char *dir, const char *member)
{
	return (struct af_plugin_request){.path = o->paths.items[i],
	                                  .argc = o->argc,
	                                  .argv = o->argv,
	                                  .dir = dir,
	                                  .member = member,
	                                  .memory = o->memory,
	                                  .call_ns = o->call_ns,
	                                  .from_ns = o->from_ns,
	                                  .to_ns = o->to_ns,
	                                  .focus = {o->focus.items, o->focus.nr},
	                                  .hide = {o->hide.items, o->hide.nr},
	                                  .search = {o->search.items, o->search.nr}};
}

static int plugins_run(const struct plugins *p, uint32_t i, struct af_plugin_results *to,
                       struct af_err *err)
{
	struct af_progress progress = af_progress_begin("running the plug-in");
	struct af_plugin_request q = plugins_request(p->o, i, p->o->dir, "");

	q.progress = af_progress_tell;
	q.arg = &progress;
	int rc = af_plugin_run(&q, to, err);
	af_progress_end(&progress);
	if (!rc && *to->damage)
		fprintf(stderr, "aflame: %s is damaged: %s\n", p->o->dir, to->damage);
	return rc;
}

/* Is there a table or a tree of that name among those of plug-ins before @before? */
static const char *has_name(const struct plugins *p, uint32_t before, const char *name)
{
	for (uint32_t i = 0; i < before; i++)
		if (af_tables_find(&p->results[i].tables, name) ||
		    af_plugin_tree_find(&p->results[i], name))
			return p->o->paths.items[i];
	return NULL;
}

/* Programs find a table by its name, so two plug-ins must not have one of the same. */
static int names_check(const struct plugins *p, uint32_t i, struct af_err *err)
{
	const struct af_plugin_results *r = &p->results[i];
	const char *name = NULL, *other = NULL;

	for (const struct af_table *t = r->tables.first; t && !other; t = t->next)
		other = has_name(p, i, name = t->name);
	for (uint32_t n = 0; n < r->nr_trees && !other; n++)
		other = has_name(p, i, name = r->trees[n].name);
	if (!other || !strcmp(name, "set"))
		return 0;
	return af_fail_plain(err, -EINVAL,
	                     "the plug-ins %s and %s both give a result called %s: run them one "
	                     "by one",
	                     other, p->o->paths.items[i], name);
}

static int all_run(struct plugins *p, struct af_err *err)
{
	const struct af_plugins_options *o = p->o;
	int rc = 0;

	p->results = af_xcalloc(o->paths.nr + 1ull, sizeof *p->results);
	for (uint32_t i = 0; !rc && i < o->paths.nr; i++) {
		p->nr = i + 1;
		rc = o->is_set ? plugins_members(o, i, &p->results[i], err)
		               : plugins_run(p, i, &p->results[i], err);
		if (!rc)
			rc = names_check(p, i, err);
	}
	return rc;
}

static void all_free(struct plugins *p)
{
	for (uint32_t i = 0; i < p->nr; i++)
		af_plugin_results_free(&p->results[i]);
	free(p->results);
}

int af_plugins_report(const struct af_plugins_options *o, struct af_err *err)
{
	struct plugins p = {.o = o};
	int rc = plugins_format_choose(o, &p.format, err);

	if (!rc)
		rc = all_run(&p, err);
	if (!rc)
		rc = plugins_write(&p, err);
	all_free(&p);
	return rc;
}

int af_plugins_slices_run(struct plugins **p, const struct af_plugins_options *o,
                          const struct af_format *format, bool gzip, struct af_err *err)
{
	uint64_t nr = 0;

	*p = af_xcalloc(1, sizeof **p);
	(*p)->o = o;
	(*p)->format = (struct plugins_format){.slices = format, .gzip = gzip};
	int rc = all_run(*p, err);
	for (uint32_t i = 0; !rc && i < (*p)->nr; i++)
		nr += (*p)->results[i].nr_slices + (*p)->results[i].nr_points;
	if (!rc && !nr)
		return af_fail_plain(err, -ENODATA,
		                     "no plug-in gave slices, so there is nothing for a timeline: "
		                     "aflame report --plugin shows what they gave");
	return rc;
}

int af_plugins_slices_append(void *p, int fd, struct af_err *err)
{
	return plugins_slices_append(p, fd, err);
}

void af_plugins_slices_free(struct plugins *p)
{
	if (p)
		all_free(p);
	free(p);
}
