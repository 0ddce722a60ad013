/* Reading the trees that findings are made of, by the same transforms that users have. */
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/private.h"
#include "analyse/tree/filter.h"
#include "base/arena.h"
#include "sym/elf/bounds_name.h"

static bool tree_hits(struct af_hits *h, const struct af_tree *t, const char *name)
{
	size_t want = strlen(name);

	*h = (struct af_hits){.is = af_xcalloc(t->nr_names + 1, sizeof *h->is)};
	for (uint32_t i = 1; i < t->nr_names; i++) {
		size_t len;
		const char *text = af_tree_text(t, i, &len);
		h->is[i] = len == want && !memcmp(text, name, len);
		h->nr += h->is[i];
	}
	if (!h->nr)
		af_hits_free(h);
	return h->nr != 0;
}

bool findings_focus(struct af_tree *dst, const struct af_tree *src, const char *name)
{
	struct af_hits h;

	if (src->nr <= 1 || !tree_hits(&h, src, name))
		return false;
	af_tree_focus(dst, src, &h);
	af_hits_free(&h);
	return true;
}

/* The view of idle time counts no samples. */
static bool counts_samples(const struct af_tree *t)
{
	return t->nr_weights > AF_WEIGHT_SAMPLES;
}

/* The sums of what @h found, which is freed: of all stacks with it, and of itself. */
static struct findings_sum sum_of(const struct af_tree *t, struct af_hits *h,
                                  struct findings_sum *own)
{
	struct findings_sum all = {0};

	*own = (struct findings_sum){0};
	if (h->nr) {
		af_hits_weight(t, h, AF_WEIGHT_TIME, &all.ns, &own->ns);
		if (counts_samples(t))
			af_hits_weight(t, h, AF_WEIGHT_SAMPLES, &all.samples, &own->samples);
	}
	af_hits_free(h);
	return all;
}

struct findings_sum findings_weight(const struct af_tree *t, const char *name)
{
	struct findings_sum own;
	struct af_hits h;

	return t->nr > 1 && tree_hits(&h, t, name) ? sum_of(t, &h, &own) : (struct findings_sum){0};
}

struct named {
	const char *text;
	size_t len;
	uint32_t row; /* UINT32_MAX: a name of the tree */
};

static int named_order(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	size_t len = x->len < y->len ? x->len : y->len;
	int order = len ? memcmp(x->text, y->text, len) : 0;

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

uint32_t *findings_devices_reported(const struct findings *s, const struct af_table *idle)
{
	const struct af_tree *t = &s->r->trees[AF_VIEW_IDLE];
	bool shared = findings_table(s, "gpus") != NULL;
	uint32_t nr = 0, nr_names = t->nr > 1 ? t->nr_names : 0;
	uint32_t *reported = af_xcalloc((size_t)idle->nr_rows + 1, sizeof *reported);
	struct named *all = af_xcalloc((size_t)idle->nr_rows + nr_names + 1, sizeof *all);

	for (uint32_t i = 1; i < nr_names; i++, nr++) {
		all[nr].text = af_tree_text(t, i, &all[nr].len);
		all[nr].row = UINT32_MAX;
	}
	for (uint32_t i = 0; i < idle->nr_rows; i++, nr++) {
		const char *text = findings_text(CELL(af_idle_row, idle, i, device));
		all[nr] = (struct named){text, strlen(text), i};
	}
	AF_SORT(all, nr, named_order);
	for (uint32_t i = 0, end; i < nr; i = end) {
		uint32_t rows = 0, row = UINT32_MAX;
		for (end = i; end < nr && !named_order(&all[i], &all[end]); end++) {
			row = all[end].row < row ? all[end].row : row;
			rows += all[end].row != UINT32_MAX;
		}
		if (rows && (end - i > rows || !shared))
			reported[row] = rows;
	}
	free(all);
	return reported;
}

struct findings_sum findings_total(const struct af_tree *t)
{
	if (t->nr <= 1 || !t->total[AF_WEIGHT_TIME])
		return (struct findings_sum){0};
	return (struct findings_sum){t->total[AF_WEIGHT_TIME][0],
	                             counts_samples(t) ? t->total[AF_WEIGHT_SAMPLES][0] : 0};
}

struct findings_sum findings_pattern_weight(const struct af_tree *t, const char *pattern)
{
	struct findings_sum own;
	struct af_hits h;

	if (t->nr <= 1)
		return (struct findings_sum){0};
	af_hits_match(&h, t, pattern);
	return sum_of(t, &h, &own);
}

struct findings_sum findings_words_weight(const struct af_tree *t, const char *words)
{
	struct findings_sum own;
	struct af_hits h;

	if (t->nr <= 1)
		return (struct findings_sum){0};
	af_hits_find(&h, t, words);
	return sum_of(t, &h, &own);
}

struct findings_sum findings_words_self(const struct af_tree *t, const char *words)
{
	struct findings_sum own;
	struct af_hits h;

	if (t->nr <= 1)
		return (struct findings_sum){0};
	af_hits_find(&h, t, words);
	sum_of(t, &h, &own);
	return own;
}

static bool begins(const char *text, size_t len, const char *with)
{
	size_t want = strlen(with);

	return len >= want && !memcmp(text, with, want);
}

/* In stacks with several such frames the outermost counts. */
const char *findings_heaviest(struct findings *s, const struct af_tree *t, const char *start)
{
	uint8_t *is = af_xcalloc(t->nr_names + 1, sizeof *is), *inside = af_xcalloc(t->nr + 1, 1);
	uint64_t *sums = af_xcalloc(t->nr_names + 1, sizeof *sums);
	uint32_t best = 0;
	size_t len;

	for (uint32_t i = 1; i < t->nr_names; i++) {
		const char *text = af_tree_text(t, i, &len);
		is[i] = begins(text, len, start);
	}
	for (uint32_t n = 1; n < t->nr; n++) {
		bool above = inside[t->nodes[n].parent];
		inside[n] = above || is[t->nodes[n].name];
		if (inside[n] && !above)
			sums[t->nodes[n].name] += t->total[AF_WEIGHT_TIME][n];
	}
	for (uint32_t i = 1; i < t->nr_names; i++)
		best = sums[i] > sums[best] ? i : best;
	free(sums);
	free(inside);
	free(is);
	if (!best)
		return NULL;
	const char *text = af_tree_text(t, best, &len);
	return af_arena_strdup(&s->f->arena, text, len);
}

static uint32_t heaviest_child(const struct af_tree *t, uint32_t node)
{
	const uint64_t *total = t->total[AF_WEIGHT_TIME];
	uint32_t best = 0;

	for (uint32_t c = t->nodes[node].first_child; c; c = t->nodes[c].next_sibling)
		if (!best || total[c] > total[best])
			best = c;
	return best;
}

/* Frames of importing and of a module's top level only say that a program runs. */
static bool tells_python(const char *text, size_t len)
{
	return !begins(text, len, "<") && !memmem(text, len, "(<frozen ", 9);
}

/* "PyObject_Call" and "Py_Main", and not "PyramidBlend" of somebody. */
static bool is_of_python(const char *text, size_t len)
{
	static const char *const starts[] = {"_Py",    "Py_",      "PyObject",   "PyEval",
	                                     "PyRun",  "PyVector", "PyImport",   "PyFunction",
	                                     "PyCell", "PyGen",    "PyMethod",   "PyIter",
	                                     "PyCFun", "PyThread", "PyInterpret"};

	for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++)
		if (begins(text, len, starts[i]))
			return true;
	return false;
}

