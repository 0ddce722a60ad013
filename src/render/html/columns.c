#include "render/html/columns.h"

#include <stdlib.h>

#include "base/arena.h"
#include "render/html/pack.h"

/* A row may have these beside its start, its length and the number of its meaning. */
enum { ROW_WEIGHT = 1, ROW_COUNT = 2, ROW_FLOW = 4, ROW_BITS = 3, ROW_MOST = 6 * AF_LEB128_MAX };

void html_columns_free(struct html_columns *c)
{
	af_buf_free(&c->rows);
	free(c->window);
	free(c->by_what);
	*c = (struct html_columns){0};
}

/* Drop the open slices that ended by @start_ns; returns their number. */
static uint32_t ends_pop(struct html_columns *c, uint64_t start_ns)
{
	uint32_t before = c->nr_ends;

	while (c->nr_ends && c->ends_ns[c->nr_ends - 1] <= start_ns)
		c->nr_ends--;
	return before - c->nr_ends;
}

static void ends_push(struct html_columns *c, const struct html_slice *s)
{
	if (c->nr_ends == AF_ROWS_DEPTH)
		return;
	if (c->nr_ends + 1 > c->depth)
		c->depth = c->nr_ends + 1;
	if (s->length_ns)
		c->ends_ns[c->nr_ends++] = s->start_ns + s->length_ns;
}

static unsigned row_has(const struct html_slice *s)
{
	return (s->weight_ns != s->length_ns ? ROW_WEIGHT : 0) | (s->count != 1 ? ROW_COUNT : 0) |
	       (s->flow ? ROW_FLOW : 0);
}

static void columns_put(struct html_columns *c, const struct html_slice *s)
{
	struct af_buf *b = &c->rows;
	unsigned has = row_has(s);

	ends_pop(c, s->start_ns);
	ends_push(c, s);
	AF_ROOM(b->data, b->len + ROW_MOST, b->cap);
	uint8_t *begin = (uint8_t *)b->data + b->len, *to = begin;
	to += af_leb128_put(to, s->start_ns - c->last_start_ns);
	to += af_leb128_put(to, s->length_ns);
	to += af_leb128_put(to, (uint64_t)s->what << ROW_BITS | has);
	if (has & ROW_WEIGHT)
		to += af_leb128_put(to, s->weight_ns);
	if (has & ROW_COUNT)
		to += af_leb128_put(to, s->count);
	if (has & ROW_FLOW) {
		to += af_leb128_put(to, html_zigzag(s->flow - 1, c->last_flow));
		c->last_flow = s->flow - 1;
	}
	b->len += (size_t)(to - begin);
	c->weights |= has & ROW_WEIGHT;
	c->counts |= (has & ROW_COUNT) != 0;
	c->flows |= (has & ROW_FLOW) != 0;
	c->last_start_ns = s->start_ns;
	c->nr++;
}

struct html_columns_reader html_columns_read(const struct html_columns *c)
{
	return (struct html_columns_reader){.at = af_buf_cursor(&c->rows)};
}

bool html_columns_next(struct html_columns_reader *r, struct html_slice *s)
{
	if (r->at.at == r->at.end)
		return false;
	r->start_ns += af_cursor_uleb(&r->at);
	s->start_ns = r->start_ns;
	s->length_ns = af_cursor_uleb(&r->at);
	uint64_t what = af_cursor_uleb(&r->at);
	s->what = (uint32_t)(what >> ROW_BITS);
	s->weight_ns = what & ROW_WEIGHT ? af_cursor_uleb(&r->at) : s->length_ns;
	s->count = what & ROW_COUNT ? af_cursor_uleb(&r->at) : 1;
	s->flow = 0;
	if (what & ROW_FLOW) {
		uint64_t way = af_cursor_uleb(&r->at);
		r->flow = way & 1 ? r->flow - (way + 1) / 2 : r->flow + way / 2;
		s->flow = r->flow + 1;
	}
	return true;
}

static void window_flush(struct html_columns *c)
{
	uint64_t at_ns = c->nr_window ? c->window[0].start_ns : 0;

	for (uint32_t i = 0; i < c->nr_window; i++) {
		struct html_slice *s = &c->window[i];
		s->start_ns = at_ns;
		columns_put(c, s);
		at_ns += s->length_ns;
	}
	c->nr_window = 0;
	c->epoch++;
}

/* Short slices lie one behind the other, as those that lie within short ones are left out. */
static void window_add(struct html_columns *c, const struct html_slice *s)
{
	AF_REACH(c->by_what, s->what, c->cap_what);
	uint64_t *known = &c->by_what[s->what];

	c->window_end_ns = s->start_ns + s->length_ns;
	if (*known >> 32 != c->epoch + 1ull) {
		*known = (c->epoch + 1ull) << 32 | c->nr_window;
		AF_GROW(c->window, c->nr_window, c->cap_window);
		c->window[c->nr_window++] = *s;
		return;
	}
	struct html_slice *into = &c->window[(uint32_t)*known];
	into->length_ns += s->length_ns;
	into->weight_ns += s->weight_ns;
	into->count += s->count;
	into->flow = 0;
}

