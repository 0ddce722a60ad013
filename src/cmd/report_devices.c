/* The reports about devices: why they were idle, and what their instructions waited for. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "cmd/report.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/summary.h"
#include "render/text/annotate.h"

/* Why devices were idle: the verdict, its figures, and the longest gaps. */
int report_gaps(struct report *r, struct af_err *err)
{
	static const char *const names[] = {"verdict", "idle", "gaps"};
	struct af_buf b = {0};

	if (!r->results.has[AF_VIEW_IDLE])
		return af_fail_plain(
		    err, -ENODATA, "the trace %s has no work of a device with its times%s", r->dir,
		    r->results.query.from_ns || r->results.query.to_ns ? " in that time" : "");
	if (r->options->json)
		return report_json(r);
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		for (const struct af_table *t = r->results.tables.first; t; t = t->next)
			if (!strcmp(t->name, names[i]) && t->nr_rows)
				report_table(r, &b, t);
	report_print(&b);
	return 0;
}

/* Why instructions of kernels stalled, and what the reasons mean. */
int report_stalls(struct report *r, struct af_err *err)
{
	const struct af_annotate_look look = {
	    .width = af_annotate_width(),
	    .colour = af_colour(stdout),
	};
	const struct af_table *stalls = af_tables_find(&r->results.tables, "stalls");
	const struct af_table *reasons = af_tables_find(&r->results.tables, "reasons");
	struct af_buf b = {0};

	if (!stalls)
		return af_annotate_none(r->dir, r->options->from_ns || r->options->to_ns, err);
	if (r->options->json)
		return report_json(r);
	report_table(r, &b, stalls);
	af_buf_char(&b, '\n');
	if (reasons)
		af_annotate_legend(&b, reasons, &look);
	report_print(&b);
	return 0;
}

int report_counters(struct report *r, struct af_err *err)
{
	bool kernels = r->kind->answers & AF_ANSWER_KERNEL_COUNTERS;
	const char *name = !kernels               ? "counters"
	                   : r->options->counters ? "kernels_by_counter"
	                                          : "kernel_counters";
	const struct af_table *t = af_tables_find(&r->results.tables, name);
	struct af_buf b = {0};

	if (!t)
		return af_fail_plain(
		    err, -ENODATA, "%s: no%s counters were read%s%s", r->dir,
		    r->options->counters ? " such" : "", kernels ? " while its kernels ran" : "",
		    r->options->from_ns || r->options->to_ns ? " in that time" : "");
	if (r->options->json)
		return report_json(r);
	report_table(r, &b, t);
	report_print(&b);
	return 0;
}

int report_energy(struct report *r, struct af_err *err)
{
	const struct af_table *t = af_tables_find(&r->results.tables, "energy");
	struct af_buf b = {0};

	if (!t)
		return af_fail_plain(err, -ENODATA,
		                     "%s: no power or energy of a device or a CPU was read: record "
		                     "with --telemetry nvml, gpu, or rapl",
		                     r->dir);
	if (r->options->json)
		return report_json(r);
	report_table(r, &b, t);
	report_print(&b);
	return 0;
}

/* The kernel that is meant, or that took most time; reads the trace itself. */
int report_annotate(struct report *r, struct af_err *err)
{
	const struct af_annotate_shown shown = {
	    .kernel = r->function,
	    .from_ns = r->options->from_ns,
	    .to_ns = r->options->to_ns,
	    .json = r->options->json,
	    .sources = r->options->sources,
	    .limit = report_limit(r, r->options->json ? 0 : AF_ANNOTATE_LIMIT),
	};

	return af_annotate_show(r->dir, &shown, err);
}
