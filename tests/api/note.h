/*
 * For the programs that tests/api/coverage generates and compiles with a vendor's own headers:
 * values to pass, and notes of what was passed, as bytes.
 *
 *	note_begin(name) → { note_arg() }* → the call → note_end()
 *
 * What pointers lead to is noted twice, before and after the call.
 */
#ifndef AF_TESTS_API_NOTE_H
#define AF_TESTS_API_NOTE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { NOTE_ARGS = 40, NOTE_ROOM = 4096, NOTE_SHOWN = 1024, NOTE_ELEMENTS = 4 };

/* A call that works; one that fails; zeros for all arguments; pointers to nowhere, and it fails. */
enum note_way { NOTE_WORKS, NOTE_FAILS, NOTE_ZEROS, NOTE_WILD, NOTE_WAYS };

static const char *const note_ways[] = {"works", "fails", "zeros", "wild"};

struct note_arg {
	const char *name;
	unsigned char value[128];
	size_t size, element;
	int is_void; /* nothing says what it leads to */
	void *to;    /* NULL: it leads nowhere that is ours */
	unsigned char before[NOTE_SHOWN];
};

static struct {
	const char *name;
	enum note_way way;
	struct note_arg args[NOTE_ARGS];
	unsigned nr;
	uint64_t begin_ns;
} note;

/* The bytes that element @e of parameter @index has: never 0, and every pair has its own. */
static inline void note_pattern(void *at, unsigned index, unsigned e, size_t element)
{
	memset(at, (int)(0x10 * (index % 12 + 1) + e % 15 + 1), element);
}

/* Elements with known values, and zeros behind them. */
static inline void *note_elements(unsigned index, size_t element)
{
	char *room = calloc(1, NOTE_ROOM);

	for (unsigned e = 0; e < NOTE_ELEMENTS && (e + 1) * element <= NOTE_ROOM; e++)
		note_pattern(room + e * element, index, e, element);
	return room;
}

/* Room that a call may write. */
static inline void *note_room(void)
{
	void *room = malloc(NOTE_ROOM);

	memset(room, 0xee, NOTE_ROOM);
	return room;
}

static inline void *note_string(const char *text)
{
	char *room = calloc(1, NOTE_ROOM);

	snprintf(room, NOTE_ROOM, "the %s", text);
	return room;
}

static inline void *note_strings(const char *text)
{
	char **room = calloc(1, NOTE_ROOM);

	for (unsigned i = 0; i < NOTE_ELEMENTS; i++)
		room[i] = note_string(text);
	return room;
}

static inline void *note_bytes(unsigned index)
{
	unsigned char *room = calloc(1, NOTE_ROOM);

	for (unsigned i = 0; i < NOTE_ROOM; i++)
		room[i] = (unsigned char)((7 * i + index) | 1);
	return room;
}

static inline void *note_sizes(unsigned index)
{
	size_t *room = calloc(1, NOTE_ROOM);

	for (unsigned i = 0; i < NOTE_ELEMENTS; i++)
		room[i] = 4 * (index + 1) + i;
	return room;
}

static inline uint64_t note_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline void note_begin(const char *name, enum note_way way)
{
	note.name = name;
	note.way = way;
	note.nr = 0;
	note.begin_ns = note_ns();
}

static inline void note_arg(const char *name, const void *value, size_t size, void *to,
                            size_t element, int is_void)
{
	struct note_arg *a = &note.args[note.nr++];

	a->name = name;
	a->size = size;
	a->element = element;
	a->is_void = is_void;
	a->to = to;
	memcpy(a->value, value, size < sizeof a->value ? size : sizeof a->value);
	if (to)
		memcpy(a->before, to, sizeof a->before);
}

static inline void note_hex(FILE *out, const char *key, const void *from, size_t size)
{
	const unsigned char *p = from;

	fprintf(out, ", \"%s\": \"", key);
	for (size_t i = 0; i < size; i++)
		fprintf(out, "%02x", p[i]);
	fputc('"', out);
}

/* One line of JSON, appended to @out. */
static inline void note_end(FILE *out, const void *result, size_t size, uint32_t correlation)
{
	const unsigned long long end_ns = note_ns();

	fprintf(out,
	        "{\"function\": \"%s\", \"way\": \"%s\", \"pid\": %d, \"correlation\": %u, "
	        "\"begin_ns\": %llu, \"end_ns\": %llu",
	        note.name, note_ways[note.way], (int)getpid(), correlation,
	        (unsigned long long)note.begin_ns, end_ns);
	note_hex(out, "result", result, size);
	fputs(", \"args\": [", out);
	for (unsigned i = 0; i < note.nr; i++) {
		const struct note_arg *a = &note.args[i];
		fprintf(out, "%s{\"name\": \"%s\", \"void\": %d, \"element\": %zu", i ? ", " : "",
		        a->name, a->is_void, a->element);
		note_hex(out, "value", a->value, a->size);
		size_t shown = a->element > NOTE_SHOWN ? a->element : NOTE_SHOWN;
		if (a->to)
			note_hex(out, "after", a->to, shown < NOTE_ROOM ? shown : NOTE_ROOM);
		if (a->to && memcmp(a->before, a->to, sizeof a->before))
			note_hex(out, "before", a->before, sizeof a->before);
		fputc('}', out);
	}
	fputs("]}\n", out);
}

#endif
