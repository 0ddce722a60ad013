/* Writes the results as text or JSON, or in the format that the name of a file selects. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/time/slices.h"
#include "analyse/tree/table.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/output/picture.h"
#include "cmd/output/png.h"
#include "cmd/plugin/private.h"
#include "cmd/shared/summary.h"
#include "render/text/tables.h"
#include "render/timeline/slices.h"

int plugins_format_choose(const struct af_plugins_options *o, struct plugins_format *format,
                          struct af_err *err)
{
	const char *file = o->output.file;

	*format = (struct plugins_format){0};
	if (!strcmp(file, "-") || o->json)
		return 0;
	format->slices = af_slices_format_for(file, &format->gzip);
	if (format->slices && o->is_set)
		return af_fail_plain(err, -EINVAL,
		                     "slices of plug-ins are of one trace, and %s is a folder of "
		                     "ranks: choose one with --rank",
		                     o->dir);
	format->png = af_png_is(file);
	if (!format->slices)
		format->trees = af_format_for(format->png ? "svg" : file);
	if (format->png)
		return af_png_check(file, err);
	if (format->slices || format->trees)
		return 0;
	return af_fail_plain(
	    err, -EINVAL,
	    "no format for %s: .html is for all results, .svg, .png, .folded and .txt are for "
	    "one tree, .json (Chrome's) and .perfetto-trace for slices, and --json for "
	    "tables",
	    file);
}

static uint32_t nr_trees(const struct plugins *p, struct af_plugin_tree **last)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < p->nr; i++)
		for (uint32_t n = 0; n < p->results[i].nr_trees; n++, nr++)
			*last = &p->results[i].trees[n];
	return nr;
}

static uint64_t nr_slices(const struct plugins *p)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < p->nr; i++)
		nr += p->results[i].nr_slices + p->results[i].nr_points + p->results[i].nr_left;
	return nr;
}

/* For af_atomic_write(). */
struct slices_write {
	struct plugins *p;
	struct af_slices all;
	uint32_t first; /* part of the file that the first plug-in is; 0: it is alone */
	uint64_t nr, crossing;
};

static int slices_of(struct slices_write *w, uint32_t i, int fd, struct af_err *err)
{
	const struct af_format *format = w->p->format.slices;
	struct af_render render = {.fd = fd, .gzip = w->p->format.gzip, .slices = &w->all};
	struct af_slices_to into = {format, &render};
	const struct af_slices_sink sink = af_slices_sink(&into);

	if (w->first)
		render.part = w->first + i;
	render.label = w->p->results[i].name;
	w->all = (struct af_slices){.damage = "", .start_ns = w->p->results[i].start_ns};
	w->all.names = &w->p->results[i].names;
	int rc = format->begin(&render, err);
	if (rc)
		return rc;
	rc = af_plugin_slices(&w->p->results[i], i, &w->all, &sink);
	w->nr += w->all.nr_slices + w->all.nr_points;
	w->crossing += w->all.crossing;
	int end = format->end(&render, err && err->code ? NULL : err);
	return rc ? rc : end;
}

static int slices_write(int fd, void *arg, struct af_err *err)
{
	struct slices_write *w = arg;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < w->p->nr; i++)
		rc = slices_of(w, i, fd, err);
	return rc;
}

static int write_slices(struct plugins *p, struct af_err *err)
{
	struct slices_write w = {.p = p, .first = p->nr > 1};

	if (!nr_slices(p))
		return af_fail_plain(err, -ENODATA,
		                     "no plug-in gave slices, which %s would have: without -o, "
		                     "tables and trees are printed",
		                     p->o->output.file);
	if (p->nr > 1 && !p->format.slices->can_join)
		return af_fail_plain(err, -EINVAL,
		                     "slices of several plug-ins need Perfetto's format: -o "
		                     "NAME.perfetto-trace");
	int rc = af_atomic_write(&p->o->output, slices_write, &w, err);
	if (!rc && w.crossing)
		fprintf(stderr, "aflame report: left out: slices that cross on all lanes: %llu\n",
		        (unsigned long long)w.crossing);
	if (!rc)
		af_output_tell(&p->o->output, "report", "slices of plug-ins");
	return rc;
}

int plugins_slices_append(struct plugins *p, int fd, struct af_err *err)
{
	/* The trace's own are the first part. */
	struct slices_write w = {.p = p, .first = 2};
	int rc = slices_write(fd, &w, err);

	if (!rc && w.crossing)
		fprintf(stderr,
		        "aflame timeline: left out: slices of plug-ins that cross on all lanes: "
		        "%llu\n",
		        (unsigned long long)w.crossing);
	return rc;
}

static int write_tree(struct plugins *p, struct af_err *err)
{
	struct af_plugin_tree *tree = NULL;
	const struct af_picture picture = {.weight = p->o->weight};
	struct af_picture_request request = {
	    .format = p->format.trees,
	    .to = p->o->output,
	    .png = p->format.png,
	    .picture = &picture,
	};
	uint32_t nr = nr_trees(p, &tree);

	if (nr != 1)
		return af_fail_plain(err, nr ? -EINVAL : -ENODATA,
		                     "%s would have one tree, and the plug-in%s gave %u: without "
		                     "-o, all results are printed",
		                     p->o->output.file, p->nr > 1 ? "s" : "", nr);
	request.tree = &tree->tree;
	request.label = tree->name;
	int rc = af_picture_write(&request, err);
	if (!rc)
		af_output_tell(&p->o->output, "report", tree->title);
	return rc;
}

