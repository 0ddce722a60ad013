#include "render/heat/rank_map.h"

#include <stdio.h>
#include <string.h>

#include "render/picture/picture.h"
#include "render/text/tables.h"

enum { LABEL = 16, LEAST_WIDTH = 20, SHADES = 8, LESS_THAN = 500 };
enum { LEFT = 110, TOP = 46, CELL_WIDTH = 5, BELOW = 64, RIGHT = 20 };

/* The kinds as maps show them; LESS_THAN, in 10,000ths, is nothing. */
static const struct {
	char sign;
	const char *escape, *rgb;
} looks[AF_RANK_KINDS] = {
    [AF_RANK_CPU] = {'#', "\033[32m", "#2e8b57"},  [AF_RANK_DEVICE] = {'G', "\033[35m", "#8844bb"},
    [AF_RANK_DISK] = {'D', "\033[31m", "#cc3322"}, [AF_RANK_MPI] = {'m', "\033[33m", "#d9a400"},
    [AF_RANK_WAIT] = {'.', "\033[90m", "#c8d0d8"}, [AF_RANK_QUEUED] = {'q', "\033[36m", "#3a9fbf"},
};

/* The kind that took most of the bins from @first up to @end, and its share in 10,000ths. */
static enum af_rank_kind kind_of(const struct af_ranks_heat *h, uint32_t row, uint32_t first,
                                 uint32_t end, uint32_t *share)
{
	uint64_t sums[AF_RANK_KINDS] = {0}, most = 0;
	enum af_rank_kind is = AF_RANK_KINDS;

	for (uint32_t b = first; b < end && b < h->nr_bins; b++)
		for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
			sums[k] += af_ranks_heat_at(h, row, b)[k];
	for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
		if (sums[k] > most) {
			most = sums[k];
			is = (enum af_rank_kind)k;
		}
	most /= end - first;
	*share = most < 10000 ? (uint32_t)most : 10000;
	return most < LESS_THAN ? AF_RANK_KINDS : is;
}

/* text */

static bool is_shown(const struct af_ranks_result *r, uint32_t row, uint32_t rows)
{
	if (!rows || r->nr <= rows || r->ranks[row].odd)
		return true;
	for (uint32_t g = 0; g < r->nr_groups; g++)
		if (r->groups[g].typical == row)
			return true;
	return false;
}

static void text_label(struct af_buf *b, const struct af_rank *rank)
{
	const char *label = rank->who->label;
	size_t start = b->len, len = strlen(label);

	af_buf_terminal(b, label, len < LABEL - 3 ? len : LABEL - 3, "");
	af_buf_str(b, rank->odd ? " *" : "");
	while (b->len < start + LABEL)
		af_buf_char(b, ' ');
}

static void text_row(struct af_buf *b, const struct af_ranks_result *r,
                     const struct af_ranks_heat *h, uint32_t row, uint32_t each, bool colour)
{
	enum af_rank_kind was = AF_RANK_KINDS;
	uint32_t share;

	text_label(b, &r->ranks[row]);
	for (uint32_t bin = 0; bin < h->nr_bins; bin += each) {
		enum af_rank_kind is = kind_of(h, row, bin, bin + each, &share);
		if (colour && is != was)
			af_buf_str(b, is < AF_RANK_KINDS ? looks[is].escape : "\033[0m");
		af_buf_char(b, is < AF_RANK_KINDS ? looks[is].sign : ' ');
		was = is;
	}
	af_buf_str(b, colour ? "\033[0m\n" : "\n");
}

static void text_legend(struct af_buf *b, const struct af_ranks_heat *h, uint32_t each)
{
	af_buf_str(b, "a character is ");
	af_cell_text(b, AF_CELL_NS, h->each_ns * each);
	for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
		af_buf_fmt(b, ", %c %s", looks[k].sign, af_rank_kind_title((enum af_rank_kind)k));
	af_buf_str(b, "; * an odd rank\n");
	if (*h->clocks)
		af_buf_fmt(b, "%s\n", h->clocks);
}

