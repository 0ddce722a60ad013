/* The reports that come from a view's tree: top, tree, callers and callees. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/functions/top.h"
#include "analyse/table/group_by.h"
#include "analyse/tree/by_track.h"
#include "analyse/tree/filter.h"
#include "analyse/tree/ids.h"
#include "analyse/tree/table.h"
#include "base/err.h"
#include "cmd/flat/flat.h"
#include "cmd/output/picture.h"
#include "cmd/report.h"
#include "cmd/shared/load.h"
#include "cmd/shared/summary.h"

/* A tree that is reported on, by one weight. */
struct reported {
	const struct af_tree *tree; /* as far as it is asked for */
	uint32_t weight;
	struct af_document document;
	const char *warning; /* or NULL */
};

typedef void filter_step(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h);

/* Texts stay the first tree's, so what is in between may go. */
static const struct af_tree *filter(struct report *r, const struct af_tree *t,
                                    const struct af_strings *patterns, filter_step *step)
{
	for (uint32_t i = 0; i < patterns->nr; i++) {
		struct af_tree next = {0};
		struct af_hits h;
		af_hits_match(&h, t, patterns->items[i]);
		step(&next, t, &h);
		af_hits_free(&h);
		af_tree_close(&r->filtered);
		r->filtered = next;
		t = &r->filtered;
	}
	return t;
}

/* Only of a whole trace without any data it is known what would help. */
static const char *reported_hint(const struct report *r, int view)
{
	const struct af_query *query = &r->results.query;

	return r->results.has[view] || query->from_ns || query->to_ns ? "" : af_load_hint(view);
}

static int reported_open(struct report *r, struct reported *to, struct af_err *err)
{
	const struct report_options *o = r->options;
	const struct af_picture picture = {.weight = r->weight};
	int v = report_view(r);
	const struct af_tree *t = &r->results.trees[v];
	int weight = af_picture_weight(&picture, t, err);

	if (weight < 0)
		return weight;
	const struct af_tree_weight *w = &t->weights[weight];
	uint64_t all = t->total[weight][0];
	const char *warning = af_load_warning(&r->results, v, w->name);
	if (!all && r->results.has[v]) {
		int rc = af_load_has(r->dir, &r->results, v, r->weight, err);
		if (rc)
			return rc;
	}
	if (!all)
		return af_fail_plain(err, -ENODATA, "the trace has no %s in the view %s%s%s",
		                     w->name, af_view_names[v], warning ? ": " : "",
		                     warning ? warning : reported_hint(r, v));
	t = filter(r, t, &o->focus, af_tree_focus);
	t = filter(r, t, &o->hide, af_tree_hide);
	t = filter(r, t, &o->search, af_tree_keep);
	*to = (struct reported){
	    .tree = t,
	    .weight = (uint32_t)weight,
	    .warning = warning,
	    .document = {.report = r->kind->name,
	                 .view = af_view_names[v],
	                 .weight = w->name,
	                 .unit = w->unit,
	                 .all = all,
	                 .total = t->total[weight][0]},
	};
	if (!to->document.total)
		return af_fail_plain(err, -ENOENT, "view %s: no stack matches --focus and --search",
		                     af_view_names[v]);
	return 0;
}

/* "Callers of f: 1.234 s of 5.000 s of the view cpu by time (24.68 %), 0.5 s itself" */
static void say_share(struct af_buf *b, const struct reported *p, const char *what)
{
	enum af_cell_unit unit = af_tree_unit(p->tree, p->weight);
	const struct af_document *d = &p->document;

	af_buf_terminal(b, what, strlen(what), "");
	af_buf_str(b, ": ");
	af_cell_text(b, unit, d->total);
	af_buf_str(b, " of ");
	af_cell_text(b, unit, d->all);
	af_buf_fmt(b, " of the view %s by %s (", d->view, d->weight);
	af_cell_text(b, AF_CELL_PERCENT, af_tables_ratio(d->total, d->all, 1e4));
	af_buf_char(b, ')');
	if (d->query) {
		af_buf_str(b, ", ");
		af_cell_text(b, unit, d->self);
		af_buf_str(b, " itself");
	}
	af_buf_char(b, '\n');
}

/* Frames that the user left out are reported, too. */
static void say_left(const struct report *r, const struct reported *p)
{
	const struct report_options *o = r->options;
	struct af_buf b = {0};

	if (o->json || !(o->focus.nr || o->hide.nr || o->search.nr))
		return;
	say_share(&b, p, "What is left");
	af_buf_char(&b, '\n');
	report_print(&b);
}

