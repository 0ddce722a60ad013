/* The kernels that took most device time, and why their instructions waited. */
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/private.h"
#include "base/arena.h"

enum {
	KERNELS_MOST = 3,
	KERNELS_PERCENT = 10, /* of device time, all but the first one */
	HOTTEST_SHARE = 500,  /* of its samples, in hundredths of a percent */
	STALLED_SHARE = 1500, /* likewise, for one reason: the kernel could be faster */
	SMALL_PERCENT = 90    /* of its time it had fewer blocks than there are multiprocessors */
};

/* A kernel on all devices and in all processes, as the trees have it. */
struct kernel {
	const char *name;
	uint64_t ns, calls;
	uint64_t small_ns, small_blocks, processors; /* as in af_kernel_row; the least processors */
};

static int kernel_order(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int name_order(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/*
 * The first row of a kernel: that of most time, where several objects have code of its name. NULL:
 * it was not sampled. *@nr: the number of its rows.
 */
static const struct af_stall_row *stall_row(const struct af_table *t, const char *name,
                                            uint32_t *nr)
{
	const struct af_stall_row *first = NULL;

	*nr = 0;
	for (uint32_t i = 0; t && i < t->nr_rows; i++) {
		if (strcmp(findings_text(CELL(af_stall_row, t, i, kernel)), name) != 0)
			continue;
		first = first ? first : AF_ROW_AT(struct af_stall_row, t, i);
		++*nr;
	}
	return first;
}

/* "What to try" against a stall reason, as the reports have it. */
static const char *advice_of(const struct findings *s, const char *reason)
{
	const struct af_table *t = findings_table(s, "reasons");

	for (uint32_t i = 0; t && i < t->nr_rows; i++)
		if (!strcmp(findings_text(CELL(af_reason_row, t, i, name)), reason))
			return findings_text(CELL(af_reason_row, t, i, advice));
	return NULL;
}

/* "; 31.4 % of its samples: barrier; its hottest instruction, at gemm.cu:33, has 12.0 %" */
static const char *stalls_text(struct findings *s, const char *kernel, const char **advice)
{
	const struct af_table *t = findings_table(s, "stalls");
	uint32_t nr;
	const struct af_stall_row *row = stall_row(t, kernel, &nr);

	if (!row)
		return "";
	const char *of = nr < 2 ? "its samples"
	                        : af_tables_text(s->f,
	                                         "the samples of that with most time of %u "
	                                         "kernels of this name",
	                                         nr);
	const char *reason = row->top_reason.text, *place = row->hottest.text, *at = "", *why = "";
	uint64_t hottest = row->hottest_share.value;

	/* If many instructions are alike, the heaviest of them says nothing. */
	if (*place && hottest >= HOTTEST_SHARE)
		at = af_tables_text(s->f, "; its hottest instruction, at %s, has %s", place,
		                    findings_share(s, hottest, 10000));
	if (*reason)
		why = af_tables_text(s->f, "; %s of %s: %s",
		                     findings_share(s, row->top_share.value, 10000), of, reason);
	*advice = advice_of(s, reason);
	return af_tables_text(s->f, "%s%s", why, at);
}

static const char *runs_text(struct findings *s, const struct kernel *k)
{
	return k->calls > 1 ? af_tables_text(s->f, ": it ran %s times, for %s on average",
	                                     findings_number(s, k->calls),
	                                     af_tables_ns(s->f, k->ns / k->calls))
	                    : ": it ran once";
}

static bool is_small(const struct kernel *k)
{
	return k->small_ns && k->small_ns >= k->ns / 100 * SMALL_PERCENT;
}

/* "; of 132 multiprocessors it can use 1, as its grid has no more blocks" */
static const char *small_text(struct findings *s, const struct kernel *k, const char **advice)
{
	if (!is_small(k))
		return "";
	*advice = "a grid of more blocks, or such kernels side by side in several streams";
	return af_tables_text(s->f,
	                      "; of %llu multiprocessors it can use %llu, as its grid has no "
	                      "more blocks",
	                      (unsigned long long)k->processors,
	                      (unsigned long long)k->small_blocks);
}

static void find_kernel(struct findings *s, const struct kernel *k, uint64_t all_ns)
{
	uint32_t nr;
	const struct af_stall_row *stalls = stall_row(findings_table(s, "stalls"), k->name, &nr);
	bool sampled = stalls != NULL;
	const char *advice = NULL, *why = stalls_text(s, k->name, &advice),
		   *small = small_text(s, k, &advice);
	const struct findings_name name = findings_called(s, k->name, AF_FRAME_GPU);
	struct finding x = {.kind = "kernel",
	                    .ns = k->ns,
	                    .of_ns = all_ns,
	                    .of = "device time",
	                    .helps = advice,
	                    .function = k->name,
	                    .id = name.id,
	                    .view = sampled ? "source" : "gpu",
	                    .is_usual = !is_small(k) &&
	                                (!stalls || stalls->top_share.value < STALLED_SHARE)};

	x.what = af_tables_text(s->f, "the kernel %s took %s (%s of device time)%s%s%s",
	                        findings_short(s, k->name), af_tables_ns(s->f, k->ns),
	                        findings_share(s, k->ns, all_ns), runs_text(s, k), small, why);
	x.hash = sampled ? findings_link(s, "#tab=source", "kernel", k->name)
	                 : findings_link(s, "#view=gpu&w=time", "o",
	                                 af_tables_text(s->f, "focus:%s", name.words));
	x.check = af_tables_text(s->f, sampled ? "aflame annotate %s" : "aflame report callers %s",
	                         findings_quoted(s, sampled ? k->name : name.words));
	findings_add(s, &x);
}

static struct kernel kernel_at(const struct af_table *t, uint32_t i)
{
	return (struct kernel){.name = findings_text(CELL(af_kernel_row, t, i, kernel)),
	                       .ns = findings_value(CELL(af_kernel_row, t, i, time_ns)),
	                       .calls = findings_value(CELL(af_kernel_row, t, i, calls)),
	                       .small_ns = findings_value(CELL(af_kernel_row, t, i, small_ns)),
	                       .small_blocks =
	                           findings_value(CELL(af_kernel_row, t, i, small_blocks)),
	                       .processors = findings_value(CELL(af_kernel_row, t, i, processors))};
}

static void kernel_add(struct kernel *k, const struct kernel *more)
{
	k->ns += more->ns;
	k->calls += more->calls;
	k->small_ns += more->small_ns;
	if (more->small_blocks > k->small_blocks)
		k->small_blocks = more->small_blocks;
	if (more->processors < k->processors)
		k->processors = more->processors;
}

/* All kernels, those of one name as one, the one of most time first. Returns how many. */
static uint32_t kernels_make(const struct af_table *t, struct kernel *kernels)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < t->nr_rows; i++)
		kernels[i] = kernel_at(t, i);
	AF_SORT(kernels, t->nr_rows, name_order);
	for (uint32_t i = 0; i < t->nr_rows; i++) {
		if (nr && !strcmp(kernels[nr - 1].name, kernels[i].name)) {
			kernel_add(&kernels[nr - 1], &kernels[i]);
		} else {
			kernels[nr++] = kernels[i];
		}
	}
	AF_SORT(kernels, nr, kernel_order);
	return nr;
}

void findings_kernels(struct findings *s)
{
	const struct af_table *t = findings_table(s, "kernels");
	uint64_t all_ns = FINDINGS_SUM(af_kernel_row, t, time_ns) +
	                  FINDINGS_SUM(af_copy_row, findings_table(s, "copies"), time_ns);

	if (!t || !t->nr_rows)
		return;
	struct kernel *kernels = af_xcalloc(t->nr_rows, sizeof *kernels);
	uint32_t nr = kernels_make(t, kernels);
	for (uint32_t k = 0; k < nr && k < KERNELS_MOST; k++)
		if (!k || kernels[k].ns >= all_ns / 100 * KERNELS_PERCENT)
			find_kernel(s, &kernels[k], all_ns);
	free(kernels);
}
