/* aflame report TABLE: one table of the summary. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/options/nearest.h"
#include "cmd/report.h"

bool report_names_table(const char *word)
{
	return !strchr(word, '/') && access(word, F_OK) != 0;
}

static int unknown(const char *word, struct af_nearest *near, struct af_err *err)
{
	for (const struct report_kind *k = report_kinds; k->name; k++)
		af_nearest_offer(near, k->name);
	const char *best = af_nearest_best(near);

	return af_fail_plain(err, -EINVAL,
	                     "unknown report %s%s%s%s: it is neither a report, a table of this "
	                     "trace, nor a trace; `aflame report --list` lists the reports",
	                     word, best ? " (did you mean " : "", best ? best : "",
	                     best ? "?)" : "");
}

int report_unknown(const struct report *r, int rc, struct af_err *err)
{
	struct af_nearest near;

	af_nearest_init(&near, r->table);
	return rc == -ENOENT ? unknown(r->table, &near, err) : rc;
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
	return unknown(r->table, &near, err);
}