/* Where there is more than tables: formats of trees have no place for it. */
static void say_warning(const struct reported *p)
{
	if (p->warning)
		fprintf(stderr, "aflame report: %s\n", p->warning);
}

static int print_tables(struct report *r, const struct af_document *d, const struct af_tables *f)
{
	struct af_buf b = {0};

	if (r->options->json)
		af_tables_json(&b, d, f, report_limit(r, REPORT_ROWS));
	for (const struct af_table *t = f->first; t && !r->options->json; t = t->next)
		report_table(r, &b, t);
	report_print(&b);
	return 0;
}

bool report_is_plain_top(const struct report *r)
{
	const struct report_options *o = r->options;

	return r->kind->print == report_top && !o->by && !o->view && !r->weight && !o->focus.nr &&
	       !o->hide.nr && !o->search.nr && !strcmp(o->sort, "self");
}

bool report_is_of_top(const struct af_table *t)
{
	return !strcmp(t->name, "cpu_top") || !strcmp(t->name, "kernels");
}

/* The tables of functions by CPU time and of kernels, of those that there are. */
static int plain_top(struct report *r)
{
	const struct af_tree *t = &r->results.trees[AF_VIEW_CPU];
	struct af_document d = {.report = "top"};
	struct af_tables shown = {0};
	struct af_table *next;

	for (struct af_table *table = r->results.tables.first; table; table = next) {
		bool cpu = !strcmp(table->name, "cpu_top");
		next = table->next;
		if (!report_is_of_top(table))
			continue;
		af_ids_add(&r->results.tables, table, cpu ? t : NULL);
		table->next = NULL;
		if (shown.last)
			shown.last->next = table;
		else
			shown.first = table;
		shown.last = table;
	}
	r->results.tables.first = r->results.tables.last = NULL;
	if (t->nr && t->total[AF_WEIGHT_TIME][0]) {
		d.view = af_view_names[AF_VIEW_CPU];
		d.weight = t->weights[AF_WEIGHT_TIME].name;
		d.unit = t->weights[AF_WEIGHT_TIME].unit;
		d.all = d.total = t->total[AF_WEIGHT_TIME][0];
	}
	return print_tables(r, &d, &shown);
}

/* The track of a tree, whatever its functions. */
static int by_track_top(struct report *r, struct af_err *err)
{
	struct af_tables tables = {0};
	struct reported p = {0};
	int rc = reported_open(r, &p, err);

	if (rc)
		return rc;
	af_by_track_table(&tables, p.tree, p.weight, r->options->by);
	if (tables.first)
		tables.first->warning = p.warning;
	rc = print_tables(r, &p.document, &tables);
	af_tables_free(&tables);
	return rc;
}

int report_top(struct report *r, struct af_err *err)
{
	struct af_tables tables = {0};
	struct reported p = {0};

	if (report_is_plain_top(r))
		return plain_top(r);
	if (r->options->by)
		return by_track_top(r, err);
	int rc = reported_open(r, &p, err);
	if (rc)
		return rc;
	const char *weight = p.document.weight ? p.document.weight : "time";
	const char *name = af_tables_text(&tables, "%s_top", weight);
	bool count = !strcmp(weight, "count");
	const char *title =
	    af_tables_text(&tables, "Functions by %s", count ? p.document.unit : weight);
	if (!strcmp(r->options->sort, "total"))
		af_top_by_total(&tables, p.tree, p.weight, NULL, name, title);
	else
		af_top_table(&tables, p.tree, p.weight, name, title, 0);
	if (tables.first) {
		tables.first->warning = p.warning;
		af_ids_add(&tables, tables.first, p.tree);
	}
	say_left(r, &p);
	rc = print_tables(r, &p.document, &tables);
	af_tables_free(&tables);
	return rc;
}

int report_flat(struct report *r, struct af_err *err)
{
	const struct af_flat_options options = {.json = r->options->json,
	                                        .lines = r->options->lines,
	                                        .limit = report_limit(r, AF_FLAT_ROWS),
	                                        .by = r->options->by};
	struct reported p = {0};
	int rc = reported_open(r, &p, err);

	if (rc)
		return rc;
	say_left(r, &p);
	af_flat_print(&r->results, p.tree, p.weight, &p.document, p.warning, &options);
	return 0;
}

/* Half a percent, unless a number is asked for. */
static struct af_tree_cut report_cut(const struct report *r, uint64_t total)
{
	if (r->options->limit == UINT64_MAX)
		return (struct af_tree_cut){.min = total / 200 + 1};
	return (struct af_tree_cut){.min = 1, .limit = report_limit(r, 0)};
}

