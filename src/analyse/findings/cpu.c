/* Where CPU time went: functions with much of their own, the system, Python's interpreter. */
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/private.h"
#include "analyse/functions/top.h"
#include "analyse/tree/callers.h"
#include "base/arena.h"

enum {
	FUNCTIONS_MOST = 3,
	FUNCTION_PERCENT = 10, /* of CPU time, in the function itself */
	PYTHON_PERCENT = 10,
	SOURCES_PERCENT = 25, /* of imports */
	SYSTEM_PERCENT = 5
};

struct cpu {
	struct findings *s;
	const struct af_tree *t; /* of CPU time */
	struct findings_sum all;
};

static bool is_at_least(uint64_t part, uint64_t whole, unsigned percent)
{
	return part && (unsigned __int128)part * 100 >= (unsigned __int128)whole * percent;
}

/* How long GPUs waited for what @of finds in the stacks of a phase, the one with most of it. */
static uint64_t waited_ns(const struct cpu *c,
                          struct findings_sum (*of)(const struct af_tree *t, const char *what),
                          const char *what)
{
	uint64_t most_ns = 0;

	for (int p = 0; p < IDLE_PHASES; p++) {
		uint64_t ns = of(&c->s->idle[p], what).ns;
		most_ns = ns > most_ns ? ns : most_ns;
	}
	return most_ns;
}

/*
 * Add a finding about CPU time in stacks that match @pattern, which the page's search understands
 * too.
 */
static void find_stacks(const struct cpu *c, struct finding *x, const char *pattern)
{
	x->on_host = true;
	x->gain_ns = waited_ns(c, findings_pattern_weight, pattern);
	x->view = "cpu";
	x->hash = findings_link(c->s, "#view=cpu&w=time", "q", pattern);
	x->check = af_tables_text(c->s->f, "aflame report callers '%s' --view cpu", pattern);
	findings_add(c->s, x);
}

/* Calls of CUDA and OpenCL that only wait. */
#define CUDA_WAITS "^cu.*Synchronize"
#define WAITS_PATTERN CUDA_WAITS "|^clFinish$|^clWaitForEvents$"

static bool is_wait(const char *name)
{
	return (!strncmp(name, "cu", 2) && strstr(name, "Synchronize")) ||
	       !strcmp(name, "clFinish") || !strcmp(name, "clWaitForEvents");
}

/* "; 2.9 s of that below train (x.py:10)" */
static const char *caller_text(struct findings *s, const struct findings_where *w)
{
	return w->name.text
	           ? af_tables_text(s->f, "; %s of that below %s", af_tables_ns(s->f, w->sum.ns),
	                            findings_short(s, w->name.text))
	           : "";
}

/* A function called and inlined has two rows in a table, and one finding. */
static bool is_found(const struct findings *s, const char *kind, const char *hash)
{
	for (uint32_t i = 0; i < s->nr; i++)
		if (!strcmp(s->all[i].kind, kind) && s->all[i].hash &&
		    !strcmp(s->all[i].hash, hash))
			return true;
	return false;
}

static void function_weight(const struct af_tree *t, uint32_t name, uint32_t weight,
                            uint64_t *total, uint64_t *self)
{
	struct af_hits h;

	af_hits_function(&h, t, name);
	af_hits_weight(t, &h, weight, total, self);
	af_hits_free(&h);
}

/* Is there a finding about the kernel @name? On a CPU device it is a function, too. */
static bool has_kernel(const struct findings *s, const char *name)
{
	for (uint32_t i = 0; i < s->nr; i++)
		if (!strcmp(s->all[i].kind, "kernel") && !strcmp(s->all[i].function, name))
			return true;
	return false;
}

