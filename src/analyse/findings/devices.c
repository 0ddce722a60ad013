/* Findings about devices: the longest gap, copies that ran alone, uneven GPUs, a busy GPU. */
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/private.h"
#include "trace/layout.h"

enum {
	BUSY_PERCENT = 90, /* of the time that is shown */
	GAIN_PERCENT = 5   /* of it: less does not stand out beside a busy GPU */
};

/* The reason for the gap in row @row, as far as the table gives one. */
static const char *gap_why(struct findings *s, const struct af_table *gaps, uint32_t row)
{
	const char *why = findings_text(CELL(af_gap_row, gaps, row, why)),
		   *where = findings_text(CELL(af_gap_row, gaps, row, where));

	if (findings_value(CELL(af_gap_row, gaps, row, why_percent)) < 950)
		return "";
	return af_tables_text(s->f, *where ? "; its thread: %s, most in %s" : "; its thread: %s",
	                      why, where);
}

/* The link also selects the gap's time, with a little around it, in all views of the page. */
static const char *gap_hash(struct findings *s, uint64_t at, uint64_t ns)
{
	unsigned long long from = at, to = at + ns, more = ns / 10;

	return af_tables_text(s->f, "#tab=timeline&from=%llu&to=%llu&tv=%llu.%llu", from, to,
	                      from > more ? from - more : 0, to + more);
}

static void find_gap(struct findings *s, const char *device, uint64_t span_ns)
{
	const struct af_table *gaps = findings_table(s, "gaps");

	for (uint32_t i = 0; gaps && i < gaps->nr_rows; i++) {
		if (strcmp(findings_text(CELL(af_gap_row, gaps, i, device)), device) != 0)
			continue;
		uint64_t at = findings_value(CELL(af_gap_row, gaps, i, at_ns)),
			 ns = findings_value(CELL(af_gap_row, gaps, i, length_ns));
		struct finding x = {.kind = "gap",
		                    .ns = ns,
		                    .of_ns = span_ns,
		                    .of = "the time from the device's first work to its last",
		                    .check = "aflame report gaps",
		                    .view = "timeline",
		                    .hash = gap_hash(s, at, ns)};
		x.what = af_tables_text(
		    s->f,
		    "the longest time in which %s was idle: %s (%s of %s), %s "
		    "after the run began, up to %s%s",
		    device, af_tables_ns(s->f, ns), findings_share(s, ns, span_ns),
		    af_tables_ns(s->f, span_ns), af_tables_ns(s->f, at),
		    findings_short(s, findings_text(CELL(af_gap_row, gaps, i, ended_by))),
		    gap_why(s, gaps, i));
		findings_add(s, &x);
		return;
	}
}

/* The copies between host and devices that took most time, of all devices. */
static const char *copies_text(struct findings *s)
{
	const struct af_table *t = findings_table(s, "copies");

	for (uint32_t i = 0; t && i < t->nr_rows; i++) {
		const char *op = findings_text(CELL(af_copy_row, t, i, operation));
		uint64_t number = findings_value(CELL(af_copy_row, t, i, op));
		if (number != AF_OP_READ && number != AF_OP_WRITE && number != AF_OP_HOST)
			continue;
		return af_tables_text(
		    s->f, "; %s: %s, %s at %s a second", op,
		    findings_number(s, findings_value(CELL(af_copy_row, t, i, calls))),
		    findings_bytes(s, findings_value(CELL(af_copy_row, t, i, bytes))),
		    findings_bytes(s, findings_value(CELL(af_copy_row, t, i, bytes_per_s))));
	}
	return "";
}

static void find_copies(struct findings *s, const struct af_table *idle, uint32_t row)
{
	uint64_t ns = findings_value(CELL(af_idle_row, idle, row, copies_ns)),
		 span_ns = findings_value(CELL(af_idle_row, idle, row, span_ns));
	struct finding x = {
	    .kind = "copies",
	    .ns = ns,
	    .of_ns = span_ns,
	    .of = "the time from the device's first work to its last",
	    .helps = "copies on a stream of their own beside kernels, from pinned memory, or fewer",
	    .check = "aflame report idle",
	    .view = "facts",
	    .hash = "#tab=facts"};

	x.what = af_tables_text(
	    s->f, "%s copied or filled memory for %s (%s of %s) while no kernel ran%s",
	    findings_text(CELL(af_idle_row, idle, row, device)), af_tables_ns(s->f, ns),
	    findings_share(s, ns, span_ns), af_tables_ns(s->f, span_ns), copies_text(s));
	findings_add(s, &x);
}

/* "NVIDIA H200 #2" without its number. */
static size_t model_length(const char *device)
{
	const char *mark = strrchr(device, '#');

	if (mark && mark > device && mark[-1] == ' ' && !mark[1 + strspn(mark + 1, "0123456789")])
		return (size_t)(mark - 1 - device);
	return strlen(device);
}

static bool is_one_model(const char *a, const char *b)
{
	size_t len = model_length(a);

	return len == model_length(b) && !memcmp(a, b, len);
}