/* For a tree whose root is @root, or NULL for all. */
static int text_tree(const struct report *r, const struct reported *p, const struct af_tree *t,
                     const char *root, struct af_err *err)
{
	const struct af_picture picture = {
	    .weight = p->document.weight,
	    .root = root,
	    .rest = AF_SHOW_ALL,
	    .frames = report_limit(r, 0),
	    .all_frames = !r->options->limit,
	};
	const struct af_picture_request request = {
	    .format = af_format_for("text"),
	    .to = {"-", false},
	    .picture = &picture,
	    .tree = t,
	};

	fflush(stdout);
	return af_picture_write(&request, err);
}

int report_tree(struct report *r, struct af_err *err)
{
	struct af_tables tables = {0};
	struct reported p = {0};
	int rc = reported_open(r, &p, err);

	if (rc)
		return rc;
	say_left(r, &p);
	say_warning(&p);
	if (!r->options->json)
		return text_tree(r, &p, p.tree, NULL, err);
	struct af_tree_cut cut = report_cut(r, p.document.total);
	af_tree_table(&tables, p.tree, p.weight, &cut, "tree", "Stacks, from their callers on");
	struct af_buf b = {0};
	af_tables_json(&b, &p.document, &tables, 0);
	report_print(&b);
	af_tables_free(&tables);
	return 0;
}

/* Words for the one of two directions. */
struct direction {
	void (*make)(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h);
	const char *own; /* what the function's own row is called */
	const char *of;  /* "Callers of" */
	const char *name, *title, *tree_name;
};

static void of_functions(struct af_tables *f, const struct reported *p, const struct af_hits *h)
{
	af_top_by_total(f, p->tree, p->weight, h->is, "functions", "What is meant");
	if (f->last)
		af_ids_add(f, f->last, p->tree);
}

static int of_text(struct report *r, const struct reported *p, const struct direction *to,
                   const struct af_tables *f, const struct af_tree *t, struct af_err *err)
{
	struct af_buf b = {0};
	char what[512];

	snprintf(what, sizeof what, "%s %s", to->of, r->function);
	say_share(&b, p, what);
	for (const struct af_table *table = f->first; table; table = table->next)
		if (strcmp(table->name, "functions") || table->nr_rows > 1)
			report_table(r, &b, table);
	af_buf_char(&b, '\n');
	report_print(&b);
	return text_tree(r, p, t, r->function, err);
}

static int of_function(struct report *r, const struct direction *to, struct af_err *err)
{
	struct af_tables tables = {0};
	struct af_tree tree = {0};
	struct af_buf chosen = {0};
	struct af_hits hits;
	struct reported p = {0};
	int rc = reported_open(r, &p, err);

	if (rc)
		return rc;
	af_hits_find(&hits, p.tree, r->function);
	af_hits_choose(&hits, p.tree, p.weight, &chosen);
	if (chosen.len)
		fprintf(stderr, "aflame report: %s is taken as %.*s\n", r->function,
		        (int)chosen.len, chosen.data);
	af_buf_free(&chosen);
	af_hits_weight(p.tree, &hits, p.weight, &p.document.total, &p.document.self);
	p.document.query = r->function;
	if (!p.document.total) {
		af_hits_free(&hits);
		return af_fail_plain(err, -ENOENT,
		                     "no function with %s in the view %s is called or matches "
		                     "\"%s\": `aflame report top --sort total -n 0` lists them",
		                     p.document.weight, p.document.view, r->function);
	}
	of_functions(&tables, &p, &hits);
	say_warning(&p);
	to->make(&tree, p.tree, &hits);
	af_tree_first_table(&tables, &tree, p.weight, to->own, to->name, to->title);
	if (r->options->json) {
		struct af_tree_cut cut = report_cut(r, p.document.total);
		struct af_buf b = {0};
		af_tree_table(&tables, &tree, p.weight, &cut, to->tree_name, "All of them");
		af_tables_json(&b, &p.document, &tables, report_limit(r, REPORT_ROWS));
		report_print(&b);
	} else {
		rc = of_text(r, &p, to, &tables, &tree, err);
	}
	af_tree_close(&tree);
	af_hits_free(&hits);
	af_tables_free(&tables);
	return rc;
}

int report_callers(struct report *r, struct af_err *err)
{
	static const struct direction up = {af_tree_callers, "[no caller]", "Callers of",
	                                    "callers",       "Its callers", "callers_tree"};

	return of_function(r, &up, err);
}

int report_callees(struct report *r, struct af_err *err)
{
	static const struct direction down = {af_tree_callees, "[itself]",      "Callees of",
	                                      "callees",       "What it calls", "callees_tree"};

	return of_function(r, &down, err);
}
