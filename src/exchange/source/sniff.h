/*
 * What a file is, by how it begins. Binary formats have a first word; text formats are told by what
 * most of their lines look like, and JSON by its structure: a word that a format has may stand
 * anywhere in a file of another.
 */
#ifndef AF_EXCHANGE_SOURCE_SNIFF_H
#define AF_EXCHANGE_SOURCE_SNIFF_H

#include <stdbool.h>
#include <stddef.h>

enum { IMPORT_HEAD_BYTES = 128 << 10 }; /* of a file that is looked at */

/* Whether the line @p to @end is one of the format's; of a @cut one only the beginning is there. */
typedef bool import_line_is(const char *p, const char *end, bool cut);

/*
 * Are most lines of the @len bytes at @text such? Empty lines and comments (#) do not count, nor
 * does a last line that is cut, unless it is the only one.
 */
bool import_most_lines(const char *text, size_t len, import_line_is *is);

/* Has one of the lines @prefix at its front? */
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

/* A format that is known and not read. */
struct import_foreign {
	const char *name;
	const char *advice; /* what reads it, or makes something of it that is read here */
};

/* What a file that begins so is; NULL: none of those that are known. */
const struct import_foreign *import_foreign(const char *text, size_t len);

#endif
