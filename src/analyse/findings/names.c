/*
 * CPU time of code whose name the trace does not have: files without symbols, code made at run
 * time; and stacks of which it is not known whether all callers are there.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/private.h"
#include "analyse/frames/marks.h"
#include "base/arena.h"
#include "sym/elf/bounds_name.h"

enum { NAMELESS_PERCENT = 10 };

#define NAMELESS_PATTERN                                                                           \
	AF_BOUNDS_NAME_PATTERN "|: (no symbol|file gone|file replaced|no file mapped here)]$"
#define JIT_PATTERN "^\\[jit: no (map|symbol)]$"
#define ENDED "^\\[ended before a sample]$"
#define FRAME_POINTERS "^\\[frame pointers only]$"

bool findings_recorded(struct findings *s, struct finding *x, const char *pattern)
{
	x->rank = FINDING_RECORDING;
	x->view = "cpu";
	x->hash = findings_link(s, "#view=cpu&w=time", "q", pattern);
	x->check = af_tables_text(s->f, "aflame report callers '%s' --view cpu", pattern);
	return findings_add(s, x);
}

static bool is_much(uint64_t ns, uint64_t of_ns)
{
	return ns && (unsigned __int128)ns * 100 >= (unsigned __int128)of_ns * NAMELESS_PERCENT;
}

/* How long the name of the module is in "libc.so.6!fn_2a150" and "[ext4: no symbol]"; 0: a name. */
static size_t nameless_length(const char *text, size_t len)
{
#define AF_N(NAME, words) ": " words "]",
	static const char *const reasons[] = {AF_NO_NAMES(AF_N)};
#undef AF_N
	size_t module = af_bounds_name_module(text, len);

	if (findings_is_jit(text, len))
		return 0;
	if (module)
		return module;
	for (unsigned i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		size_t tail = strlen(reasons[i]);
		if (len > tail + 1 && *text == '[' && !memcmp(text + len - tail, reasons[i], tail))
			return len - tail - 1;
	}
	return 0;
}

/* The module of which most time is. */
struct nameless {
	const char *module;
	uint64_t ns;
};

static struct findings_sum self_of(const struct af_tree *t, uint32_t node)
{
	return (struct findings_sum){t->self[AF_WEIGHT_TIME][node],
	                             t->self[AF_WEIGHT_SAMPLES][node]};
}

static void sum_add(struct findings_sum *sum, struct findings_sum part)
{
	sum->ns += part.ns;
	sum->samples += part.samples;
}

static int nameless_order(const void *a, const void *b)
{
	const struct nameless *x = a, *y = b;

	return strcmp(x->module, y->module);
}

static const char *nameless_module(struct nameless *all, uint32_t nr)
{
	uint32_t best = 0, k = 0;

	if (!nr)
		return "";
	AF_SORT(all, nr, nameless_order);
	for (uint32_t i = 1; i < nr; i++) {
		if (!strcmp(all[k].module, all[i].module))
			all[k].ns += all[i].ns;
		else
			all[++k] = all[i];
	}
	for (uint32_t i = 1; i <= k; i++)
		best = all[i].ns > all[best].ns ? i : best;
	all[0].ns = all[best].ns;
	return all[best].module;
}

/* How to get names for the functions of @module: its package, where the trace knows it. */
static const char *nameless_helps(struct findings *s, const char *module)
{
	const struct af_table *t = findings_table(s, "packages");

	for (uint32_t i = 0; t && i < t->nr_rows; i++)
		if (!strcmp(findings_text(CELL(af_package_row, t, i, file)), module))
			return af_tables_text(
			    s->f,
			    "apt install %s (Debian: of the archive debian-debug), or a server "
			    "named in DEBUGINFOD_URLS",
			    findings_text(CELL(af_package_row, t, i, package)));
	return af_tables_text(
	    s->f, "a debug package of %s or a server for it (DEBUGINFOD_URLS), if any", module);
}