static void find_function(const struct cpu *c, const struct af_table *top, uint32_t row)
{
	struct findings *s = c->s;
	const uint32_t id = (uint32_t)findings_value(CELL(af_top_row, top, row, function));
	const struct findings_name name = findings_name(s, c->t, id);
	if (af_tree_frame(c->t, id) == AF_FRAME_GPU && has_kernel(s, name.text))
		return;
	struct findings_sum self, total;
	function_weight(c->t, id, AF_WEIGHT_TIME, &total.ns, &self.ns);
	function_weight(c->t, id, AF_WEIGHT_SAMPLES, &total.samples, &self.samples);
	struct finding x = {.kind = "function",
	                    .function = name.text,
	                    .id = name.id,
	                    .view = "sandwich",
	                    .on_host = true,
	                    .gain_ns = waited_ns(c, findings_words_self, name.words)};

	struct findings_where w = {0};
	const char *with = "";

	x.hash = findings_link(s, "#tab=sandwich&view=cpu&w=time", "fn", name.words);
	if (is_found(s, x.kind, x.hash))
		return;
	/* All waits for devices are one finding, made elsewhere. */
	if (findings_caller(s, c->t, id, &w) && is_wait(w.name.text))
		return;
	if (total.ns > self.ns)
		with =
		    af_tables_text(s->f, ", %s with what it calls", af_tables_ns(s->f, total.ns));
	x.what = af_tables_text(s->f, "%s itself took %s%s%s", findings_short(s, name.text),
	                        findings_sampled(s, &x, c->t, self), with, caller_text(s, &w));
	x.check = af_tables_text(s->f, "aflame report callers %s --view cpu",
	                         findings_quoted(s, name.words));
	findings_add(s, &x);
}

/* Threads that are on a CPU only to wait for a device. */
static void find_spinning(const struct cpu *c)
{
	struct findings *s = c->s;
	struct findings_sum sum = findings_pattern_weight(c->t, WAITS_PATTERN);
	struct finding x = {.kind = "spinning"};

	/* OpenCL has no such setting. */
	if (findings_pattern_weight(c->t, CUDA_WAITS).ns >= sum.ns / 2)
		x.helps =
		    "where others need that CPU, waiting off it: cudaDeviceScheduleBlockingSync";
	x.what =
	    af_tables_text(s->f, "threads were on a CPU for %s in calls that wait for a device",
	                   findings_sampled(s, &x, c->t, sum));
	find_stacks(c, &x, WAITS_PATTERN);
}

/* Threads of libgomp, of LLVM's and Intel's OpenMP, and of OpenBLAS that wait for each other. */
#define TEAM_WAITS                                                                                 \
	"^gomp_(team_)?barrier_wait|^blas_thread_server$|^__kmp_(.*barrier|wait_)|^kmp_flag_.*::"  \
	"wait"

static bool is_team_wait(const struct cpu *c, const struct findings_where *w)
{
	struct af_hits waits, hits;
	bool is = false;

	af_hits_match(&waits, c->t, TEAM_WAITS);
	af_hits_find(&hits, c->t, w->name.id);
	for (uint32_t i = 1; i < c->t->nr_names; i++)
		is |= waits.is[i] && hits.is[i];
	af_hits_free(&waits);
	af_hits_free(&hits);
	return is;
}

/* Threads of a team that are on a CPU only to wait for the others. */
static void find_team_waits(const struct cpu *c)
{
	struct findings_sum sum = findings_pattern_weight(c->t, TEAM_WAITS);
	struct finding x = {.kind = "team-waiting",
	                    .helps = "fewer threads (OMP_NUM_THREADS, OPENBLAS_NUM_THREADS, "
	                             "torch.set_num_threads), or OMP_WAIT_POLICY=passive"};

	x.what = af_tables_text(c->s->f,
	                        "threads of OpenMP or OpenBLAS were on a CPU for %s only to wait "
	                        "for each other",
	                        findings_sampled(c->s, &x, c->t, sum));
	find_stacks(c, &x, TEAM_WAITS);
}

static void find_functions(const struct cpu *c)
{
	const struct af_table *top = findings_table(c->s, "cpu_top");
	struct af_hits waits;

	af_hits_match(&waits, c->t, TEAM_WAITS);
	for (uint32_t i = 0; top && i < top->nr_rows && i < FUNCTIONS_MOST; i++) {
		enum af_frame frame =
		    af_kind_of(findings_text(CELL(af_top_row, top, i, kind)), AF_FRAME_NATIVE);
		const char *name = findings_text(CELL(af_top_row, top, i, function));
		/* Importing, and [kernel], are findings of their own. */
		uint32_t id = (uint32_t)findings_value(CELL(af_top_row, top, i, function));
		bool is_function = frame != AF_FRAME_MARK && frame != AF_FRAME_PROCESS &&
		                   *name != '[' && !strstr(name, "(<frozen ") &&
		                   !findings_is_ours(c->t, id) && !waits.is[id];
		if (is_function && is_at_least(findings_value(CELL(af_top_row, top, i, self)),
		                               c->all.ns, FUNCTION_PERCENT))
			find_function(c, top, i);
	}
	af_hits_free(&waits);
}

