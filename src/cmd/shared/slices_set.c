/* A set as one timeline: the tracks of all ranks, on the clock of the first rank's host. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/clocks/slices.h"
#include "analyse/pass/pass.h"
#include "base/arena.h"
#include "base/err.h"
#include "cmd/output/progress.h"
#include "cmd/shared/set.h"
#include "cmd/shared/slices.h"
#include "render/timeline/slices.h"

struct set_slices {
	const struct af_slices_request *request;
	struct af_set *set;
	const char **why; /* by member: why it cannot be read, or NULL */
	struct af_set_times times;
	struct af_set_slices slices;
	uint32_t nr; /* written */
};

static int member_write(struct set_slices *all, uint32_t member, int fd, struct af_err *err)
{
	const struct af_format *format = all->request->format;
	struct af_render render;
	struct af_slices_to into = {format, &render};
	const struct af_slices_sink sink = af_slices_sink(&into);
	struct af_timeline_query query = all->request->query;
	struct af_timeline *t = NULL;

	if (!af_set_times_part(&all->times, member, &query.from_ns, &query.to_ns))
		return 0;
	struct af_query trees;
	if (query.trees) {
		trees = *query.trees;
		trees.from_ns = query.from_ns;
		trees.to_ns = query.to_ns;
		query.trees = &trees;
	}
	int rc = af_timeline_open(&t, all->set->members[member].path, &query, NULL, NULL, err);
	if (rc)
		return rc;
	render = (struct af_render){.fd = fd,
	                            .gzip = all->request->gzip,
	                            .slices = af_timeline_slices(t),
	                            .label = all->set->members[member].label,
	                            .part = member + 1};
	const struct af_slices_sink placed = af_set_slices_of(&all->slices, member, &sink);
	rc = format->begin(&render, err);
	if (!rc) {
		rc = af_timeline_run(t, &placed, err);
		int end = format->end(&render, err && err->code ? NULL : err);
		rc = rc ? rc : end;
	}
	all->nr += !rc;
	af_timeline_close(t);
	return rc;
}

/* A member that cannot be read is named, and the others are written. */
static int set_write(int fd, void *arg, struct af_err *err)
{
	struct set_slices *all = arg;
	struct af_progress progress = af_progress_begin("reading the traces");
	int rc = 0;

	for (uint32_t i = 0; i < all->set->nr && !rc; i++) {
		struct af_err why = {0};
		const char *reason = all->why[i];
		int one = reason ? 0 : member_write(all, i, fd, &why);
		af_progress_tell(&progress, i + 1, all->set->nr);
		if (one && !all->nr && one == -ENOSPC)
			rc = af_fail_plain(err, one, "%s", why.msg);
		else if (reason || one)
			fprintf(stderr, "aflame %s: %s is left out: %s\n", all->request->who,
			        all->set->members[i].label, reason ? reason : why.msg);
	}
	af_progress_end(&progress);
	if (!rc && !all->nr)
		rc = af_fail_plain(err, -ENODATA, "no trace in %s can be read", all->set->path);
	return rc;
}

/* How far times of different hosts may be off. */
static void clocks_report(const struct set_slices *all)
{
	char text[512];

	if (af_set_times_text(&all->times, all->set->path, text, sizeof text))
		fprintf(stderr, "aflame %s: %s\n", all->request->who, text);
}

int af_slices_write_set(const struct af_slices_request *request, const char *dir,
                        struct af_err *err)
{
	struct set_slices all = {.request = request};
	struct af_set set = {0};

	if (!request->format->can_join)
		return af_fail_plain(
		    err, -EINVAL,
		    "%s has several ranks, which only Perfetto's format has in one "
		    "file: -o NAME.perfetto-trace, or choose one with --rank",
		    dir);
	int rc = af_set_open(&set, dir, err);
	all.set = &set;
	all.slices = (struct af_set_slices){.set = &set, .times = &all.times};
	all.why = af_xcalloc(set.nr + 1ull, sizeof *all.why);
	for (uint32_t i = 0; !rc && i < set.nr; i++)
		all.why[i] = af_set_prepare(&set, i);
	if (!rc)
		rc = af_set_times_read(&all.times, &set, err);
	if (!rc)
		rc = af_atomic_write(&request->to, set_write, &all, err);
	if (!rc)
		clocks_report(&all);
	af_set_times_free(&all.times);
	free(all.why);
	af_set_close(&set);
	af_set_slices_free(&all.slices);
	return rc;
}