/* In a file that has neither a symbol nor an unwind table there. */
static bool has_no_bounds(const char *text, size_t len)
{
	static const char tail[] = ": no symbol]";
	enum { TAIL = sizeof tail - 1 };

	return len > TAIL && !memcmp(text + len - TAIL, tail, TAIL);
}

static const char *nameless_bounds(struct findings *s, uint64_t ns)
{
	return ns ? af_tables_text(s->f, "; of %s not even an unwind table tells functions apart",
	                           af_tables_ns(s->f, ns))
	          : "";
}

/* Self time of functions that have no name but an address. */
static void find_nameless(struct findings *s)
{
	const struct af_tree *t = &s->r->trees[AF_VIEW_CPU];
	struct findings_sum *own = af_xcalloc(t->nr_names + 1, sizeof *own), sum = {0};
	uint64_t bare_ns = 0;
	struct nameless *all = af_xcalloc(t->nr_names + 1, sizeof *all);
	uint32_t nr = 0;

	for (uint32_t n = 1; n < t->nr; n++)
		sum_add(&own[t->nodes[n].name], self_of(t, n));
	for (uint32_t i = 1; i < t->nr_names; i++) {
		size_t len;
		const char *text = af_tree_text(t, i, &len);
		size_t module = own[i].ns ? nameless_length(text, len) : 0;
		if (!module)
			continue;
		bare_ns += has_no_bounds(text, len) ? own[i].ns : 0;
		text += *text == '[';
		sum_add(&sum, own[i]);
		all[nr++] =
		    (struct nameless){af_arena_strdup(&s->f->arena, text, module), own[i].ns};
	}
	const char *module = nameless_module(all, nr);
	struct finding x = {.kind = "nameless"};
	if (is_much(sum.ns, findings_total(t).ns)) {
		bool nowhere = !strcmp(module, "unknown");
		x.what =
		    af_tables_text(s->f, "%s is in functions without a name; %s of it %s%s%s",
		                   findings_sampled(s, &x, t, sum), af_tables_ns(s->f, all[0].ns),
		                   nowhere ? "where no file is mapped" : "in ",
		                   nowhere ? "" : module, nameless_bounds(s, bare_ns));
		if (!nowhere)
			x.helps = nameless_helps(s, module);
		findings_recorded(s, &x, NAMELESS_PATTERN);
	}
	free(own);
	free(all);
}

/* The name of a process, the frame @node. */
static const char *process_text(struct findings *s, const struct af_tree *t, uint32_t node)
{
	size_t len;
	const char *text = af_tree_text(t, t->nodes[node].name, &len);

	return af_arena_strdup(&s->f->arena, text, len);
}

/* Self time of code made at run time that has no name. Is it a finding? */
static bool find_jit(struct findings *s)
{
	const struct af_tree *t = &s->r->trees[AF_VIEW_CPU];
	uint64_t *mine = af_xcalloc(t->nr, sizeof *mine);
	struct findings_sum sum = {0};
	struct finding x = {.kind = "jit-nameless"};

	for (uint32_t n = 1; n < t->nr; n++) {
		size_t len;
		const char *text = af_tree_text(t, t->nodes[n].name, &len);
		if (!findings_is_jit(text, len))
			continue;
		sum_add(&sum, self_of(t, n));
		mine[findings_process(t, n)] += t->self[AF_WEIGHT_TIME][n];
	}
	uint32_t process = findings_heaviest_process(t, mine);
	bool found = false;
	if (is_much(sum.ns, findings_total(t).ns)) {
		x.what = af_tables_text(
		    s->f,
		    "%s is in code that was made at run time and has no names; %s of it in %s",
		    findings_sampled(s, &x, t, sum), af_tables_ns(s->f, mine[process]),
		    process_text(s, t, process));
		x.helps = findings_names_help(t, process);
		found = findings_recorded(s, &x, JIT_PATTERN);
	}
	free(mine);
	return found;
}

/* V8's interpreter runs every function in this one. */
#define INTERPRETED "Builtins_InterpreterEntryTrampoline"

