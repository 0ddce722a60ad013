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

/* Drop the open slices that ended by @start_ns. */
static void ends_pop(struct html_columns *c, uint64_t start_ns)
{
	while (c->nr_ends && c->ends_ns[c->nr_ends - 1] <= start_ns)
		c->nr_ends--;
}

static void ends_push(struct html_columns *c, const struct html_slice *s, bool around)
{
	if (c->nr_ends == AF_ROWS_DEPTH)
		return;
	if (c->nr_ends + 1 > c->depth)
		c->depth = c->nr_ends + 1;
	if (s->length_ns && around)
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

/* @around: others may lie within it. */
static void columns_put(struct html_columns *c, const struct html_slice *s, bool around)
{
	uint64_t flow = s->flow ? 1 + html_zigzag(s->flow - 1, c->last_flow) : 0;

	ends_pop(c, s->start_ns);
	ends_push(c, s, around);
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

/* The number that begins with @byte, of which the rest is next. */
static uint64_t column_rest(const struct af_buf *planes, size_t *at, uint8_t byte)
{
	uint64_t value = af_leb128_part(byte, 0);

	for (size_t i = 1; byte & 0x80 && i < AF_LEB128_MAX; i++) {
		byte = (uint8_t)planes[i].data[at[i]++];
		value |= af_leb128_part(byte, i);
	}
	return value;
}

static inline uint64_t column_next(const struct html_columns *c, struct html_columns_reader *r,
                                   int column, uint64_t usual)
{
	const struct af_buf *planes = c->columns[column].planes;

	if (!planes[0].len)
		return usual;
	uint8_t byte = (uint8_t)planes[0].data[r->at[column][0]++];
	return byte & 0x80 ? column_rest(planes, r->at[column], byte) : byte;
}

/* Only when the next slice is, and what. */
static inline bool times_next(const struct html_columns *c, struct html_columns_reader *r,
                              struct html_slice *s)
{
	if (r->nr == c->nr)
		return false;
	r->start_ns += column_next(c, r, COLUMN_START, 0);
	s->start_ns = r->start_ns;
	s->length_ns = column_next(c, r, COLUMN_LENGTH, 0);
	s->what = c->whats[r->nr++];
	return true;
}

bool html_columns_next(const struct html_columns *c, struct html_columns_reader *r,
                       struct html_slice *s)
{
	if (!times_next(c, r, s))
		return false;
	s->weight_ns = column_next(c, r, COLUMN_WEIGHT, s->length_ns);
	s->count = column_next(c, r, COLUMN_COUNT, 1);
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
		columns_put(c, s, false);
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

/* Does the slice around the window end by @start_ns, or does the next step begin? */
static bool window_ends(const struct html_columns *c, uint64_t start_ns, uint64_t step_ns)
{
	return (c->nr_ends && c->ends_ns[c->nr_ends - 1] <= start_ns) ||
	       start_ns - c->window_at >= step_ns;
}

static void columns_join(struct html_columns *c, const struct html_slice *s, uint64_t step_ns)
{
	if (s->length_ns >= step_ns) {
		window_flush(c);
		columns_put(c, s, true);
		return;
	}
	if (c->nr_window && s->start_ns < c->window_end_ns)
		return;
	if (window_ends(c, s->start_ns, step_ns)) {
		window_flush(c);
		ends_pop(c, s->start_ns);
		c->window_at = s->start_ns - s->start_ns % step_ns;
	}
	window_add(c, s);
}

void html_columns_add(struct html_columns *c, const struct html_slice *s, uint64_t step_ns)
{
	c->taken++;
	if (step_ns)
		columns_join(c, s, step_ns);
	else
		columns_put(c, s, true);
}

/* The lowest level whose step is longer than @units of the shortest. */
static uint32_t level_of(uint64_t units)
{
	return units ? (65 - (uint32_t)__builtin_clzll(units)) / 2 : 0;
}

/* Slices that are counted, in units of the shortest step. */
struct counted {
	struct counted_last {
		uint64_t start, length; /* start 0: none */
	} * last;                       /* by what */
	uint32_t nr_last;
	struct counted_around {
		uint64_t end_ns, length;
	} around[AF_ROWS_DEPTH]; /* those that lie around the next one */
	uint32_t nr_around;
};

/* The level from which on the slice is left out, as what lies around it is short then. */
static uint32_t level_around(struct counted *c, const struct html_slice *s, uint64_t length)
{
	uint32_t level = HTML_STEPS;

	while (c->nr_around && c->around[c->nr_around - 1].end_ns <= s->start_ns)
		c->nr_around--;
	if (c->nr_around)
		level = level_of(c->around[c->nr_around - 1].length);
	if (c->nr_around < AF_ROWS_DEPTH)
		c->around[c->nr_around++] =
		    (struct counted_around){s->start_ns + s->length_ns, length};
	return level;
}

/* Steps divide each other: the lowest level that merges the slice, HTML_STEPS for none. */
static uint32_t counted_level(struct counted *c, const struct html_slice *s)
{
	uint64_t start = s->start_ns / HTML_STEP_NS + 1, length = s->length_ns / HTML_STEP_NS;
	uint32_t around = level_around(c, s, length), level = HTML_STEPS;

	if (around <= level_of(length))
		return around;
	AF_REACH(c->last, s->what, c->nr_last);
	struct counted_last *last = &c->last[s->what];
	if (last->start)
		level = level_of(((start - 1) ^ (last->start - 1)) | length | last->length);
	*last = (struct counted_last){start, length};
	return level < around ? level : around;
}

void html_columns_count(struct html_columns *c, uint64_t merged[HTML_STEPS])
{
	struct html_columns_reader reader = {0};
	struct counted counted = {0};
	struct html_slice s;

	window_flush(c);
	while (times_next(c, &reader, &s)) {
		uint32_t level = counted_level(&counted, &s);
		if (level < HTML_STEPS)
			merged[level]++;
	}
	free(counted.last);
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
