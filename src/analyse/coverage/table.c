/* What was sampled beside what was used, as tables. */
#include <stdlib.h>

#include "analyse/coverage/coverage.h"
#include "analyse/table/facts.h"
#include "trace/event.h"
#include "trace/kinds.h"

enum { THREAD_ROWS = 1000 };

const char *af_coverage_helps(uint32_t cause)
{
	switch (cause) {
	case AF_UNSAMPLED_OTHER_USER:
	case AF_UNSAMPLED_STATIC:
	case AF_UNSAMPLED_SET_USER_ID:
	case AF_UNSAMPLED_OTHER_LIBC:
	case AF_UNSAMPLED_KERNEL:
	case AF_UNSAMPLED_NOT_LOADED:
	case AF_UNSAMPLED_FORBIDDEN:
	case AF_UNSAMPLED_HANDLER_REPLACED:
	case AF_UNSAMPLED_SIGNALS_BLOCKED:
	case AF_UNSAMPLED_GO:
		return "recording with --sample bpf, as root";
	case AF_UNSAMPLED_SHORT_THREADS:
		return "recording with --sample bpf, as root, or a higher --rate";
	case AF_UNSAMPLED_LATE:
	case AF_UNSAMPLED_LOST:
		return "a lower --rate";
	}
	return NULL;
}

const char *af_coverage_text(const struct af_coverage *c, struct af_facts *f)
{
	uint64_t used = af_covered_used(&c->total.cpu), sampled = af_covered_sampled(&c->total.cpu);
	uint64_t share = af_facts_ratio(sampled, used, 1e3);

	if (!c->comparable)
		return af_facts_text(f, "not known%s%s", c->why_not ? ": " : "",
		                     c->why_not ? c->why_not : "");
	return af_facts_text(f, "%llu.%llu %% of %s CPU time was sampled",
	                     (unsigned long long)(share / 10), (unsigned long long)(share % 10),
	                     af_facts_ns(f, used));
}

const char *af_coverage_cause(const struct af_coverage_row *r, struct af_facts *f)
{
	if (r->cause == AF_UNSAMPLED_KERNEL)
		return af_facts_text(f,
		                     "samples see user mode only, and %s of it was in the kernel",
		                     af_facts_ns(f, r->cpu.used_kernel));
	if (r->cause == AF_UNSAMPLED_SHORT_THREADS && r->count)
		return af_facts_text(
		    f, "%llu thread%s ended before their first sample, after %s in all",
		    (unsigned long long)r->count, r->count == 1 ? "" : "s",
		    af_facts_ns(f, r->cpu_ns));
	return r->cause ? af_unsampled_text(r->cause) : NULL;
}

/* "; 16 of 20 launches have no device work": @what is NULL before the first part. */
static const char *warning_add(struct af_facts *f, const char *said, uint64_t nr, uint64_t of,
                               const char *what)
{
	if (!nr)
		return said;
	return af_facts_text(f, "%s%s%llu of %llu %s", said, *said ? "; " : "",
	                     (unsigned long long)nr, (unsigned long long)of, what);
}

static const char *devices_warning(const struct af_coverage *c, const char *said,
                                   struct af_facts *f)
{
	uint64_t calls = 0, missing = 0, works = 0, untimed = 0;

	for (uint32_t i = 0; i < c->nr_launches; i++) {
		const struct af_coverage_launches *l = &c->launches[i];
		calls += l->calls;
		missing += l->short_of ? l->calls - l->joined : 0;
		works += l->works;
		untimed += l->short_of_times ? l->untimed : 0;
	}
	said = warning_add(f, said, missing, calls, "launches have no device work in the trace");
	return warning_add(f, said, untimed, works, "pieces of device work have no times");
}

static const char *over_text(const struct af_coverage *c, struct af_facts *f)
{
	uint64_t used, sampled;

	af_covered_held(&c->total.cpu, &used, &sampled);
	return af_facts_text(f, "%s of CPU time%s was used, and samples stand for %s: %s",
	                     af_facts_ns(f, used),
	                     c->total.cpu.sampled_kernel ? "" : " in user mode",
	                     af_facts_ns(f, sampled), AF_COVERAGE_OVER_TEXT);
}

const char *af_coverage_warning(const struct af_coverage *c, bool cpu, bool devices,
                                struct af_facts *f)
{
	const char *said = "";

	if (cpu && c->comparable && c->total.over) {
		said = over_text(c, f);
	} else if (cpu && c->comparable && c->total.short_of) {
		const char *cause = af_coverage_cause(&c->total, f);
		said = af_facts_text(f, "%s%s%s", af_coverage_text(c, f), cause ? ": " : "",
		                     cause ? cause : "");
	}
	if (devices)
		said = devices_warning(c, said, f);
	return *said ? af_facts_text(f, "%s (aflame report coverage)", said) : NULL;
}

static const char *measured_text(const struct af_coverage_row *r)
{
	if (r->shared_out)
		return "as a part of what its parent's children used";
	if (!r->known)
		return "not known";
	switch (r->source) {
	case AF_USAGE_SELF:
		return "by itself as it ended";
	case AF_USAGE_LAST_SEEN:
		return "when it was last seen";
	case AF_USAGE_WATCHED:
		return "while it was watched";
	case AF_USAGE_ENDED:
		return "when it had ended";
	}
	return "by its threads";
}

