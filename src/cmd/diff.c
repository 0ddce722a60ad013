#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/diff.h"

#include "base/err.h"
#include "cmd/output/atomic_write.h"
#include "cmd/output/picture.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/load.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/summary.h"
#include "reduce/reduce.h"
#include "render/render.h"
#include "render/text/tables.h"

/* options */

static int diff_percent(struct af_diff *d, const char *text, struct af_err *err)
{
	char *end;

	d->fail_above = -1;
	if (!text)
		return 0;
	d->fail_above = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "%")) || !(d->fail_above >= 0))
		return af_fail_plain(err, -EINVAL,
		                     "--fail-above takes a share of all of A, as 5%%, not \"%s\"",
		                     text);
	return 0;
}

bool af_diff_ends(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len > n && !strcmp(name + len - n, end);
}

/* The name of the output says what it is; tables are text, or JSON for programs. */
static int diff_format(struct af_diff *d, struct af_err *err)
{
	const char *name = d->o->output.file;

	if (!strcmp(name, "-") || af_diff_ends(name, ".txt") || af_diff_ends(name, ".json"))
		return 0;
	d->format = af_format_for(name);
	if (d->format)
		return 0;
	return af_fail_plain(err, -EINVAL,
	                     "no format for %s: name a file that ends in one of .svg, .html, "
	                     ".folded, .txt, .json",
	                     name);
}

static int diff_options(struct af_diff *d, struct af_err *err)
{
	const struct af_diff_options *o = d->o;
	const char *by = o->normalize ? o->normalize : o->step ? "step" : "none";

	d->normalize = (enum af_normalize)af_normalize_find(by);
	d->weight = o->weight;
	if (d->normalize == AF_NORMALIZE_STEP && !o->step)
		return af_fail_plain(err, -EINVAL,
		                     "--normalize step needs the name of an NVTX range or mark: "
		                     "--step NAME");
	int rc = diff_percent(d, o->fail_above, err);
	return rc ? rc : diff_format(d, err);
}

/* reading */

static int view_find(const char *name)
{
	for (int v = 0; name && v < AF_VIEWS; v++)
		if (!strcmp(name, af_view_names[v]))
			return v;
	return AF_VIEW_ALL;
}

/* A page shows all views unless one is asked for. */
static bool diff_pages(const struct af_diff *d)
{
	return d->format && !strcmp(d->format->name, "html") && !d->o->view;
}

static struct af_query diff_query(const struct af_diff *d)
{
	const uint32_t noise = 1 << AF_WEIGHT_SAMPLES | 1 << AF_WEIGHT_COUNT;
	struct af_query query = {
	    .answers = 1u << view_find(d->o->view),
	    .weights = d->weight ? af_query_weight(d->weight) | noise : UINT32_MAX,
	    .range = d->o->range,
	    /* Addresses of instructions are other ones in another build. */
	    .depth = af_query_depth(d->o->depth, AF_DEPTH_KERNEL),
	};

	if (diff_pages(d))
		query.answers = (1 << AF_VIEWS) - 1;
	af_load_ask(&query, d->weight);
	return query;
}

static int diff_read(struct af_diff *d, int nr_words, char **words, struct af_err *err)
{
	const struct af_query query = diff_query(d);
	int rc = 0;

	if (!nr_words || nr_words > 2)
		return af_fail_plain(err, -EINVAL,
		                     "two traces or two folded files: aflame diff BEFORE AFTER; "
		                     "or one file of two counts a line");
	if (nr_words == 2 && !strcmp(words[0], "-") && !strcmp(words[1], "-"))
		return af_fail_plain(err, -EINVAL, "standard input can be one of them only");
	d->nr_sides = (uint32_t)nr_words;
	for (int i = 0; !rc && i < nr_words; i++) {
		d->names[i] = words[i];
		rc = af_diff_side_open(&d->sides[i], words[i], nr_words == 1, &query, d->o->step,
		                       d->o->rank, err);
	}
	if (!rc && nr_words == 2 && d->sides[0].is_trace != d->sides[1].is_trace)
		return af_fail_plain(err, -EINVAL,
		                     "%s is a trace and %s is not: `aflame flame` makes folded "
		                     "text of it",
		                     words[!d->sides[0].is_trace], words[d->sides[0].is_trace]);
	return rc;
}

