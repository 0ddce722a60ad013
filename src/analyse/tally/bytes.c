/* Tallies as bytes. Nothing that is read is believed: another process may have sent anything. */
#include <errno.h>
#include <string.h>

#include "analyse/tally/private.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"

static void write_text(struct af_buf *to, const char *text)
{
	af_buf_add(to, text, strlen(text) + 1);
}

/* Buckets that are not empty, each with its count, behind their number. */
static void write_histogram(struct af_buf *to, const struct af_histogram *h)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < AF_HISTOGRAM_BUCKETS && h->counts; i++)
		nr += h->counts[i] != 0;
	af_buf_leb128(to, h->counts ? nr : h->nr);
	for (unsigned i = 0; i < AF_HISTOGRAM_BUCKETS && h->counts; i++) {
		if (!h->counts[i])
			continue;
		af_buf_char(to, (char)i);
		af_buf_leb128(to, h->counts[i]);
	}
	for (unsigned i = 0; i < h->nr && !h->counts; i++) {
		af_buf_char(to, (char)h->bucket[i]);
		af_buf_leb128(to, h->few[i]);
	}
}

static void read_histogram(struct af_cursor *from, struct af_histogram *h)
{
	uint64_t nr = af_cursor_uleb(from);

	from->bad |= nr > AF_HISTOGRAM_BUCKETS;
	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		uint64_t bucket = af_cursor_uint(from, 1), n = af_cursor_uleb(from);
		from->bad |= bucket >= AF_HISTOGRAM_BUCKETS || n > UINT32_MAX;
		if (!from->bad)
			af_histogram_put(h, (unsigned)bucket, (uint32_t)n);
	}
}

static void write_stats(struct af_buf *to, const struct af_call_stats *s)
{
	const uint64_t all[] = {s->count, s->failed, s->time_ns,   s->min_ns,   s->max_ns,
	                        s->bytes, s->sized,  s->min_bytes, s->max_bytes};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		af_buf_leb128(to, all[i]);
	write_histogram(to, &s->times);
	write_histogram(to, &s->sizes);
}

static void read_stats(struct af_cursor *from, struct af_call_stats *s)
{
	uint64_t *const all[] = {&s->count, &s->failed, &s->time_ns,   &s->min_ns,   &s->max_ns,
	                         &s->bytes, &s->sized,  &s->min_bytes, &s->max_bytes};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		*all[i] = af_cursor_uleb(from);
	from->bad |= s->failed > s->count;
	read_histogram(from, &s->times);
	read_histogram(from, &s->sizes);
}

static void write_row(struct af_buf *to, const struct af_tally_row *r)
{
	const char *const texts[] = {r->function, r->driver, r->api,     r->category,
	                             r->host,     r->rank,   r->process, r->thread};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		write_text(to, texts[i]);
	af_buf_char(to, (char)r->level);
	af_buf_char(to, (char)r->source);
	af_buf_char(to, (char)r->moves);
	write_stats(to, &r->stats);
}

/* Texts are those of @from until the row is joined, which copies them. */
static void read_row(struct af_cursor *from, struct af_tally_row *r)
{
	const char **const texts[] = {&r->function, &r->driver, &r->api,     &r->category,
	                              &r->host,     &r->rank,   &r->process, &r->thread};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const char *text = af_cursor_string(from);
		*texts[i] = text ? text : "";
	}
	uint64_t level = af_cursor_uint(from, 1), source = af_cursor_uint(from, 1);
	from->bad |= level >= AF_TALLY_LEVELS || source > AF_TALLY_ENQUEUED;
	r->level = from->bad ? 0 : (enum af_tally_level)level;
	r->source = from->bad ? 0 : (enum af_tally_source)source;
	r->moves = af_cursor_uint(from, 1) != 0;
	read_stats(from, &r->stats);
}

static void write_keys(struct af_buf *to, const struct af_keys *keys)
{
	size_t at = 0, len;

	af_buf_leb128(to, keys->nr);
	for (const void *key; (key = af_keys_next(keys, &at, &len));) {
		af_buf_leb128(to, len);
		af_buf_add(to, key, len);
	}
}

static void read_keys(struct af_cursor *from, struct af_keys *keys)
{
	uint64_t nr = af_cursor_uleb(from);

	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		uint64_t len = af_cursor_uleb(from);
		const uint8_t *key = af_cursor_bytes(from, len);
		if (key)
			af_keys_at(keys, key, len, NULL);
	}
}

void af_tally_write(const struct af_tally *t, struct af_buf *to)
{
	const uint64_t all[] = {t->with_calls, t->threads_with_calls, t->nr_open, t->nr_lost,
	                        t->nr_strange};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		af_buf_leb128(to, all[i]);
	write_keys(to, &t->devices);
	write_keys(to, &t->hosts);
	af_buf_leb128(to, t->nr);
	for (uint32_t i = 0; i < t->nr; i++)
		write_row(to, &t->rows[i]);
}

int af_tally_read(struct af_tally *t, struct af_cursor *from, struct af_err *err)
{
	uint64_t *const all[] = {&t->with_calls, &t->threads_with_calls, &t->nr_open, &t->nr_lost,
	                         &t->nr_strange};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		*all[i] = af_cursor_uleb(from);
	read_keys(from, &t->devices);
	read_keys(from, &t->hosts);
	uint64_t nr = af_cursor_uleb(from);
	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		AF_GROW(t->rows, t->nr, t->cap);
		t->rows[t->nr] = (struct af_tally_row){0};
		read_row(from, &t->rows[t->nr++]);
	}
	if (from->bad)
		return af_fail_plain(err, -EBADMSG, "the sums of another process are damaged");
	return 0;
}
