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
static uint32_t line_of(const struct af_table *lines, const struct af_insn_row *insn,
                        uint32_t guess)
{
	for (uint32_t k = 0; k < lines->nr_rows; k++) {
		uint32_t r = (guess + k) % lines->nr_rows;
		const struct af_line_row *c = annotate_line_row(lines, r);
		if (c->number.value == insn->line.value && !strcmp(c->file.text, insn->file.text))
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
		const struct af_insn_row *c = annotate_insn_row(p->insns, i);
		line[i] = *c->file.text ? line_of(p->lines, c, guess) : UINT32_MAX;
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
	uint64_t rank = annotate_insn_row(p->insns, i)->rank.value;
	uint32_t nr = 0;

	for (uint32_t k = by->first[r]; k < by->first[r + 1]; k++) {
		uint64_t other = annotate_insn_row(p->insns, by->order[k])->rank.value;
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
		if (most == UINT32_MAX ||
		    (annotate_insn_row(p->insns, i)->rank.value && heavier(p, by, r, i) < most))
			rows[nr++] = i;
	}
	return nr;
}

static void put_insn(struct annotate_page *p, uint32_t i, size_t width)
{
	const struct af_insn_row *c = annotate_insn_row(p->insns, i);

	annotate_share(p, &c->share);
	af_buf_str(p->b, "  ");
	annotate_bar(p, c->reasons, p->insns->nr_columns - AF_INSN_FIXED, c->samples.value);
	annotate_offset(p, c->offset.value);
	af_columns_text(p->b, c->text.text, width, false);
}

static void put_line(struct annotate_page *p, uint32_t r, size_t width, bool pad)
{
	const struct af_line_row *c = annotate_line_row(p->lines, r);
	struct af_buf samples = {0};

	annotate_share(p, &c->share);
	af_buf_str(&samples, "");
	if (c->samples.value)
		af_label_commas(&samples, c->samples.value);
	af_columns_right(p->b, samples.data, 10);
	af_buf_free(&samples);
	af_buf_str(p->b, "  ");
	annotate_bar(p, c->reasons, p->lines->nr_columns - AF_LINE_FIXED, c->samples.value);
	af_buf_fmt(p->b, "  %6u  ", (unsigned)c->number.value);
	if (c->rank.value)
		annotate_bold(p);
	af_columns_text(p->b, c->source.text, width, pad);
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
		if (!*annotate_insn_row(p->insns, rows[k])->waits.text)
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
	uint64_t rank = annotate_line_row(p->lines, r)->rank.value;

	return rank && (!p->look->limit || rank <= p->look->limit);
}

/* Is the source of the file of row @r there? Then an empty line is one. */
static bool line_known(const struct annotate_page *p, uint32_t r)
{
	const char *file = annotate_line_row(p->lines, r)->file.text;

	for (uint32_t k = 0; k < p->lines->nr_rows; k++)
		if (*annotate_line_row(p->lines, k)->source.text &&
		    !strcmp(annotate_line_row(p->lines, k)->file.text, file))
			return true;
	return false;
}

/* Is @r within a few lines of one that is shown? Rows of the same file only. */
static bool line_near(const struct annotate_page *p, uint32_t r)
{
	const struct af_line_row *c = annotate_line_row(p->lines, r);

	if (!*c->source.text && !line_shown(p, r) && !line_known(p, r))
		return false; /* its number would be all there is to see */
	for (uint32_t k = r > NEIGHBOURS ? r - NEIGHBOURS : 0;
	     k <= r + NEIGHBOURS && k < p->lines->nr_rows; k++) {
		const struct af_line_row *other = annotate_line_row(p->lines, k);
		uint64_t far = other->number.value - c->number.value + NEIGHBOURS;
		if (line_shown(p, k) && far <= 2 * NEIGHBOURS &&
		    !strcmp(c->file.text, other->file.text))
			return true;
	}
	return false;
}

/* The lines above row @r: its file and its function, where they differ from those before. */
static void put_heads(struct annotate_page *p, uint32_t r, uint32_t before)
{
	const struct af_line_row *c = annotate_line_row(p->lines, r);
	const struct af_line_row *last =
	    before != UINT32_MAX ? annotate_line_row(p->lines, before) : NULL;

	if (!last || strcmp(last->file.text, c->file.text) != 0) {
		af_buf_char(p->b, '\n');
		annotate_bold(p);
		af_columns_text(p->b, c->file.text, p->look->width, false);
		af_buf_str(p->b, "\n   Share   Samples  Stalls              Line  Source\n");
		annotate_plain(p);
	} else if (c->number.value != last->number.value + 1) {
		af_buf_fmt(p->b, "%*s…\n", BEFORE_SOURCE - 3, "");
	}
}

/* The innermost function of the lines that follow is another one than that of those before. */
static void put_function(struct annotate_page *p, uint32_t r, const char **function)
{
	const char *now = annotate_line_row(p->lines, r)->function.text;

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
		if (!*annotate_insn_row(p->insns, i)->file.text)
			share += annotate_insn_row(p->insns, i)->share.value;
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
		const struct af_line_row *c = annotate_line_row(p->lines, r);
		if (!line_near(p, r)) {
			nr_left_out += c->rank.value != 0;
			left_out += c->share.value;
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
		af_buf_fmt(p->b, "  … and %.2f %% in instructions without a known line\n",
		           (double)left_out / 100);
	if (p->lines->note)
		af_buf_fmt(p->b, "  * %s\n", p->lines->note);
	free(rows);
	free(by.order);
	free(by.first);
}
