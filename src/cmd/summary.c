#include "cmd/summary.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/study.h"
#include "render/tables.h"

enum { SUMMARY_ROWS = 10 };

/* The order for people: what the run was, where time went, what was lost, what it cost. */
static const char *const order[] = {"run",         "verdict", "processes", "threads", "cpu_top",
                                    "blocked",     "devices", "gpus",      "idle",    "kernels",
                                    "samples",     "stalls",  "copies",    "calls",   "calls_seen",
                                    "calls_twice", "memory",  "lost",      "cost",    "overhead"};

void af_summary_text(struct af_buf *b, const struct af_facts *f, bool colour, uint32_t limit,
                     const char *all)
{
	for (unsigned i = 0; i < sizeof order / sizeof *order; i++) {
		for (const struct af_table *t = f->first; t; t = t->next) {
			if (strcmp(t->name, order[i]) || (!t->nr_rows && !t->note))
				continue;
			/* A program with one thread is in the table of processes already. */
			if (!strcmp(t->name, "threads") && t->nr_rows < 2)
				continue;
			if (b->len)
				af_buf_char(b, '\n');
			af_table_text(b, t, limit, colour, all);
		}
	}
}

bool af_colour(FILE *out)
{
	const char *no = getenv("NO_COLOR");

	return isatty(fileno(out)) && !(no && *no);
}

int af_summary_print(const char *dir, FILE *out, struct af_err *err)
{
	struct af_results r;
	struct af_buf b = {0};
	int rc = af_study(dir, &AF_ASKED_TABLES, &r, err);

	if (!rc) {
		af_buf_char(&b, '\n');
		af_summary_text(&b, &r.facts, af_colour(out), SUMMARY_ROWS, AF_SHOW_ALL_ELSEWHERE);
		fwrite(b.data, 1, b.len, out);
	}
	af_buf_free(&b);
	af_results_close(&r);
	return rc;
}
