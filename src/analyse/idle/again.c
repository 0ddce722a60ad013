/* The verdicts of devices from the rows of the table `idle`, as those of many traces are merged. */
#include <string.h>

#include "analyse/idle/rows.h"
#include "analyse/idle/verdict.h"
#include "analyse/table/table.h"
#include "base/buf.h"

/* The shares of a row, in hundredths of a percent. */
static void row_shares(const struct af_idle_row *row, uint64_t shares[IDLE_SHARES])
{
#define AF_V(C, NAME, key, title, text) shares[IDLE_SHARE_##NAME] = row->key##_percent.value;
	AF_IDLE_SHARES(AF_V, 0)
#undef AF_V
}

static const char *shares_text(struct af_tables *f, const uint64_t shares[IDLE_SHARES])
{
#define AF_V(C, NAME, key, title, text) text,
	static const char *const texts[] = {AF_IDLE_SHARES(AF_V, 0)};
#undef AF_V
	struct af_buf b = {0};

	af_buf_str(&b, "");
	for (int v = 0; v < IDLE_SHARES; v++)
		if (shares[v] >= 10)
			af_buf_fmt(&b, "%s%s %llu.%llu %%", b.len ? ", " : "", texts[v],
			           (unsigned long long)(shares[v] / 100),
			           (unsigned long long)(shares[v] % 100 / 10));
	const char *text = af_tables_text(f, "%s", b.data);
	af_buf_free(&b);
	return text;
}

void af_idle_verdicts(struct af_tables *f)
{
	const struct af_table *idle = af_tables_find(f, "idle");
	struct af_table *t = NULL;
	uint64_t shares[IDLE_SHARES];

	for (uint32_t r = 0; idle && r < idle->nr_rows; r++) {
		struct af_idle_row *row = (void *)(idle->cells + (size_t)r * idle->nr_columns);
		row_shares(row, shares);
		row->verdict.text =
		    idle_verdict_text(idle_verdict(shares), row->is_gpu.value != 0);
		if (!t)
			t = af_pairs_table(f, "verdict", "What holds the devices back");
		af_pair_row(f, t, row->verdict.text, row->device.text,
		            af_tables_text(f,
		                           "%s: %s from first to last work, of all ranks: %s",
		                           row->verdict.text,
		                           af_tables_ns(f, row->span_ns.value),
		                           shares_text(f, shares)));
	}
}