/*
 * Compares devices of one name, each by itself. If processes share a device, rows are not devices.
 */
static void find_uneven(struct findings *s)
{
	const struct af_table *t = findings_table(s, "devices");
	uint32_t most = 0, least = 0;

	if (!t || t->nr_rows < 2 || findings_table(s, "gpus"))
		return;
	for (uint32_t i = 0; i < t->nr_rows; i++) {
		uint64_t busy = findings_value(CELL(af_device_row, t, i, busy_ns));
		most = busy > findings_value(CELL(af_device_row, t, most, busy_ns)) ? i : most;
		least = busy < findings_value(CELL(af_device_row, t, least, busy_ns)) ? i : least;
		if (strcmp(findings_text(CELL(af_device_row, t, i, driver)),
		           findings_text(CELL(af_device_row, t, 0, driver))) != 0 ||
		    !is_one_model(findings_text(CELL(af_device_row, t, i, device)),
		                  findings_text(CELL(af_device_row, t, 0, device))))
			return;
	}
	uint64_t most_ns = findings_value(CELL(af_device_row, t, most, busy_ns)),
		 least_ns = findings_value(CELL(af_device_row, t, least, busy_ns)),
		 ns = most_ns - least_ns;
	struct finding x = {.kind = "uneven",
	                    .ns = ns,
	                    .of_ns = s->run_ns,
	                    .of = "the run",
	                    .helps = "work that is divided more evenly among devices",
	                    .check = "aflame report devices",
	                    .view = "facts",
	                    .hash = "#tab=facts"};
	if (ns < most_ns / 10)
		return;
	x.what = af_tables_text(
	    s->f, "of %u devices the busiest had work for %s, and the least busy for %s: %s less",
	    t->nr_rows, af_tables_ns(s->f, most_ns), af_tables_ns(s->f, least_ns),
	    af_tables_ns(s->f, ns));
	findings_add(s, &x);
}

void findings_devices(struct findings *s)
{
	const struct af_table *t = findings_table(s, "idle");
	uint32_t *reported = t ? findings_devices_reported(s, t) : NULL;

	for (uint32_t i = 0; t && i < t->nr_rows; i++) {
		if (reported[i] != 1)
			continue;
		find_gap(s, findings_text(CELL(af_idle_row, t, i, device)),
		         findings_value(CELL(af_idle_row, t, i, span_ns)));
		find_copies(s, t, i);
	}
	free(reported);
	find_uneven(s);
}

/* Is there something to gain that does not lie in kernels with nothing known against them? */
static bool anything_stands_out(const struct findings *s)
{
	for (uint32_t i = 0; i < s->nr; i++) {
		const struct finding *x = &s->all[i];
		if (x->rank == FINDING_PROGRAM && !x->is_usual && !x->no_time &&
		    x->gain_ns >= s->run_ns / 100 * GAIN_PERCENT)
			return true;
	}
	return false;
}

/* "; most of it kernel X, whose instructions …", of the kernel with most time. */
static const char *busy_text(struct findings *s, const char **helps)
{
	const struct finding *most = NULL;

	for (uint32_t i = 0; i < s->nr; i++)
		if (s->all[i].is_usual && (!most || s->all[i].ns > most->ns))
			most = &s->all[i];
	if (!most)
		return "";
	bool sampled = !strcmp(most->view, "source");
	if (!sampled && s->sampled_here)
		*helps = "recording with --gpu-samples, which shows what its kernels wait for";
	return af_tables_text(s->f, "; the kernel that took most of it is %s%s",
	                      findings_short(s, most->function),
	                      sampled ? ", and its instructions seldom stalled" : "");
}

/* A GPU that had work nearly always, for which nothing else is to be gained. */
void findings_busy(struct findings *s)
{
	const struct af_table *t = findings_table(s, "devices"), *idle = findings_table(s, "idle");

	if (!t || !idle || t->nr_rows != 1 || idle->nr_rows != 1 || !s->run_ns ||
	    !findings_value(CELL(af_idle_row, idle, 0, is_gpu)))
		return;
	uint64_t busy_ns = findings_value(CELL(af_device_row, t, 0, busy_ns));
	if (busy_ns < s->run_ns / 100 * BUSY_PERCENT || anything_stands_out(s))
		return;
	struct finding x = {.kind = "busy",
	                    .rank = FINDING_BUSY,
	                    .ns = busy_ns,
	                    .of_ns = s->run_ns,
	                    .of = "the run",
	                    .check = "aflame report devices",
	                    .view = "facts",
	                    .hash = "#tab=facts"};
	const char *kernel = busy_text(s, &x.helps);
	x.what = af_tables_text(s->f, "nothing stands out: %s had work for %s (%s of %s)%s",
	                        findings_text(CELL(af_device_row, t, 0, device)),
	                        af_tables_ns(s->f, busy_ns), findings_share(s, busy_ns, s->run_ns),
	                        af_tables_ns(s->f, s->run_ns), kernel);
	findings_add(s, &x);
}
