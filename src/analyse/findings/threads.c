/* Findings about waiting of the thread that computed most: for others or for a CPU. */
#include <string.h>

#include "analyse/findings/private.h"

/* The row of thread_waits that is of the thread in row @row of the threads, or -1. */
static int waits_row(const struct af_table *waits, const struct af_table *threads, uint32_t row)
{
	for (uint32_t i = 0; waits && i < waits->nr_rows; i++)
		if (findings_value(CELL(af_thread_wait_row, waits, i, tid)) ==
		        findings_value(CELL(af_thread_row, threads, row, tid)) &&
		    findings_value(CELL(af_thread_wait_row, waits, i, ordinal)) ==
		        findings_value(CELL(af_thread_row, threads, row, ordinal)))
			return (int)i;
	return -1;
}

static void find_waits(struct findings *s, const struct af_table *t, uint32_t row)
{
	const struct af_table *waits = findings_table(s, "thread_waits");
	uint64_t ns = findings_value(CELL(af_thread_row, t, row, blocked_ns));
	int most = waits_row(waits, t, row);
	struct finding x = {.kind = "off-cpu",
	                    .ns = ns,
	                    .of_ns = s->run_ns,
	                    .of = "the run",
	                    .check = "aflame report threads",
	                    .view = "cpu",
	                    .hash = "#view=cpu&w=off-cpu",
	                    .on_host = true,
	                    .gain_ns = s->off_ns};
	const char *where = "";

	if (most >= 0) {
		const char *in = findings_text(
			       CELL(af_thread_wait_row, waits, (uint32_t)most, waited_in)),
			   *kernel = findings_text(
			       CELL(af_thread_wait_row, waits, (uint32_t)most, kernel));
		uint64_t nr =
		    findings_value(CELL(af_thread_wait_row, waits, (uint32_t)most, waits));
		where = af_tables_text(
		    s->f, "; %s of it in %s%s%s%s%s%s",
		    af_tables_ns(s->f, findings_value(CELL(af_thread_wait_row, waits,
		                                           (uint32_t)most, time_ns))),
		    *in       ? in
		    : *kernel ? "the kernel"
			      : "what was not recorded",
		    *kernel ? " (" : "", kernel, *kernel ? ")" : "", nr ? ", in " : "",
		    nr ? findings_count(s, nr, "wait") : "");
		x.function = *in ? in : NULL;
		if (*in) {
			const char *kind =
			    findings_text(CELL(af_thread_wait_row, waits, (uint32_t)most, kind));
			x.id = findings_called(s, in, af_kind_of(kind, AF_FRAME_NATIVE)).id;
			x.hash =
			    af_tables_text(s->f, "%s&exact=1",
			                   findings_link(s, x.hash, "q", findings_exactly(s, in)));
		}
	}
	x.what = af_tables_text(s->f, "%s, the thread %s, was off the CPU for %s (%s of %s)%s",
	                        findings_text(CELL(af_thread_row, t, row, thread)),
	                        findings_value(CELL(af_thread_row, t, row, sampled_ns))
	                            ? "with most CPU time"
	                            : "that waited longest",
	                        af_tables_ns(s->f, ns), findings_share(s, ns, s->run_ns),
	                        af_tables_ns(s->f, s->run_ns), where);
	findings_add(s, &x);
}

/* The thread that waited longest for a free CPU. */
static void find_starved(struct findings *s, const struct af_table *t)
{
	uint32_t most = 0;

	for (uint32_t i = 1; i < t->nr_rows; i++)
		if (findings_value(CELL(af_thread_row, t, i, runnable_ns)) >
		    findings_value(CELL(af_thread_row, t, most, runnable_ns)))
			most = i;
	uint64_t ns = findings_value(CELL(af_thread_row, t, most, runnable_ns));
	struct finding x = {.kind = "no-cpu-free",
	                    .ns = ns,
	                    .of_ns = s->run_ns,
	                    .of = "the run",
	                    .helps = "fewer threads that compute at a time, or more CPUs",
	                    .check = "aflame report threads",
	                    .view = "facts",
	                    .hash = "#tab=facts",
	                    .on_host = true,
	                    .gain_ns = s->off_ns};
	x.what = af_tables_text(
	    s->f, "%s could have run for %s (%s of %s) and had to wait for a CPU",
	    findings_text(CELL(af_thread_row, t, most, thread)), af_tables_ns(s->f, ns),
	    findings_share(s, ns, s->run_ns), af_tables_ns(s->f, s->run_ns));
	findings_add(s, &x);
}

/* Nothing recorded what the busiest thread did while it was off the CPUs. */
static void find_not_recorded(struct findings *s, const struct af_table *t, uint32_t row)
{
	uint64_t on_ns = findings_value(CELL(af_thread_row, t, row, sampled_ns)),
		 ns = on_ns < s->run_ns ? s->run_ns - on_ns : 0;
	struct finding x = {.kind = "not-recorded",
	                    .rank = FINDING_RECORDING,
	                    .by_samples = true,
	                    .ns = ns,
	                    .of_ns = s->run_ns,
	                    .of = "the run",
	                    .helps = "recording with --off-cpu, as root",
	                    .check = "aflame report threads",
	                    .view = "facts",
	                    .hash = "#tab=facts"};

	/* A thread that computed most of the time has few waits to report. */
	if (ns < s->run_ns / 2)
		return;
	x.what = af_tables_text(s->f,
	                        "%s, the thread with most CPU time, was sampled for %s of %s; the "
	                        "rest of its time is not recorded",
	                        findings_text(CELL(af_thread_row, t, row, thread)),
	                        af_tables_ns(s->f, on_ns), af_tables_ns(s->f, s->run_ns));
	findings_add(s, &x);
}

void findings_threads(struct findings *s)
{
	const struct af_table *t = findings_table(s, "threads");

	/* Merged threads are not known one by one, and sums have no run. */
	if (!t || !t->nr_rows || s->r->summed || !s->run_ns)
		return;
	if (!findings_value(CELL(af_thread_row, t, 0, tid)))
		return;
	find_starved(s, t);
	if (findings_table(s, "blocked"))
		find_waits(s, t, 0);
	else if (s->sampled_here && findings_value(CELL(af_thread_row, t, 0, sampled_ns)))
		find_not_recorded(s, t, 0);
}
