#include "cmd/study.h"

#include <stdio.h>
#include <unistd.h>

#include "analyse/top.h"
#include "cmd/names.h"
#include "trace/stream.h"

struct study_progress {
	uint64_t next_ns;
	bool shown;
};

static void study_progress(void *arg, uint64_t done, uint64_t size)
{
	struct study_progress *p = arg;
	uint64_t now = af_now_ns();

	if (now < p->next_ns || !size)
		return;
	p->next_ns = now + 200000000;
	p->shown = true;
	fprintf(stderr, "\raflame: reading the trace: %.0f %%", (double)done * 100 / (double)size);
}

int af_study(const char *dir, const struct af_asked *asked, struct af_results *r,
             struct af_err *err)
{
	static const struct af_pass_ops *const passes[] = {&af_pass_flame,
	                                                   &af_pass_wakers,
	                                                   &af_pass_devices,
	                                                   &af_pass_calls,
	                                                   &af_pass_memory,
	                                                   &af_pass_run,
	                                                   &af_pass_who,
	                                                   &af_pass_blocked,
	                                                   NULL};
	bool top = asked->answers & (AF_ANSWER_TABLES | AF_ANSWER_TOP);
	struct af_asked all = *asked;
	struct study_progress progress = {.next_ns = af_now_ns() + 500000000};

	if (top) {
		all.answers |= 1 << AF_VIEW_CPU;
		all.weights |= 1 << AF_WEIGHT_TIME;
	}
	*r = (struct af_results){0};
	int rc = af_trace_prepare(dir, err);
	if (!rc)
		rc = af_analyse(dir, passes, &all, r, isatty(2) ? study_progress : NULL, &progress,
		                err);
	if (progress.shown)
		fprintf(stderr, "\r\033[K");
	if (rc)
		return rc;
	if (r->damage[0])
		fprintf(stderr, "aflame: %s is damaged: %s\n", dir, r->damage);
	if (top)
		af_top_table(&r->facts, &r->trees[AF_VIEW_CPU], AF_WEIGHT_TIME, "cpu_top",
		             "Where CPU time went: functions", 1000);
	return 0;
}
