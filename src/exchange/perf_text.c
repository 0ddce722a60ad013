#include "exchange/perf_text.h"

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
	af_map_free(&p->seen);
	free(p->stored);
	free(p->frames);
	af_buf_free(&p->text);
	af_buf_free(&p->place);
	*p = (struct perf_text){0};
}

static void bad_line(struct perf_text *p)
{
	if (!p->bad++)
		p->first_bad = p->line;
}

/* The rest of a stored line, outermost first as they come. */
static void frame_take(void *arg, const char *text, size_t len, enum perf_text_kind kind)
{
	struct perf_text *p = arg;

	AF_GROW(p->stored, p->nr_stored, p->cap_stored);
	p->stored[p->nr_stored++] = p->sink.frame(p->sink.arg, text, len, kind);
}

static void frames_push(struct perf_text *p, uint32_t first, uint32_t nr)
{
	/* Within a line the outermost comes first, in a stack the leaf. */
	while (nr-- && p->sample.nr < FRAMES_MAX) {
		AF_GROW(p->frames, p->sample.nr, p->cap_frames);
		p->frames[p->sample.nr++] = p->stored[first + nr];
	}
}

/* Frames of the line, whose hash is @hash; false: it is none. */
static bool frame_new(struct perf_text *p, const char *line, size_t len, const char *place,
                      size_t place_len, uint64_t hash)
{
	struct perf_text_frame f;
	uint32_t first = p->nr_stored;

	if (!perf_text_frame(line, len, &f))
		return false;
	perf_text_functions(&f, p->java, p->options.addresses, place, place_len, &p->text,
	                    frame_take, p);
	uint32_t nr = p->nr_stored - first;
	nr = nr < UINT8_MAX ? nr : UINT8_MAX;
	*af_map_at(&p->seen, hash, NULL) = SEEN(first, nr);
	frames_push(p, first, nr);
	return true;
}

static bool frame_line(struct perf_text *p, const char *line, size_t len, const char *place,
                       size_t place_len)
{
	/* 64 bits stand for the line: one in millions of millions would be taken for another. */
	uint64_t hash = af_hash(line, len) ^ p->java;

	if (place)
		hash = af_mul_fold(hash | 1, af_hash(place, place_len));
	const uint64_t *seen = af_map_get(&p->seen, hash);
	if (!seen)
		return frame_new(p, line, len, place, place_len, hash);
	frames_push(p, (uint32_t)(*seen >> 8), *seen & UINT8_MAX);
	return true;
}

/* A frame that waited for its place in the source and gets none. */
static void place_none(struct perf_text *p)
{
	if (p->waiting && !frame_line(p, p->place.data, p->place.len, NULL, 0))
		bad_line(p);
	p->waiting = false;
}

static void sample_end(struct perf_text *p)
{
	place_none(p);
	if (p->within && !p->skip) {
		p->sample.frames = p->frames;
		p->samples++;
		p->sink.sample(p->sink.arg, &p->sample);
	}
	p->within = p->skip = false;
}

/* The event's name up to its modifiers is enough where one was asked for. */
static bool is_event(struct perf_text *p, const char *event, size_t len)
{
	size_t n = strlen(p->event);

	if (!n)
		snprintf(p->event, sizeof p->event, "%.*s", (int)(len < 127 ? len : 127), event);
	else if (len < n || memcmp(event, p->event, n) ||
	         (len > n && (!p->options.event || event[n] != ':')))
		return n == sizeof p->event - 1 && !strncmp(event, p->event, n);
	return true;
}

static void header_take(struct perf_text *p, const char *event, size_t event_len, const char *rest,
                        size_t rest_len)
{
	struct perf_text_sample *s = &p->sample;

	/* The line is gone when the frames are there. */
	s->comm_len = s->comm_len < sizeof p->comm ? s->comm_len : sizeof p->comm;
	memcpy(p->comm, s->comm, s->comm_len);
	s->comm = p->comm;
	p->java = s->comm_len >= 4 && !memcmp(s->comm, "java", 4);
	p->within = true;
	p->skip = !is_event(p, event, event_len);
	if (p->skip && !p->others++)
		snprintf(p->other, sizeof p->other, "%.*s",
		         (int)(event_len < 127 ? event_len : 127), event);
	/* Without call chains the only frame stands here; of tracepoints, their fields. */
	if (rest_len && frame_line(p, rest, rest_len, NULL, 0))
		sample_end(p);
}

/* file.c:12, and not what perf prints where there is no such line: module[address]. */
static bool is_place(const char *line, size_t len)
{
	size_t n = len;

	while (n && line[n - 1] >= '0' && line[n - 1] <= '9')
		n--;
	return n < len && n && line[n - 1] == ':';
}

/* A line of a stack; false: it is none. */
static bool stack_line(struct perf_text *p, const char *line, size_t len)
{
	struct perf_text_frame f;

	if (p->skip && perf_text_frame(line, len, &f))
		return true;
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

void perf_text_line(struct perf_text *p, const char *line, size_t len)
{
	struct perf_text_sample s;
	const char *event, *rest;
	size_t event_len, blanks = 0;

	p->line++;
	if (len && line[len - 1] == '\r')
		len--;
	while (blanks < len && (line[blanks] == ' ' || line[blanks] == '\t'))
		blanks++;
	if (blanks == len)
		sample_end(p);
	if (blanks == len || *line == '#')
		return;
	if (blanks && p->within && stack_line(p, line, len))
		return;
	if (perf_text_header(line, len, &s, &event, &event_len, &rest)) {
		sample_end(p);
		p->sample = s;
		header_take(p, event, event_len, rest, (size_t)(line + len - rest));
	} else {
		bad_line(p);
	}
}

void perf_text_end(struct perf_text *p)
{
	sample_end(p);
}

/* Its first line that is neither empty nor a comment begins a sample. */
bool perf_text_is(const char *text, size_t len)
{
	const char *end = text + len, *event, *rest;
	struct perf_text_sample s;
	size_t event_len;

	for (const char *nl; text < end; text = nl + 1) {
		nl = memchr(text, '\n', (size_t)(end - text));
		nl = nl ? nl : end;
		if (text == nl || *text == '#' || *text == '\r')
			continue;
		return perf_text_header(text, (size_t)(nl - text), &s, &event, &event_len, &rest);
	}
	return false;
}
