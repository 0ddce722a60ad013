/*
 * aflame report clocks: the clocks of a set's hosts against that of its first rank, and the error.
 * It reads the set itself: a trace alone has one clock.
 */
#include <stdio.h>

#include "analyse/clocks/clocks.h"
#include "cmd/report.h"

int report_clocks(struct report *r, struct af_err *err)
{
	const struct af_document document = {.report = "clocks"};
	struct af_set_clocks clocks = {0};
	struct af_set set = {0};
	struct af_buf b = {0};

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
