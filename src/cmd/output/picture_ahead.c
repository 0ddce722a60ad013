#include "cmd/output/picture_ahead.h"

#include <errno.h>

#include "analyse/time/timeline.h"

static bool ahead_leaves(const struct af_picture_ahead *a)
{
	return __atomic_load_n(&a->leaving, __ATOMIC_RELAXED);
}

static int ahead_track(void *arg, const struct af_track *t)
{
	struct af_picture_ahead *a = arg;

	return a->format->track(&a->render, t);
}

static int ahead_slice(void *arg, const struct af_slice *s)
{
	struct af_picture_ahead *a = arg;

	return ahead_leaves(a) ? -ECANCELED : a->format->slice(&a->render, s);
}

static int ahead_point(void *arg, const struct af_point *p)
{
	struct af_picture_ahead *a = arg;

	return a->format->point(&a->render, p);
}

static void *ahead_run(void *arg)
{
	struct af_picture_ahead *a = arg;
	const struct af_slices_sink sink = {a, ahead_track, ahead_slice, ahead_point, NULL};
	const struct af_timeline_query query = {
	    .process = UINT64_MAX, .pid = UINT64_MAX, .trees = a->query, .threads = 1};

	a->rc = af_timeline_open(&a->timeline, a->dir, &query, NULL, NULL, &a->err);
	if (a->rc)
		return NULL;
	a->render.slices = af_timeline_slices(a->timeline);
	a->rc = af_timeline_run(a->timeline, &sink, &a->err);
	return NULL;
}

void af_picture_ahead_begin(struct af_picture_ahead *a, const struct af_format *format,
                            const struct af_picture *picture, const char *dir,
                            const struct af_query *query)
{
	*a = (struct af_picture_ahead){
	    .format = format, .render = {.fd = -1, .picture = picture}, .dir = dir, .query = query};
	a->runs = (!format->begin || !format->begin(&a->render, NULL)) &&
	          !pthread_create(&a->thread, NULL, ahead_run, a);
	if (!a->runs)
		af_picture_ahead_end(a);
}

int af_picture_ahead_wait(struct af_picture_ahead *a, bool of_use, struct af_err *err)
{
	if (a->runs) {
		__atomic_store_n(&a->leaving, !of_use, __ATOMIC_RELAXED);
		pthread_join(a->thread, NULL);
		a->runs = false;
	}
	if (a->rc && err)
		*err = a->err;
	return a->rc;
}

void af_picture_ahead_end(struct af_picture_ahead *a)
{
	if (!a->format)
		return;
	af_picture_ahead_wait(a, false, NULL);
	if (a->render.state)
		a->format->end(&a->render, NULL);
	af_timeline_close(a->timeline);
	*a = (struct af_picture_ahead){0};
}