/* A frame may be a function of a runtime that has a name, one that has none, or neither. */
enum runs { RUNS_OTHER, RUNS_NAMED, RUNS_NAMELESS };

static enum runs runs_of(const struct af_tree *t, uint32_t name)
{
	size_t len;
	const char *text = af_tree_text(t, name, &len);

	if (findings_is_jit(text, len) ||
	    (len == strlen(INTERPRETED) && !memcmp(text, INTERPRETED, len)))
		return RUNS_NAMELESS;
	return af_tree_frame(t, name) == AF_FRAME_JIT ? RUNS_NAMED : RUNS_OTHER;
}

/*
 * Functions with names that are called by code without: which of the program's functions has that
 * time is not known. Those whose nearest caller made at run time has a name decide nothing.
 */
static void find_callers(struct findings *s)
{
	static const char pattern[] = JIT_PATTERN "|^" INTERPRETED "$";
	const struct af_tree *t = &s->r->trees[AF_VIEW_CPU];
	uint8_t *runs = af_xcalloc(t->nr, sizeof *runs);
	uint64_t *mine = af_xcalloc(t->nr, sizeof *mine), ns = 0;
	struct finding x = {.kind = "callers-nameless"};

	for (uint32_t n = 1; n < t->nr; n++) {
		runs[n] = runs_of(t, t->nodes[n].name);
		if (runs[n] == RUNS_OTHER)
			runs[n] = runs[t->nodes[n].parent];
		if (runs[n] != RUNS_NAMELESS)
			continue;
		ns += t->self[AF_WEIGHT_TIME][n];
		mine[findings_process(t, n)] += t->self[AF_WEIGHT_TIME][n];
	}
	if (is_much(ns, findings_total(t).ns)) {
		uint32_t process = findings_heaviest_process(t, mine);
		x.what =
		    af_tables_text(s->f,
		                   "%s is below code that was made at run time, or is interpreted, "
		                   "and has no names; "
		                   "names; most of it in %s",
		                   findings_sampled(s, &x, t, findings_pattern_weight(t, pattern)),
		                   process_text(s, t, process));
		x.helps = findings_callers_help(t, process);
		findings_recorded(s, &x, pattern);
	}
	free(runs);
	free(mine);
}

/*
 * CPU time of the stacks that have the frame @pattern; @is continues the sentence after that time.
 */
static void find_marked(struct findings *s, const char *kind, const char *pattern, const char *is,
                        const char *helps)
{
	const struct af_tree *t = &s->r->trees[AF_VIEW_CPU];
	struct findings_sum sum = findings_pattern_weight(t, pattern);
	struct finding x = {.kind = kind, .helps = helps};

	if (!is_much(sum.ns, findings_total(t).ns))
		return;
	x.what = af_tables_text(s->f, "%s %s", findings_sampled(s, &x, t, sum), is);
	findings_recorded(s, &x, pattern);
}

/* Stacks of processes without libaflame, which the kernel walked by frame pointers. */
static void find_frame_pointers(struct findings *s)
{
	find_marked(s, "frame-pointers", FRAME_POINTERS,
	            "has stacks by frame pointers only: callers may be missing",
	            s->sampled_here ? "building it with -fno-omit-frame-pointer; or starting it as "
	                              "a program that libaflame is loaded into, which unwinds by "
	                              "tables (docs/limits.md)"
	                            : "recording with perf record --call-graph dwarf");
}

/* The time of threads and processes after their last sample; for short ones, all their time. */
static void find_ended(struct findings *s)
{
	find_marked(s, "ended-early", ENDED,
	            "is of threads and processes that ended before a sample: of it only where they "
	            "began is known",
	            af_coverage_helps(AF_UNSAMPLED_SHORT_THREADS));
}

void findings_names(struct findings *s)
{
	if (!findings_total(&s->r->trees[AF_VIEW_CPU]).ns)
		return;
	find_nameless(s);
	if (!find_jit(s))
		find_callers(s); /* what helps is the same */
	find_frame_pointers(s);
	find_ended(s);
}