/* comparing */

/* The factor that makes before as long as after; 0 where a length is not known. */
static double ratio_of(uint64_t before, uint64_t after)
{
	return before && after ? (double)after / (double)before : 0;
}

static int diff_normalize(const struct af_diff *d, struct af_difference *v, struct af_err *err)
{
	const struct af_diff_side *s = d->sides;
	double *scales = v->look.scales;

	scales[AF_NORMALIZE_WALL] = ratio_of(s[0].wall_ns, s[1].wall_ns);
	scales[AF_NORMALIZE_STEP] = ratio_of(s[0].steps, s[1].steps);
	v->look.normalize = d->normalize;
	v->look.by_self = d->o->by && !strcmp(d->o->by, "self");
	if (scales[d->normalize] > 0)
		return 0;
	if (d->normalize == AF_NORMALIZE_STEP)
		return af_fail_plain(err, -ENODATA, "no region, NVTX range or mark called %s in %s",
		                     d->o->step, d->names[s[0].steps != 0]);
	if (d->normalize == AF_NORMALIZE_WALL)
		return af_fail_plain(err, -ENODATA,
		                     "--normalize wall is for traces: folded text does not say how "
		                     "long a run was");
	return af_fail_plain(err, -ENODATA, "%s is empty, so there are no shares of it",
	                     d->names[v->tree.total[0][0] != 0]);
}

/* Columns of a file are both in its first tree. */
static int diff_sides(const struct af_diff *d, int view, struct af_difference_side of[2],
                      struct af_err *err)
{
	int rc = af_diff_side_of(&d->sides[0], view, d->weight, &of[0], err);

	if (!rc && d->nr_sides == 2)
		rc = af_diff_side_of(&d->sides[1], view, d->weight, &of[1], err);
	of[0].period = of[1].period = d->o->period;
	if (!rc && d->nr_sides == 1) {
		of[1] = of[0];
		of[1].weight = 1;
		of[1].samples = 1;
	}
	return rc;
}

static int diff_view(struct af_diff *d, int view, const char *label, struct af_err *err)
{
	struct af_difference *v = &d->views[d->nr_views];
	struct af_difference_side of[2] = {{0}};
	int rc = diff_sides(d, view, of, err);

	if (rc)
		return rc;
	af_difference_open(v, &of[0], &of[1], d->o->strip);
	v->look.waiting = !strcmp(of[0].tree->weights[of[0].weight].name, "off-cpu");
	d->labels[d->nr_views++] = label;
	return diff_normalize(d, v, err);
}

/* Is the view the same as another one, in one of the traces? Then it is not to be compared. */
static bool view_missing(const struct af_diff *d, int v)
{
	const uint32_t *a = d->sides[0].results.has, *b = d->sides[1].results.has;
	bool both = (a[AF_VIEW_CPU] | b[AF_VIEW_CPU]) && (a[AF_VIEW_GPU] | b[AF_VIEW_GPU]);

	if (v != AF_VIEW_ALL)
		return !a[v] && !b[v];
	return both &&
	       !(d->sides[0].results.trees[v].nr > 1 && d->sides[1].results.trees[v].nr > 1);
}

static void diff_weight(struct af_diff *d, int view)
{
	uint32_t has = d->sides[0].results.has[view] | d->sides[1].results.has[view];

	if (!d->weight && view < AF_VIEW_WAKERS && af_weight_default(has) != AF_WEIGHT_TIME)
		d->weight = af_weight_name(af_weight_default(has));
}

