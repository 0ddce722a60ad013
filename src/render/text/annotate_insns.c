/* Instructions in their order, each with its line. */
#include <stdio.h>
#include <string.h>

#include "render/text/annotate_private.h"
#include "render/text/columns.h"
#include "render/text/label.h"

enum {
	NEIGHBOURS = 2,  /* of a shown instruction that are shown too */
	BEFORE_TEXT = 48 /* columns: share, samples, bar, offset */
};

/* "latency.cu:12 inner ← outer (latency.cu:40)" */
static void insn_place(struct annotate_page *p, uint32_t r, size_t width)
{
	const struct af_insn_row *c = annotate_insn_row(p->insns, r);
	const char *file = c->file.text, *slash = strrchr(file, '/');
	struct af_buf text = {0};

	if (*file)
		af_buf_fmt(&text, "%s:%u%s%s", slash ? slash + 1 : file, (unsigned)c->line.value,
		           *c->inlined.text ? " " : "", c->inlined.text);
	if (text.len)
		af_columns_text(p->b, text.data, width, false);
	af_buf_free(&text);
}

static void insn_line(struct annotate_page *p, uint32_t r, size_t text_width, size_t place_width)
{
	const struct af_insn_row *c = annotate_insn_row(p->insns, r);
	struct af_buf samples = {0};

	annotate_share(p, &c->share);
	af_buf_str(&samples, "");
	if (c->samples.value)
		af_label_commas(&samples, c->samples.value);
	af_columns_right(p->b, samples.data, 11);
	af_buf_free(&samples);
	af_buf_str(p->b, "  ");
	annotate_bar(p, c->reasons, p->insns->nr_columns - AF_INSN_FIXED, c->samples.value);
	annotate_offset(p, c->offset.value);
	af_columns_text(p->b, c->text.text, text_width, *c->file.text != 0);
	if (*c->file.text) {
		af_buf_str(p->b, "  ");
		annotate_faint(p);
		insn_place(p, r, place_width);
		annotate_plain(p);
	}
	af_buf_char(p->b, '\n');
	annotate_waits(p, r, BEFORE_TEXT, 0);
}

static bool insn_shown(const struct annotate_page *p, uint32_t r)
{
	uint64_t rank = annotate_insn_row(p->insns, r)->rank.value;

	return !p->look->limit || (rank && rank <= p->look->limit);
}

static bool insn_near(const struct annotate_page *p, uint32_t r)
{
	for (uint32_t k = r > NEIGHBOURS ? r - NEIGHBOURS : 0;
	     k <= r + NEIGHBOURS && k < p->insns->nr_rows; k++)
		if (insn_shown(p, k))
			return true;
	return false;
}

/* Is the line of any instruction known? */
static bool has_places(const struct annotate_page *p)
{
	for (uint32_t r = 0; r < p->insns->nr_rows; r++)
		if (*annotate_insn_row(p->insns, r)->file.text)
			return true;
	return false;
}

void annotate_by_insn(struct annotate_page *p)
{
	size_t room = p->look->width > BEFORE_TEXT + 40 ? p->look->width - BEFORE_TEXT : 40;
	size_t text_width = has_places(p) ? room * 55 / 100 : room;
	size_t place_width = room > text_width + 2 ? room - text_width - 2 : 0;
	uint32_t nr_left_out = 0;
	uint64_t left_out = 0;
	bool gap = false;

	annotate_bold(p);
	af_buf_str(p->b, "\n   Share    Samples  Stalls            Offset   Instruction\n");
	annotate_plain(p);
	for (uint32_t r = 0; r < p->insns->nr_rows; r++) {
		const struct af_insn_row *c = annotate_insn_row(p->insns, r);
		if (insn_near(p, r)) {
			if (gap)
				af_buf_fmt(p->b, "%*s…\n", BEFORE_TEXT - 9, "");
			insn_line(p, r, text_width, place_width);
			gap = false;
			continue;
		}
		gap = true;
		nr_left_out += c->rank.value != 0;
		left_out += c->share.value;
	}
	if (nr_left_out)
		af_buf_fmt(p->b, "  … and %u more instructions with %.2f %%\n", nr_left_out,
		           (double)left_out / 100);
	if (p->insns->note)
		af_buf_fmt(p->b, "  * %s\n", p->insns->note);
}
