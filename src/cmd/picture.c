#include "cmd/picture.h"

#include <stddef.h>

#include "cmd/partial.h"

const char *const af_view_names[AF_VIEWS] = {"cpu", "gpu", "all", "wakers", "idle"};

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
static int picture_facts(struct af_render *r, const struct af_picture_job *job, struct af_err *err)
{
	int rc = job->format->facts(r, &job->results->facts, err);

	if (rc || !job->results->annotated.first)
		return rc;
	r->label = "annotated";
	rc = job->format->facts(r, &job->results->annotated, err);
	r->label = NULL;
	return rc;
}

static int picture_render(int fd, void *arg, struct af_err *err)
{
	const struct af_picture_job *job = arg;
	const struct af_format *f = job->format;
	struct af_render r = {.fd = fd, .picture = job->picture};
	int rc = f->begin ? f->begin(&r, err) : 0;

	if (!rc && f->facts && job->results)
		rc = picture_facts(&r, job, err);
	if (!rc)
		rc = picture_trees(&r, job, err);
	if (f->end) {
		int end = f->end(&r, rc ? NULL : err);
		if (!rc)
			rc = end;
	}
	return rc;
}

int af_picture_write(const struct af_picture_job *job, struct af_err *err)
{
	struct af_picture_job copy = *job;

	return af_partial_write(job->file, picture_render, &copy, err);
}