void af_rank_map_text(struct af_buf *b, const struct af_ranks_result *r,
                      const struct af_ranks_heat *h, uint32_t width, uint32_t rows, bool colour)
{
	uint32_t room = width > LABEL + LEAST_WIDTH ? width - LABEL : LEAST_WIDTH, shown = 0;
	uint32_t each = h->nr_bins ? (h->nr_bins + room - 1) / room : 1;

	for (uint32_t i = 0; i < h->nr; i++)
		if (is_shown(r, i, rows)) {
			text_row(b, r, h, i, each, colour);
			shown++;
		}
	text_legend(b, h, each);
	if (shown < h->nr)
		af_buf_fmt(b,
		           "%u of %u ranks: the odd ones and the typical of each group; "
		           "--limit 0 shows all\n",
		           shown, h->nr);
}

/* svg */

/* Bins of one look in a row are one rectangle. */
static void svg_row(struct af_buf *b, const struct af_ranks_result *r,
                    const struct af_ranks_heat *h, uint32_t row, uint32_t high)
{
	const struct af_rank *rank = &r->ranks[row];
	uint32_t y = TOP + row * high;

	af_buf_str(b, "<g><title>");
	af_buf_xml(b, rank->who->label, strlen(rank->who->label));
	af_buf_fmt(b, "%s</title>\n", rank->odd ? ": odd" : "");
	for (uint32_t bin = 0, next; bin < h->nr_bins; bin = next) {
		uint32_t share, other;
		enum af_rank_kind is = kind_of(h, row, bin, bin + 1, &share);
		uint32_t shade = share * (SHADES - 1) / 10000 + 1;
		for (next = bin + 1; next < h->nr_bins; next++)
			if (kind_of(h, row, next, next + 1, &other) != is ||
			    other * (SHADES - 1) / 10000 + 1 != shade)
				break;
		if (is < AF_RANK_KINDS)
			af_buf_fmt(b,
			           "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"%s\" "
			           "fill-opacity=\"%.2f\"/>\n",
			           LEFT + bin * CELL_WIDTH, y, (next - bin) * CELL_WIDTH, high,
			           looks[is].rgb, (double)shade / SHADES);
	}
	af_buf_str(b, "</g>\n");
	if (high >= 10 || rank->odd)
		af_picture_text(b, LEFT - 6, y + (high + 10) / 2,
		                rank->odd
		                    ? " text-anchor=\"end\" fill=\"#cc3322\" font-weight=\"bold\""
		                    : " text-anchor=\"end\"",
		                rank->who->label);
}

static void svg_legend(struct af_buf *b, const struct af_ranks_heat *h, uint32_t y)
{
	uint32_t x = LEFT;
	char text[200];

	for (uint32_t k = 0; k < AF_RANK_KINDS; k++) {
		af_buf_fmt(b, "<rect x=\"%u\" y=\"%u\" width=\"12\" height=\"12\" fill=\"%s\"/>\n",
		           x, y - 10, looks[k].rgb);
		af_picture_text(b, x + 17, y, "", af_rank_kind_title((enum af_rank_kind)k));
		x += 40 + 7 * (uint32_t)strlen(af_rank_kind_title((enum af_rank_kind)k));
	}
	snprintf(text, sizeof text, "%.4g s from left to right%s",
	         (double)h->each_ns * h->nr_bins / 1e9, *h->clocks ? "; " : "");
	size_t len = strlen(text);
	snprintf(text + len, sizeof text - len, "%s", h->clocks);
	af_picture_text(b, LEFT, y + 22, "", text);
}

void af_rank_map_svg(struct af_buf *b, const struct af_ranks_result *r,
                     const struct af_ranks_heat *h, const char *title)
{
	uint32_t high = h->nr <= 64 ? 14 : h->nr <= 400 ? 4 : 2;
	uint32_t width = LEFT + RIGHT + (h->nr_bins > 150 ? h->nr_bins : 150) * CELL_WIDTH;
	uint32_t height = TOP + h->nr * high + BELOW;

	af_picture_begin(b, width, height, 11, LEFT, title);
	for (uint32_t i = 0; i < h->nr; i++)
		svg_row(b, r, h, i, high);
	svg_legend(b, h, TOP + h->nr * high + 24);
	af_buf_str(b, "</svg>\n");
}
