#include "cmd/ranks/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/findings.h"
#include "analyse/pass/pass.h"
#include "analyse/set/merge.h"
#include "analyse/set/set.h"
#include "base/arena.h"
#include "base/err.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/set.h"
#include "cmd/shared/summary.h"
#include "reduce/reduce.h"
#include "render/text/findings.h"
#include "render/text/tables.h"

enum { ROWS = 20, FINDINGS = 3 }; /* of a part, by default */

static const char *const findings_tables[] = {"findings", NULL};
static const char *const coverage_tables[] = {"coverage", "coverage_devices", NULL};

struct parts {
	const struct af_parts_options *o;
	const char *const *names; /* of the tables */
	enum af_merge_by by;
	const char *group;
	struct af_set set;
	struct af_tables all; /* of all parts, with a column for the part */
	struct af_buf text;   /* findings, part by part */
	uint32_t nr_answered;
};

int af_parts_check(const char *report, const char *by, struct af_err *err)
{
	enum af_merge_by is;
	const char *group;
	int rc = af_by_parse(by, &is, &group, err);

	if (!rc && (is == AF_BY_DEVICE || is == AF_BY_PROCESS))
		return af_fail_plain(
		    err, -EINVAL,
		    "a report of %s is made of whole traces: --by takes host, rank or "
		    "group:KEY, not %s%s",
		    report, by,
		    is == AF_BY_DEVICE ? "; `aflame report gaps --by device` has "
					 "what holds each device back"
				       : "; `aflame report processes` has a row "
					 "for each");
	return rc;
}

static uint32_t limit_of(const struct parts *p, uint32_t standard)
{
	uint64_t limit = p->o->limit;

	return limit == UINT64_MAX ? standard : limit < UINT32_MAX ? (uint32_t)limit : 0;
}

/* The table of all parts that is like @t, made when it is the first one. */
static struct af_table *table_of_all(struct parts *p, const struct af_table *t)
{
	const struct af_table *has = af_tables_find(&p->all, t->name);
	struct af_column columns[AF_TABLE_COLUMNS];

	if (has || t->nr_columns == AF_TABLE_COLUMNS)
		return (struct af_table *)has;
	memcpy(columns, t->columns, t->nr_columns * sizeof *columns);
	columns[t->nr_columns] = (struct af_column){
	    .title = p->by == AF_BY_HOST   ? "Host"
	             : p->by == AF_BY_RANK ? "Rank"
	                                   : af_tables_text(&p->all, "%s", p->group),
	    .unit = AF_CELL_TEXT,
	    .key = "by"};
	return af_tables_table(&p->all, t->name, t->title, columns, t->nr_columns + 1);
}

/* Rows of @t, at most @limit of them, at the end of the table of all parts. */
static void rows_add(struct parts *p, const struct af_table *t, const char *part, uint32_t limit)
{
	struct af_table *to = table_of_all(p, t);

	for (uint32_t r = 0; to && r < t->nr_rows; r++) {
		if (limit && r >= limit) {
			to->left_out += t->nr_rows - r;
			break;
		}
		struct af_cell *cells = af_table_row(&p->all, to);
		memcpy(cells, t->cells + (size_t)r * t->nr_columns, t->nr_columns * sizeof *cells);
		for (uint32_t c = 0; c < t->nr_columns; c++)
			if (cells[c].text)
				cells[c].text = af_tables_text(&p->all, "%s", cells[c].text);
		cells[t->nr_columns].text = af_tables_text(&p->all, "%s", part);
	}
	if (to)
		to->left_column = UINT32_MAX;
}

static void findings_add(struct parts *p, const struct af_table *t, const char *part)
{
	struct af_table named = *t;

	named.title = af_tables_text(&p->all, "Findings of %s", part);
	if (p->text.len)
		af_buf_char(&p->text, '\n');
	af_findings_text(&p->text, &named, limit_of(p, FINDINGS), af_annotate_width(),
	                 af_colour(stdout), AF_SHOW_ALL);
}

/* "host node3", "rank 7", "dp 1" */
static const char *part_text(struct parts *p, const char *value)
{
	if (p->by == AF_BY_RANK)
		return value;
	return af_tables_text(&p->all, "%s %s", p->by == AF_BY_HOST ? "host" : p->group, value);
}

/* The members of @p->set whose value is @value, in a set of their own. */
static void part_read(struct parts *p, const char *value)
{
	struct af_set part = {.path = p->set.path};
	struct af_query query = p->o->query;
	struct af_results r = {0};
	struct af_err err = {0};

	for (uint32_t i = 0; i < p->set.nr; i++) {
		if (strcmp(af_member_by(&p->set.members[i], p->by, p->group), value) != 0)
			continue;
		AF_GROW(part.members, part.nr, part.cap);
		part.members[part.nr++] = p->set.members[i];
	}
	/* The checks of findings are to be about this part. */
	if (part.nr == 1)
		part.path = part.members[0].path;
	else
		query.words = af_tables_text(&p->all, "--by %s", p->o->by);
	if (af_set_load_part(&part, &query, &r, &err)) {
		fprintf(stderr, "aflame report: %s: %s\n", part_text(p, value), err.msg);
	} else {
		p->nr_answered++;
		for (const char *const *name = p->names; *name; name++) {
			const struct af_table *t = af_tables_find(&r.tables, *name);
			if (t && p->names == findings_tables && !p->o->json)
				findings_add(p, t, part_text(p, value));
			else if (t)
				rows_add(p, t, value, p->o->json ? limit_of(p, ROWS) : 0);
		}
	}
	af_results_close(&r);
	af_set_close(&part);
}

/* Parts are in the order of their first members. */
static bool is_first(const struct parts *p, uint32_t i, const char *value)
{
	for (uint32_t k = 0; k < i; k++)
		if (!strcmp(af_member_by(&p->set.members[k], p->by, p->group), value))
			return false;
	return true;
}

static void parts_show(struct parts *p)
{
	const struct af_document document = {.report = p->o->report};

	if (p->o->json)
		af_tables_json(&p->text, &document, &p->all, 0);
	for (const struct af_table *t = p->all.first; t && !p->o->json; t = t->next) {
		if (p->text.len)
			af_buf_char(&p->text, '\n');
		af_table_text(&p->text, t, limit_of(p, 0), af_colour(stdout), AF_SHOW_ALL);
	}
	fwrite(p->text.data, 1, p->text.len, stdout);
}

int af_parts_print(const struct af_parts_options *o, struct af_err *err)
{
	struct parts p = {
	    .o = o, .names = strcmp(o->report, "findings") ? coverage_tables : findings_tables};

	if (!af_reduce_one()) /* another process answers */
		return 0;
	int rc = af_by_parse(o->by, &p.by, &p.group, err);
	if (!rc)
		rc = af_set_open(&p.set, o->dir, err);
	for (uint32_t i = 0; !rc && i < p.set.nr; i++) {
		const char *value = af_member_by(&p.set.members[i], p.by, p.group);
		if (is_first(&p, i, value))
			part_read(&p, value);
	}
	if (!rc && !p.nr_answered)
		rc = af_fail_plain(err, -ENODATA, "no trace in %s can be read", o->dir);
	if (!rc)
		parts_show(&p);
	af_tables_free(&p.all);
	af_buf_free(&p.text);
	af_set_close(&p.set);
	return rc;
}
