#include "exchange/source/sniff.h"

#include <stdint.h>
#include <string.h>

#include "exchange/source/json.h"

bool import_most_lines(const char *text, size_t len, import_line_is *is)
{
	const char *end = text + len;
	size_t nr = 0, good = 0;

	for (const char *p = text, *nl; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl && nr)
			break;
		const char *stop = nl ? nl : end;
		if (stop > p && stop[-1] == '\r')
			stop--;
		if (stop > p && !(*p == '#' && (stop == p + 1 || p[1] == ' '))) {
			nr++;
			good += is(p, stop, !nl && len >= IMPORT_HEAD_BYTES);
		}
		if (!nl)
			break;
	}
	return good * 2 > nr;
}

bool import_has_line(const char *text, size_t len, const char *prefix)
{
	const char *end = text + len;
	size_t n = strlen(prefix);

	for (const char *p = text, *nl; p < end && (size_t)(end - p) >= n; p = nl + 1) {
		if (!memcmp(p, prefix, n))
			return true;
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			break;
	}
	return false;
}

struct json_head {
	const char *text;
	size_t len;
	struct af_json json;
};

static ssize_t head_read(void *arg, void *to, size_t size)
{
	struct json_head *h = arg;
	size_t n = h->len < size ? h->len : size;

	memcpy(to, h->text, n);
	h->text += n;
	h->len -= n;
	return (ssize_t)n;
}

static bool key_is(const struct af_json *j, const char *key)
{
	return j->len == strlen(key) && !memcmp(j->text, key, j->len);
}

/* The object that comes has @key among its members; what is in sight of it is passed over. */
static bool object_has(struct af_json *j, const char *key)
{
	enum af_json_token token = af_json_next(j);
	bool has = false;

	if (token != AF_JSON_OBJECT) {
		af_json_skip(j, token);
		return false;
	}
	while ((token = af_json_next(j)) == AF_JSON_KEY) {
		has |= key_is(j, key);
		if (!af_json_skip(j, af_json_next(j)))
			break;
	}
	return has;
}

/* So does the first object of the array that comes. */
static bool array_has(struct af_json *j, const char *key)
{
	enum af_json_token token = af_json_next(j);
	uint32_t depth = j->depth;
	bool has = false;

	if (token != AF_JSON_ARRAY) {
		af_json_skip(j, token);
		return false;
	}
	has = object_has(j, key);
	while (j->depth >= depth && token != AF_JSON_ERROR)
		token = af_json_next(j);
	return has;
}

static enum import_json_kind member_kind(struct af_json *j)
{
	if (key_is(j, "$schema")) {
		enum af_json_token token = af_json_next(j);
		if (token == AF_JSON_STRING && memmem(j->text, j->len, "speedscope", 10))
			return IMPORT_JSON_SPEEDSCOPE;
		return af_json_skip(j, token) ? IMPORT_JSON_NONE : IMPORT_JSON_OTHER;
	}
	if (key_is(j, "shared"))
		return object_has(j, "frames") ? IMPORT_JSON_SPEEDSCOPE : IMPORT_JSON_NONE;
	if (key_is(j, "profiles"))
		return array_has(j, "startValue") ? IMPORT_JSON_SPEEDSCOPE : IMPORT_JSON_NONE;
	if (key_is(j, "nodes"))
		return array_has(j, "callFrame") ? IMPORT_JSON_CPUPROFILE : IMPORT_JSON_NONE;
	if (key_is(j, "meta"))
		return object_has(j, "interval") ? IMPORT_JSON_FIREFOX : IMPORT_JSON_NONE;
	if (key_is(j, "dhatFileVersion"))
		return IMPORT_JSON_DHAT;
	if (key_is(j, "traceEvents"))
		return IMPORT_JSON_OTHER;
	return af_json_skip(j, af_json_next(j)) ? IMPORT_JSON_NONE : IMPORT_JSON_OTHER;
}

enum import_json_kind import_json_kind(const char *text, size_t len)
{
	enum import_json_kind kind = IMPORT_JSON_NONE;
	struct json_head h = {.text = text, .len = len};
	size_t i = 0;

	while (i < len && text[i] && strchr(" \t\r\n", text[i]))
		i++;
	if (i == len || (text[i] != '{' && text[i] != '['))
		return IMPORT_JSON_NONE;
	af_json_open(&h.json, head_read, &h);
	if (af_json_next(&h.json) == AF_JSON_OBJECT)
		while (!kind && af_json_next(&h.json) == AF_JSON_KEY)
			kind = member_kind(&h.json);
	af_json_close(&h.json);
	return kind ? kind : IMPORT_JSON_OTHER;
}
