#include "render/html/columns.h"

#include <stdlib.h>

#include "base/arena.h"
#include "render/html/pack.h"

static void column_free(struct html_column *c)
{
	for (int i = 0; i < AF_LEB128_MAX; i++)
		af_buf_free(&c->planes[i]);
}

static inline void column_put(struct html_column *c, uint64_t value)
{
	size_t size = af_leb128_size(value);

	for (size_t i = 0; i < size; i++) {
		struct af_buf *plane = &c->planes[i];
		AF_GROW(plane->data, plane->len, plane->cap);
		plane->data[plane->len++] = (char)af_leb128_byte(value, size, i);
	}
}

void html_columns_free(struct html_columns *c)
{
	for (int i = 0; i < COLUMN_END; i++)
		column_free(&c->columns[i]);
	free(c->whats);
	free(c->window);
	free(c->in_window);
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

/* Slices before the first that needs a column get what stands for its absence. */
static void column_begin(struct html_columns *c, int column)
{
	struct html_column *to = &c->columns[column], *lengths = &c->columns[COLUMN_LENGTH];

	for (int i = 0; column == COLUMN_WEIGHT && i < AF_LEB128_MAX; i++)
		if (lengths->planes[i].len)
			af_buf_add(&to->planes[i], lengths->planes[i].data, lengths->planes[i].len);
	for (uint64_t i = 0; column != COLUMN_WEIGHT && i < c->nr; i++)
		column_put(to, column == COLUMN_COUNT);
}

static inline void column_put_unless(struct html_columns *c, int column, uint64_t value,
                                     uint64_t usual)
{
	bool is_there = c->columns[column].planes[0].len;

	if (!is_there && value == usual)
		return;
	if (!is_there)
		column_begin(c, column);
	column_put(&c->columns[column], value);
}

static void columns_put(struct html_columns *c, const struct html_slice *s)
{
	uint64_t flow = s->flow ? 1 + html_zigzag(s->flow - 1, c->last_flow) : 0;

	ends_pop(c, s->start_ns);
	ends_push(c, s);
	column_put_unless(c, COLUMN_WEIGHT, s->weight_ns, s->length_ns);
	column_put_unless(c, COLUMN_COUNT, s->count, 1);
	column_put_unless(c, COLUMN_FLOW, flow, 0);
	column_put(&c->columns[COLUMN_START], s->start_ns - c->last_start_ns);
	column_put(&c->columns[COLUMN_LENGTH], s->length_ns);
	AF_GROW(c->whats, c->nr, c->cap_whats);
	c->whats[c->nr++] = s->what;
	c->last_start_ns = s->start_ns;
	c->last_flow = s->flow ? s->flow - 1 : c->last_flow;
}

static uint64_t column_next(const struct html_columns *c, struct html_columns_reader *r, int column,
                            uint64_t usual)
{
	const struct af_buf *planes = c->columns[column].planes;
	uint64_t value = 0;
	uint8_t byte;
	size_t i = 0;

	if (!planes[0].len)
		return usual;
	do {
		byte = (uint8_t)planes[i].data[r->at[column][i]++];
		value |= af_leb128_part(byte, i);
	} while (byte & 0x80 && ++i < AF_LEB128_MAX);
	return value;
}

bool html_columns_next(const struct html_columns *c, struct html_columns_reader *r,
                       struct html_slice *s)
{
	if (r->nr == c->nr)
		return false;
	r->start_ns += column_next(c, r, COLUMN_START, 0);
	s->start_ns = r->start_ns;
	s->length_ns = column_next(c, r, COLUMN_LENGTH, 0);
	s->weight_ns = column_next(c, r, COLUMN_WEIGHT, s->length_ns);
	s->count = column_next(c, r, COLUMN_COUNT, 1);
	s->what = c->whats[r->nr++];
	uint64_t way = column_next(c, r, COLUMN_FLOW, 0);
	s->flow = 0;
	if (way--) {
		r->flow = way & 1 ? r->flow - (way + 1) / 2 : r->flow + way / 2;
		s->flow = r->flow + 1;
	}
	return true;
}

/*
 * They take turns over the time of the window, each at its share of it: put one behind the other
 * they would leave its end empty, as if nothing had happened then.
 */
static void window_flush(struct html_columns *c)
{
	uint64_t from_ns = c->nr_window ? c->window[0].start_ns : 0, before_ns = 0, all_ns = 0;

	for (uint32_t i = 0; i < c->nr_window; i++)
		all_ns += c->window[i].length_ns;
	for (uint32_t i = 0; i < c->nr_window; i++) {
		struct html_slice *s = &c->window[i];
		unsigned __int128 share =
		    (unsigned __int128)before_ns * (c->window_end_ns - from_ns);
		s->start_ns = from_ns + (all_ns ? (uint64_t)(share / all_ns) : 0);
		before_ns += s->length_ns;
		columns_put(c, s);
	}
	c->nr_window = 0;
	c->epoch++;
}

/* Short slices lie one behind the other, as those that lie within short ones are left out. */
static void window_add(struct html_columns *c, const struct html_slice *s)
{
	AF_REACH(c->in_window, s->what, c->cap_in_window);
	uint64_t *known = &c->in_window[s->what];

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
	    .in_window = c->in_window, .cap_in_window = c->cap_in_window, .epoch = c->epoch + 1};
	struct html_columns_reader reader = {0};
	struct html_slice s;

	window_flush(c);
	while (html_columns_next(c, &reader, &s))
		columns_join(&next, &s, step_ns);
	next.taken = c->taken;
	c->in_window = NULL;
	html_columns_free(c);
	*c = next;
}

void html_columns_end(struct html_columns *c)
{
	window_flush(c);
}

/* Names and nodes of all slices. */
static void columns_mean(const struct html_columns *c, const struct html_what *whats, bool named,
                         struct html_column *names, struct html_column *nodes)
{
	for (uint64_t i = 0; i < c->nr; i++) {
		if (named)
			column_put(names, whats[c->whats[i]].name);
		column_put(nodes, whats[c->whats[i]].node);
	}
}

static void add_column(struct af_buf *plain, const struct html_column *column)
{
	uint8_t head[HTML_SECTION_HEAD];
	size_t size = 0;

	for (int i = 0; i < AF_LEB128_MAX; i++)
		size += column->planes[i].len;
	html_section_head(head, size);
	af_buf_add(plain, head, sizeof head);
	for (int i = 0; i < AF_LEB128_MAX; i++)
		af_buf_add(plain, column->planes[i].data, column->planes[i].len);
}

int html_columns_write(const struct html_columns *c, const struct html_what *whats, bool named,
                       struct af_buf *out)
{
	struct html_column names = {0}, nodes = {0};
	struct af_buf plain = {0};

	columns_mean(c, whats, named, &names, &nodes);
	for (int i = 0; i < COLUMN_END; i++)
		add_column(&plain, i == COLUMN_NAME   ? &names
		                   : i == COLUMN_NODE ? &nodes
		                                      : &c->columns[i]);
	column_free(&names);
	column_free(&nodes);
	int rc = html_pack_plain(plain.data, plain.len, out);
	af_buf_free(&plain);
	return rc;
}
