/* CPU time sampled beside CPU time used, as tables, and in sentences: what is missing, why, and the
 * usual remedy. */
#include <stdlib.h>

#include "analyse/coverage/coverage.h"
#include "analyse/table/table.h"
#include "trace/kinds.h"
#include "trace/layout.h"

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

const char *af_coverage_text(const struct af_coverage *c, struct af_tables *f)
{
	uint64_t used = af_covered_used(&c->total.cpu), sampled = af_covered_sampled(&c->total.cpu);
	uint64_t share = af_tables_ratio(sampled, used, 1e3);

	if (!c->comparable)
		return af_tables_text(f, "not known%s%s", c->why_not ? ": " : "",
		                      c->why_not ? c->why_not : "");
	return af_tables_text(f, "%llu.%llu %% of %s CPU time was sampled",
	                      (unsigned long long)(share / 10), (unsigned long long)(share % 10),
	                      af_tables_ns(f, used));
}

const char *af_coverage_cause(const struct af_coverage_row *r, struct af_tables *f)
{
	if (r->cause == AF_UNSAMPLED_KERNEL)
		return af_tables_text(f,
		                      "samples see user mode only, and %s of it was in the kernel",
		                      af_tables_ns(f, r->cpu.used_kernel));
	if (r->cause == AF_UNSAMPLED_SHORT_THREADS && r->count)
		return af_tables_text(f,
		                      "%llu thread%s ended before %s first sample, after %s in all",
		                      (unsigned long long)r->count, r->count == 1 ? "" : "s",
		                      r->count == 1 ? "its" : "their", af_tables_ns(f, r->cpu_ns));
	return r->cause ? af_unsampled_text(r->cause) : NULL;
}

/* Append "16 of 20 @what" to @reported, after "; " unless that is ""; nothing if @nr is 0. */
static const char *warning_add(struct af_tables *f, const char *reported, uint64_t nr, uint64_t of,
                               const char *what)
{
	if (!nr)
		return reported;
	return af_tables_text(f, "%s%s%llu of %llu %s", reported, *reported ? "; " : "",
	                      (unsigned long long)nr, (unsigned long long)of, what);
}

static const char *devices_warning(const struct af_coverage *c, const char *reported,
                                   struct af_tables *f)
{
	uint64_t calls = 0, missing = 0, works = 0, untimed = 0;

	for (uint32_t i = 0; i < c->nr_launches; i++) {
		const struct af_coverage_launches *l = &c->launches[i];
		calls += l->calls;
		missing += l->short_of ? l->calls - l->joined : 0;
		works += l->works;
		untimed += l->short_of_times ? l->untimed : 0;
	}
	reported =
	    warning_add(f, reported, missing, calls, "launches have no device work in the trace");
	return warning_add(f, reported, untimed, works, "pieces of device work have no times");
}

static const char *over_text(const struct af_coverage *c, struct af_tables *f)
{
	uint64_t used, sampled;

	af_covered_held(&c->total.cpu, &used, &sampled);
	return af_tables_text(f, "%s of CPU time%s was used, and samples stand for %s: %s",
	                      af_tables_ns(f, used),
	                      c->total.cpu.sampled_kernel ? "" : " in user mode",
	                      af_tables_ns(f, sampled), AF_COVERAGE_OVER_TEXT);
}

const char *af_coverage_warning(const struct af_coverage *c, bool cpu, bool devices,
                                struct af_tables *f)
{
	const char *reported = "";

