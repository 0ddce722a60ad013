/* Why kernels stall, as tables: a kernel a row, and what the reasons mean. */
#include <stdlib.h>
#include <string.h>

#include "analyse/annotate/annotate.h"
#include "analyse/annotate/sampled.h"
#include "analyse/table/facts.h"
#include "base/arena.h"
#include "sym/device/code_store.h"
#include "sym/device/stalls.h"

enum {
	STALLS_FIXED = 6, /* columns before the reasons */
	STALLS_SHOWN = 4, /* reasons that people see; the others are "Rest" to them */
	STALLS_LAST = 3,  /* columns behind them */
	STALLS_MOST = AF_TABLE_COLUMNS - STALLS_FIXED - STALLS_LAST
};

/* Reasons, the one of most samples first. */
struct tally {
	uint32_t *order;
	double *samples, *idle; /* by reason */
	uint32_t nr;            /* in order */
	double all;
};

static const char *driver_name(const struct af_sampled *s, uint32_t reason)
{
	return af_strtab_get(&s->strings, s->reasons[reason]);
}

static const struct af_stall *known(const struct af_sampled *s, uint32_t reason)
{
	return reason ? af_stall_find(driver_name(s, reason)) : NULL;
}

static int tally_order(const void *a, const void *b, void *arg)
{
	const struct tally *t = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (t->samples[x] != t->samples[y])
		return t->samples[x] < t->samples[y] ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* Of @nr functions at @functions; without reason 0, which is none. */
static void tally_make(struct tally *t, const struct af_sampled *s,
                       const struct af_sampled_function *functions, uint32_t nr)
{
	t->samples = af_xcalloc(s->nr_reasons + 1, sizeof *t->samples);
	t->idle = af_xcalloc(s->nr_reasons + 1, sizeof *t->idle);
	t->order = af_xcalloc(s->nr_reasons + 1, sizeof *t->order);
	for (uint32_t i = 0; i < nr; i++)
		for (uint32_t k = 0; k < functions[i].nr; k++) {
			const struct af_sampled_at *at = &functions[i].at[k];
			t->samples[at->reason] += at->samples;
			t->idle[at->reason] += at->idle;
			t->all += at->samples;
		}
	for (uint32_t r = 1; r < s->nr_reasons; r++)
		if (t->samples[r] > 0)
			t->order[t->nr++] = r;
	if (t->nr)
		qsort_r(t->order, t->nr, sizeof *t->order, tally_order, t);
}

static void tally_free(struct tally *t)
{
	free(t->samples);
	free(t->idle);
	free(t->order);
}

/* What the samples of @f say that it waits for most: a reason that is no stall only for want. */
static const char *top_reason(const struct af_sampled *s, const struct tally *own,
                              struct af_facts *f)
{
	for (uint32_t i = 0; i < own->nr; i++) {
		const struct af_stall *stall = known(s, own->order[i]);
		if (!stall || stall->sort != AF_STALL_ISSUED)
			return af_sampled_reason_name(s, own->order[i], f);
	}
	return own->nr ? af_sampled_reason_name(s, own->order[0], f) : "";
}

/* Where an instruction is: the line of the kernel's own source, or else its offset. */
static const char *place_text(struct af_code_store *codes, const struct af_sampled_function *fn,
                              uint32_t offset, struct af_facts *f)
{
	struct af_code *code = codes && *fn->object ? af_code_store_get(codes, fn->object) : NULL;
	int i = code ? af_code_find(code, fn->name, fn->symbol) : -1;
	struct af_code_frame frames[AF_CODE_FRAMES];
	uint32_t nr = i < 0 ? 0 : af_code_frames(code, (uint32_t)i, offset, frames, AF_CODE_FRAMES);
	const char *file = nr ? frames[0].file : NULL;

	if (!file || file == AF_CODE_PTX || !frames[0].line)
		return af_facts_text(f, "0x%04x", offset);
	const char *slash = strrchr(file, '/');
	return af_facts_text(f, "%s:%u", slash ? slash + 1 : file, frames[0].line);
}

/* The instruction with most samples; instructions stand in their order. */
static void hottest_cells(struct af_cell *c, struct af_code_store *codes,
                          const struct af_sampled_function *fn, struct af_facts *f)
{
	double samples = 0, most = 0;
	uint32_t offset = 0;

	for (uint32_t i = 0; i < fn->nr; i++) {
		bool same = i && fn->at[i].offset == fn->at[i - 1].offset;
		samples = fn->at[i].samples + (same ? samples : 0);
		if (samples <= most)
			continue;
		most = samples;
		offset = fn->at[i].offset;
	}
	c[0].text = most > 0 ? place_text(codes, fn, offset, f) : "";
	c[1].value = af_facts_share(most, fn->samples);
}

static void stalls_row(struct af_table *t, const struct af_sampled *s,
                       const struct af_sampled_function *function, const struct tally *all,
                       struct af_facts *f)
{
	struct tally own = {0};
	double rest = 0;

	tally_make(&own, s, function, 1);
	struct af_cell *c = af_table_row(f, t);
	c[0].text = af_facts_text(f, "%s", function->shown);
	c[1].text = af_facts_text(f, "%s", function->device);
	c[2].value = af_facts_count(function->samples);
	c[3].value = af_facts_count(function->time_ns);
	c[4].value = af_facts_share(function->exact, function->samples);
	c[5].text = top_reason(s, &own, f);
	for (uint32_t i = 0; i < all->nr; i++) {
		double samples = own.samples[all->order[i]];
		if (i < STALLS_MOST)
			c[STALLS_FIXED + i].value = af_facts_share(samples, own.all);
		rest += i < STALLS_SHOWN ? 0 : samples;
	}
	c[t->nr_columns - STALLS_LAST].value = af_facts_share(rest, own.all);
	tally_free(&own);
}

static void stalls_table(const struct af_sampled *s, const struct tally *all,
                         struct af_code_store *codes, struct af_facts *f)
{
	struct af_column columns[AF_TABLE_COLUMNS] = {
	    {"Kernel", AF_CELL_TEXT},
	    {"Device", AF_CELL_TEXT, AF_SHOW_NEVER},
	    {"Samples", AF_CELL_COUNT},
	    {"Time", AF_CELL_NS, AF_SHOW_USED},
	    {"Exact", AF_CELL_PERCENT, AF_SHOW_NEVER},
	    {"Top reason", AF_CELL_TEXT, AF_SHOW_USED},
	};
	uint32_t nr = STALLS_FIXED;

	for (uint32_t i = 0; i < all->nr && i < STALLS_MOST; i++)
		columns[nr++] =
		    (struct af_column){af_sampled_reason_name(s, all->order[i], f), AF_CELL_PERCENT,
		                       i < STALLS_SHOWN ? AF_SHOW_ALWAYS : AF_SHOW_NEVER};
	columns[nr++] = (struct af_column){"Rest", AF_CELL_PERCENT, AF_SHOW_USED};
	columns[nr++] = (struct af_column){"Hottest", AF_CELL_TEXT, AF_SHOW_NEVER};
	columns[nr++] = (struct af_column){"Hottest share", AF_CELL_PERCENT, AF_SHOW_NEVER};
	struct af_table *t =
	    af_facts_table(f, "stalls", "Where kernels were when sampled, and why", columns, nr);
	for (uint32_t i = 0; i < s->nr_functions; i++) {
		if (!(s->functions[i].samples > 0))
			continue;
		stalls_row(t, s, &s->functions[i], all, f);
		hottest_cells(t->cells + (size_t)t->nr_rows * t->nr_columns - 2, codes,
		              &s->functions[i], f);
	}
}

static const char *letter(const struct af_stall *stall, struct af_facts *f)
{
	return af_facts_text(f, "%c", stall ? stall->letter : '?');
}

static void reasons_table(const struct af_sampled *s, const struct tally *tally, const char *title,
                          struct af_facts *f)
{
	static const char *const sorts[] = {"issued",  "memory", "sync",
	                                    "execute", "fetch",  "other"};
	static const struct af_column columns[] = {
	    [AF_REASON_LETTER] = {"Letter", AF_CELL_TEXT},
	    [AF_REASON_NAME] = {"Reason", AF_CELL_TEXT},
	    [AF_REASON_SAMPLES] = {"Samples", AF_CELL_COUNT},
	    [AF_REASON_SHARE] = {"Share", AF_CELL_PERCENT},
	    [AF_REASON_IDLE] = {"Idle", AF_CELL_PERCENT, AF_SHOW_USED},
	    [AF_REASON_SORT] = {"Sort", AF_CELL_TEXT, AF_SHOW_NEVER},
	    [AF_REASON_MEANING] = {"Meaning", AF_CELL_TEXT, AF_SHOW_USED},
	    [AF_REASON_ADVICE] = {"What to try", AF_CELL_TEXT, AF_SHOW_USED},
	    [AF_REASON_DRIVER] = {"Name", AF_CELL_TEXT, AF_SHOW_NEVER},
	};
	struct af_table *t = af_facts_table(f, "reasons", title, columns, AF_REASON_COLUMNS);

	for (uint32_t i = 0; i < tally->nr; i++) {
		uint32_t r = tally->order[i];
		const struct af_stall *stall = known(s, r);
		struct af_cell *c = af_table_row(f, t);
		c[AF_REASON_LETTER].text = letter(stall, f);
		c[AF_REASON_NAME].text = af_sampled_reason_name(s, r, f);
		c[AF_REASON_SAMPLES].value = af_facts_count(tally->samples[r]);
		c[AF_REASON_SHARE].value = af_facts_share(tally->samples[r], tally->all);
		c[AF_REASON_IDLE].value = af_facts_share(tally->idle[r], tally->samples[r]);
		c[AF_REASON_SORT].text = sorts[stall ? stall->sort : AF_STALL_OTHER];
		c[AF_REASON_MEANING].text = stall ? stall->meaning : "";
		c[AF_REASON_ADVICE].text = stall && stall->advice ? stall->advice : "";
		c[AF_REASON_DRIVER].text = af_facts_text(f, "%s", driver_name(s, r));
	}
}

void af_sampled_reasons(const struct af_sampled *s, uint32_t function, uint32_t *order,
                        uint32_t *nr, struct af_facts *f)
{
	struct tally tally = {0};

	tally_make(&tally, s, &s->functions[function], 1);
	if (tally.nr > *nr)
		tally.nr = *nr;
	for (uint32_t i = 0; i < tally.nr; i++)
		order[i] = tally.order[i];
	*nr = tally.nr;
	reasons_table(s, &tally, "What it was at, and what that means", f);
	tally_free(&tally);
}

void af_sampled_tables(const struct af_sampled *s, struct af_code_store *codes, struct af_facts *f)
{
	struct tally all = {0};

	if (!s->nr_functions)
		return;
	tally_make(&all, s, s->functions, s->nr_functions);
	stalls_table(s, &all, codes, f);
	if (all.nr)
		reasons_table(s, &all, "Why instructions stalled", f);
	tally_free(&all);
}
