/* Source lines with the instructions that they became: beside them where there is room. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "render/text/annotate_private.h"
#include "render/text/columns.h"
#include "render/text/label.h"

enum {
	NEIGHBOURS = 2,   /* lines before and after a shown one that are shown too */
	INSNS_A_LINE = 8, /* of most samples */
	BEFORE_SOURCE = 46,
	BEFORE_INSN = 37
};

/* Rows of instructions by line: those of line row r are order[first[r]] to order[first[r + 1] - 1].
 */
struct by_line {
	uint32_t *order, *first;
};

/* The row of a line, by file and number; lines are in order, files are not many. */
static uint32_t line_of(const struct af_table *lines, const struct af_cell *insn, uint32_t guess)
{
	for (uint32_t k = 0; k < lines->nr_rows; k++) {
		uint32_t r = (guess + k) % lines->nr_rows;
		const struct af_cell *c = annotate_cell(lines, r, 0);
		if (c[AF_LINE_NUMBER].value == insn[AF_INSN_LINE].value &&
		    !strcmp(c[AF_LINE_FILE].text, insn[AF_INSN_FILE].text))
			return r;
	}
	return UINT32_MAX;
}

static void by_line_make(struct by_line *by, const struct annotate_page *p)
{
	uint32_t nr = p->insns->nr_rows, nr_lines = p->lines->nr_rows, guess = 0;
	uint32_t *line = af_xcalloc(nr + 1ull, sizeof *line);

	by->order = af_xcalloc(nr + 1ull, sizeof *by->order);
	by->first = af_xcalloc(nr_lines + 2ull, sizeof *by->first);
	for (uint32_t i = 0; i < nr; i++) {
		const struct af_cell *c = annotate_cell(p->insns, i, 0);
		line[i] = *c[AF_INSN_FILE].text ? line_of(p->lines, c, guess) : UINT32_MAX;
		if (line[i] == UINT32_MAX)
			continue;
		guess = line[i];
		by->first[line[i] + 2]++;
	}
	for (uint32_t r = 2; r < nr_lines + 2; r++)
		by->first[r] += by->first[r - 1];
	for (uint32_t i = 0; i < nr; i++)
		if (line[i] != UINT32_MAX)
			by->order[by->first[line[i] + 1]++] = i;
	free(line);
}

/* How many of line @r have more samples than instruction @i? */
static uint32_t heavier(const struct annotate_page *p, const struct by_line *by, uint32_t r,
                        uint32_t i)
{
	uint64_t rank = annotate_cell(p->insns, i, AF_INSN_RANK)->value;
	uint32_t nr = 0;

	for (uint32_t k = by->first[r]; k < by->first[r + 1]; k++) {
		uint64_t other = annotate_cell(p->insns, by->order[k], AF_INSN_RANK)->value;
		nr += other && other < rank;
	}
	return nr;
}

/* The instructions of line @r that are shown, in order; @rows has room for all of a line. */
static uint32_t line_insns(const struct annotate_page *p, const struct by_line *by, uint32_t r,
                           uint32_t *rows)
{
	uint32_t nr = 0, most = p->look->limit ? INSNS_A_LINE : UINT32_MAX;

	for (uint32_t k = by->first[r]; k < by->first[r + 1]; k++) {
		uint32_t i = by->order[k];
		if (most == UINT32_MAX || (annotate_cell(p->insns, i, AF_INSN_RANK)->value &&
		                           heavier(p, by, r, i) < most))
			rows[nr++] = i;
	}
	return nr;
}

static void put_insn(struct annotate_page *p, uint32_t i, size_t width)
{
	const struct af_cell *c = annotate_cell(p->insns, i, 0);

	annotate_share(p, &c[AF_INSN_SHARE]);
	af_buf_str(p->b, "  ");
	annotate_bar(p, p->insns, i, AF_INSN_REASONS, c[AF_INSN_SAMPLES].value);
	annotate_offset(p, c[AF_INSN_OFFSET].value);
	af_columns_text(p->b, c[AF_INSN_TEXT].text, width, false);
}

