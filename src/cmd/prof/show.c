#include "cmd/prof/show.h"

#include "base/err.h"
#include "cmd/output/picture.h"
#include "cmd/shared/load.h"
#include "render/render.h"

/* The stacks of all threads. */
static int show_folded(const struct af_prof_show *show, const char *dir, struct af_err *err)
{
	struct af_picture picture = {.weight = show->wall ? "time" : "samples"};
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

int af_prof_show(const struct af_prof_show *show, const char *dir, struct af_err *err)
{
	return show->folded ? show_folded(show, dir, err) : 0;
}