static int diff_views(struct af_diff *d, struct af_err *err)
{
	int query = view_find(d->o->view), rc = 0;

	if (!d->sides[0].is_trace)
		return diff_view(d, 0, NULL, err);
	if (!diff_pages(d)) {
		diff_weight(d, query);
		rc = diff_view(d, query, af_view_names[query], err);
		const struct af_tree *t = &d->views[0].tree;
		if (!rc && !t->total[0][0] && !t->total[1][0])
			rc = af_fail_plain(err, -ENODATA, "neither has %s in the view %s",
			                   d->weight ? d->weight : "time", af_view_names[query]);
		return rc;
	}
	for (int v = 0; !rc && v < AF_VIEWS; v++) {
		bool other = d->weight && v >= AF_VIEW_WAKERS; /* they have weights of their own */
		if (!view_missing(d, v) && !other)
			rc = diff_view(d, v, af_view_names[v], err);
	}
	if (!rc && !d->nr_views)
		rc = af_fail_plain(err, -ENODATA, "neither trace has stacks");
	return rc;
}

/* showing */

/* Two runs of other lengths differ in everything: say so before anybody wonders. */
static void diff_hint(const struct af_diff *d)
{
	double ratio = d->views[0].look.scales[AF_NORMALIZE_TOTAL];

	if (d->normalize == AF_NORMALIZE_NONE && ratio > 0 && (ratio > 1.25 || ratio < 0.8))
		fprintf(stderr,
		        "aflame diff: the total of AFTER is %.3g times that of BEFORE: --normalize "
		        "total, wall or step makes them comparable\n",
		        ratio);
}

static void diff_judge(struct af_diff *d)
{
	if (d->fail_above < 0)
		return;
	struct af_table *t = af_difference_worse(&d->views[0], &d->tables, d->fail_above);
	d->nr_worse = t->nr_rows;
	if (d->nr_worse)
		fprintf(stderr,
		        "aflame diff: %u thing%s grew by more than %g %% of all there was before, "
		        "and more than noise\n",
		        d->nr_worse, d->nr_worse == 1 ? "" : "s", d->fail_above);
}

static int diff_show(struct af_diff *d, struct af_err *err)
{
	const struct af_difference_shown shown = {
	    .all = d->o->all,
	    .by_self = !d->o->by || strcmp(d->o->by, "inclusive") != 0,
	    .only = af_diff_only(d),
	};

	diff_hint(d);
	af_difference_tables(&d->views[0], &d->tables, &shown);
	d->tables.first->title =
	    af_tables_text(&d->tables, "%s → %s", d->names[0],
	                   d->nr_sides == 1 ? "its second count" : d->names[1]);
	d->tables.first->note = af_tables_text(
	    &d->tables, "%s; %s", af_diff_normalized(d, &d->tables), af_diff_noise(&d->views[0]));
	diff_judge(d);
	return af_atomic_write(&d->o->output, d->format ? af_diff_draw : af_diff_print, d, err);
}

int af_diff_run(const struct af_diff_options *o, int nr_words, char **words, struct af_err *err)
{
	struct af_diff d = {.o = o};
	int rc = diff_options(&d, err);

	if (!rc && !af_reduce_one())
		return 0;
	if (!rc)
		rc = diff_read(&d, nr_words, words, err);
	if (!rc)
		rc = diff_views(&d, err);
	if (!rc)
		rc = diff_show(&d, err);
	for (uint32_t i = 0; i < d.nr_views; i++)
		af_difference_close(&d.views[i]);
	for (uint32_t i = 0; i < d.nr_sides; i++)
		af_diff_side_close(&d.sides[i]);
	af_tables_free(&d.tables);
	return rc ? rc : d.nr_worse ? AF_DIFF_WORSE : 0;
}

static int diff_run(void *state, int nr_words, char **words, struct af_err *err)
{
	return af_diff_run(state, nr_words, words, err);
}

#define AT(field) offsetof(struct af_diff_options, field)