static void put_line(struct annotate_page *p, uint32_t r, size_t width, bool pad)
{
	const struct af_cell *c = annotate_cell(p->lines, r, 0);
	struct af_buf samples = {0};

	annotate_share(p, &c[AF_LINE_SHARE]);
	af_buf_str(&samples, "");
	if (c[AF_LINE_SAMPLES].value)
		af_label_commas(&samples, c[AF_LINE_SAMPLES].value);
	af_columns_right(p->b, samples.data, 10);
	af_buf_free(&samples);
	af_buf_str(p->b, "  ");
	annotate_bar(p, p->lines, r, AF_LINE_REASONS, c[AF_LINE_SAMPLES].value);
	af_buf_fmt(p->b, "  %6u  ", (unsigned)c[AF_LINE_NUMBER].value);
	if (c[AF_LINE_RANK].value)
		annotate_bold(p);
	af_columns_text(p->b, c[AF_LINE_SOURCE].text, width, pad);
	annotate_plain(p);
}

/* A line, and beside it or below it its instructions. */
static void put_both(struct annotate_page *p, const struct by_line *by, uint32_t r,
                     const uint32_t *rows, uint32_t nr)
{
	size_t width = p->look->width, source = width - BEFORE_SOURCE, insn;
	bool beside = width >= AF_ANNOTATE_BESIDE;

	if (beside)
		source = (width - BEFORE_SOURCE - BEFORE_INSN - 3) * 55 / 100;
	insn = beside ? width - BEFORE_SOURCE - source - 3 - BEFORE_INSN : width - BEFORE_INSN - 4;
	put_line(p, r, source, beside && nr);
	for (uint32_t k = 0; k < nr; k++) {
		if (!beside)
			af_buf_str(p->b, "\n    ");
		else if (k)
			af_buf_fmt(p->b, "\n%*s | ", (int)(BEFORE_SOURCE + source), "");
		else
			af_buf_str(p->b, " | ");
		put_insn(p, rows[k], insn);
		if (!*annotate_cell(p->insns, rows[k], AF_INSN_WAITS)->text)
			continue;
		af_buf_char(p->b, '\n');
		if (beside)
			annotate_waits(p, rows[k], BEFORE_SOURCE + source + 3 + BEFORE_INSN,
			               BEFORE_SOURCE + source + 1);
		else
			annotate_waits(p, rows[k], 4 + BEFORE_INSN, 0);
		p->b->data[--p->b->len] = 0; /* its newline is put below, or before the next */
	}
	af_buf_char(p->b, '\n');
}

static bool line_shown(const struct annotate_page *p, uint32_t r)
{
	uint64_t rank = annotate_cell(p->lines, r, AF_LINE_RANK)->value;

	return rank && (!p->look->limit || rank <= p->look->limit);
}

/* Is the source of the file of row @r there? Then an empty line is one. */
static bool line_known(const struct annotate_page *p, uint32_t r)
{
	const char *file = annotate_cell(p->lines, r, AF_LINE_FILE)->text;

	for (uint32_t k = 0; k < p->lines->nr_rows; k++)
		if (*annotate_cell(p->lines, k, AF_LINE_SOURCE)->text &&
		    !strcmp(annotate_cell(p->lines, k, AF_LINE_FILE)->text, file))
			return true;
	return false;
}

/* Is @r within a few lines of one that is shown? Rows of the same file only. */
static bool line_near(const struct annotate_page *p, uint32_t r)
{
	const struct af_cell *c = annotate_cell(p->lines, r, 0);

	if (!*c[AF_LINE_SOURCE].text && !line_shown(p, r) && !line_known(p, r))
		return false; /* its number would be all there is to see */
	for (uint32_t k = r > NEIGHBOURS ? r - NEIGHBOURS : 0;
	     k <= r + NEIGHBOURS && k < p->lines->nr_rows; k++) {
		const struct af_cell *other = annotate_cell(p->lines, k, 0);
		uint64_t far = other[AF_LINE_NUMBER].value - c[AF_LINE_NUMBER].value + NEIGHBOURS;
		if (line_shown(p, k) && far <= 2 * NEIGHBOURS &&
		    !strcmp(c[AF_LINE_FILE].text, other[AF_LINE_FILE].text))
			return true;
	}
	return false;
}

