/*
 * Recognises the format of a file by its beginning. Binary formats have a first word. Text formats
 * are recognised by the form of most lines, and JSON by its structure, because a typical word of
 * one format may stand anywhere in a file of another.
 */
#ifndef AF_EXCHANGE_SOURCE_SNIFF_H
#define AF_EXCHANGE_SOURCE_SNIFF_H

#include <stdbool.h>
#include <stddef.h>

enum { IMPORT_HEAD_BYTES = 128 << 10 }; /* of a file that is looked at */

/* Is the line from @p to @end a line of the format? A @cut line has only its beginning. */
typedef bool import_line_is(const char *p, const char *end, bool cut);

/*
 * Do most lines of the @len bytes at @text match? Empty lines and comments (#) do not count, nor
 * does a last line that is cut, unless it is the only one.
 */
bool import_most_lines(const char *text, size_t len, import_line_is *is);

/* Does a line begin with @prefix? */
bool import_has_line(const char *text, size_t len, const char *prefix);

enum import_json_kind {
	IMPORT_JSON_NONE,  /* it is no JSON */
	IMPORT_JSON_OTHER, /* events, as far as can be seen */
	IMPORT_JSON_SPEEDSCOPE,
	IMPORT_JSON_CPUPROFILE, /* V8's: node --cpu-prof, Chrome */
	IMPORT_JSON_FIREFOX,
	IMPORT_JSON_DHAT
};

/* Which JSON format begins with the @len bytes at @text, by the first members of its object. */
enum import_json_kind import_json_kind(const char *text, size_t len);

/* A format that is recognised but not read. */
struct import_foreign {
	const char *name;
	/* a tool that reads it, or converts it to something that is read here */
	const char *advice;
};

/* The foreign format that begins so; NULL: none that is known. */
const struct import_foreign *import_foreign(const char *text, size_t len);

#endif