static bool tells_native(const char *text, size_t len)
{
	static const char *const whole[] = {"main",
	                                    "_start",
	                                    "clone",
	                                    "__clone",
	                                    "clone3",
	                                    "__clone3",
	                                    "start_thread",
	                                    "thread_start",
	                                    "runtime.main",
	                                    "runtime.goexit",
	                                    "runtime.goexit.abi0",
	                                    "execute_native_thread_routine"};
	static const char *const starts[] = {"__libc_start", "std::thread", "gomp_thread_start",
	                                     "[", "0x"};

	for (unsigned i = 0; i < sizeof whole / sizeof *whole; i++)
		if (len == strlen(whole[i]) && !memcmp(text, whole[i], len))
			return false;
	for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++)
		if (begins(text, len, starts[i]))
			return false;
	return !is_of_python(text, len) && !af_bounds_name_module(text, len);
}

/* The base name of a file, without a version that follows ".so". */
static bool is_file(const char *key, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(key, name, len) && (!key[len] || key[len] == '.');
}

bool findings_is_libc(const struct af_tree *t, uint32_t name)
{
	static const char *const files[] = {"libc.so",
	                                    "libm.so",
	                                    "libpthread.so",
	                                    "ld-linux-x86-64.so",
	                                    "ld-musl-x86_64.so",
	                                    "libstdc++.so",
	                                    "libgcc_s.so",
	                                    "libc++.so",
	                                    "[vdso]",
	                                    "ld-linux-aarch64.so"};
	const char *key = af_tree_key(t, name);

	for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
		if (is_file(key, files[i]))
			return true;
	return false;
}

bool findings_is_ours(const struct af_tree *t, uint32_t name)
{
	return is_file(af_tree_key(t, name), "libaflame.so");
}

/* Whether its name is one that says what the program does. */
static bool tells(const struct af_tree *t, uint32_t node)
{
	uint32_t name = t->nodes[node].name;
	size_t len;
	const char *text = af_tree_text(t, name, &len);

	if (findings_is_libc(t, name) || findings_is_ours(t, name))
		return false;
	switch (af_tree_frame(t, name)) {
	case AF_FRAME_PYTHON:
		return tells_python(text, len);
	case AF_FRAME_NATIVE:
	case AF_FRAME_INLINED:
	case AF_FRAME_JIT:
	case AF_FRAME_MPI:
		return tells_native(text, len);
	default:
		return false;
	}
}

