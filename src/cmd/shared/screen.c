#include "cmd/shared/screen.h"

#include <stdio.h>
#include <string.h>

#include "analyse/findings/findings.h"
#include "analyse/pass/pass.h"
#include "analyse/passes/rows.h"
#include "analyse/table/table.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/load.h"
#include "cmd/shared/summary.h"
#include "collect/disk/place.h"
#include "render/text/columns.h"
#include "render/text/findings.h"
#include "render/text/tables.h"

enum { SCREEN_FINDINGS = 3, SCREEN_DEVICES = 3, SCREEN_RATIO_NS = 100000000 };

/* The value with the key in a table of labelled values, or NULL. */
static const char *value_of(const struct af_results *r, const char *table, const char *key)
{
	const struct af_table *t = af_tables_find(&r->tables, table);

	for (uint32_t i = 0; t && i < t->nr_rows; i++) {
		const struct af_pair_row *row = AF_ROW_AT(struct af_pair_row, t, i);
		if (row && !strcmp(row->key.text, key))
			return row->value.text;
	}
	return NULL;
}

static void put(struct af_buf *b, const char *text)
{
	af_buf_terminal(b, text, strlen(text), "");
}

/* The trace's name at the end of a command, unless it is the one that commands take anyway. */
static void put_trace(struct af_buf *b, const struct af_results *r)
{
	if (!strcmp(r->dir, AF_PLACE_DEFAULT))
		return;
	af_buf_char(b, ' ');
	af_buf_word(b, r->dir);
}

/* "python3 train.py ran for 1.187 s of wall time and ended with status 0." */
static void line_run(struct af_buf *b, const struct af_results *r)
{
	const char *command = value_of(r, "run", "cmd"), *status = value_of(r, "run", "end.status"),
		   *length = value_of(r, "run", "recorded_for");

	put(b, command && *command ? command : "The recording");
	af_buf_str(b, command && *command ? " ran for " : " lasted ");
	put(b, length ? length : "an unknown time");
	af_buf_str(b, length ? " of wall time" : "");
	if (command && *command && status) {
		af_buf_str(b, " and ended ");
		put(b, status);
	}
	af_buf_str(b, ".\n");
}

/* "It used 1.034 s of CPU time: 0.87 CPUs at a time on average." */
static void line_cpu(struct af_buf *b, const struct af_results *r)
{
	const struct af_covered *cpu = &r->coverage.total.cpu;
	uint64_t used = af_covered_used(cpu), ns = used ? used : af_covered_sampled(cpu);

	if (!ns || !r->shown_ns)
		return;
	af_buf_str(b, used ? "It used " : "Samples stand for ");
	af_cell_text(b, AF_CELL_NS, ns);
	af_buf_str(b, " of CPU time");
	/* A short program used much of it before it could be recorded. */
	if (r->shown_ns >= SCREEN_RATIO_NS)
		af_buf_fmt(b, ": %.2f CPUs at a time on average", (double)ns / (double)r->shown_ns);
	af_buf_str(b, ".\n");
}

/* @first and @text as one sentence, in lines as wide as the terminal. */
static void put_wrapped(struct af_buf *b, const char *first, const char *text)
{
	struct af_buf line = {0};
	size_t from = b->len;

	put(&line, first);
	put(&line, text);
	af_buf_char(&line, 0);
	af_columns_wrap(b, line.data, 0, af_annotate_width(), 2);
	af_columns_trim(b, from);
	af_buf_free(&line);
}

/* Lists what held each device back, in the words of the idle pass. */
static void lines_devices(struct af_buf *b, const struct af_table *t)
{
	for (uint32_t i = 0; t && i < t->nr_rows && i < SCREEN_DEVICES; i++) {
		const struct af_pair_row *row = AF_ROW_AT(struct af_pair_row, t, i);
		if (!row)
			return;
		struct af_buf label = {0};
		af_buf_fmt(&label, "%s: ", row->label.text);
		af_buf_char(&label, 0);
		put_wrapped(b, label.data, row->value.text);
		af_buf_free(&label);
	}
	if (t && t->nr_rows > SCREEN_DEVICES)
		af_buf_fmt(b, "… and %u more devices: `aflame report verdict`\n",
		           t->nr_rows - SCREEN_DEVICES);
}

/* "`aflame report findings --from … --to … TRACE`", of the phase @part, of all where it is NULL. */
static void put_findings_command(struct af_buf *b, const struct af_results *r,
                                 const struct af_phase_row *part)
{
	af_buf_str(b, "`aflame report findings");
	if (part)
		af_buf_fmt(b, " --from %lluns --to %lluns", (unsigned long long)part->from_ns.value,
		           (unsigned long long)part->to_ns.value);
	put_trace(b, r);
	af_buf_char(b, '`');
}

