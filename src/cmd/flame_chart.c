#include "cmd/flame_chart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/time/chart.h"
#include "base/err.h"
#include "cmd/output/picture.h"
#include "cmd/output/progress.h"

int af_flame_chart(struct af_tree *chart, const char *dir, const struct af_results *r, int v,
                   const char *weight, bool is_wanted, struct af_err *err)
{
	bool timed = !weight || !strcmp(weight, "time") || !strcmp(weight, "samples");

	if (r->members)
		return af_fail_plain(err, -EINVAL,
		                     "--flamechart is of one trace: choose one of %s with --rank",
		                     dir);
	if (v > AF_VIEW_ALL)
		return af_fail_plain(err, -EINVAL, "--flamechart is of --view cpu, gpu or all");
	if (!timed && is_wanted)
		return af_fail_plain(err, -EINVAL,
		                     "--flamechart takes --weight time or samples, not %s", weight);
	if (!timed)
		return af_fail_plain(err, -ENODATA, "%s: view %s has no data with times", dir,
		                     af_view_names[v]);
	struct af_progress progress = af_progress_begin("reading the trace in order of time");
	int rc = af_chart_make(chart, dir, &r->query, v, af_progress_tell, &progress, err);
	af_progress_end(&progress);
	int w = weight && !strcmp(weight, "samples");
	uint64_t shown = rc ? 0 : chart->total[w][0], all = r->trees[v].total[w][0];
	if (shown > all) /* of device work that runs on the CPU, both have the time */
		return af_fail_plain(
		    err, -ENODATA, "%s: --view all has no time order: use --view cpu or gpu", dir);
	if (!rc && !shown && all)
		return af_fail_plain(err, -ENODATA, "%s: view %s has no data with times", dir,
		                     af_view_names[v]);
	if (!rc && shown < all)
		fprintf(stderr, "aflame flame: %.2f %% of the weight is in order of time\n",
		        100.0 * (double)shown / (double)all);
	return rc;
}
