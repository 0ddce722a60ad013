/* Why kernels stall, as tables: a kernel a row, and what the reasons mean. */
#include <stdlib.h>
#include <string.h>

#include "analyse/annotate/annotate.h"
#include "analyse/annotate/sampled.h"
#include "analyse/table/table.h"
#include "base/arena.h"
#include "sym/device/code_store.h"
#include "sym/device/stalls.h"

enum {
	STALLS_FIXED = sizeof(struct af_stall_row) / sizeof(struct af_cell),
	STALLS_SHOWN = 4, /* reasons that people see; the others are "Rest" to them */
	STALLS_MOST = AF_TABLE_COLUMNS - STALLS_FIXED - 1
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

/* For @nr functions at @functions; reason 0 means none and is left out. */
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

/*
 * The reason with most samples of @own, 0 for none. One that is no stall counts only if there is no
 * other.
 */
static uint32_t top_reason(const struct af_sampled *s, const struct tally *own)
{
	for (uint32_t i = 0; i < own->nr; i++) {
		const struct af_stall *stall = known(s, own->order[i]);
		if (!stall || stall->sort != AF_STALL_ISSUED)
			return own->order[i];
	}
	return own->nr ? own->order[0] : 0;
}

/* Where an instruction is: the line of the kernel's own source, or else its offset. */
static const char *place_text(struct af_code_store *codes, const struct af_sampled_function *fn,
                              uint32_t offset, struct af_tables *f)
{
	struct af_code *code = codes && *fn->object ? af_code_store_get(codes, fn->object) : NULL;
	int i = code ? af_code_find(code, fn->name, fn->symbol) : -1;
	struct af_code_frame frames[AF_CODE_FRAMES];
	uint32_t nr = i < 0 ? 0 : af_code_frames(code, (uint32_t)i, offset, frames, AF_CODE_FRAMES);
	const char *file = nr ? frames[0].file : NULL;

	if (!file || file == AF_CODE_PTX || !frames[0].line)
		return af_tables_text(f, "0x%04x", offset);
	const char *slash = strrchr(file, '/');
	return af_tables_text(f, "%s:%u", slash ? slash + 1 : file, frames[0].line);
}

/* The instruction with most samples; instructions stand in their order. */
static void hottest_cells(struct af_stall_row *row, struct af_code_store *codes,
                          const struct af_sampled_function *fn, struct af_tables *f)
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
	row->hottest.text = most > 0 ? place_text(codes, fn, offset, f) : "";
	row->hottest_share.value = af_tables_share(most, fn->samples);
}

static void stalls_row(struct af_table *t, const struct af_sampled *s,
                       const struct af_sampled_function *function, const struct tally *all,
                       struct af_code_store *codes, struct af_tables *f)
{
	struct tally own = {0};
	double rest = 0;
	uint32_t nr = all->nr < STALLS_MOST ? all->nr : STALLS_MOST;

	tally_make(&own, s, function, 1);
	uint32_t top = top_reason(s, &own);
	struct af_stall_row *row = af_table_row(f, t);
	row->kernel.text = af_tables_text(f, "%s", function->shown);
	row->device.text = af_tables_text(f, "%s", function->device);
	row->samples.value = af_tables_count(function->samples);
	row->time_ns.value = af_tables_count(function->time_ns);
	row->exact_percent.value = af_tables_share(function->exact, function->samples);
	row->top_reason.text = top ? af_sampled_reason_name(s, top, f) : "";
	row->top_share.value = top ? af_tables_share(own.samples[top], own.all) : 0;
	hottest_cells(row, codes, function, f);
	for (uint32_t i = 0; i < all->nr; i++) {
		double samples = own.samples[all->order[i]];
		if (i < nr)
			row->reasons[i].value = af_tables_share(samples, own.all);
		rest += i < STALLS_SHOWN ? 0 : samples;
	}
	row->reasons[nr].value = af_tables_share(rest, own.all);
	tally_free(&own);
}

static void stalls_table(const struct af_sampled *s, const struct tally *all,
                         struct af_code_store *codes, struct af_tables *f)
{
	struct af_column columns[AF_TABLE_COLUMNS] = {AF_STALL_COLUMNS(AF_ROW_COLUMN)};
	uint32_t nr = STALLS_FIXED;

	for (uint32_t i = 0; i < all->nr && i < STALLS_MOST; i++) {
		af_sampled_reason_column(s, all->order[i], AF_CELL_PERCENT, columns, &nr, f);
		columns[nr - 1].show = i < STALLS_SHOWN ? AF_SHOW_ALWAYS : AF_SHOW_NEVER;
	}
	columns[nr++] = (struct af_column){"Rest", AF_CELL_PERCENT, AF_SHOW_USED, .key = "rest"};
	struct af_table *t =
	    af_tables_table(f, "stalls", "Where kernels were when sampled, and why", columns, nr);
	for (uint32_t i = 0; i < s->nr_functions; i++)
		if (s->functions[i].samples > 0)
			stalls_row(t, s, &s->functions[i], all, codes, f);
}

static const char *letter(const struct af_stall *stall, struct af_tables *f)
{
	return af_tables_text(f, "%c", stall ? stall->letter : '?');
}

static void reasons_table(const struct af_sampled *s, const struct tally *tally, const char *title,
                          struct af_tables *f)
{
	static const char *const sorts[] = {"issued",  "memory", "sync",
	                                    "execute", "fetch",  "other"};
	static const struct af_column columns[] = {AF_REASON_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(f, "reasons", title, columns);

	for (uint32_t i = 0; i < tally->nr; i++) {
		uint32_t r = tally->order[i];
		const struct af_stall *stall = known(s, r);
		struct af_reason_row *c = af_table_row(f, t);
		c->letter.text = letter(stall, f);
		c->name.text = af_sampled_reason_name(s, r, f);
		c->samples.value = af_tables_count(tally->samples[r]);
		c->share.value = af_tables_share(tally->samples[r], tally->all);
		c->idle_percent.value = af_tables_share(tally->idle[r], tally->samples[r]);
		c->category.text = sorts[stall ? stall->sort : AF_STALL_OTHER];
		c->meaning.text = stall ? stall->meaning : "";
		c->advice.text = stall && stall->advice ? stall->advice : "";
		c->driver.text = af_tables_text(f, "%s", driver_name(s, r));
	}
}

void af_sampled_reasons(const struct af_sampled *s, uint32_t function, uint32_t *order,
                        uint32_t *nr, struct af_tables *f)
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

void af_sampled_tables(const struct af_sampled *s, struct af_code_store *codes, struct af_tables *f)
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
