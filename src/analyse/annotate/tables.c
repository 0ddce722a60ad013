/* An annotated kernel as tables, which annotate.h describes. */
#include <stdlib.h>
#include <string.h>

#include "analyse/annotate/private.h"
#include "base/arena.h"
#include "sym/device/listing.h"
#include "sym/lines/source.h"

enum { SOURCE_BYTES = 400 }; /* bytes of a line of source at most */

/* the table of facts */

static void kernel_pair(struct annotation *a, const char *key, const char *label, const char *value)
{
	if (value && *value)
		af_pair_row(a->f, a->kernel, key, label, value);
}

void annotation_kernel(struct annotation *a)
{
	const struct af_sampled_function *fn = a->function;
	double all = 0;

	a->kernel = af_pairs_table(a->f, "kernel", "Kernel");
	for (uint32_t i = 0; i < a->s->nr_functions; i++)
		all += a->s->functions[i].samples;
	kernel_pair(a, "kernel", "Kernel", af_tables_text(a->f, "%s", fn->shown));
	if (strcmp(fn->name, fn->shown) != 0)
		kernel_pair(a, "symbol", "Symbol", af_tables_text(a->f, "%s", fn->name));
	kernel_pair(a, "same_name", "Same name", a->with->others);
	kernel_pair(a, "device", "Device", af_tables_text(a->f, "%s", fn->device));
	if (a->code && strcmp(af_code_arch(a->code), "listing") != 0)
		kernel_pair(a, "code", "Code for",
		            af_tables_text(a->f, "%s", af_code_arch(a->code)));
	kernel_pair(a, "samples", "Samples",
	            af_tables_text(a->f, "%.0f (%.2f %% of all)", fn->samples,
	                           all > 0 ? 100 * fn->samples / all : 0));
	kernel_pair(a, "exact", "Call path known",
	            af_tables_text(a->f, "%.2f %% of samples",
	                           fn->samples > 0 ? 100 * fn->exact / fn->samples : 0));
	if (fn->time_ns > 0)
		kernel_pair(a, "time", "Time", af_tables_ns(a->f, af_tables_count(fn->time_ns)));
}

/* Files of lines that cannot be shown, by name: "a.cu, b.h". */
static const char *missing_files(const struct annotation *a, bool withheld)
{
	const char *list = "";

	for (uint32_t i = 0; i < a->nr_lines; i++) {
		const char *file = a->lines[i].file;
		if ((i && !strcmp(file, a->lines[i - 1].file)) || !strcmp(file, AF_CODE_PTX))
			continue;
		if (a->with->sources && !af_source_where(a->with->sources, file) &&
		    af_source_is_withheld(a->with->sources, file) == withheld)
			list = af_tables_text(a->f, "%s%s%s", list, *list ? ", " : "", file);
	}
	return list;
}

/* Only the end shows what is missing. */
static void kernel_notes(struct annotation *a)
{
	const char *withheld = missing_files(a, true);

	if (a->listing && *af_listing_source(a->listing))
		kernel_pair(a, "listing", "Instructions",
		            af_tables_text(a->f, "by %s", af_listing_source(a->listing)));
	if (a->listing)
		kernel_pair(a, "no_listing", "No full text",
		            af_tables_text(a->f, "%s", af_listing_reason(a->listing)));
	if (a->missing)
		kernel_pair(a, "no_code", "No code", a->missing);
	else if (!a->lines_known)
		kernel_pair(a, "no_lines", "No lines",
		            af_code_sm(a->code) ? "compile with -lineinfo to have them"
		                                : "the code has no line information");
	else if (a->ptx)
		kernel_pair(a, "lines", "Lines",
		            "of the PTX text: compile with -lineinfo for those of the source");
	kernel_pair(a, "no_source", "No source of", missing_files(a, false));
	if (*withheld)
		kernel_pair(a, "source_withheld", "Source not read",
		            af_tables_text(a->f,
		                           "%s: you did not record this trace on this machine; "
		                           "--sources DIR reads files below DIR",
		                           withheld));
}

/* lines */

