#include "cmd/prof/show.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "cmd/flat/flat.h"
#include "cmd/output/picture.h"
#include "cmd/shared/load.h"
#include "render/render.h"

/* The stacks of all threads. */
static int show_folded(const struct af_prof_show *show, const char *dir, struct af_err *err)
{
	struct af_picture picture = {.weight = show->alloc  ? "alloc"
	                                       : show->wall ? "time"
	                                                    : "samples"};
	struct af_picture_request request = {
	    .format = af_format_for("folded"), .to = {.file = show->folded}, .picture = &picture};
	struct af_query query = AF_QUERY_ALL;
	struct af_results r;

	query.answers = 1u << AF_VIEW_CPU;
	int rc = af_load_view("prof", dir, &query, AF_VIEW_CPU, &picture.weight, &r, err);
	request.results = &r;
	request.tree = &r.trees[AF_VIEW_CPU];
	if (!rc)
		rc = af_picture_write(&request, err);
	af_results_close(&r);
	return rc;
}

/* Standard output is the program's: the report goes where standard error goes. */
static int show_flat(const struct af_prof_show *show, const char *dir, struct af_err *err)
{
	const struct af_flat_options reports[] = {
	    {.limit = show->limit},
	    {.limit = show->limit, .lines = true, .head = "of all samples"},
	    {.limit = show->limit, .weight = "alloc", .head = "allocated"},
	    {.limit = show->limit, .weight = "live", .head = "in use at the end"},
	};
	const unsigned first = show->alloc ? 2 : 0, nr = show->alloc || show->lines ? 2 : 1;

	fflush(stdout);
	scope_close int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	int rc = af_flat_report("prof", dir, &reports[first], nr, err);
	fflush(stdout);
	if (kept >= 0)
		dup2(kept, STDOUT_FILENO);
	return rc;
}

int af_prof_show(const struct af_prof_show *show, const char *dir, struct af_err *err)
{
	int rc = show->flat ? show_flat(show, dir, err) : 0;

	return !rc && show->folded ? show_folded(show, dir, err) : rc;
}
