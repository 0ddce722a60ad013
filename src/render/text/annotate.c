#include "render/text/annotate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/text/annotate_private.h"
#include "render/text/columns.h"
#include "render/text/label.h"
#include "render/text/tables.h"

void annotate_faint(const struct annotate_page *p)
{
	if (p->look->colour)
		af_buf_str(p->b, "\033[2m");
}

void annotate_bold(const struct annotate_page *p)
{
	if (p->look->colour)
		af_buf_str(p->b, "\033[1m");
}

void annotate_plain(const struct annotate_page *p)
{
	if (p->look->colour)
		af_buf_str(p->b, "\033[0m");
}

void annotate_share(struct annotate_page *p, const struct af_cell *share)
{
	struct af_buf text = {0};

	af_buf_str(&text, "");
	if (share->value) {
		af_label_fixed(&text, (double)share->value / 100, 2);
		af_buf_str(&text, " %");
	}
	af_columns_right(p->b, text.data, 8);
	af_buf_free(&text);
}

void annotate_offset(struct annotate_page *p, uint64_t offset)
{
	char text[24];

	snprintf(text, sizeof text, "0x%04llx", (unsigned long long)offset);
	af_buf_fmt(p->b, "  %-7s  ", text);
}

/* bars */

static const char *reason_colour(const char *sort)
{
	static const char *const colours[][2] = {
	    {"issued", "\033[32m"},  {"memory", "\033[31m"}, {"sync", "\033[35m"},
	    {"execute", "\033[33m"}, {"fetch", "\033[36m"},
	};

	for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
		if (!strcmp(colours[i][0], sort))
			return colours[i][1];
	return "\033[90m";
}

static void bar_part(struct annotate_page *p, uint32_t reason, uint32_t nr)
{
	const struct af_table *t = p->reasons;
	bool known = t && reason < t->nr_rows;
	char letter = known ? *annotate_reason_row(t, reason)->letter.text : '#';

	if (!nr)
		return;
	if (p->look->colour)
		af_buf_str(p->b, reason_colour(known ? annotate_reason_row(t, reason)->category.text
		                                     : ""));
	while (nr--)
		af_buf_char(p->b, letter);
	annotate_plain(p);
}

void annotate_bar(struct annotate_page *p, const struct af_cell *reasons, uint32_t nr_reasons,
                  uint64_t samples)
{
	double scale = p->most ? (double)ANNOTATE_BAR / (double)p->most : 0;
	uint32_t length = (uint32_t)((double)samples * scale + 0.5), done = 0;
	double sum = 0, all = (double)samples;

	if (length > ANNOTATE_BAR)
		length = ANNOTATE_BAR;
	if (samples && !length)
		length = 1;
	for (uint32_t i = 0; i < nr_reasons; i++) {
		sum += (double)reasons[i].value;
		uint32_t until = all > 0 ? (uint32_t)(sum / all * length + 0.5) : 0;
		if (until > length)
			until = length;
		bar_part(p, i, until > done ? until - done : 0);
		done = until > done ? until : done;
	}
	bar_part(p, UINT32_MAX, length - done);
	af_buf_fmt(p->b, "%*s", (int)(ANNOTATE_BAR - length), "");
}

/* what is waited for */

uint32_t annotate_insn(const struct af_table *t, uint64_t offset)
{
	uint32_t low = 0, high = t->nr_rows;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (annotate_insn_row(t, mid)->offset.value < offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->nr_rows && annotate_insn_row(t, low)->offset.value == offset ? low
	                                                                             : UINT32_MAX;
}

void annotate_waits(struct annotate_page *p, uint32_t r, size_t indent, size_t line)
{
	const char *at = annotate_insn_row(p->insns, r)->waits.text;
	char *end;

	for (; at && *at; at = end) {
		uint64_t offset = strtoull(at, &end, 16);
		uint32_t row = annotate_insn(p->insns, offset);
		if (end == at)
			return;
		if (line)
			af_buf_fmt(p->b, "%*s|", (int)line, "");
		af_buf_fmt(p->b, "%*s", (int)(line ? indent - line - 1 : indent), "");
		annotate_faint(p);
		af_buf_fmt(p->b, "waits for 0x%04llx  ", (unsigned long long)offset);
		size_t used = indent + 18;
		if (row != UINT32_MAX)
			af_columns_text(p->b, annotate_insn_row(p->insns, row)->text.text,
			                p->look->width > used ? p->look->width - used : 8, false);
		annotate_plain(p);
		af_buf_char(p->b, '\n');
	}
}

/* the page */

void af_annotate_legend(struct af_buf *b, const struct af_table *reasons,
                        const struct af_annotate_look *look)
{
	struct annotate_page p = {.b = b, .look = look, .reasons = reasons};
	uint32_t advised = 0;
	size_t from = b->len;

	annotate_bold(&p);
	af_buf_fmt(b, "%s\n", reasons->title);
	annotate_plain(&p);
	for (uint32_t r = 0; r < reasons->nr_rows; r++) {
		const struct af_reason_row *c = annotate_reason_row(reasons, r);
		af_buf_str(b, "  ");
		bar_part(&p, r, 1);
		af_buf_str(b, "  ");
		af_columns_text(b, c->name.text, 18, true);
		annotate_share(&p, &c->share);
		af_buf_str(b, *c->meaning.text ? "  " : "");
		af_columns_wrap(b, c->meaning.text, 33, look->width, 33);
	}
	for (uint32_t r = 0; r < reasons->nr_rows && advised < 2; r++) {
		const struct af_reason_row *c = annotate_reason_row(reasons, r);
		if (!*c->advice.text || !strcmp(c->category.text, "issued"))
			continue;
		advised++;
		af_buf_str(b, "  Against ");
		af_buf_terminal(b, c->name.text, strlen(c->name.text), "");
		af_buf_str(b, ": ");
		af_columns_wrap(b, c->advice.text, 12 + af_columns_of(c->name.text), look->width,
		                4);
	}
	af_columns_trim(b, from);
}

static void most_of(struct annotate_page *p, uint64_t samples)
{
	p->most = samples > p->most ? samples : p->most;
}

void af_annotate_text(struct af_buf *b, const struct af_table *first,
                      const struct af_annotate_look *look)
{
	struct annotate_page p = {.b = b, .look = look, .kernel = first};
	size_t from = b->len;

	for (const struct af_table *t = first->next; t && strcmp(t->name, "kernel") != 0;
	     t = t->next) {
		p.reasons = !strcmp(t->name, "reasons") ? t : p.reasons;
		p.lines = !strcmp(t->name, "lines") ? t : p.lines;
		p.insns = !strcmp(t->name, "insns") ? t : p.insns;
	}
	if (!p.lines || !p.insns)
		return;
	af_table_text(b, first, 0, look->colour, NULL);
	if (p.reasons && p.reasons->nr_rows) {
		af_buf_char(b, '\n');
		af_annotate_legend(b, p.reasons, look);
	}
	if (look->by_insn || !p.lines->nr_rows) {
		for (uint32_t r = 0; r < p.insns->nr_rows; r++)
			most_of(&p, annotate_insn_row(p.insns, r)->samples.value);
		annotate_by_insn(&p);
	} else {
		for (uint32_t r = 0; r < p.lines->nr_rows; r++)
			most_of(&p, annotate_line_row(p.lines, r)->samples.value);
		annotate_by_line(&p);
	}
	af_columns_trim(b, from);
}
