#include "cmd/output/picture.h"

#include <stddef.h>
#include <string.h>

#include "analyse/time/timeline.h"
#include "base/err.h"
#include "base/system/threads.h"
#include "cmd/output/picture_ahead.h"
#include "cmd/output/picture_set.h"
#include "cmd/output/png.h"
#include "cmd/output/progress.h"
#include "render/timeline/slices.h"

const char *const af_view_names[AF_VIEWS] = {"cpu", "gpu", "all", "wakers", "idle"};

int af_view_index(const char *name)
{
	for (int v = 0; v < AF_VIEWS; v++)
		if (!strcmp(name, af_view_names[v]))
			return v;
	return AF_VIEW_ALL;
}

/* For af_atomic_write(). */
struct picture_write {
	const struct af_picture_request *request;
	struct af_timeline *timeline; /* or NULL */
	bool set;                     /* the timeline is that of a set */
};

/* One of several views; the weight that was asked for may be one that only others have. */
static int picture_view(struct af_render *r, const struct af_picture_request *request, int view,
                        struct af_err *err)
{
	const struct af_tree *t = &request->results->trees[view];
	const char *weight = request->picture->weight;
	struct af_picture any = *request->picture;

	any.weight = NULL;
	r->label = af_view_names[view];
	if (weight && view >= AF_VIEW_WAKERS && af_tree_weight(t, weight) < 0)
		r->picture = &any;
	int rc = request->format->tree(r, t, err);
	r->picture = request->picture;
	return rc;
}

/* Single ranks of a set, under their labels. */
static int picture_members(struct af_render *r, const struct af_picture_request *request,
                           struct af_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < request->results->nr_member_trees; i++) {
		r->label = request->results->member_trees[i].label;
		rc = request->format->tree(r, &request->results->member_trees[i].tree, err);
	}
	return rc;
}

static int picture_trees(struct af_render *r, const struct af_picture_request *request,
                         struct af_err *err)
{
	if (request->tree) {
		r->label = request->label;
		return request->format->tree(r, request->tree, err);
	}
	if (!request->results)
		return 0;
	/* All views; one that is empty would only be in the way. */
	const struct af_tree *trees = request->results->trees;
	bool both = trees[AF_VIEW_CPU].nr > 1 && trees[AF_VIEW_GPU].nr > 1;
	for (int v = 0; v < AF_VIEWS; v++) {
		if (trees[v].nr <= 1 || (v == AF_VIEW_ALL && !both))
			continue;
		int rc = picture_view(r, request, v, err);
		if (rc)
			return rc;
		if (request->spent)
			af_tree_close(&request->spent->trees[v]);
	}
	return picture_members(r, request, err);
}

/* Tables, and those of annotated kernels apart. */
static int picture_tables(struct af_render *r, const struct af_picture_request *request,
                          struct af_err *err)
{
	int rc = request->format->tables(r, &request->results->tables, err);

	if (rc || !request->results->annotated.first)
		return rc;
	r->label = "annotated";
	rc = request->format->tables(r, &request->results->annotated, err);
	r->label = NULL;
	return rc;
}

/* Slices in order of time, with the stacks of the trees. */
static int picture_time(struct af_render *r, const struct picture_write *to, struct af_err *err)
{
	struct af_slices_to into = {to->request->format, r};
	struct af_slices_sink sink = af_slices_sink(&into);

	r->label = NULL;
	r->slices = af_timeline_slices(to->timeline);
	int rc = af_timeline_run(to->timeline, &sink, err);
	if (rc && err && !err->code)
		return af_fail(err, rc, "cannot write the timeline");
	return rc;
}

/* The slices were read meanwhile, if trees and tables had no error @rc. */
static int picture_ahead(struct af_render *r, struct af_picture_ahead *ahead, int rc,
                         struct af_err *err)
{
	int late = af_picture_ahead_wait(ahead, !rc, rc ? NULL : err);

	r->label = NULL;
	r->slices = ahead->render.slices;
	if (!rc && late && err && !err->code)
		return af_fail(err, late, "cannot write the timeline");
	return rc ? rc : late;
}

static uint32_t picture_threads(const struct af_query *query)
{
	return query->threads ? query->threads : af_threads_allowed();
}

static int picture_render(int fd, void *arg, struct af_err *err)
{
	const struct picture_write *to = arg;
	const struct af_picture_request *request = to->request;
	const struct af_format *f = request->format;
	struct af_picture_ahead *ahead = request->ahead;
	struct af_render r = {
	    .fd = fd, .picture = request->picture, .threads = af_threads_allowed()};
	struct af_slices set = {.damage = ""};

	if (request->results) {
		r.phases = &request->results->phases;
		r.wall = request->results->has[AF_VIEW_CPU] & AF_HAS_WALL;
		r.own_python = &request->results->own_python;
		r.threads = ahead ? r.threads : picture_threads(&request->results->query);
	}
	r.state = ahead ? ahead->render.state : NULL;
	int rc = !ahead && f->begin ? f->begin(&r, err) : 0;
	if (!rc && f->tables && request->results)
		rc = picture_tables(&r, request, err);
	if (!rc)
		rc = picture_trees(&r, request, err);
	if (!rc && to->timeline)
		rc = picture_time(&r, to, err);
	if (ahead) {
		rc = picture_ahead(&r, ahead, rc, err);
		ahead->render.state = NULL;
	}
	if (!rc && to->set)
		rc = af_set_picture(&r, request, &set, err);
	if (f->end) {
		int end = f->end(&r, rc ? NULL : err);
		if (!rc)
			rc = end;
	}
	return rc;
}

static int picture_png(int fd, void *arg, struct af_err *err)
{
	return af_png_write(fd, picture_render, arg, err);
}

int af_picture_write(const struct af_picture_request *request, struct af_err *err)
{
	struct af_progress progress = af_progress_begin("reading the trace's timeline");
	struct picture_write to = {.request = request};
	struct af_timeline_query query = {
	    .process = UINT64_MAX,
	    .pid = UINT64_MAX,
	    .trees = request->results ? &request->results->query : NULL,
	};
	int rc = 0;

	bool timed = request->format->slice && request->dir && query.trees && !request->ahead;
	to.set = timed && request->results->members;
	if (timed && !to.set)
		rc = af_timeline_open(&to.timeline, request->dir, &query, af_progress_tell,
		                      &progress, err);
	if (!rc)
		rc = af_atomic_write(&request->to, request->png ? picture_png : picture_render, &to,
		                     err);
	af_progress_end(&progress);
	af_timeline_close(to.timeline);
	return rc;
}
