#include "render/html/columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "render/html/pack.h"

void html_columns_free(struct html_columns *c)
{
	for (int i = 0; i < COLUMN_END; i++)
		af_buf_free(&c->columns[i]);
	free(c->window);
	af_map_free(&c->by_what);
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

/*
 * A column begins with the first slice that needs it. Slices before that get the value that stands
 * for its absence: their lengths, or @usual.
 */
static void column_put(struct html_columns *c, int column, uint64_t value, uint64_t usual)
{
	struct af_buf *b = &c->columns[column];

	if (!b->len && value == usual)
		return;
	if (!b->len && column == COLUMN_WEIGHT && c->nr)
		af_buf_add(b, c->columns[COLUMN_LENGTH].data, c->columns[COLUMN_LENGTH].len);
	else if (!b->len)
		for (uint64_t i = 0; i < c->nr; i++)
			af_buf_char(b, (char)usual);
	af_buf_leb128(b, value);
}

static void columns_put(struct html_columns *c, const struct html_slice *s)
{
	uint64_t flow = s->flow ? 1 + html_zigzag(s->flow - 1, c->last_flow) : 0;

	ends_pop(c, s->start_ns);
	ends_push(c, s);
	column_put(c, COLUMN_WEIGHT, s->weight_ns, s->length_ns);
	column_put(c, COLUMN_COUNT, s->count, 1);
	column_put(c, COLUMN_FLOW, flow, 0);
	af_buf_leb128(&c->columns[COLUMN_START], s->start_ns - c->last_start_ns);
	af_buf_leb128(&c->columns[COLUMN_LENGTH], s->length_ns);
	af_buf_leb128(&c->columns[COLUMN_NAME], s->name);
	af_buf_leb128(&c->columns[COLUMN_NODE], s->node);
	c->last_start_ns = s->start_ns;
	c->last_flow = s->flow ? s->flow - 1 : c->last_flow;
	c->nr++;
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
	bool fresh;
	uint64_t *slot = af_map_at(&c->by_what, (uint64_t)s->name << 32 | s->node, &fresh);

	c->window_end_ns = s->start_ns + s->length_ns;
	if (fresh || *slot >> 32 != c->epoch) {
		*slot = (uint64_t)c->epoch << 32 | c->nr_window;
		AF_GROW(c->window, c->nr_window, c->cap_window);
		c->window[c->nr_window++] = *s;
		return;
	}
	struct html_slice *into = &c->window[(uint32_t)*slot];
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

static uint64_t column_next(struct af_cursor *at, uint64_t usual)
{
	return at->at ? af_cursor_uleb(at) : usual;
}

/* Undo what columns_put() writes; *@last is the id before. */
static uint64_t flow_next(struct af_cursor *at, uint64_t *last)
{
	uint64_t way = column_next(at, 0);

	if (!way--)
		return 0;
	*last = way & 1 ? *last - (way + 1) / 2 : *last + way / 2;
	return *last + 1;
}

void html_columns_coarsen(struct html_columns *c, uint64_t step_ns)
{
	struct html_columns next = {
	    .by_what = c->by_what, .epoch = c->epoch + 1, .named = c->named};
	struct af_cursor at[COLUMN_END];
	struct html_slice s = {0};

	window_flush(c);
	for (int i = 0; i < COLUMN_END; i++)
		at[i] = af_buf_cursor(&c->columns[i]);
	for (uint64_t i = 0, flow = 0; i < c->nr; i++) {
		s.start_ns += af_cursor_uleb(&at[COLUMN_START]);
		s.length_ns = af_cursor_uleb(&at[COLUMN_LENGTH]);
		s.name = (uint32_t)af_cursor_uleb(&at[COLUMN_NAME]);
		s.node = (uint32_t)af_cursor_uleb(&at[COLUMN_NODE]);
		s.weight_ns = column_next(&at[COLUMN_WEIGHT], s.length_ns);
		s.count = column_next(&at[COLUMN_COUNT], 1);
		s.flow = flow_next(&at[COLUMN_FLOW], &flow);
		columns_join(&next, &s, step_ns);
	}
	next.taken = c->taken;
	c->by_what = (struct af_map){0};
	html_columns_free(c);
	*c = next;
}

void html_columns_end(struct html_columns *c)
{
	window_flush(c);
}

int html_columns_write(const struct html_columns *c, const struct html_pack *pack,
                       struct af_buf *out)
{
	struct af_buf sections[COLUMN_END];
	struct af_buf *names = &sections[COLUMN_NAME];
	struct af_cursor at = af_buf_cursor(&c->columns[COLUMN_NAME]);

	memcpy(sections, c->columns, sizeof sections);
	*names = (struct af_buf){0};
	for (uint64_t i = 0; c->named && i < c->nr; i++)
		af_buf_leb128(names, pack->rank[af_cursor_uleb(&at)]);
	int rc = html_pack_sections(sections, COLUMN_END, out);
	af_buf_free(names);
	return rc;
}