/* "It repeats itself from 7.4 s on: 58 steps of 55 ms. What follows is of these alone." */
static void line_steady(struct af_buf *b, const struct af_phase_row *row)
{
	af_buf_str(b, "It repeats itself from ");
	af_cell_text(b, AF_CELL_NS, row->from_ns.value);
	if (row->steps.unknown) {
		af_buf_str(b, " to ");
		af_cell_text(b, AF_CELL_NS, row->to_ns.value);
		af_buf_str(b, ". What follows is of this part alone:\n");
		return;
	}
	af_buf_fmt(b, " on: %llu steps of ", (unsigned long long)row->steps.value);
	af_cell_text(b, AF_CELL_NS, row->step_ns.value);
	af_buf_str(b, ". What follows is of these steps alone:\n");
}

/* "Of the whole run, with its start: importing Python modules took …", and the command for all. */
static void line_whole(struct af_buf *b, const struct af_results *r)
{
	const struct af_table *t = af_tables_find(&r->tables, "findings");
	const struct af_finding_row *first = AF_ROW_AT(struct af_finding_row, t, 0);

	put_wrapped(b, "Of the whole run, with its start: ", first ? first->finding.text : "");
	af_buf_str(b, "  ");
	put_findings_command(b, r, NULL);
	af_buf_str(b, " shows all\n");
}

/* "stacks cut short: 1.6 % of samples", or how many events of what. */
static void put_lost(struct af_buf *b, const struct af_lost_row *row)
{
	static const char *const stacks[][2] = {
	    {"stacks_cut", "stacks cut short"},
	    {"stacks_middle", "stacks with frames left out of their middle"},
	    {"stacks_frame_pointers", "stacks by frame pointers only"},
	    {"stacks_none", "no stack"}};
	uint64_t count = row->count.value;

	for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
		if (!strcmp(row->key.text, stacks[i][0])) {
			af_buf_fmt(b, "%s: %llu.%02llu %% of samples", stacks[i][1],
			           (unsigned long long)(count / 100),
			           (unsigned long long)(count % 100));
			return;
		}
	af_buf_fmt(b, "%s: %llu", row->what.text, (unsigned long long)count);
}

static void line_data(struct af_buf *b, struct af_results *r)
{
	const struct af_table *lost = af_tables_find(&r->tables, "lost");
	bool used = af_covered_used(&r->coverage.total.cpu) >= SCREEN_RATIO_NS;
	const char *sampled = used ? af_coverage_text(&r->coverage, &r->tables) : NULL;
	const char *cost = value_of(r, "cost", "recorder");

	if (sampled)
		af_buf_fmt(b, "%s. ", sampled);
	const struct af_lost_row *first = AF_ROW_AT(struct af_lost_row, lost, 0);
	if (lost && lost->nr_rows && first) {
		af_buf_str(b, "Not whole: ");
		put_lost(b, first);
		af_buf_fmt(b, "%s (`aflame report lost`). ", lost->nr_rows > 1 ? ", and more" : "");
	} else {
		af_buf_str(b, "Nothing was lost. ");
	}
	if (cost)
		af_buf_fmt(b, "Recording took %s.", cost);
	af_buf_char(b, '\n');
}

/* Writes what held devices back and what stands out, of the phase @part or of all. */
static void lines_findings(struct af_buf *b, const struct af_results *r,
                           const struct af_phase_row *part)
{
	const struct af_tables *f = &r->tables;
	const struct af_table *findings = af_tables_find(f, part ? "steady_findings" : "findings");
	struct af_buf all = {0};

	lines_devices(b, af_tables_find(f, part ? "steady_verdict" : "verdict"));
	if (!findings)
		return;
	put_findings_command(&all, r, part);
	af_buf_str(&all, " shows all");
	af_buf_char(&all, 0);
	af_buf_char(b, '\n');
	af_findings_text(b, findings, SCREEN_FINDINGS, af_annotate_width(), af_colour(stderr),
	                 all.data);
	af_buf_free(&all);
}

void af_screen_print(struct af_results *r)
{
	const struct af_phase_row *steady = af_load_steady(r);
	struct af_buf b = {0};

	af_buf_char(&b, '\n');
	line_run(&b, r);
	line_cpu(&b, r);
	if (steady)
		line_steady(&b, steady);
	lines_findings(&b, r, steady);
	af_buf_char(&b, '\n');
	if (steady) {
		line_whole(&b, r);
		af_buf_char(&b, '\n');
	}
	line_data(&b, r);
	fwrite(b.data, 1, b.len, stderr);
	af_buf_free(&b);
}

int af_screen_show(const char *dir, const char *shown, struct af_err *err)
{
	struct af_query query = {.answers = AF_ANSWER_TABLES | AF_ANSWER_STEADY};
	struct af_results r;

	query.trace = shown;
	int rc = af_load(dir, &query, &r, err);
	if (!rc)
		af_screen_print(&r);
	af_results_close(&r);
	return rc;
}