/* If no single function takes much: the function below which most of the time was spent. */
static void find_below(const struct cpu *c)
{
	struct findings *s = c->s;
	struct findings_where w = {0}, up = {0};

	if (!findings_where(s, c->t, &w) || is_team_wait(c, &w))
		return;
	struct finding x = {.kind = "below",
	                    .function = w.name.text,
	                    .id = w.name.id,
	                    .view = "cpu",
	                    .on_host = true,
	                    .gain_ns = waited_ns(c, findings_words_weight, w.name.words)};
	for (uint32_t i = 0; i < s->nr; i++)
		if (s->all[i].function && !strcmp(s->all[i].function, w.name.text))
			return;
	/* A function of the interpreter's own or of an extension: the Python code that calls it. */
	if (!w.python && !findings_caller(s, c->t, w.number, &up))
		up = (struct findings_where){0};
	x.what = af_tables_text(
	    s->f, "%s and what it calls took %s%s", findings_short(s, w.name.text),
	    findings_sampled(s, &x, c->t, w.sum), up.python ? caller_text(s, &up) : "");
	x.hash = findings_link(s, "#view=cpu&w=time", "o",
	                       af_tables_text(s->f, "focus:%s", w.name.words));
	x.check = af_tables_text(s->f, "aflame report callees %s --view cpu",
	                         findings_quoted(s, w.name.words));
	findings_add(s, &x);
}

/* "; 1.4 s of it below asm_exc_page_fault": the functions at which the kernel is entered. */
static const char *entry_text(const struct cpu *c, struct findings_name *name)
{
	static const char *const entries[] = {"__x64_sys_",     "__arm64_sys_",       "__ia32_sys_",
	                                      "exc_page_fault", "asm_exc_page_fault", "el0_da"};
	const struct af_tree *t = c->t;
	uint64_t *sums = af_xcalloc(t->nr_names + 1, sizeof *sums);
	uint32_t best = 0;
	size_t len;

	for (uint32_t n = 1; n < t->nr; n++)
		if (af_tree_frame(t, t->nodes[n].name) == AF_FRAME_KERNEL)
			sums[t->nodes[n].name] += t->total[AF_WEIGHT_TIME][n];
	for (uint32_t i = 1; i < t->nr_names; i++) {
		const char *text = af_tree_text(t, i, &len);
		for (unsigned k = 0; sums[i] && k < sizeof entries / sizeof *entries; k++)
			if (len >= strlen(entries[k]) &&
			    !memcmp(text, entries[k], strlen(entries[k])) &&
			    (!best || sums[i] > sums[best]))
				best = i;
	}
	uint64_t ns = sums[best];
	free(sums);
	if (!best)
		return "";
	*name = findings_name(c->s, t, best);
	return af_tables_text(c->s->f, "; %s of it below %s", af_tables_ns(c->s->f, ns),
	                      name->text);
}

static void find_system(const struct cpu *c)
{
	struct findings *s = c->s;
	struct findings_name name = {0};
	struct findings_sum sum = findings_words_weight(c->t, "kernel:");
	struct finding x = {.kind = "system",
	                    .check = "aflame report callees kernel: --view cpu",
	                    .view = "cpu",
	                    .hash = "#view=cpu&w=time",
	                    .on_host = true,
	                    .gain_ns = waited_ns(c, findings_words_weight, "kernel:")};

	if (!is_at_least(sum.ns, c->all.ns, SYSTEM_PERCENT))
		return;
	const char *entry = entry_text(c, &name);
	x.what = af_tables_text(s->f, "the operating system took %s%s",
	                        findings_sampled(s, &x, c->t, sum), entry);
	x.function = name.text;
	x.id = name.id;
	x.helps = !name.text                         ? NULL
	          : strstr(name.text, "_fault")      ? "memory that is used again, or huge pages"
	          : !strstr(name.text, "_sys_ioctl") ? "fewer system calls"
	                                             : NULL;
	if (name.text)
		x.hash =
		    af_tables_text(s->f, "%s&exact=1",
		                   findings_link(s, x.hash, "q", findings_exactly(s, name.text)));
	findings_add(s, &x);
}

/*
 * Python's bytecode: the eval loop has Python frames in its place, and their self time is its. What
 * C functions of the interpreter do (parse, sort, hash) is theirs.
 */
