/*
 * aflame report TABLE: one table of the summary; and the reports of a set alone, clocks and ranks
 * (cmd/ranks).
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "analyse/clocks/clocks.h"
#include "analyse/counters/counters.h"
#include "base/err.h"
#include "cmd/options/nearest.h"
#include "cmd/ranks/odd.h"
#include "cmd/ranks/parts.h"
#include "cmd/report.h"
#include "reduce/reduce.h"

/* The name of a report that @near's word is like, or NULL. */
static const char *nearest_report(struct af_nearest *near)
{
	for (const struct report_kind *k = report_kinds; k->name; k++)
		af_nearest_offer(near, k->name);
	return af_nearest_best(near);
}

bool report_names_table(const char *word, const char *dir)
{
	struct af_nearest near;

	af_nearest_init(&near, word);
	return !strchr(word, '/') && access(word, F_OK) != 0 &&
	       (!access(dir, F_OK) || nearest_report(&near));
}

/* Tables that a trace has only if there is something in them. */
static bool is_known(const char *word)
{
	static const char *const names[] = {"set",
	                                    "ranks",
	                                    "odd_ranks",
	                                    "rank_groups",
	                                    "run",
	                                    "phases",
	                                    "verdict",
	                                    "findings",
	                                    "processes",
	                                    "threads",
	                                    "cpu_top",
	                                    "count_top",
	                                    "blocked",
	                                    "thread_waits",
	                                    "devices",
	                                    "gpus",
	                                    "idle",
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
	                                    "lost",
	                                    "cost",
	                                    "overhead",
	                                    "packages",
	                                    "reasons",
	                                    "coverage",
	                                    "limits",
	                                    "counters",
	                                    "steady_verdict",
	                                    "steady_findings"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(word, names[i]))
			return true;
	return false;
}

/* Telemetry that found nothing is an answer; nothing is known without it. */
static int no_limits(const struct report *r, struct af_err *err)
{
	const struct af_document document = {.report = r->table};
	const struct af_tables none = {0};
	const struct af_table *t = af_tables_find(&r->results.tables, "counters");
	struct af_buf b = {0};
	bool is_read = false;

	for (uint32_t i = 0; t && i < t->nr_rows && !is_read; i++) {
		const struct af_counter_row *row = AF_ROW_AT(struct af_counter_row, t, i);
		is_read = row && strcmp(row->device.text, AF_COUNTER_HOST) != 0;
	}
	if (!is_read)
		return af_fail_plain(
		    err, -ENODATA,
		    "%s: no counters of a device were read%s: record with "
		    "--telemetry nvml, or gpu",
		    r->dir, r->options->from_ns || r->options->to_ns ? " in that time" : "");
	if (r->options->json)
		af_tables_json(&b, &document, &none, 0);
	else
		af_buf_str(&b, "Nothing held the program back, as far as the counters that were "
		               "read tell: `aflame report counters` has them.\n");
	report_print(&b);
	return 0;
}

static int unknown(const char *word, struct af_nearest *near, struct af_err *err)
{
	const char *best = nearest_report(near);

	if (is_known(word))
		return af_fail_plain(
		    err, -ENODATA,
		    "the trace has no table %s: it has nothing that belongs there; "
		    "`aflame report` has the tables that there are",
		    word);
	return af_fail_plain(err, -EINVAL,
	                     "%s is no report and no table of the trace%s%s%s: `aflame report "
	                     "--list` lists the reports",
	                     word, best ? " (did you mean " : "", best ? best : "",
	                     best ? "?)" : "");
}

int report_too_many(const struct report *r, const char *word, struct af_err *err)
{
	struct af_nearest near = {0};

	if (r->table)
		af_nearest_init(&near, r->table);
	return r->table && nearest_report(&near)
	           ? unknown(r->table, &near, err)
	           : af_fail_plain(err, -EINVAL, "one trace, not %s too", word);
}

int report_no_trace(const struct report *r, int rc, struct af_err *err)
{
	struct af_nearest near;

	af_nearest_init(&near, r->table);
	return rc == -ENOENT && nearest_report(&near) ? unknown(r->table, &near, err) : rc;
}

int report_one_table(struct report *r, struct af_err *err)
{
	const struct af_document document = {.report = r->table};
	struct af_nearest near;
	struct af_buf b = {0};

	af_nearest_init(&near, r->table);
	for (const struct af_table *t = r->results.tables.first; t; t = t->next) {
		if (strcmp(t->name, r->table) != 0) {
			af_nearest_offer(&near, t->name);
			continue;
		}
		struct af_table alone = *t;
		alone.next = NULL;
		const struct af_tables tables = {.first = &alone, .last = &alone};
		if (r->options->json)
			af_tables_json(&b, &document, &tables, report_limit(r, REPORT_ROWS));
		else
			report_table(r, &b, t);
		report_print(&b);
		return 0;
	}
	return strcmp(r->table, "limits") ? unknown(r->table, &near, err) : no_limits(r, err);
}

int report_clocks(struct report *r, struct af_err *err)
{
	const struct af_document document = {.report = "clocks"};
	struct af_set_clocks clocks = {0};
	struct af_set set = {0};
	struct af_buf b = {0};

	if (af_reduce_launched_rank()) /* another process answers */
		return 0;
	int rc = af_set_open(&set, r->dir, err);
	if (!rc)
		rc = af_set_clocks_read(&clocks, &set, err);
	if (!rc) {
		struct af_tables *tables = &r->results.tables;
		af_set_clocks_table(&clocks, tables);
		if (r->options->json)
			af_tables_json(&b, &document, tables, report_limit(r, 0));
		else
			report_table(r, &b, tables->first);
		report_print(&b);
		af_tables_free(tables);
	}
	af_set_clocks_free(&clocks);
	af_set_close(&set);
	return rc;
}

/* All ranks of a set, which it reads itself. */
int report_ranks(struct report *r, struct af_err *err)
{
	const struct report_options *o = r->options;
	const struct af_odd_options odd = {.dir = r->dir,
	                                   .heat = o->heat,
	                                   .json = o->json,
	                                   .limit = o->limit,
	                                   .from_ns = o->from_ns,
	                                   .to_ns = o->to_ns};

	if (o->rank)
		return af_fail_plain(err, -EINVAL,
		                     "report ranks compares all ranks of a set, without --rank");
	return af_odd_print(&odd, err);
}

int report_parts(struct report *r, struct af_err *err)
{
	const struct report_options *o = r->options;
	const struct af_parts_options parts = {
	    .dir = r->dir,
	    .report = r->kind->name,
	    .by = r->members_by,
	    .json = o->json,
	    .limit = o->limit,
	    .query = {.answers = r->kind->answers, .from_ns = o->from_ns, .to_ns = o->to_ns}};

	return af_parts_print(&parts, err);
}
