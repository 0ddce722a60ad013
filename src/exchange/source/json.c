#include "exchange/source/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void af_json_open(struct af_json *j, af_json_source *source, void *arg)
{
	*j = (struct af_json){.source = source, .arg = arg};
	j->buffer = af_xrealloc(NULL, AF_JSON_BUFFER);
	j->scratch = af_xrealloc(NULL, AF_JSON_TEXT_MAX + 8);
}

void af_json_close(struct af_json *j)
{
	free(j->buffer);
	free(j->scratch);
	j->buffer = j->scratch = NULL;
}

uint64_t af_json_position(const struct af_json *j)
{
	return j->before + j->at;
}

static enum af_json_token json_fail(struct af_json *j, const char *what)
{
	unsigned long long at = af_json_position(j);

	if (!j->err.code)
		af_fail_plain(&j->err, -EINVAL, "byte %llu: %s", at, what);
	return AF_JSON_ERROR;
}

static enum af_json_token json_ended(struct af_json *j)
{
	if (!j->err.code)
		j->truncated = true;
	return json_fail(j, "the file ends in the middle");
}

/* More bytes behind those from @keep on, which move to the front. False at the end. */
static bool json_more(struct af_json *j, size_t keep)
{
	if (j->over)
		return false;
	memmove(j->buffer, j->buffer + keep, j->end - keep);
	j->before += keep;
	j->at -= keep;
	j->end -= keep;
	ssize_t n = j->source(j->arg, j->buffer + j->end, AF_JSON_BUFFER - j->end);
	unsigned long long at = j->before + j->end;
	if (n < 0)
		af_fail(&j->err, (int)n, "byte %llu", at);
	if (n <= 0) {
		j->over = true;
		return false;
	}
	j->end += (size_t)n;
	return true;
}

/* The next byte without taking it, or -1. */
static inline int json_peek(struct af_json *j)
{
	if (j->at == j->end && !json_more(j, j->at))
		return -1;
	return (unsigned char)j->buffer[j->at];
}

static inline int json_peek_token(struct af_json *j)
{
	for (;;) {
		int c = json_peek(j);
		if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
			return c;
		j->at++;
	}
}

