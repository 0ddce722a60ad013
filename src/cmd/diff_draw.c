/* Shows a difference: as tables, pictures, pages, text. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cmd/diff.h"
#include "cmd/shared/summary.h"
#include "render/render.h"
#include "render/text/tables.h"

enum af_change_kind af_diff_only(const struct af_diff *d)
{
	const char *show = d->o->show;

	return !show                       ? AF_CHANGE_NONE
	       : !strcmp(show, "new")      ? AF_CHANGE_NEW
	       : !strcmp(show, "vanished") ? AF_CHANGE_VANISHED
	                                   : AF_CHANGE_NONE;
}

/* The duration of a step on one side, as people read it. */
static const char *step_text(const struct af_diff *d, struct af_tables *f, uint32_t side)
{
	const struct af_tree *t = &d->views[0].tree;
	uint64_t each = t->total[side][0] / d->sides[side].steps;

	return !strcmp(t->weights[side].unit, "ns")
	           ? af_tables_ns(f, each)
	           : af_tables_text(f, "%llu", (unsigned long long)each);
}

const char *af_diff_normalized(const struct af_diff *d, struct af_tables *f)
{
	const struct af_difference_look *look = &d->views[0].look;
	double scale = look->scales[look->normalize];

	switch (look->normalize) {
	case AF_NORMALIZE_TOTAL:
		return af_tables_text(f, "shares of the total: before counts %.4g times", scale);
	case AF_NORMALIZE_WALL:
		return af_tables_text(f, "the same time: before counts %.4g times", scale);
	case AF_NORMALIZE_STEP:
		return af_tables_text(f,
		                      "%llu and %llu steps \"%s\", of %s and %s: before counts "
		                      "%.4g times",
		                      (unsigned long long)d->sides[0].steps,
		                      (unsigned long long)d->sides[1].steps, d->o->step,
		                      step_text(d, f, 0), step_text(d, f, 1), scale);
	default:
		return "as recorded";
	}
}

const char *af_diff_noise(const struct af_difference *v)
{
	bool some = v->look.quantum[0] > 0 || v->look.quantum[1] > 0;

	return some && v->look.events
	           ? "changes within three standard deviations of how many waits or gaps there "
	             "are by chance are noise, and grey"
	       : some ? "changes within three standard deviations of sampling are noise, and grey"
	              : "no noise of sampling is known, every change is shown";
}

static const char *change_text(struct af_tables *f, const struct af_difference *v)
{
	const struct af_change all = af_difference_node(&v->look, &v->tree, 0, false);

	if (!all.before)
		return af_change_name(&all);
	return af_tables_text(f, "%c%.2f %%, %s", all.less ? '-' : '+',
	                      100 * (double)all.size / (double)all.before, af_change_name(&all));
}

/* The strip of a page: how much each view changed. */
static void diff_verdict(const struct af_diff *d, struct af_tables *f)
{
	struct af_table *t = af_pairs_table(f, "verdict", "What is compared");

	af_pair_row(f, t, "before", "before", d->nr_sides == 1 ? "the first count" : d->names[0]);
	af_pair_row(f, t, "after", "after", d->nr_sides == 1 ? "the second count" : d->names[1]);
	for (uint32_t i = 0; i < d->nr_views; i++)
		af_pair_row(f, t, "change",
		            d->labels[i] ? af_tables_text(f, "change, %s", d->labels[i]) : "change",
		            change_text(f, &d->views[i]));
	af_pair_row(f, t, "compared", "compared", af_diff_normalized(d, f));
	af_pair_row(f, t, "noise", "noise", af_diff_noise(&d->views[0]));
}

/* One of the views, as all formats show it. */
static int draw_view(struct af_diff *d, uint32_t i, struct af_render *r, struct af_err *err)
{
	const struct af_picture *all = r->picture;
	struct af_picture picture = *all;
	struct af_difference *v = &d->views[i];
	enum af_change_kind only = af_diff_only(d);
	bool folded = !strcmp(d->format->name, "folded");

	if (folded)
		af_difference_apply(v);
	if (only && strcmp(d->format->name, "html") != 0)
		af_difference_only(v, only);
	picture.look = &v->look;
	/* Vanished frames have no width after; new ones are all red. */
	if (only && !folded && strcmp(d->format->name, "html") != 0) {
		picture.differential = false;
		picture.weight = only == AF_CHANGE_NEW ? "after" : "before";
	}
	r->picture = &picture;
	r->label = d->labels[i];
	int rc = d->format->tree(r, &v->tree, err);
	r->picture = all;
	return rc;
}

static const char *diff_subtitle(struct af_diff *d, struct af_tables *f)
{
	const struct af_change all =
	    af_difference_node(&d->views[0].look, &d->views[0].tree, 0, false);
	enum af_change_kind only = af_diff_only(d);
	const char *what = only == AF_CHANGE_NEW        ? "only what is new"
	                   : only == AF_CHANGE_VANISHED ? "only what vanished"
	                   : d->o->by && !strcmp(d->o->by, "self")
	                       ? "red: more of its own, blue: less"
	                       : "red: more, blue: less, with all it called";

	return af_tables_text(
	    f, "%s; grey: within noise; all %c%.2f %%; %s", what, all.less ? '-' : '+',
	    all.before ? 100 * (double)all.size / (double)all.before : 0, af_diff_normalized(d, f));
}

int af_diff_draw(int fd, void *arg, struct af_err *err)
{
	struct af_diff *d = arg;
	const struct af_format *f = d->format;
	struct af_tables tables = {0};
	const struct af_picture picture = {
	    .title = d->o->title ? d->o->title
	             : d->nr_sides == 1
	                 ? d->names[0]
	                 : af_tables_text(&tables, "%s → %s", d->names[0], d->names[1]),
	    .subtitle = f->tables ? NULL : diff_subtitle(d, &tables),
	    .differential = true,
	    .negate = d->o->negate,
	};
	struct af_render r = {.fd = fd, .picture = &picture};
	int rc = f->begin ? f->begin(&r, err) : 0;

	if (!rc && f->tables) {
		struct af_tables verdict = {0};
		diff_verdict(d, &verdict);
		rc = f->tables(&r, &verdict, err);
		af_tables_free(&verdict);
	}
	for (uint32_t i = 0; !rc && i < d->nr_views; i++)
		rc = draw_view(d, i, &r, err);
	r.label = NULL;
	if (f->end) {
		int end = f->end(&r, rc ? NULL : err);
		rc = rc ? rc : end;
	}
	af_tables_free(&tables);
	return rc;
}

int af_diff_print(int fd, void *arg, struct af_err *err)
{
	struct af_diff *d = arg;
	const struct af_diff_options *o = d->o;
	bool colour = !strcmp(o->output.file, "-") && af_colour(stdout);
	struct af_buf b = {0};

	if (o->json || af_diff_ends(o->output.file, ".json"))
		af_tables_json(&b, &(struct af_document){.report = "diff"}, &d->tables,
		               (uint32_t)o->limit);
	else
		for (const struct af_table *t = d->tables.first; t; t = t->next) {
			if (b.len)
				af_buf_char(&b, '\n');
			af_table_text(&b, t, (uint32_t)o->limit, colour, AF_SHOW_ALL);
		}
	fflush(stdout);
	int rc = af_buf_flush(&b, fd);
	af_buf_free(&b);
	return rc ? af_fail(err, rc, "cannot write the difference") : 0;
}
