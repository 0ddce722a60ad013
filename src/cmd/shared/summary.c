#include "cmd/shared/summary.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "analyse/findings/findings.h"
#include "base/err.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/load.h"
#include "reduce/reduce.h"
#include "render/text/findings.h"
#include "render/text/tables.h"

/* The order for people: what the run was, where time went, what was lost, what it cost. */
static const char *const order[] = {"set",
                                    "odd_ranks",
                                    "rank_groups",
                                    "ranks",
                                    "clocks",
                                    "run",
                                    "phases",
                                    "slow_steps",
                                    "steady_verdict",
                                    "steady_findings",
                                    "verdict",
                                    "findings",
                                    "processes",
                                    "threads",
                                    "cpu_top",
                                    "count_top",
                                    "blocked",
                                    "devices",
                                    "gpus",
                                    "idle",
                                    "limits",
                                    "kernels",
                                    "samples",
                                    "stalls",
                                    "copies",
                                    "calls",
                                    "calls_seen",
                                    "calls_twice",
                                    "mpi",
                                    "mpi_requests",
                                    "memory",
                                    "counters",
                                    "lost",
                                    "cost",
                                    "overhead"};

/* A part of what there is to say: the rest is a word away. */
static void summary_findings(struct af_buf *b, const struct af_table *t, uint32_t limit,
                             bool colour)
{
	uint32_t most = limit && limit < AF_FINDING_SHOWN ? limit : AF_FINDING_SHOWN;

	af_findings_text(b, t, limit ? most : 0, af_annotate_width(), colour,
	                 "`aflame report findings --limit 0` shows all");
}

void af_summary_findings(struct af_buf *b, const struct af_tables *f, uint32_t limit,
                         const struct af_document *document)
{
	const struct af_table *t = af_tables_find(f, "findings"),
			      *steady = af_tables_find(f, "steady_findings");
	struct af_table all = *t, part;
	struct af_tables tables = {.first = &all, .last = &all};

	all.next = NULL;
	if (steady) {
		part = *steady;
		part.next = NULL;
		all.next = tables.last = &part;
	}
	if (document) {
		af_tables_json(b, document, &tables, limit);
		return;
	}
	if (steady) {
		af_findings_text(b, steady, limit, af_annotate_width(), af_colour(stdout),
		                 AF_SHOW_ALL);
		af_buf_char(b, '\n');
	}
	af_findings_text(b, t, limit, af_annotate_width(), af_colour(stdout), AF_SHOW_ALL);
}

void af_summary_text(struct af_buf *b, const struct af_tables *f, bool colour, uint32_t limit,
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
			if (!strcmp(t->name, "findings") || !strcmp(t->name, "steady_findings"))
				summary_findings(b, t, limit, colour);
			else
				af_table_text(b, t, limit, colour, all);
		}
	}
}

bool af_colour(FILE *out)
{
	const char *no = getenv("NO_COLOR");

	return isatty(fileno(out)) && !(no && *no) && !af_reduce_is_launched();
}
