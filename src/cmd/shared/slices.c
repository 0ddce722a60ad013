#include "cmd/shared/slices.h"

#include <stdio.h>

#include "base/err.h"
#include "cmd/output/progress.h"
#include "render/timeline/slices.h"

/* For af_atomic_write(). */
struct slices_to {
	const struct af_format *format;
	struct af_timeline *timeline;
	struct af_render render;
	const struct af_slices_request *request;
};

static int slices_render(int fd, void *arg, struct af_err *err)
{
	struct slices_to *to = arg;
	struct af_slices_to into = {to->format, &to->render};
	struct af_slices_sink sink = af_slices_sink(&into);

	to->render.fd = fd;
	to->render.slices = af_timeline_slices(to->timeline);
	int rc = to->format->begin(&to->render, err);
	if (rc)
		return rc;
	rc = af_timeline_run(to->timeline, &sink, err);
	int end = to->format->end(&to->render, err && err->code ? NULL : err);
	rc = rc ? rc : end;
	return rc || !to->request->more ? rc : to->request->more(to->request->arg, fd, err);
}

/* A line on what the file lacks; the file has it too. */
static void slices_tell(const struct af_slices *all, const char *who, const char *dir)
{
	struct af_slices_pair tables[AF_SLICES_TABLES];
	int nr = af_slices_tables(all, tables);

	if (*all->damage)
		fprintf(stderr, "aflame: %s is damaged: %s\n", dir, all->damage);
	for (int i = 0; i < nr; i++)
		if (tables[i].loss)
			fprintf(stderr, "aflame %s: %s: %llu\n", who, tables[i].name,
			        (unsigned long long)tables[i].number);
	if (!all->nr_slices && !all->nr_points)
		fprintf(stderr, "aflame %s: no data to show\n", who);
}

int af_slices_write(const struct af_slices_request *request, const char *dir, struct af_err *err)
{
	struct af_progress progress = af_progress_begin("reading the trace");
	struct slices_to to = {
	    .format = request->format, .render.gzip = request->gzip, .request = request};
	int rc =
	    af_timeline_open(&to.timeline, dir, &request->query, af_progress_tell, &progress, err);

	if (!rc)
		rc = af_atomic_write(&request->to, slices_render, &to, err);
	af_progress_end(&progress);
	if (!rc)
		slices_tell(af_timeline_slices(to.timeline), request->who, dir);
	af_timeline_close(to.timeline);
	return rc;
}
