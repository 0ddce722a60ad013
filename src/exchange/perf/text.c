#include "exchange/perf/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { FRAMES_MAX = 1 << 14 }; /* of a sample */

/* In the map of lines: where the frames are, and how many. */
#define SEEN(first, nr) ((uint64_t)(first) << 8 | (nr))

void perf_text_open(struct perf_text *p, const struct perf_text_options *o,
                    const struct perf_text_sink *sink)
{
	*p = (struct perf_text){.options = *o, .sink = *sink};
	if (o->event)
		snprintf(p->event, sizeof p->event, "%s", o->event);
}

void perf_text_close(struct perf_text *p)
{
	af_keys_free(&p->seen[0]);
	af_keys_free(&p->seen[1]);
	af_buf_free(&p->both);
	free(p->stored);
	free(p->frames);
	af_buf_free(&p->text);
	af_buf_free(&p->place);
	*p = (struct perf_text){0};
}

static void bad_at(struct perf_text *p, uint64_t line)
{
	if (!p->bad++)
		p->first_bad = line;
}

static void bad_line(struct perf_text *p)
{
	bad_at(p, p->line);
}

/* The line whose frames are handed over now. */
struct line_taken {
	struct perf_text *text;
	const struct perf_text_frame *line;
};

/* The remaining frames of a stored line, outermost first. */
static void frame_take(void *arg, const char *text, size_t len, enum perf_text_kind kind)
{
	const struct line_taken *of = arg;
	struct perf_text *p = of->text;

	AF_GROW(p->stored, p->nr_stored, p->cap_stored);
	p->stored[p->nr_stored++] =
	    p->sink.frame(p->sink.arg, text, len, kind, of->line->module, of->line->module_len);
}

static void frames_push(struct perf_text *p, uint32_t first, uint32_t nr)
{
	/* A line has its outermost frame first, a stack its leaf. */
	while (nr-- && p->sample.nr < FRAMES_MAX) {
		AF_GROW(p->frames, p->sample.nr, p->cap_frames);
		p->frames[p->sample.nr++] = p->stored[first + nr];
	}
}

/* The frames of the line with @key in the map of lines; false: it is not a frame's line. */
static bool frame_new(struct perf_text *p, const char *line, size_t len, const char *place,
                      size_t place_len, const char *key, size_t key_len)
{
	struct perf_text_frame f;
	uint32_t first = p->nr_stored;

	if (!perf_text_frame(line, len, &f))
		return false;
	p->loose = false;
	perf_text_functions(&f, p->java, p->options.addresses, place, place_len, &p->text,
	                    frame_take, &(struct line_taken){p, &f});
	uint32_t nr = p->nr_stored - first;
	nr = nr < UINT8_MAX ? nr : UINT8_MAX;
	*af_keys_at(&p->seen[p->java], key, key_len, NULL) = SEEN(first, nr);
	frames_push(p, first, nr);
	return true;
}

static bool frame_line(struct perf_text *p, const char *line, size_t len, const char *place,
                       size_t place_len)
{
	const char *key = line;
	size_t key_len = len;

	if (place) {
		p->both.len = 0;
		af_buf_add(&p->both, line, len);
		af_buf_char(&p->both, '\n');
		af_buf_add(&p->both, place, place_len);
		key = p->both.data;
		key_len = p->both.len;
	}
	const uint64_t *seen = af_keys_get(&p->seen[p->java], key, key_len);
	if (!seen)
		return frame_new(p, line, len, place, place_len, key, key_len);
	p->loose = false;
	frames_push(p, (uint32_t)(*seen >> 8), *seen & UINT8_MAX);
	return true;
}

/* A frame that waited for its source line and gets none. */
static void place_none(struct perf_text *p)
{
	if (p->waiting && !frame_line(p, p->place.data, p->place.len, NULL, 0))
		bad_line(p);
	p->waiting = false;
}

static void sample_end(struct perf_text *p)
{
	place_none(p);
	if (p->in_sample && p->loose) {
		bad_at(p, p->loose_line);
	} else if (p->in_sample && !p->skip) {
		p->sample.frames = p->frames;
		p->samples++;
		p->periods |= p->sample.has_period;
		p->sink.sample(p->sink.arg, &p->sample);
	}
	p->in_sample = p->skip = false;
}

/* A requested event is found by its name without modifiers too. */
static bool is_event(struct perf_text *p, const struct perf_text_event *e)
{
	size_t n = strlen(p->event);

	if (!e->name)
		return !p->options.event;
	if (!n)
		snprintf(p->event, sizeof p->event, "%.*s", (int)(e->len < 127 ? e->len : 127),
		         e->name);
	else if (e->len < n || memcmp(e->name, p->event, n) ||
	         (e->len > n && (!p->options.event || e->name[n] != ':')))
		return n == sizeof p->event - 1 && !strncmp(e->name, p->event, n);
	return true;
}