	if (cpu && c->comparable && c->total.over) {
		reported = over_text(c, f);
	} else if (cpu && c->comparable && c->total.short_of) {
		const char *cause = af_coverage_cause(&c->total, f);
		reported = af_tables_text(f, "%s%s%s", af_coverage_text(c, f), cause ? ": " : "",
		                          cause ? cause : "");
	}
	if (devices)
		reported = devices_warning(c, reported, f);
	return *reported ? af_tables_text(f, "%s (aflame report coverage)", reported) : NULL;
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

#define COVERAGE_COLUMNS(C, what)                                                                  \
	C(label, what, AF_CELL_TEXT, AF_SHOW_ALWAYS)                                               \
	C(used_user_ns, "Used user", AF_CELL_NS, AF_SHOW_ALWAYS)                                   \
	C(used_system_ns, "Used system", AF_CELL_NS, AF_SHOW_ALWAYS)                               \
	C(sampled_user_ns, "Sampled user", AF_CELL_NS, AF_SHOW_ALWAYS)                             \
	C(sampled_system_ns, "Sampled system", AF_CELL_NS, AF_SHOW_ALWAYS)                         \
	C(share, "Share", AF_CELL_PERCENT, AF_SHOW_ALWAYS)                                         \
	C(cause, "Cause", AF_CELL_TEXT, AF_SHOW_USED)                                              \
	C(measured, "Measured", AF_CELL_TEXT, AF_SHOW_ALWAYS)                                      \
	C(is_short, "Short", AF_CELL_TEXT, AF_SHOW_NEVER)                                          \
	C(ordinal, "Ordinal", AF_CELL_COUNT, AF_SHOW_NEVER)                                        \
	C(tid, "Tid", AF_CELL_COUNT, AF_SHOW_NEVER)                                                \
	C(parent, "Parent", AF_CELL_COUNT, AF_SHOW_NEVER)                                          \
	C(cause_number, "Cause number", AF_CELL_COUNT, AF_SHOW_NEVER)                              \
	C(cause_count, "Cause count", AF_CELL_COUNT, AF_SHOW_NEVER)                                \
	C(cause_time_ns, "Cause time", AF_CELL_NS, AF_SHOW_NEVER)                                  \
	C(name, "Name", AF_CELL_TEXT, AF_SHOW_NEVER)                                               \
	C(is_over, "Over", AF_CELL_TEXT, AF_SHOW_NEVER)
struct coverage_row {
	COVERAGE_COLUMNS(AF_ROW_CELL, "")
};

static void row_fill(struct coverage_row *c, const struct af_coverage_row *r)
{
	c->label.text = r->text;
	c->used_user_ns.value = r->cpu.used_user;
	c->used_system_ns.value = r->cpu.used_kernel;
	c->sampled_user_ns.value = r->cpu.sampled_user;
	c->sampled_system_ns.value = r->cpu.sampled_kernel;
	c->share.value =
	    af_tables_ratio(af_covered_sampled(&r->cpu), af_covered_used(&r->cpu), 1e4);
	c->used_user_ns.unknown = c->used_system_ns.unknown = !r->known;
	c->share.unknown = !r->known || !af_covered_used(&r->cpu);
	c->cause.text = r->over       ? AF_COVERAGE_OVER_TEXT
	                : r->cause    ? af_unsampled_text(r->cause)
	                : r->short_of ? "not known"
	                              : "";
	c->measured.text = measured_text(r);
	c->is_short.text = r->short_of ? "yes" : "no";
	c->ordinal.value = r->process;
	c->tid.value = r->tid;
	c->parent.value = r->parent;
	c->cause_number.value = r->cause;
	c->cause_count.value = r->count;
	c->cause_time_ns.value = r->cpu_ns;
	c->name.text = r->name;
	c->is_over.text = r->over ? "yes" : "no";
}

static struct af_table *rows_table(struct af_tables *f, const char *name, const char *title,
                                   const char *what)
{
	const struct af_column columns[] = {COVERAGE_COLUMNS(AF_ROW_COLUMN, what)};

	return AF_TABLE(f, name, title, columns);
}

#define LAUNCHES_COLUMNS(C)                                                                        \
	C(process, "Process", AF_CELL_TEXT, AF_SHOW_ALWAYS)                                        \
	C(api, "API", AF_CELL_TEXT, AF_SHOW_ALWAYS)                                                \
	C(device, "Device", AF_CELL_TEXT, AF_SHOW_USED)                                            \
	C(launches, "Launches", AF_CELL_COUNT, AF_SHOW_ALWAYS)                                     \
	C(joined, "Joined", AF_CELL_COUNT, AF_SHOW_ALWAYS)                                         \
	C(share, "Share", AF_CELL_PERCENT, AF_SHOW_ALWAYS)                                         \
	C(works, "Works", AF_CELL_COUNT, AF_SHOW_ALWAYS)                                           \
	C(without_a_launch, "Without a launch", AF_CELL_COUNT, AF_SHOW_USED)                       \
	C(without_times, "Without times", AF_CELL_COUNT, AF_SHOW_USED)                             \
	C(dropped, "Dropped", AF_CELL_COUNT, AF_SHOW_USED)                                         \
	C(is_short, "Short", AF_CELL_TEXT, AF_SHOW_NEVER)                                          \
	C(ordinal, "Ordinal", AF_CELL_COUNT, AF_SHOW_NEVER)
struct launches_row {
	LAUNCHES_COLUMNS(AF_ROW_CELL)
};

static void launches_table(const struct af_coverage *c, struct af_tables *f)
{
	static const struct af_column columns[] = {LAUNCHES_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t;

	if (!c->nr_launches)
		return;
	t = AF_TABLE(f, "coverage_devices", "Launches, and those whose work was recorded", columns);
	for (uint32_t i = 0; i < c->nr_launches; i++) {
		const struct af_coverage_launches *l = &c->launches[i];
		struct launches_row *cell = af_table_row(f, t);
		cell->process.text = l->text;
		cell->api.text = l->api == AF_API_CUDA         ? "CUDA"
		                 : l->api == AF_API_LEVEL_ZERO ? "Level Zero"
		                 : l->api == AF_API_HIP        ? "HIP"
		                                               : "OpenCL";
		cell->device.text = l->device_text;
		cell->launches.value = l->calls;
		cell->joined.value = l->joined;
		cell->share.value = af_tables_ratio(l->joined, l->calls, 1e4);
		cell->share.unknown = !l->calls;
		cell->works.value = l->works;
		cell->without_a_launch.value = l->alone;
		cell->without_times.value = l->untimed;
		cell->dropped.value = l->dropped;
		cell->is_short.text = l->short_of || l->short_of_times ? "yes" : "no";
		cell->ordinal.value = l->process;
	}
}

void af_coverage_tables(const struct af_coverage *c, struct af_tables *f)
{
	struct af_table *t;

	launches_table(c, f);
	if (!c->total.known)
		return;
	t = rows_table(f, "coverage", "CPU time used, and sampled", "Process");
	for (uint32_t i = 0; i < c->nr_processes; i++)
		row_fill(af_table_row(f, t), &c->processes[i]);
	t->note = af_coverage_text(c, f);
	t = rows_table(f, "coverage_threads", "CPU time used, and sampled, by thread", "Thread");
	t->left_column = 1;
	for (uint32_t i = 0; i < c->nr_threads; i++) {
		if (i < THREAD_ROWS) {
			row_fill(af_table_row(f, t), &c->threads[i]);
			continue;
		}
		t->left_out++;
		t->left_weight += c->threads[i].cpu.used_user;
	}
}