static void columns_join(struct html_columns *c, const struct html_slice *s, uint64_t step_ns)
{
	bool left = ends_pop(c, s->start_ns) != 0;

	if (s->length_ns >= step_ns) {
		window_flush(c);
		columns_put(c, s);
		return;
	}
	if (c->nr_window && s->start_ns < c->window_end_ns)
		return;
	if (left || s->start_ns / step_ns != c->window_at)
		window_flush(c);
	c->window_at = s->start_ns / step_ns;
	window_add(c, s);
}

void html_columns_add(struct html_columns *c, const struct html_slice *s, uint64_t step_ns)
{
	c->taken++;
	if (step_ns)
		columns_join(c, s, step_ns);
	else
		columns_put(c, s);
}

void html_columns_coarsen(struct html_columns *c, uint64_t step_ns)
{
	struct html_columns next = {
	    .by_what = c->by_what, .cap_what = c->cap_what, .epoch = c->epoch + 1};
	struct html_slice s;

	window_flush(c);
	struct html_columns_reader reader = html_columns_read(c);
	while (html_columns_next(&reader, &s))
		columns_join(&next, &s, step_ns);
	next.taken = c->taken;
	c->by_what = NULL;
	html_columns_free(c);
	*c = next;
}

void html_columns_end(struct html_columns *c)
{
	window_flush(c);
}

/* the blob */

/* A column as pack.h has it: all first bytes of its varints, then all second ones, … */
struct planes {
	bool is_there;
	uint64_t nr[AF_LEB128_MAX + 1]; /* varints, by their bytes */
	uint8_t *at[AF_LEB128_MAX];
};

static size_t varint_size(uint64_t value)
{
	return (size_t)(70 - __builtin_clzll(value | 1)) / 7;
}

static inline void planes_put(struct planes *p, uint64_t value)
{
	uint8_t bytes[AF_LEB128_MAX];
	size_t nr = af_leb128_put(bytes, value);

	for (size_t plane = 0; plane < nr; plane++)
		*p->at[plane]++ = bytes[plane];
}

/* Flows are differences to the one before, which is 0 at first. */
static uint64_t flow_code(uint64_t flow, uint64_t *last)
{
	uint64_t before = *last;

	if (!flow)
		return 0;
	*last = flow - 1;
	return 1 + html_zigzag(flow - 1, before);
}

/* Counts the bytes of each column, or puts them where they belong. */
static inline void columns_pass(const struct html_columns *c, const struct html_what *whats,
                                struct planes planes[COLUMN_END], bool puts)
{
	struct html_columns_reader reader = html_columns_read(c);
	struct html_slice s;
	uint64_t start_ns = 0, flow = 0;

	while (html_columns_next(&reader, &s)) {
		const uint64_t values[COLUMN_END] = {
		    [COLUMN_START] = s.start_ns - start_ns,
		    [COLUMN_LENGTH] = s.length_ns,
		    [COLUMN_NAME] = whats[s.what].name,
		    [COLUMN_NODE] = whats[s.what].node,
		    [COLUMN_WEIGHT] = s.weight_ns,
		    [COLUMN_COUNT] = s.count,
		    [COLUMN_FLOW] = flow_code(s.flow, &flow),
		};
		start_ns = s.start_ns;
		for (int i = 0; i < COLUMN_END; i++) {
			if (!planes[i].is_there)
				continue;
			if (puts)
				planes_put(&planes[i], values[i]);
			else
				planes[i].nr[varint_size(values[i])]++;
		}
	}
}

static uint64_t plane_size(const struct planes *p, int plane)
{
	uint64_t size = 0;

	for (int bytes = plane + 1; bytes <= AF_LEB128_MAX; bytes++)
		size += p->nr[bytes];
	return size;
}

/* Sets where each plane begins; returns the size of all sections. */
static size_t planes_place(struct planes planes[COLUMN_END], uint8_t *data)
{
	size_t at = 0;

	for (int i = 0; i < COLUMN_END; i++) {
		size_t begin = at += HTML_SECTION_HEAD;
		for (int plane = 0; plane < AF_LEB128_MAX; plane++) {
			if (data)
				planes[i].at[plane] = data + at;
			at += plane_size(&planes[i], plane);
		}
		if (data)
			html_section_head(data + begin - HTML_SECTION_HEAD, at - begin);
	}
	return at;
}

int html_columns_write(const struct html_columns *c, const struct html_what *whats, bool named,
                       struct af_buf *out)
{
	struct planes planes[COLUMN_END] = {
	    [COLUMN_START].is_there = true,        [COLUMN_LENGTH].is_there = true,
	    [COLUMN_NAME].is_there = named,        [COLUMN_NODE].is_there = true,
	    [COLUMN_WEIGHT].is_there = c->weights, [COLUMN_COUNT].is_there = c->counts,
	    [COLUMN_FLOW].is_there = c->flows,
	};

	columns_pass(c, whats, planes, false);
	size_t size = planes_place(planes, NULL);
	uint8_t *data = af_xrealloc(NULL, size);
	planes_place(planes, data);
	columns_pass(c, whats, planes, true);
	int rc = html_pack_plain(data, size, out);
	free(data);
	return rc;
}
