/* The steps that took longest, if they took clearly longer than most. */
#include <stdlib.h>

#include "analyse/pass/pass.h"
#include "analyse/passes/rows.h"
#include "analyse/phases/private.h"
#include "base/arena.h"

enum {
	SLOW_MOST = 10,
	SLOW_HALVES = 3 /* of the median step, at least */
};

struct slow_step {
	uint64_t length_ns;
	uint32_t step;
};

static int slow_order(const void *a, const void *b)
{
	const struct slow_step *x = a, *y = b;

	if (x->length_ns != y->length_ns)
		return x->length_ns > y->length_ns ? -1 : 1;
	return x->step < y->step ? -1 : 1;
}

static void slow_row(struct af_tables *f, struct af_table *t, const struct slow_step *s,
                     uint64_t from_ns, uint64_t median_ns)
{
	struct af_slow_step_row *row = af_table_row(f, t);

	row->step.value = s->step + 1;
	row->length_ns.value = s->length_ns;
	row->of_median.value = af_tables_ratio(s->length_ns, median_ns, 10000);
	row->from_ns.value = from_ns;
	row->to_ns.value = from_ns + s->length_ns;
}

void phase_slow_table(const struct af_phases *p, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_SLOW_STEP_COLUMNS(AF_ROW_COLUMN)};
	struct slow_step *steps = af_xcalloc(p->nr_steps, sizeof *steps);

	for (uint32_t i = 0; i < p->nr_steps; i++)
		steps[i] = (struct slow_step){p->steps_ns[i + 1] - p->steps_ns[i], i};
	AF_SORT(steps, p->nr_steps, slow_order);
	uint64_t median_ns = steps[p->nr_steps / 2].length_ns;
	struct af_table *t = AF_TABLE(f, "slow_steps", "Slowest steps", columns);
	for (uint32_t i = 0; i < p->nr_steps && i < SLOW_MOST && median_ns &&
	                     steps[i].length_ns / SLOW_HALVES >= median_ns / 2;
	     i++)
		slow_row(f, t, &steps[i], p->steps_ns[steps[i].step], median_ns);
	t->note = af_tables_text(f, "%s of %u steps; the median step takes %s",
	                         t->nr_rows ? "those that take at least 1.5 times the median one"
	                                    : "none takes 1.5 times the median one",
	                         p->nr_steps, af_tables_ns(f, median_ns));
	free(steps);
}