/* First '"' or '\\' in [@p, @end), eight bytes at a time; @end when there is none. */
static const char *string_stop(const char *p, const char *end)
{
	const uint64_t ones = 0x0101010101010101, tops = ones << 7;

	for (; end - p >= 8; p += 8) {
		uint64_t v, quote, slash;
		memcpy(&v, p, 8);
		quote = v ^ ones * '"';
		slash = v ^ ones * '\\';
		if ((((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & tops)
			break;
	}
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}

static void scratch_add(struct af_json *j, const char *p, size_t len)
{
	if (len > AF_JSON_TEXT_MAX - j->len) {
		len = AF_JSON_TEXT_MAX - j->len;
		j->cut = true;
	}
	memcpy(j->scratch + j->len, p, len);
	j->len += len;
}

static void scratch_add_utf8(struct af_json *j, uint32_t c)
{
	char out[4];
	size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (size_t i = len; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(first[len] | c);
	scratch_add(j, out, len);
}

/* Four hexadecimal digits at @p, or -1. */
static int32_t hex4(const char *p)
{
	int32_t v = 0;

	for (int i = 0; i < 4; i++) {
		int c = p[i] | 0x20;
		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (c - 'a' + 10);
		else
			return -1;
	}
	return v;
}

/* Are there @n bytes in the buffer, if the input has them? */
static bool json_has(struct af_json *j, size_t n)
{
	while (j->end - j->at < n)
		if (!json_more(j, j->at))
			return false;
	return true;
}

/* Behind "\u": a character, two halves of one, or what is none and stays as it is. */
static void string_unicode(struct af_json *j)
{
	int32_t c = json_has(j, 4) ? hex4(j->buffer + j->at) : -1;

	if (c < 0) {
		scratch_add(j, "\\u", 2);
		return;
	}
	j->at += 4;
	if (c >= 0xd800 && c < 0xdc00 && json_has(j, 6) && j->buffer[j->at] == '\\' &&
	    j->buffer[j->at + 1] == 'u') {
		int32_t low = hex4(j->buffer + j->at + 2);
		if (low >= 0xdc00 && low < 0xe000) {
			j->at += 6;
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	/* Half of a pair is no character, and a NUL would end the string elsewhere. */
	scratch_add_utf8(j, !c || (c >= 0xd800 && c < 0xe000) ? 0xfffd : (uint32_t)c);
}

static void string_escape(struct af_json *j)
{
	static const char plain[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	int c = json_peek(j);

	if (c < 0)
		return;
	const char *known = c ? strchr(plain, c) : NULL;
	j->at++;
	if (c == 'u') {
		string_unicode(j);
	} else if (known) {
		scratch_add(j, &means[known - plain], 1);
	} else {
		char as_is[2] = {'\\', (char)c};
		scratch_add(j, as_is, 2);
	}
}

/* A cut must not leave half a character. */
static void scratch_mend(struct af_json *j)
{
	size_t len = j->len, back = 0;

	while (back < 3 && len > back && (j->scratch[len - 1 - back] & 0xc0) == 0x80)
		back++;
	if (len > back && (uint8_t)j->scratch[len - 1 - back] >= 0xc0)
		j->len = len - 1 - back;
}

/* A string with escapes, one that is very long, or one that the buffer's end parts. */
static bool string_slow(struct af_json *j)
{
	j->len = 0;
	j->text = j->scratch;
	for (;;) {
		int c = json_peek(j);
		if (c < 0) {
			json_ended(j);
			return false;
		}
		const char *from = j->buffer + j->at;
		const char *stop = string_stop(from, j->buffer + j->end);
		scratch_add(j, from, (size_t)(stop - from));
		j->at += (size_t)(stop - from);
		if (j->at == j->end)
			continue;
		j->at++;
		if (*stop == '"')
			break;
		string_escape(j);
	}
	if (j->cut) {
		j->cut_strings++;
		scratch_mend(j);
	}
	return true;
}

/* Behind the opening quote. */
static bool string_read(struct af_json *j)
{
	const char *from = j->buffer + j->at, *end = j->buffer + j->end;
	const char *stop = string_stop(from, end);

	j->cut = false;
	if (stop == end || *stop != '"' || stop - from > AF_JSON_TEXT_MAX)
		return string_slow(j);
	j->text = from;
	j->len = (size_t)(stop - from);
	j->at += j->len + 1;
	return true;
}

static bool is_word(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '-' || c == '+' || c == '.' || c == '_';
}

/* A number, true, false, null, or what else stands there without quotes. */
static enum af_json_token json_word(struct af_json *j)
{
	static const struct {
		const char *text;
		size_t len;
		enum af_json_token token;
	} words[] = {
	    {"true", 4, AF_JSON_TRUE}, {"false", 5, AF_JSON_FALSE}, {"null", 4, AF_JSON_NULL}};

	json_has(j, AF_JSON_NUMBER_MAX);
	const char *from = j->buffer + j->at;
	size_t most = j->end - j->at, len = 0;

	if (most > AF_JSON_NUMBER_MAX)
		most = AF_JSON_NUMBER_MAX;
	while (len < most && is_word((unsigned char)from[len]))
		len++;
	if (!len)
		return json_fail(j, "no value can begin so");
	j->at += len;
	j->len = len;
	j->text = memcpy(j->scratch, from, len);
	j->cut = false;
	for (int c; len == AF_JSON_NUMBER_MAX && is_word(c = json_peek(j)); j->at++)
		j->cut = true;
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (len == words[i].len && !memcmp(j->text, words[i].text, len))
			return words[i].token;
	return AF_JSON_NUMBER;
}

static enum af_json_token json_open(struct af_json *j, int bracket)
{
	if (j->depth == AF_JSON_DEPTH)
		return json_fail(j, "nested too deeply");
	j->at++;
	j->in[j->depth++] = (uint8_t)bracket;
	j->had_value = false;
	return bracket == '{' ? AF_JSON_OBJECT : AF_JSON_ARRAY;
}

static enum af_json_token json_shut(struct af_json *j, int bracket)
{
	if (j->in[j->depth - 1] != (bracket == '}' ? '{' : '['))
		return json_fail(j, "a bracket closes what it did not open");
	j->at++;
	j->depth--;
	j->had_value = true;
	return bracket == '}' ? AF_JSON_OBJECT_END : AF_JSON_ARRAY_END;
}

static enum af_json_token json_key(struct af_json *j)
{
	j->at++;
	if (!string_read(j))
		return AF_JSON_ERROR;
	/* Looking for the colon may move the buffer that a short key still lies in. */
	if (j->at == j->end && j->text != j->scratch)
		j->text = memcpy(j->scratch, j->text, j->len);
	int c = (unsigned char)(j->at < j->end ? j->buffer[j->at] : ' ');
	if (c != ':') {
		if (j->text != j->scratch)
			j->text = memcpy(j->scratch, j->text, j->len);
		c = json_peek_token(j);
	}
	if (c != ':')
		return c < 0 ? json_ended(j) : json_fail(j, "no colon behind a name");
	j->at++;
	j->after_key = true;
	return AF_JSON_KEY;
}

static enum af_json_token json_value(struct af_json *j, int c)
{
	j->after_key = false;
	if (c == '{' || c == '[')
		return json_open(j, c);
	j->had_value = true;
	if (c != '"')
		return json_word(j);
	j->at++;
	return string_read(j) ? AF_JSON_STRING : AF_JSON_ERROR;
}

enum af_json_token af_json_next(struct af_json *j)
{
	if (j->err.code)
		return AF_JSON_ERROR;
	int c = json_peek_token(j);
	if (!j->depth && j->begun && !j->err.code)
		return c < 0 ? AF_JSON_END : json_fail(j, "more behind the end");
	if (c == ',' && j->had_value && j->depth) {
		j->at++;
		j->had_value = false;
		c = json_peek_token(j);
	} else if (j->had_value && !j->after_key && j->depth && c >= 0 && c != '}' && c != ']') {
		return json_fail(j, "no comma between two values");
	}
	if (c < 0)
		return json_ended(j);
	j->begun = true;
	if (j->after_key || !j->depth)
		return json_value(j, c);
	if (c == '}' || c == ']')
		return json_shut(j, c);
	if (j->in[j->depth - 1] == '[')
		return json_value(j, c);
	return c == '"' ? json_key(j) : json_fail(j, "no name in an object");
}

bool af_json_skip(struct af_json *j, enum af_json_token token)
{
	if (token != AF_JSON_OBJECT && token != AF_JSON_ARRAY)
		return token != AF_JSON_ERROR;
	for (uint32_t outside = j->depth - 1; j->depth > outside;)
		if (af_json_next(j) == AF_JSON_ERROR)
			return false;
	return true;
}

/* One more digit; false when it does not fit. */
static bool fixed_digit(uint64_t *v, int digit)
{
	return !__builtin_mul_overflow(*v, 10, v) &&
	       !__builtin_add_overflow(*v, (uint64_t)digit, v);
}

/* The exponent at @p, up to @end: false when it is none. Far ones are all alike. */
static bool fixed_exponent(const char *p, const char *end, int *exponent)
{
	bool down = p < end && *p == '-';
	int e = 0;

	p += p < end && (*p == '-' || *p == '+');
	if (p == end)
		return false;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return false;
		if (e < 1000)
			e = e * 10 + (*p - '0');
	}
	*exponent = down ? -e : e;
	return true;
}

bool af_json_fixed(const char *text, size_t len, int power, int64_t *value)
{
	const char *p = text, *end = text + len, *e;
	bool negative = len && *p == '-', any = false;
	int exponent = 0, behind = 0;
	uint64_t v = 0;

	p += negative;
	for (e = p; e < end && *e != 'e' && *e != 'E'; e++)
		;
	if (e < end && !fixed_exponent(e + 1, end, &exponent))
		return false;
	power += exponent;

	/* Digits up to the one that stands for 1 after the power is applied. */
	bool point = false;
	for (; p < e; p++) {
		if (*p == '.' && !point) {
			point = true;
			continue;
		}
		if (*p < '0' || *p > '9')
			return false;
		any = true;
		if (point && behind >= power)
			continue;
		behind += point;
		if (!fixed_digit(&v, *p - '0'))
			return false;
	}
	for (; v && behind < power; behind++)
		if (!fixed_digit(&v, 0))
			return false;
	for (; v && power < 0; power++)
		v /= 10;
	if (!any || v > INT64_MAX)
		return false;
	*value = negative ? -(int64_t)v : (int64_t)v;
	return true;
}