static void header_take(struct perf_text *p, const struct perf_text_event *e)
{
	struct perf_text_sample *s = &p->sample;

	if (!s->comm_len) {
		s->comm = "[no comm]";
		s->comm_len = strlen(s->comm);
	}
	/* The line's bytes are gone by the time its frames are handed over. */
	s->comm_len = s->comm_len < sizeof p->comm ? s->comm_len : sizeof p->comm;
	memcpy(p->comm, s->comm, s->comm_len);
	s->comm = p->comm;
	p->java = s->comm_len >= 4 && !memcmp(s->comm, "java", 4);
	p->in_sample = true;
	p->skip = !is_event(p, e);
	if (p->skip && !p->others++)
		snprintf(p->other, sizeof p->other, "%.*s", (int)(e->len < 127 ? e->len : 127),
		         e->name ? e->name : "");
	/*
	 * Without call chains, the rest of the header is the only frame; of a tracepoint it is its
	 * fields.
	 */
	if (e->rest_len && frame_line(p, e->rest, e->rest_len, NULL, 0))
		sample_end(p);
}

/* Is it file.c:12? Without a line perf prints module[address] instead. */
static bool is_place(const char *line, size_t len)
{
	size_t n = len;

	while (n && line[n - 1] >= '0' && line[n - 1] <= '9')
		n--;
	return n < len && n && line[n - 1] == ':';
}

/* A line of a stack; false: it is not one. */
static bool stack_line(struct perf_text *p, const char *line, size_t len)
{
	struct perf_text_frame f;

	if (p->skip && perf_text_frame(line, len, &f)) {
		p->loose = false;
		return true;
	}
	if (!p->options.lines)
		return frame_line(p, line, len, NULL, 0);
	if (perf_text_frame(line, len, &f)) {
		place_none(p);
		p->place.len = 0;
		af_buf_add(&p->place, line, len);
		p->waiting = true;
		return true;
	}
	bool waiting = p->waiting;
	if (waiting && !is_place(line, len)) {
		place_none(p);
		return true;
	}
	p->waiting = false;
	while (len && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	return waiting && frame_line(p, p->place.data, p->place.len, line, len);
}

/* The first line of a sample: a header, or a frame if perf printed no header columns. */
static void sample_begin(struct perf_text *p, const char *line, size_t len, bool indented)
{
	struct perf_text_event e;
	struct perf_text_sample s;
	struct perf_text_frame f;
	bool sure = perf_text_header(line, len, &s, &e);

	if (!sure && p->in_sample) {
		bad_line(p);
		return;
	}
	sample_end(p);
	p->sample = s;
	p->loose = !sure;
	p->loose_line = p->line;
	if (sure || !indented || !perf_text_frame(line, len, &f)) {
		header_take(p, &e);
		return;
	}
	p->sample = (struct perf_text_sample){.period = 1, .comm = line};
	header_take(p, &(struct perf_text_event){0});
	stack_line(p, line, len);
}

void perf_text_line(struct perf_text *p, const char *line, size_t len)
{
	size_t blanks = 0;

	p->line++;
	if (len && line[len - 1] == '\r')
		len--;
	while (blanks < len && (line[blanks] == ' ' || line[blanks] == '\t'))
		blanks++;
	if (blanks == len)
		sample_end(p);
	if (blanks == len || *line == '#')
		return;
	if (!blanks || !p->in_sample || !stack_line(p, line, len))
		sample_begin(p, line, len, blanks > 0);
}

void perf_text_end(struct perf_text *p)
{
	sample_end(p);
}

static uint32_t frame_none(void *arg, const char *text, size_t len, enum perf_text_kind kind,
                           const char *module, size_t module_len)
{
	return 0;
}

static void sample_none(void *arg, const struct perf_text_sample *s)
{
}

/*
 * True if the text has samples and most of its lines belong to them. The last line may be cut off.
 */
bool perf_text_is(const char *text, size_t len)
{
	const struct perf_text_options options = {0};
	const struct perf_text_sink sink = {frame_none, sample_none, NULL};
	const char *end = text + len, *nl;
	struct perf_text p;
	uint64_t lines = 0;

	perf_text_open(&p, &options, &sink);
	for (; text < end; text = nl + 1) {
		nl = memchr(text, '\n', (size_t)(end - text));
		if (!nl && lines)
			break;
		nl = nl ? nl : end;
		lines += nl > text && *text != '#' && *text != '\r';
		perf_text_line(&p, text, (size_t)(nl - text));
	}
	perf_text_end(&p);
	bool is = p.samples && p.bad * 2 < lines;
	perf_text_close(&p);
	return is;
}
