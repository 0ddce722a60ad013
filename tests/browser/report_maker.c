/*
 * Writes a report.html of known content to standard output, for the browser tests and for
 * tests/bench/report. The same arguments give the same bytes.
 *
 *	report_maker known	few stacks, whose every number the tests know
 *	report_maker sample	what a training step looks like: the picture in the documentation
 *	report_maker hostile	names and facts that try to leave their place
 *	report_maker difference	counts before and after
 *	report_maker compared	two runs, with what is noise, and the tables of aflame diff
 *	report_maker annotated	kernels with lines and instructions, see report_annotated.c
 *	report_maker timed	a timeline, see report_timed.h
 *	report_maker counted	counters, see report_timed.h
 *	report_maker busy	several processes and devices, see report_busy.h
 *	report_maker bare	the same without trees
 *	report_maker job	ranks, and why their kernels stall, see report_job.h
 *	report_maker empty	no tree at all
 *	report_maker cpu N	N frames, shaped like the stacks of a large C++ program
 *	report_maker gpu N	N frames, shaped like instruction samples under launches
 *	report_maker slices N	a timeline of about N slices
 *	report_maker tracks N	a timeline of N tracks
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "render/render.h"
#include "report_busy.h"
#include "report_job.h"
#include "report_maker.h"
#include "report_timed.h"

static const struct {
	const char *name;
	void (*make)(struct af_render *r, struct af_err *err);
} kinds[] = {
    {"known", make_known},       {"sample", make_sample},         {"hostile", make_hostile},
    {"waits", make_waits},       {"difference", make_difference}, {"compared", make_compared},
    {"annotated", make_kernels}, {"chart", make_chart},
};

enum { NR_KINDS = sizeof kinds / sizeof *kinds };

static int usage(void)
{
	fprintf(stderr,
	        "usage: report_maker known|annotated|timed|counted|busy|bare|job|waits|sample|"
	        "hostile|difference|compared|chart|empty|cpu N|gpu N|slices N|tracks N\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint32_t nr_nodes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	struct af_err err = {0};
	struct af_picture picture = {.title = "Training step", .subtitle = "python train.py"};
	struct af_render r = {.fd = STDOUT_FILENO, .picture = &picture};

	if (!strcmp(what, "hostile")) {
		picture.title = "</title><script>window.pwned=1</script>";
		picture.notes = "<script>window.pwned=1</script>";
	}
	picture.differential = !strcmp(what, "difference") || !strcmp(what, "compared");
	if (af_format_html.begin(&r, &err))
		return 1;
	/* Definitions of slices must be there at the end, so these end the page themselves. */
	if (!strcmp(what, "timed"))
		return make_timed(&r, &af_format_html, &err) != 0;
	if (!strcmp(what, "counted"))
		return make_counted(&r, &af_format_html, &err) != 0;
	if (!strcmp(what, "busy") || !strcmp(what, "bare"))
		return make_busy(&r, &af_format_html, !strcmp(what, "busy"), &err) != 0;
	if (!strcmp(what, "job"))
		return make_job(&r, &af_format_html, &err) != 0;
	if (!strcmp(what, "slices") && nr_nodes)
		return make_slices(&r, &af_format_html, nr_nodes, &err) != 0;
	if (!strcmp(what, "tracks") && nr_nodes)
		return make_tracks(&r, &af_format_html, nr_nodes, &err) != 0;
	size_t kind = 0;
	while (kind < NR_KINDS && strcmp(what, kinds[kind].name))
		kind++;
	if (kind < NR_KINDS)
		kinds[kind].make(&r, &err);
	else if (!strcmp(what, "cpu") && nr_nodes)
		make_cpu(&r, nr_nodes, &err);
	else if (!strcmp(what, "gpu") && nr_nodes)
		make_gpu(&r, nr_nodes, &err);
	else if (strcmp(what, "empty"))
		return usage();
	if (af_format_html.end(&r, &err)) {
		fprintf(stderr, "report_maker: %s\n", err.msg);
		return 1;
	}
	return 0;
}