/* What stands above row @r: its file, where that is another one; its function, where that is. */
static void put_heads(struct annotate_page *p, uint32_t r, uint32_t before)
{
	const struct af_cell *c = annotate_cell(p->lines, r, 0);
	const struct af_cell *last =
	    before != UINT32_MAX ? annotate_cell(p->lines, before, 0) : NULL;

	if (!last || strcmp(last[AF_LINE_FILE].text, c[AF_LINE_FILE].text) != 0) {
		af_buf_char(p->b, '\n');
		annotate_bold(p);
		af_columns_text(p->b, c[AF_LINE_FILE].text, p->look->width, false);
		af_buf_str(p->b, "\n   Share   Samples  Stalls              Line  Source\n");
		annotate_plain(p);
	} else if (c[AF_LINE_NUMBER].value != last[AF_LINE_NUMBER].value + 1) {
		af_buf_fmt(p->b, "%*s…\n", BEFORE_SOURCE - 3, "");
	}
}

/* The innermost function of the lines that follow is another one than that of those before. */
static void put_function(struct annotate_page *p, uint32_t r, const char **function)
{
	const char *now = annotate_cell(p->lines, r, AF_LINE_FUNCTION)->text;

	if (!*now || (*function && !strcmp(now, *function)))
		return;
	*function = now;
	af_buf_fmt(p->b, "%*s", BEFORE_SOURCE - 8, "");
	annotate_faint(p);
	af_buf_str(p->b, "in ");
	af_columns_text(p->b, now, p->look->width - BEFORE_SOURCE + 4, false);
	annotate_plain(p);
	af_buf_char(p->b, '\n');
}

/* The share of instructions that are of no line. */
static uint64_t insns_without_line(const struct annotate_page *p)
{
	uint64_t share = 0;

	for (uint32_t i = 0; i < p->insns->nr_rows; i++)
		if (!*annotate_cell(p->insns, i, AF_INSN_FILE)->text)
			share += annotate_cell(p->insns, i, AF_INSN_SHARE)->value;
	return share;
}

void annotate_by_line(struct annotate_page *p)
{
	struct by_line by;
	uint32_t *rows = af_xcalloc(p->insns->nr_rows + 1ull, sizeof *rows);
	uint32_t before = UINT32_MAX, nr_left_out = 0;
	uint64_t left_out = 0;
	const char *function = NULL;

	by_line_make(&by, p);
	for (uint32_t r = 0; r < p->lines->nr_rows; r++) {
		const struct af_cell *c = annotate_cell(p->lines, r, 0);
		if (!line_near(p, r)) {
			nr_left_out += c[AF_LINE_RANK].value != 0;
			left_out += c[AF_LINE_SHARE].value;
			continue;
		}
		put_heads(p, r, before);
		put_function(p, r, &function);
		put_both(p, &by, r, rows, line_shown(p, r) ? line_insns(p, &by, r, rows) : 0);
		before = r;
	}
	if (nr_left_out)
		af_buf_fmt(p->b, "  … and %u more lines with %.2f %%\n", nr_left_out,
		           (double)left_out / 100);
	if ((left_out = insns_without_line(p)))
		af_buf_fmt(p->b, "  … and %.2f %% in instructions of which no line is known\n",
		           (double)left_out / 100);
	if (p->lines->note)
		af_buf_fmt(p->b, "  * %s\n", p->lines->note);
	free(rows);
	free(by.order);
	free(by.first);
}
