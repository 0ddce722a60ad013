/*
 * A pull reader of JSON (RFC 8259) for files of any size: it holds one buffer, however large the
 * input is. Every byte is hostile: depth and lengths have limits, and nothing recurses.
 *
 *	af_json_open → { af_json_next, af_json_skip }* → af_json_close
 *
 * It accepts more than RFC 8259, because profilers write it: control characters in strings, escapes
 * that do not exist (a backslash of a Windows path stays), a comma before a closing bracket, bare
 * words and hexadecimal digits for numbers (nan, -inf, 0x10). One thread at a time.
 */
#ifndef AF_EXCHANGE_SOURCE_JSON_H
#define AF_EXCHANGE_SOURCE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum {
	AF_JSON_DEPTH = 256,        /* deeper is an error */
	AF_JSON_TEXT_MAX = 8 << 10, /* bytes of a string; longer ones are cut */
	AF_JSON_NUMBER_MAX = 64,    /* characters of a number; the same */
	AF_JSON_BUFFER = 256 << 10,
};

enum af_json_token {
	AF_JSON_ERROR = -1, /* err says what, and nothing more can be read */
	AF_JSON_END = 0,    /* after the one value that a file is */
	AF_JSON_OBJECT,
	AF_JSON_OBJECT_END,
	AF_JSON_ARRAY,
	AF_JSON_ARRAY_END,
	AF_JSON_KEY,    /* text is the name; its value follows */
	AF_JSON_STRING, /* text */
	AF_JSON_NUMBER, /* text, as it stands there */
	AF_JSON_TRUE,
	AF_JSON_FALSE,
	AF_JSON_NULL,
};

/* Reads up to @size bytes into @to: their number, 0 at the end, or -errno. */
typedef ssize_t af_json_source(void *arg, void *to, size_t size);

struct af_json {
	/*
	 * Text of the latest KEY, STRING or NUMBER; not NUL-terminated, valid until the next call.
	 */
	const char *text;
	size_t len;
	bool cut;          /* it was longer than the limit */
	uint32_t depth;    /* of open objects and arrays */
	bool truncated;    /* the error is that the input ended too early */
	struct af_err err; /* of AF_JSON_ERROR, with the byte where it was */

	/* private */
	af_json_source *source;
	void *arg;
	char *buffer, *scratch;
	size_t at, end;
	uint64_t before; /* bytes of the input before the buffer */
	uint64_t cut_strings;
	uint8_t in[AF_JSON_DEPTH]; /* '{' or '[' */
	bool over, begun, had_value, after_key;
};

/*
 * @source is called with @arg for more bytes. Allocates the buffer; out of memory ends the program.
 */
void af_json_open(struct af_json *j, af_json_source *source, void *arg);
void af_json_close(struct af_json *j); /* a zeroed one is fine */

/* The next token. After AF_JSON_ERROR it returns AF_JSON_ERROR again. */
enum af_json_token af_json_next(struct af_json *j);

/* Skip the value that begins with @token, which af_json_next() has just returned. False: error. */
bool af_json_skip(struct af_json *j, enum af_json_token token);

/* Bytes of the input read so far. */
uint64_t af_json_position(const struct af_json *j);

/*
 * A decimal number times 10^@power as an integer, exactly (a double cannot hold the nanoseconds
 * since 1970); digits after the last integer digit are cut off. False when @text is not a number or
 * the result does not fit.
 */
bool af_json_fixed(const char *text, size_t len, int power, int64_t *value);

#endif
