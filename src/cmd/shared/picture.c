#include "cmd/shared/picture.h"

#include <stddef.h>

#include "analyse/time/timeline.h"
#include "base/err.h"
#include "cmd/shared/progress.h"
#include "render/timeline/slices.h"

const char *const af_view_names[AF_VIEWS] = {"cpu", "gpu", "all", "wakers", "idle"};

/* For af_atomic_write(). */
struct picture_write {
	const struct af_picture_job *job;
	struct af_timeline *timeline; /* or NULL */
};

/* One of several views; the weight that was asked for may be one that only others have. */
static int picture_view(struct af_render *r, const struct af_picture_job *job, int view,
                        struct af_err *err)
{
	const struct af_tree *t = &job->results->trees[view];
	const char *weight = job->picture->weight;
	struct af_picture any = *job->picture;

	any.weight = NULL;
	r->label = af_view_names[view];
	if (weight && view >= AF_VIEW_WAKERS && af_tree_weight(t, weight) < 0)
		r->picture = &any;
	int rc = job->format->tree(r, t, err);
	r->picture = job->picture;
	return rc;
}

static int picture_trees(struct af_render *r, const struct af_picture_job *job, struct af_err *err)
{
	if (job->tree) {
		r->label = job->label;
		return job->format->tree(r, job->tree, err);
	}
	if (!job->results)
		return 0;
	/* All views; one that is empty would only be in the way. */
	for (int v = 0; v < AF_VIEWS; v++) {
		const struct af_tree *t = &job->results->trees[v];
		if (t->nr <= 1)
			continue;
		bool alone = v == AF_VIEW_ALL && (job->results->trees[AF_VIEW_CPU].nr <= 1 ||
		                                  job->results->trees[AF_VIEW_GPU].nr <= 1);
		if (alone)
			continue;
		int rc = picture_view(r, job, v, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Tables, and those of annotated kernels apart. */
static int picture_tables(struct af_render *r, const struct af_picture_job *job, struct af_err *err)
{
	int rc = job->format->tables(r, &job->results->tables, err);

	if (rc || !job->results->annotated.first)
		return rc;
	r->label = "annotated";
	rc = job->format->tables(r, &job->results->annotated, err);
	r->label = NULL;
	return rc;
}

/* What happened in time, with the stacks that the trees have. */
static int picture_time(struct af_render *r, const struct picture_write *to, struct af_err *err)
{
	struct af_slices_to into = {to->job->format, r};
	struct af_slices_sink sink = af_slices_sink(&into);

	r->label = NULL;
	r->slices = af_timeline_slices(to->timeline);
	int rc = af_timeline_run(to->timeline, &sink, err);
	if (rc && err && !err->code)
		return af_fail(err, rc, "cannot write the timeline");
	return rc;
}

static int picture_render(int fd, void *arg, struct af_err *err)
{
	const struct picture_write *to = arg;
	const struct af_picture_job *job = to->job;
	const struct af_format *f = job->format;
	struct af_render r = {.fd = fd, .picture = job->picture};
	int rc = f->begin ? f->begin(&r, err) : 0;

	if (!rc && f->tables && job->results)
		rc = picture_tables(&r, job, err);
	if (!rc)
		rc = picture_trees(&r, job, err);
	if (!rc && to->timeline)
		rc = picture_time(&r, to, err);
	if (f->end) {
		int end = f->end(&r, rc ? NULL : err);
		if (!rc)
			rc = end;
	}
	return rc;
}

int af_picture_write(const struct af_picture_job *job, struct af_err *err)
{
	struct af_progress progress = af_progress_begin("reading the trace's timeline");
	struct picture_write to = {.job = job};
	struct af_timeline_query query = {
	    .process = UINT64_MAX,
	    .pid = UINT64_MAX,
	    .trees = job->results ? &job->results->query : NULL,
	};
	int rc = 0;

	if (job->format->slice && job->dir && query.trees)
		rc = af_timeline_open(&to.timeline, job->dir, &query, af_progress_tell, &progress,
		                      err);
	if (!rc)
		rc = af_atomic_write(&job->to, picture_render, &to, err);
	af_progress_end(&progress);
	af_timeline_close(to.timeline);
	return rc;
}