static void find_interpreter(const struct cpu *c)
{
	struct findings *s = c->s;
	struct findings_sum sum = findings_words_self(c->t, "python:");
	struct finding x = {.kind = "python",
	                    .helps = "fewer and larger steps in Python, or compiled code",
	                    .check = "aflame report callees python: --view cpu",
	                    .view = "top",
	                    .hash = "#tab=top&view=cpu&w=time&group=module",
	                    .on_host = true,
	                    .gain_ns = waited_ns(c, findings_words_self, "python:")};

	if (!is_at_least(sum.ns, c->all.ns, PYTHON_PERCENT))
		return;
	x.what = af_tables_text(s->f, "Python's interpreter loop itself took %s",
	                        findings_sampled(s, &x, c->t, sum));
	findings_add(s, &x);
}

#define IMPORTS "^_find_and_load "
#define SOURCES "^Py_CompileStringObject$"
#define COLLECTING "^gc_collect_(main|region)$"

/* "; 20 s of it compiling their sources": modules whose bytecode is kept are only loaded. */
static const char *sources_text(const struct cpu *c, struct findings_sum imports,
                                const char **helps)
{
	uint64_t ns = findings_pattern_weight(c->t, SOURCES).ns;

	*helps = "importing less, or only where it is needed";
	if (ns > imports.ns || !is_at_least(ns, imports.ns, SOURCES_PERCENT))
		return "";
	*helps = "bytecode that is kept: python3 -m compileall, or a __pycache__ that can be "
		 "written";
	return af_tables_text(c->s->f, "; %s of it compiling their sources",
	                      af_tables_ns(c->s->f, ns));
}

/* Python's work beside the program's own. */
static void find_python(const struct cpu *c)
{
	struct findings *s = c->s;
	struct findings_sum imports = findings_pattern_weight(c->t, IMPORTS),
			    collecting = findings_pattern_weight(c->t, COLLECTING);
	struct finding x = {.kind = "imports"};

	x.what = af_tables_text(s->f, "importing Python modules took %s%s",
	                        findings_sampled(s, &x, c->t, imports),
	                        sources_text(c, imports, &x.helps));
	find_stacks(c, &x, IMPORTS);
	x = (struct finding){.kind = "python-gc"};
	x.what = af_tables_text(s->f, "Python's garbage collector took %s",
	                        findings_sampled(s, &x, c->t, collecting));
	x.helps = "gc.freeze() after setting up, or collecting less often";
	find_stacks(c, &x, COLLECTING);
	find_interpreter(c);
}

/* Functions with a large share of a count that is not time. */
static void find_counted(struct findings *s)
{
	const struct af_tree *t = &s->r->trees[AF_VIEW_CPU];
	const struct af_table *top = findings_table(s, AF_COUNT_TOP);
	const char *unit = t->weights[AF_WEIGHT_COUNT].unit;
	uint64_t all = t->total[AF_WEIGHT_COUNT][0];

	for (uint32_t i = 0; top && i < top->nr_rows && i < FUNCTIONS_MOST; i++) {
		const uint32_t id = (uint32_t)findings_value(CELL(af_top_row, top, i, function));
		const struct findings_name name = findings_name(s, t, id);
		uint64_t self, total;
		if (!is_at_least(findings_value(CELL(af_top_row, top, i, self)), all,
		                 FUNCTION_PERCENT))
			break;
		function_weight(t, id, AF_WEIGHT_COUNT, &total, &self);
		struct finding x = {
		    .kind = "function",
		    .ns = self,
		    .no_time = true,
		    .of_ns = all,
		    .of = unit,
		    .function = name.text,
		    .id = name.id,
		    .view = "sandwich",
		};
		x.hash = findings_link(s, "#tab=sandwich&view=cpu&w=count", "fn", name.words);
		if (is_found(s, x.kind, x.hash))
			continue;
		x.what =
		    af_tables_text(s->f, "%s itself has %llu %s (%s of %llu)",
		                   findings_short(s, name.text), (unsigned long long)self, unit,
		                   findings_share(s, self, all), (unsigned long long)all);
		x.check = af_tables_text(s->f, "aflame report callers %s --view cpu -w count",
		                         findings_quoted(s, name.words));
		findings_add(s, &x);
	}
}

void findings_cpu(struct findings *s)
{
	if (s->r->has[AF_VIEW_CPU] & AF_HAS_COUNTED)
		find_counted(s);
	const struct cpu c = {.s = s,
	                      .t = &s->r->trees[AF_VIEW_CPU],
	                      .all = findings_total(&s->r->trees[AF_VIEW_CPU])};

	if (!c.all.ns)
		return;
	find_functions(&c);
	find_spinning(&c);
	find_team_waits(&c);
	find_below(&c);
	find_system(&c);
	find_python(&c);
}