static bool is_python(const struct af_tree *t, uint32_t node)
{
	return af_tree_frame(t, t->nodes[node].name) == AF_FRAME_PYTHON;
}

/* Python code of the program itself: "load (train.py:12)", of no installed package. */
static bool is_own_python(struct findings *s, const struct af_tree *t, uint32_t node)
{
	size_t len;
	const char *text = af_tree_text(t, t->nodes[node].name, &len);
	const char *bracket = memrchr(text, '(', len);

	if (!is_python(t, node) || !bracket)
		return false;
	const char *file = bracket + 1, *end = memchr(file, ':', len - (size_t)(file - text));
	return end && af_strtab_find(&s->r->own_python, file, (size_t)(end - file));
}

bool findings_where(struct findings *s, const struct af_tree *t, struct findings_where *w)
{
	const uint64_t *total = t->total[AF_WEIGHT_TIME];
	uint32_t best = 0, own_best = 0;

	for (uint32_t n = heaviest_child(t, 0); n && total[n] >= total[0] / 3;
	     n = heaviest_child(t, n)) {
		if (!tells(t, n))
			continue;
		if (!best || is_python(t, n) || !is_python(t, best))
			best = n;
		if (is_own_python(s, t, n))
			own_best = n;
	}
	/* The program's author knows its lines best. */
	best = own_best ? own_best : best;
	if (!best)
		return false;
	struct findings_sum own;
	struct af_hits h;
	w->name = findings_name(s, t, t->nodes[best].name);
	w->number = t->nodes[best].name;
	w->python = is_python(t, best);
	af_hits_function(&h, t, t->nodes[best].name);
	w->sum = sum_of(t, &h, &own);
	return true;
}

/* The sum of all stacks of @t with a frame of that name: of several in a stack the first counts. */
static struct findings_sum named_sum(const struct af_tree *t, uint32_t name)
{
	uint8_t *inside = af_xcalloc(t->nr, sizeof *inside);
	struct findings_sum sum = {0};

	for (uint32_t n = 1; n < t->nr; n++) {
		bool above = inside[t->nodes[n].parent];
		inside[n] = above || t->nodes[n].name == name;
		if (above || !inside[n])
			continue;
		sum.ns += t->total[AF_WEIGHT_TIME][n];
		sum.samples += counts_samples(t) ? t->total[AF_WEIGHT_SAMPLES][n] : 0;
	}
	free(inside);
	return sum;
}

/* "<module> (train.py:3)", and not one of importlib. */
static bool is_top_level(const struct af_tree *t, uint32_t node)
{
	static const char module[] = "<module> (";
	size_t len;
	const char *text = af_tree_text(t, t->nodes[node].name, &len);

	return is_python(t, node) && begins(text, len, module) && text[sizeof module - 1] != '<';
}

/*
 * The Python function, or top level of a file, that is the nearest of all in at least half of @t, a
 * tree of callers: a node of it. 0: none is.
 */
static uint32_t nearest_python(const struct af_tree *t)
{
	uint64_t *sums = af_xcalloc(t->nr_names + 1, sizeof *sums);
	uint8_t *inside = af_xcalloc(t->nr, sizeof *inside);
	uint32_t best = 0;

	for (uint32_t n = 1; n < t->nr; n++) {
		uint32_t name = t->nodes[n].name;
		bool above = inside[t->nodes[n].parent];
		bool is = is_top_level(t, n) || (is_python(t, n) && tells(t, n));
		inside[n] = above || is;
		if (above || !is)
			continue;
		sums[name] += t->total[AF_WEIGHT_TIME][n];
		if (sums[name] >= t->total[AF_WEIGHT_TIME][0] / 2)
			best = n;
	}
	free(sums);
	free(inside);
	return best;
}

bool findings_caller(struct findings *s, const struct af_tree *t, uint32_t name,
                     struct findings_where *w)
{
	struct af_tree callers;
	struct af_hits h;

	af_hits_function(&h, t, name);
	af_tree_callers(&callers, t, &h);
	af_hits_free(&h);
	const uint64_t *total = callers.total[AF_WEIGHT_TIME];
	uint64_t least = findings_is_libc(t, name) ? 0 : total[0] / 2;
	uint32_t best = 0;
	for (uint32_t n = heaviest_child(&callers, 0); n && total[n] >= least;
	     n = heaviest_child(&callers, n)) {
		if (!tells(&callers, n) || (best && !is_python(&callers, n)))
			continue;
		best = n;
		if (is_python(&callers, n))
			break;
	}
	uint32_t python = best && is_python(&callers, best) ? 0 : nearest_python(&callers);
	best = python ? python : best;
	if (best)
		*w = (struct findings_where){
		    .name = findings_name(s, &callers, callers.nodes[best].name),
		    .number = callers.nodes[best].name,
		    .python = is_python(&callers, best),
		    .sum = named_sum(&callers, callers.nodes[best].name),
		};
	af_tree_close(&callers);
	return best != 0;
}