static const struct af_option diff_options_table[] = {
    {AF_OPT_STRING, "output", 'o', "FILE",
     "an .svg, .html, .folded (two counts a line), .txt or .json; - for tables (-)",
     AT(output.file)},
    AF_PUBLIC_OPTION(struct af_diff_options, output.public),
    {AF_OPT_FLAG, "json", 0, NULL, "for programs: the tables as JSON", AT(json)},
    {AF_OPT_U64, "limit", 'n', "N", "rows of a table, 0 for all (20)", AT(limit)},
    {AF_OPT_FLAG, "all", 'a', NULL, "functions and paths that changed within noise, too", AT(all)},
    {AF_OPT_CHOICE, "by", 0, "BY", "what colours and order go by (tables self, pictures inclusive)",
     AT(by), "self|inclusive"},
    {AF_OPT_CHOICE, "show", 0, "WHAT", "only paths that are new, or that vanished, as they were",
     AT(show), "all|new|vanished"},
    {AF_OPT_STRING, "fail-above", 0, "PERCENT",
     "exit with 3 where anything grew by more than this share of all, beyond noise",
     AT(fail_above)},
    {AF_OPT_GROUP, NULL, 0, NULL, "What is compared", 0},
    {AF_OPT_CHOICE, "normalize", 0, "BY",
     "shares of the total, the same time, as many steps; as recorded (none)", AT(normalize),
     "total|wall|step|none"},
    {AF_OPT_STRING, "step", 0, "NAME",
     "region, NVTX range or mark that a step is, whatever its number", AT(step)},
    {AF_OPT_CHOICE, "view", 0, "VIEW", "cpu, gpu, all in one tree, wakers, idle (all)", AT(view),
     "cpu|gpu|all|wakers|idle"},
    {AF_OPT_STRING, "weight", 'w', "WEIGHT",
     "time, samples, count, bytes, off-cpu, alloc, live, allocs or energy (time)", AT(weight),
     AF_WEIGHT_WORDS},
    AF_RANK_OPTION(struct af_diff_options),
    {AF_OPT_STRING, "range", 0, "NAME", "only events inside a region or NVTX range of this name",
     AT(range)},
    {AF_OPT_CHOICE, "depth", 0, "DEPTH", "how far into sampled kernels (kernel)", AT(depth),
     "kernel|line|insn|stall"},
    {AF_OPT_FLAG, "strip", 's', NULL, "names without addresses and line numbers", AT(strip)},
    {AF_OPT_U64, "period", 0, "N", "of folded files: what a sample counts (1, or all counts' step)",
     AT(period)},
    {AF_OPT_GROUP, NULL, 0, NULL, "Pictures", 0},
    {AF_OPT_STRING, "title", 0, "TEXT", "above the picture", AT(title)},
    {AF_OPT_FLAG, "negate", 0, NULL, "swap the hues", AT(negate)},
    {AF_OPT_END},
};

static const struct af_diff_options diff_defaults = {.output.file = "-", .limit = AF_DIFF_LIMIT};

const struct af_command af_command_diff = {
    .name = "diff",
    .usage = "[OPTIONS] BEFORE AFTER",
    .summary = "Compare two traces or folded files",
    .details =
	"BEFORE and AFTER are traces (directories) or folded files; one file with two counts a\n"
	"line, as difffolded.pl writes it, works too. Tables list what grew, shrank, is new or\n"
	"vanished. Samples scatter: a change within three standard deviations of both sides is\n"
	"noise; tables leave it out (--all shows it), pictures show it grey. Widths are those of\n"
	"AFTER.\n\n"
	"Exit status: 3 where --fail-above says so, 1 or 2 when it could not be compared.",
    .examples =
	"aflame diff old.data new.data\twhat changed, as tables\n"
	"aflame diff old.data new.data --step train_step -o diff.html\tper step, in a page\n"
	"aflame diff a.folded b.folded -o diff.svg --by self\tred and blue by what functions "
	"did themselves\n"
	"aflame diff a.folded b.folded -o ab.folded\ttwo counts a line, for other tools\n"
	"aflame diff base.data new.data --normalize total --fail-above 5%\tfor a gate in CI",
    .options = diff_options_table,
    .state_size = sizeof(struct af_diff_options),
    .defaults = &diff_defaults,
    .run = diff_run,
};
