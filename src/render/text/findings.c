#include "render/text/findings.h"

#include <string.h>

#include "analyse/findings/findings.h"
#include "analyse/table/table.h"

enum { INDENT = 6, WIDTH_LEAST = 40 };

#define BOLD "\033[1m"
#define FAINT "\033[2m"
#define PLAIN "\033[0m"

static uint32_t characters(const char *text, size_t len)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < len; i++)
		nr += (text[i] & 0xc0) != 0x80;
	return nr;
}

/* @text in lines of at most @width, all but the first indented; a longer word stays whole. */
static void wrap(struct af_buf *b, const char *text, uint32_t width)
{
	uint32_t at = INDENT;

	while (*text) {
		size_t len = strcspn(text, " ");
		uint32_t need = characters(text, len);
		if (at > INDENT && at + 1 + need > width) {
			af_buf_fmt(b, "\n%*s", INDENT, "");
			at = INDENT;
		} else if (at > INDENT) {
			af_buf_char(b, ' ');
			at++;
		}
		af_buf_terminal(b, text, len, "");
		at += need;
		text += len;
		text += strspn(text, " ");
	}
	af_buf_char(b, '\n');
}

static void line(struct af_buf *b, const char *label, const char *text, uint32_t width, bool colour)
{
	struct af_buf whole = {0};

	if (!text || !*text)
		return;
	af_buf_fmt(&whole, "%s%s", label, text);
	af_buf_fmt(b, "%*s%s", INDENT, "", colour ? FAINT : "");
	wrap(b, whole.data, width);
	af_buf_str(b, colour ? PLAIN : "");
	af_buf_free(&whole);
}

void af_findings_text(struct af_buf *b, const struct af_table *t, uint32_t limit, uint32_t width,
                      bool colour, const char *all)
{
	uint32_t shown = limit && limit < t->nr_rows ? limit : t->nr_rows;

	if (width < WIDTH_LEAST)
		width = WIDTH_LEAST;
	af_buf_fmt(b, "%s%s%s\n", colour ? BOLD : "", t->title, colour ? PLAIN : "");
	for (uint32_t i = 0; i < shown; i++) {
		const struct af_finding_row *c = AF_ROW_AT(struct af_finding_row, t, i);
		if (!c)
			break;
		af_buf_fmt(b, "%4u. ", i + 1);
		wrap(b, c->finding.text, width);
		line(b, "usually helps: ", c->helps.text, width, colour);
		/* A command is not wrapped: it is to be copied. */
		line(b, "check: ", c->check.text, UINT32_MAX, colour);
	}
	if (t->note)
		af_buf_fmt(b, "  %s\n", t->note);
	if (shown < t->nr_rows)
		af_buf_fmt(b, "  … and %u more of %u%s%s\n", t->nr_rows - shown, t->nr_rows,
		           all ? "; " : "", all ? all : "");
}
