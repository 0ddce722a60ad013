#include "analyse/tree/folded_text.h"

#include <string.h>

#include "sym/device/stalls.h"

/* "_[k]" and the like. */
static bool has_suffix(const char *text, size_t len)
{
	return len > 4 && text[len - 1] == ']' && text[len - 3] == '[' && text[len - 4] == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* function (file.py:12) or function (<string>:3) or function (file.py) */
static bool is_python(const char *s, size_t n)
{
	if (n > 4 && !memcmp(s, "py::", 4))
		return true;
	if (n <= 8 || s[n - 1] != ')')
		return false;
	size_t i = n - 1;
	while (i > 0 && is_digit(s[i - 1]))
		i--;
	if (i == n - 1)
		return !memcmp(s + n - 4, ".py", 3) && memchr(s, '(', n);
	return i > 4 && s[i - 1] == ':' && (!memcmp(s + i - 4, ".py", 3) || s[i - 2] == '>');
}

/* [GPU_Kernel]name, [GPU1_Kernel]name, [GPU_MemCopy]name, [GPU_Launch_Pending] */
static bool is_gpuperf(const char *s, size_t n)
{
	static const char *const words[] = {"_Kernel]", "_MemCopy]", "_Launch_Pending]"};
	size_t i = 4;

	if (n < 12 || memcmp(s, "[GPU", 4) != 0)
		return false;
	while (i < n && is_digit(s[i]))
		i++;
	for (unsigned w = 0; w < sizeof words / sizeof *words; w++)
		if (n - i >= strlen(words[w]) && !memcmp(s + i, words[w], strlen(words[w])))
			return true;
	return false;
}

enum af_frame af_frame_by_looks(const char *s, size_t *len)
{
	size_t n = *len;

	if (has_suffix(s, n)) {
		for (unsigned f = 0; f < AF_FRAME_END; f++) {
			const char *suffix = af_frame_suffix(f);
			if (*suffix && suffix[2] == s[n - 2]) {
				*len -= 4;
				return f;
			}
		}
	}
	if (n && s[0] == '-' && (n == 1 || (n == 2 && s[1] == '-')))
		return AF_FRAME_MARK;
	if (n > 8 && s[0] == '[' && (!memcmp(s, "[unknown]", 9) || !memcmp(s, "[truncat", 8)))
		return AF_FRAME_MARK;
	if (is_gpuperf(s, n))
		return AF_FRAME_GPU;
	return is_python(s, n) ? AF_FRAME_PYTHON : AF_FRAME_NATIVE;
}

static bool is_device(const char *text, size_t len)
{
	return has_suffix(text, len) && (text[len - 2] == 'G' || text[len - 2] == 'g');
}

struct af_folded_frame af_folded_frame(const char *p, const char *end)
{
	const char *stop = memchr(p, ';', (size_t)(end - p));
	struct af_folded_frame f = {.text = p, .len = (size_t)((stop ? stop : end) - p)};

	f.size = f.len + (stop != NULL);
	if (stop && f.len > 1 && stop[-1] == '-' && stop + 1 < end) {
		const char *next = stop + 1, *last = memchr(next, ';', (size_t)(end - next));
		size_t len = (size_t)((last ? last : end) - next);
		if (has_suffix(next, len) && next[len - 2] == 'G')
			f.len = f.size = f.len - 1;
	}
	f.bare = f.len;
	f.kind = af_frame_by_looks(f.text, &f.bare);
	return f;
}

const char *af_folded_slip(const char *line, const char *end)
{
	const char *at = end;

	while (at > line && is_digit(at[-1]))
		at--;
	if (at == end || at == line || at[-1] != ';')
		return NULL;
	return is_device(line, (size_t)(at - 1 - line)) ? at : NULL;
}

bool af_folded_stall_next(const char **p, const char *end, struct af_folded_stall *s)
{
	const char *equals = *p < end ? memchr(*p, '=', (size_t)(end - *p)) : NULL, *at = equals;
	char name[AF_STALL_NAME];

	if (!equals || equals == *p || (size_t)(equals - *p) >= sizeof name)
		return false;
	*s = (struct af_folded_stall){.name = *p, .len = (size_t)(equals - *p)};
	memcpy(name, *p, s->len);
	name[s->len] = 0;
	while (++at < end && is_digit(*at))
		if (__builtin_mul_overflow(s->count, 10, &s->count) ||
		    __builtin_add_overflow(s->count, (uint64_t)(*at - '0'), &s->count))
			s->count = UINT64_MAX;
	if (at == equals + 1 || (at < end && (*at != ',' || at + 1 == end)) || !af_stall_find(name))
		return false;
	*p = at < end ? at + 1 : at;
	return true;
}

const char *af_folded_stalls(const char *line, const char *end)
{
	const char *blank = memrchr(line, ' ', (size_t)(end - line)), *p = blank ? blank + 1 : end;
	struct af_folded_stall s;

	/* Most lines end in a number behind a blank. */
	if (!blank || blank == line || p == end || is_digit(*p))
		return NULL;
	while (p < end)
		if (!af_folded_stall_next(&p, end, &s))
			return NULL;
	return blank + 1;
}