/* Adds a column for each reason behind the @nr columns of @fixed; returns the number of all. */
static uint32_t reason_columns(const struct annotation *a, struct af_column *columns,
                               const struct af_column *fixed, uint32_t nr)
{
	memcpy(columns, fixed, nr * sizeof *columns);
	for (uint32_t i = 0; i < a->nr_reasons; i++)
		af_sampled_reason_column(a->s, a->reasons[i], AF_CELL_COUNT, columns, &nr, a->f);
	return nr;
}

/* A line of source with its tabs as spaces, "" when it is not there. */
static const char *line_text(struct annotation *a, const struct annotated_line *l)
{
	char text[SOURCE_BYTES + 1];
	size_t len = 0, nr = 0;
	const char *source = annotation_source(a, l->file, l->number, &len);

	size_t i = 0;
	for (; source && i < len && nr < SOURCE_BYTES; i++) {
		if (source[i] != '\t') {
			text[nr++] = source[i];
			continue;
		}
		do
			text[nr++] = ' ';
		while (nr % 8 && nr < SOURCE_BYTES);
	}
	/* The next byte continues a character: what there is of that goes. */
	if (source && i < len && (source[i] & 0xc0) == 0x80) {
		while (nr && (text[nr - 1] & 0xc0) == 0x80)
			nr--;
		nr -= nr != 0;
	}
	return nr ? af_tables_text(a->f, "%.*s", (int)nr, text) : "";
}

static void line_row(struct annotation *a, struct af_table *t, const struct annotated_line *l)
{
	struct af_line_row *row = af_table_row(a->f, t);

	row->rank.value = l->rank;
	row->file.text = l->file;
	row->number.value = l->number;
	row->function.text = l->function;
	row->source.text = line_text(a, l);
	row->samples.value = af_tables_count(l->samples);
	row->share.value = af_tables_share(l->samples, a->function->samples);
	row->time_ns.value = af_tables_count(l->time_ns);
	row->with_inlined.value = af_tables_count(l->with_inlined);
	for (uint32_t i = 0; i < a->nr_reasons; i++)
		row->reasons[i].value = af_tables_count(l->reasons[i]);
}

static void lines_table(struct annotation *a)
{
	static const struct af_column fixed[] = {AF_LINE_COLUMNS(AF_ROW_COLUMN)};
	struct af_column columns[AF_TABLE_COLUMNS];
	uint32_t nr = reason_columns(a, columns, fixed, AF_LINE_FIXED), left_out = 0;
	struct af_table *t = af_tables_table(a->f, "lines", "Source lines", columns, nr);

	/* Lines are in order of files: where not all fit, those with most samples stay. */
	for (uint32_t i = 0; i < a->nr_lines; i++) {
		const struct annotated_line *l = &a->lines[i];
		if (a->nr_lines <= a->with->most || (l->rank && l->rank <= a->with->most))
			line_row(a, t, l);
		else
			left_out += l->rank != 0;
	}
	if (left_out)
		t->note = af_tables_text(a->f, "%u lines that have samples are left out", left_out);
}

/* instructions */

static void keep_around(struct annotation *a, uint32_t i)
{
	uint32_t context = a->with->context;
	uint32_t first = i > context ? i - context : 0;
	uint32_t end = a->nr_insns - i > context ? i + context + 1 : a->nr_insns;

	for (uint32_t k = first; k < end; k++)
		a->insns[k].keep = true;
}