/* The column of @t that is shown; -EINVAL and a message where it has none of that name. */
static int weight_of(const struct plugins *p, const struct af_tree *t, struct af_err *err)
{
	const struct af_picture picture = {.weight = p->o->weight};

	return af_picture_weight(&picture, t, err);
}

static int weights_check(const struct plugins *p, struct af_err *err)
{
	for (uint32_t i = 0; i < p->nr; i++)
		for (uint32_t n = 0; n < p->results[i].nr_trees; n++) {
			int weight = weight_of(p, &p->results[i].trees[n].tree, err);
			if (weight < 0)
				return weight;
		}
	return 0;
}

/* All as one document: a tree is a table of its frames. */
static void json_make(const struct plugins *p, struct af_buf *b)
{
	const struct af_document document = {.report = "plugin"};
	const struct af_tree_cut cut = {.min = 1, .limit = p->o->tree_limit};
	struct af_tables all = {0};

	for (uint32_t i = 0; i < p->nr; i++) {
		const struct af_plugin_results *r = &p->results[i];
		for (const struct af_table *t = r->tables.first; t; t = t->next)
			af_tables_copy(&all, t, t->name, t->title);
		for (uint32_t n = 0; n < r->nr_trees; n++)
			af_tree_table(&all, &r->trees[n].tree,
			              (uint32_t)weight_of(p, &r->trees[n].tree, NULL), &cut,
			              r->trees[n].name, r->trees[n].title);
	}
	af_tables_json(b, &document, &all, p->o->limit);
	af_tables_free(&all);
}

static int json_write(int fd, void *arg, struct af_err *err)
{
	struct af_buf b = {0};

	json_make(arg, &b);
	int rc = af_buf_flush(&b, fd);
	af_buf_free(&b);
	return rc ? af_fail(err, rc, "cannot write") : 0;
}

static int text_trees(const struct plugins *p, const struct af_plugin_results *r, bool first,
                      struct af_err *err)
{
	int rc = 0;

	for (uint32_t n = 0; !rc && n < r->nr_trees; n++) {
		const struct af_picture picture = {.weight = p->o->weight,
		                                   .frames = p->o->tree_limit,
		                                   .all_frames = p->o->all_frames,
		                                   .rest = AF_SHOW_ALL};
		const struct af_picture_request request = {.format = af_format_for("text"),
		                                           .to = {"-", false},
		                                           .picture = &picture,
		                                           .tree = &r->trees[n].tree};
		struct af_buf b = {0};
		af_buf_terminal(&b, r->trees[n].title, strlen(r->trees[n].title), "");
		printf("%s%s\n", first && !n ? "" : "\n", b.data ? b.data : "");
		af_buf_free(&b);
		fflush(stdout);
		rc = af_picture_write(&request, err);
	}
	return rc;
}

static int write_text(const struct plugins *p, struct af_err *err)
{
	struct af_buf b = {0};
	int rc = 0;

	for (uint32_t i = 0; i < p->nr; i++)
		for (const struct af_table *t = p->results[i].tables.first; t; t = t->next) {
			if (b.len)
				af_buf_char(&b, '\n');
			af_table_text(&b, t, p->o->limit, af_colour(stdout), AF_SHOW_ALL);
			if (!t->nr_rows)
				af_buf_str(&b, "  nothing\n");
		}
	bool first = !b.len;
	fwrite(b.data, 1, b.len, stdout);
	af_buf_free(&b);
	for (uint32_t i = 0; !rc && i < p->nr; i++) {
		rc = text_trees(p, &p->results[i], first, err);
		first &= !p->results[i].nr_trees;
	}
	return rc;
}

/* Tables are nothing to count where a plug-in gave slices alone. */
static int nothing_else(const struct plugins *p, bool shows_slices, struct af_err *err)
{
	struct af_plugin_tree *tree;
	bool has = nr_trees(p, &tree);
	uint64_t slices = nr_slices(p);

	for (uint32_t i = 0; i < p->nr; i++)
		has |= p->results[i].tables.first != NULL;
	if (!has && !slices)
		return af_fail_plain(err, -ENODATA, "the plug-in%s gave no results",
		                     p->nr > 1 ? "s" : "");
	if (slices && !shows_slices)
		fprintf(
		    stderr,
		    "aflame report: %llu slices and points are not shown: -o FILE.html, FILE.json "
		    "or FILE.perfetto-trace writes them\n",
		    (unsigned long long)slices);
	return 0;
}

int plugins_write(struct plugins *p, struct af_err *err)
{
	bool is_page = p->format.trees && p->format.trees->slice;

	if (p->format.slices)
		return write_slices(p, err);
	if (p->format.trees && !is_page)
		return write_tree(p, err);
	int rc = weights_check(p, err);
	if (!rc)
		rc = nothing_else(p, is_page, err);
	if (rc)
		return rc;
	if (is_page)
		return plugins_page(p, err);
	if (p->o->json)
		return af_atomic_write(&p->o->output, json_write, p, err);
	return write_text(p, err);
}
