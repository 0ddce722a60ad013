/*
 * Finds the cause of a thread's time while a device waited for it, where a function in the stack
 * does one thing alone: page faults, locks, Python's GIL. The cause with most time is reported.
 */
#include <string.h>

#include "analyse/findings/private.h"
#include "analyse/tree/callers.h"
#include "base/arena.h"

enum {
	CAUSE_PERCENT = 30, /* of the finding's time, at least, to be named */
	CHURN_PERCENT = 3   /* beside page faults: of calls that take and give back memory */
};

struct cause {
	const char *pattern;
	const char *what; /* "1.2 s of it …" */
	const char *helps;
};

#define PAGE_FAULTS "exc_page_fault$|^do_page_fault$|^el[01]_[di]a$"
#define MEMORY_CALLS "^__(x64|arm64)_sys_(mmap|munmap|brk|madvise|mremap)$"
#define CHURN PAGE_FAULTS "|" MEMORY_CALLS

static const struct cause faults = {PAGE_FAULTS, "in page faults",
                                    "memory that is used again, or huge pages"};
static const struct cause churn = {
    CHURN, "in page faults and calls that take memory from the system and give it back",
    "memory that is kept and used again: a pool, or an allocator that keeps it "
    "(MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_)"};
static const struct cause gil = {
    NULL, "waiting for Python's GIL",
    "what other threads do in Python in processes of their own, or in code that releases the GIL"};

/* Compilers that run in the program: PyTorch's, Triton's, numba's and JAX's; NVRTC, OpenCL's. */
#define COMPILING                                                                                  \
	{                                                                                          \
		"\\(convert_frame\\.py:|^compile \\((compiler|dispatcher)\\.py:|"                  \
		"^(backend_compile|compile_or_get_cached)[a-z_]* \\(|"                             \
		"^(nvrtcCompileProgram|nvPTXCompilerCompile|clBuildProgram|clCompileProgram)$",    \
		    "compiling",                                                                   \
		    "compiling before what is measured, or a cache of what is compiled that is "   \
		    "kept between runs"                                                            \
	}

static const struct cause computing[] = {
    COMPILING,
    {"^_find_and_load ", "importing Python modules", "importing less, or before what is measured"},
    {"^gc_collect_(main|region)$", "in Python's garbage collector",
     "gc.freeze() after setting up, or collecting less often"},
};
static const struct cause waiting[] = {
    COMPILING,
    {"^PyThread_acquire_lock|^pthread_mutex_|^__?lll_lock|^pthread_rwlock_|^sem_(timed|clock)?wait",
     "in waits for a lock", "what is done under that lock made shorter, or locks that fewer share"},
    {"nanosleep$|^usleep$", "asleep, as it had asked to be", "no sleep in what is repeated"},
    {"^__(x64|arm64)_sys_(wait4|waitid)$", "in waits for another process", NULL},
    {"^__(x64|arm64)_sys_(recv|send|accept|connect)", "in waits for the network", NULL},
    {"^io_schedule$|^filemap_|^folio_wait_", "in waits for a disk",
     "reading ahead, or files that stay in memory"},
};

/* Functions of the interpreter that do nothing but wait for its lock. */
static bool is_gil_taker(const struct af_tree *t, uint32_t name)
{
	static const char *const entries[] = {"PyEval_RestoreThread", "PyEval_AcquireThread",
	                                      "PyGILState_Ensure", "take_gil"};
	size_t len;
	const char *text = af_tree_text(t, name, &len);

	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		if (len == strlen(entries[i]) && !memcmp(text, entries[i], len))
			return true;
	return false;
}

/* "python3.12!fn_5fbbe0" */
static bool is_interpreters_own(const struct af_tree *t, uint32_t name)
{
	size_t len;
	const char *text = af_tree_text(t, name, &len), *mark = memchr(text, '!', len);

	return mark && memmem(text, (size_t)(mark - text), "python", strlen("python"));
}

/*
 * The time in waits for the GIL. The interpreter's loop waits for it in the same function as the
 * entries above do; a stripped interpreter has no name for it, but they show which one it is.
 */
static uint64_t gil_ns(const struct af_tree *t)
{
	struct af_hits h = {.is = af_xcalloc((size_t)t->nr_names + 1, sizeof *h.is)};
	uint64_t total = 0, own = 0;

	for (uint32_t n = 1; n < t->nr; n++) {
		uint32_t up = t->nodes[n].parent, name = t->nodes[n].name;
		if (is_gil_taker(t, name) ||
		    (up && is_interpreters_own(t, name) && is_gil_taker(t, t->nodes[up].name)))
			h.is[name] = true;
	}
	for (uint32_t i = 1; i < t->nr_names; i++)
		h.nr += h.is[i];
	if (h.nr)
		af_hits_weight(t, &h, AF_WEIGHT_TIME, &total, &own);
	af_hits_free(&h);
	return total;
}

struct found {
	const struct cause *cause;
	uint64_t ns;
};

static void found_more(struct found *f, const struct cause *c, uint64_t ns)
{
	if (ns > f->ns)
		*f = (struct found){c, ns};
}

static void found_of(struct found *f, const struct af_tree *t, const struct cause *c, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		found_more(f, &c[i], findings_pattern_weight(t, c[i].pattern).ns);
}

static const char *found_text(struct findings *s, const struct found *f, uint64_t ns,
                              const char **helps)
{
	if (!f->cause || f->ns < ns / 100 * CAUSE_PERCENT)
		return "";
	if (f->cause->helps)
		*helps = f->cause->helps;
	return af_tables_text(s->f, "; %s of it %s", af_tables_ns(s->f, f->ns), f->cause->what);
}

const char *findings_computing(struct findings *s, const struct af_tree *t, const char **helps)
{
	uint64_t ns = findings_total(t).ns, calls = findings_pattern_weight(t, MEMORY_CALLS).ns;
	const struct cause *memory = calls >= ns / 100 * CHURN_PERCENT ? &churn : &faults;
	struct found f = {0};

	found_of(&f, t, computing, sizeof computing / sizeof *computing);
	found_more(&f, memory, findings_pattern_weight(t, memory->pattern).ns);
	return found_text(s, &f, ns, helps);
}

const char *findings_waiting(struct findings *s, const struct af_tree *t, const char **helps)
{
	struct found f = {0};

	found_of(&f, t, waiting, sizeof waiting / sizeof *waiting);
	found_more(&f, &gil, gil_ns(t));
	return found_text(s, &f, findings_total(t).ns, helps);
}