static uint32_t insn_index(const struct annotation *a, uint32_t offset)
{
	uint32_t low = 0, high = a->nr_insns;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (a->insns[mid].offset < offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low < a->nr_insns && a->insns[low].offset == offset ? low : UINT32_MAX;
}

/*
 * Chooses which instructions are shown: the heaviest, those that they wait for, and neighbours.
 * Returns how many with samples are not shown.
 */
static uint32_t insns_keep(struct annotation *a)
{
	uint32_t nr = 0, left_out = 0, most = a->with->most;
	/* The others make room for what these wait for, and for neighbours. */
	uint32_t heaviest = most / 4 + (most % 4 != 0);
	bool all = a->with->context == UINT32_MAX && a->nr_insns <= most;

	for (uint32_t i = 0; i < a->nr_insns; i++) {
		struct annotated_insn *insn = &a->insns[i];
		insn->keep |= all;
		if (!insn->rank || insn->rank > heaviest || all)
			continue;
		if (a->with->context == UINT32_MAX)
			insn->keep = true;
		else
			keep_around(a, i);
		for (uint32_t k = 0; k < insn->nr_waits; k++) {
			uint32_t at = insn_index(a, insn->waits[k]);
			if (at != UINT32_MAX)
				a->insns[at].keep = true;
		}
	}
	for (uint32_t i = 0; i < a->nr_insns; i++)
		nr += a->insns[i].keep;
	/* Too many: those without samples give way, the last ones first. */
	for (uint32_t i = a->nr_insns; i-- > 0 && nr > most;)
		if (a->insns[i].keep && !a->insns[i].rank) {
			a->insns[i].keep = false;
			nr--;
		}
	for (uint32_t i = 0; i < a->nr_insns; i++)
		left_out += a->insns[i].rank && !a->insns[i].keep;
	return left_out;
}

/* "inner ← outer (a.cu:12) ← kernel (a.cu:40)", "" where nothing was inlined. */
static const char *insn_inlined(struct annotation *a, const struct annotated_insn *insn)
{
	struct af_code_frame frames[AF_CODE_FRAMES];
	const char *list = "";
	uint32_t nr = a->index < 0 ? 0
	                           : af_code_frames(a->code, (uint32_t)a->index, insn->offset,
	                                            frames, AF_CODE_FRAMES);

	if (nr < 2)
		return "";
	for (uint32_t k = 0; k < nr; k++) {
		const char *function = frames[k].function ? frames[k].function : "?";
		const char *file = frames[k].file ? frames[k].file : "?";
		const char *slash = strrchr(file, '/');
		if (!k)
			list = af_tables_text(a->f, "%s", function);
		else
			list = af_tables_text(a->f, "%s ← %s (%s:%u)", list, function,
			                      slash ? slash + 1 : file, frames[k].line);
	}
	return list;
}

static const char *insn_waits(struct annotation *a, const struct annotated_insn *insn)
{
	const char *list = "";

	for (uint32_t k = 0; k < insn->nr_waits; k++)
		list = af_tables_text(a->f, "%s%s0x%x", list, k ? " " : "", insn->waits[k]);
	return list;
}

static void insn_row(struct annotation *a, struct af_table *t, const struct annotated_insn *insn)
{
	const char *text = annotation_text(a, insn->offset);
	struct af_insn_row *row = af_table_row(a->f, t);
	const struct annotated_line *l = insn->line != UINT32_MAX ? &a->lines[insn->line] : NULL;

	row->rank.value = insn->rank;
	row->offset.value = insn->offset;
	row->text.text = text ? af_tables_text(a->f, "%s", text) : "";
	row->file.text = l ? l->file : "";
	row->line.value = l ? l->number : 0;
	row->inlined.text = insn_inlined(a, insn);
	row->samples.value = af_tables_count(insn->samples);
	row->share.value = af_tables_share(insn->samples, a->function->samples);
	row->time_ns.value = af_tables_count(insn->time_ns);
	row->waits.text = insn_waits(a, insn);
	for (uint32_t k = insn->first; k < insn->first + insn->nr; k++) {
		uint32_t column = annotation_column(a, a->function->at[k].reason);
		if (column != UINT32_MAX)
			row->reasons[column].value = af_tables_count(a->function->at[k].samples);
	}
}

static void insns_table(struct annotation *a)
{
	static const struct af_column fixed[] = {AF_INSN_COLUMNS(AF_ROW_COLUMN)};
	struct af_column columns[AF_TABLE_COLUMNS];
	uint32_t nr = reason_columns(a, columns, fixed, AF_INSN_FIXED);
	struct af_table *t = af_tables_table(a->f, "insns", "Instructions", columns, nr);
	uint32_t left_out = insns_keep(a);

	for (uint32_t i = 0; i < a->nr_insns; i++)
		if (a->insns[i].keep)
			insn_row(a, t, &a->insns[i]);
	if (left_out)
		t->note = af_tables_text(a->f, "%u instructions that have samples are left out",
		                         left_out);
}

void annotation_tables(struct annotation *a)
{
	kernel_notes(a);
	lines_table(a);
	insns_table(a);
}
