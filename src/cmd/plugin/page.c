/* A page of all that plug-ins gave: their tables and trees, and their slices as its timeline. */
#include <stdio.h>

#include "analyse/time/slices.h"
#include "base/err.h"
#include "cmd/output/picture.h"
#include "cmd/plugin/private.h"
#include "render/timeline/slices.h"

/* For af_atomic_write(). */
struct page_write {
	struct plugins *p;
	struct af_render render;
	struct af_slices all; /* what is common to the slices of all plug-ins */
	uint64_t crossing;
};

static int page_trees(struct page_write *w, const struct af_plugin_results *from,
                      struct af_err *err)
{
	int rc = 0;

	for (uint32_t n = 0; !rc && n < from->nr_trees; n++) {
		w->render.label = from->trees[n].name;
		rc = w->p->format.trees->tree(&w->render, &from->trees[n].tree, err);
	}
	w->render.label = NULL;
	return rc;
}

/* The slices of plug-in @i as one part of the timeline. */
static int page_slices(struct page_write *w, uint32_t i, struct af_err *err)
{
	const struct af_format *format = w->p->format.trees;
	struct af_slices_to into = {format, &w->render};
	const struct af_slices_sink sink = af_slices_sink(&into);
	struct af_slices all = {.damage = ""};

	if (!w->p->results[i].nr_tracks)
		return 0;
	w->render.part = i + 1;
	w->render.slices = &all;
	int rc = af_plugin_slices(&w->p->results[i], i, &all, &sink);
	if (format->part_end)
		format->part_end(&w->render);
	w->crossing += all.crossing;
	w->all.crossing += all.crossing;
	w->all.nr_slices += all.nr_slices;
	w->all.nr_points += all.nr_points;
	w->all.nr_tracks += all.nr_tracks;
	w->all.start_ns = all.start_ns;
	w->render.slices = &w->all;
	return rc ? af_fail(err, rc, "cannot write the timeline") : 0;
}

static int page_render(int fd, void *arg, struct af_err *err)
{
	struct page_write *w = arg;
	const struct af_format *format = w->p->format.trees;

	w->render.fd = fd;
	int rc = format->begin(&w->render, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; !rc && i < w->p->nr; i++) {
		rc = format->tables(&w->render, &w->p->results[i].tables, err);
		if (!rc)
			rc = page_trees(w, &w->p->results[i], err);
	}
	for (uint32_t i = 0; !rc && i < w->p->nr; i++)
		rc = page_slices(w, i, err);
	int end = format->end(&w->render, rc ? NULL : err);
	return rc ? rc : end;
}

int plugins_page(struct plugins *p, struct af_err *err)
{
	const struct af_picture picture = {.weight = p->o->weight,
	                                   .title = "aflame report --plugin"};
	struct page_write w = {.p = p, .render = {.picture = &picture}, .all = {.damage = ""}};
	uint64_t left = 0;

	for (uint32_t i = 0; i < p->nr; i++)
		left += p->results[i].nr_left;
	int rc = af_atomic_write(&p->o->output, page_render, &w, err);
	if (rc)
		return rc;
	if (w.crossing)
		fprintf(stderr, "aflame report: left out: slices that cross on all lanes: %llu\n",
		        (unsigned long long)w.crossing);
	if (left)
		fprintf(stderr,
		        "aflame report: left out: slices and points of a folder of ranks: %llu; "
		        "--rank N has those of one\n",
		        (unsigned long long)left);
	af_output_tell(&p->o->output, "report", "results of plug-ins");
	return 0;
}