static void row_fill(struct af_facts *f, struct af_cell *c, const struct af_coverage_row *r)
{
	c[0].text = r->text;
	c[1].value = r->cpu.used_user;
	c[2].value = r->cpu.used_kernel;
	c[3].value = r->cpu.sampled_user;
	c[4].value = r->cpu.sampled_kernel;
	c[5].value = af_facts_ratio(af_covered_sampled(&r->cpu), af_covered_used(&r->cpu), 1e4);
	c[1].unknown = c[2].unknown = !r->known;
	c[5].unknown = !r->known || !af_covered_used(&r->cpu);
	c[6].text = r->over       ? AF_COVERAGE_OVER_TEXT
	            : r->cause    ? af_unsampled_text(r->cause)
	            : r->short_of ? "not known"
	                          : "";
	c[7].text = measured_text(r);
	c[8].text = r->short_of ? "yes" : "no";
	c[9].value = r->process;
	c[10].value = r->tid;
	c[11].value = r->parent;
	c[12].value = r->cause;
	c[13].value = r->count;
	c[14].value = r->cpu_ns;
	c[15].text = r->name;
	c[16].text = r->over ? "yes" : "no";
	(void)f;
}

static struct af_table *rows_table(struct af_facts *f, const char *name, const char *title,
                                   const char *what)
{
	const struct af_column columns[] = {
	    {what, AF_CELL_TEXT, AF_SHOW_ALWAYS},
	    {"Used user", AF_CELL_NS, AF_SHOW_ALWAYS},
	    {"Used system", AF_CELL_NS, AF_SHOW_ALWAYS},
	    {"Sampled user", AF_CELL_NS, AF_SHOW_ALWAYS},
	    {"Sampled system", AF_CELL_NS, AF_SHOW_ALWAYS},
	    {"Share", AF_CELL_PERCENT, AF_SHOW_ALWAYS},
	    {"Cause", AF_CELL_TEXT, AF_SHOW_USED},
	    {"Measured", AF_CELL_TEXT, AF_SHOW_ALWAYS},
	    {"Short", AF_CELL_TEXT, AF_SHOW_NEVER},
	    {"Ordinal", AF_CELL_COUNT, AF_SHOW_NEVER},
	    {"Tid", AF_CELL_COUNT, AF_SHOW_NEVER},
	    {"Parent", AF_CELL_COUNT, AF_SHOW_NEVER},
	    {"Cause number", AF_CELL_COUNT, AF_SHOW_NEVER},
	    {"Cause count", AF_CELL_COUNT, AF_SHOW_NEVER},
	    {"Cause time", AF_CELL_NS, AF_SHOW_NEVER},
	    {"Name", AF_CELL_TEXT, AF_SHOW_NEVER},
	    {"Over", AF_CELL_TEXT, AF_SHOW_NEVER},
	};

	return af_facts_table(f, name, title, columns, sizeof columns / sizeof *columns);
}

static void launches_table(const struct af_coverage *c, struct af_facts *f)
{
	static const struct af_column columns[] = {
	    {"Process", AF_CELL_TEXT, AF_SHOW_ALWAYS},
	    {"API", AF_CELL_TEXT, AF_SHOW_ALWAYS},
	    {"Device", AF_CELL_TEXT, AF_SHOW_USED},
	    {"Launches", AF_CELL_COUNT, AF_SHOW_ALWAYS},
	    {"Joined", AF_CELL_COUNT, AF_SHOW_ALWAYS},
	    {"Share", AF_CELL_PERCENT, AF_SHOW_ALWAYS},
	    {"Works", AF_CELL_COUNT, AF_SHOW_ALWAYS},
	    {"Without a launch", AF_CELL_COUNT, AF_SHOW_USED},
	    {"Without times", AF_CELL_COUNT, AF_SHOW_USED},
	    {"Dropped", AF_CELL_COUNT, AF_SHOW_USED},
	    {"Short", AF_CELL_TEXT, AF_SHOW_NEVER},
	    {"Ordinal", AF_CELL_COUNT, AF_SHOW_NEVER},
	};
	struct af_table *t;

	if (!c->nr_launches)
		return;
	t = af_facts_table(f, "coverage_devices", "Launches, and those whose work was recorded",
	                   columns, sizeof columns / sizeof *columns);
	for (uint32_t i = 0; i < c->nr_launches; i++) {
		const struct af_coverage_launches *l = &c->launches[i];
		struct af_cell *cell = af_table_row(f, t);
		cell[0].text = l->text;
		cell[1].text = l->api == AF_API_CUDA ? "CUDA" : "OpenCL";
		cell[2].text = l->device_text;
		cell[3].value = l->calls;
		cell[4].value = l->joined;
		cell[5].value = af_facts_ratio(l->joined, l->calls, 1e4);
		cell[5].unknown = !l->calls;
		cell[6].value = l->works;
		cell[7].value = l->alone;
		cell[8].value = l->untimed;
		cell[9].value = l->dropped;
		cell[10].text = l->short_of || l->short_of_times ? "yes" : "no";
		cell[11].value = l->process;
	}
}

void af_coverage_tables(const struct af_coverage *c, struct af_facts *f)
{
	struct af_table *t;

	launches_table(c, f);
	if (!c->total.known)
		return;
	t = rows_table(f, "coverage", "CPU time used, and sampled", "Process");
	for (uint32_t i = 0; i < c->nr_processes; i++)
		row_fill(f, af_table_row(f, t), &c->processes[i]);
	t->note = af_coverage_text(c, f);
	t = rows_table(f, "coverage_threads", "CPU time used, and sampled, by thread", "Thread");
	t->left_column = 1;
	for (uint32_t i = 0; i < c->nr_threads; i++) {
		if (i < THREAD_ROWS) {
			row_fill(f, af_table_row(f, t), &c->threads[i]);
			continue;
		}
		t->left_out++;
		t->left_weight += c->threads[i].cpu.used_user;
	}
}
