#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/leb128.h"
#include "base/write.h"

void af_buf_free(struct af_buf *b)
{
	free(b->data);
	*b = (struct af_buf){0};
}

void af_buf_add(struct af_buf *b, const void *data, size_t len)
{
	char *p = af_buf_room(b, len);
	if (len) /* an empty buffer's data is NULL, which memcpy() must not be given */
		memcpy(p, data, len);
	p[len] = 0;
	b->len += len;
}

void af_buf_str(struct af_buf *b, const char *s)
{
	af_buf_add(b, s, strlen(s));
}

void af_buf_char(struct af_buf *b, char c)
{
	char *p = af_buf_room(b, 1);
	p[0] = c;
	p[1] = 0;
	b->len++;
}

void af_buf_hex(struct af_buf *b, uint64_t v)
{
	char digits[18];
	int n = sizeof digits;

	do {
		digits[--n] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	digits[--n] = 'x';
	digits[--n] = '0';
	af_buf_add(b, digits + n, sizeof digits - (size_t)n);
}

void af_buf_leb128(struct af_buf *b, uint64_t v)
{
	uint8_t bytes[AF_LEB128_MAX];
	size_t len = af_leb128_put(bytes, v);

	af_buf_add(b, bytes, len);
}

void af_buf_seconds(struct af_buf *b, uint64_t ns, size_t width)
{
	char text[32];
	size_t n = sizeof text;

	for (int i = 0; i < 9; i++, ns /= 10)
		text[--n] = (char)('0' + ns % 10);
	text[--n] = '.';
	do {
		text[--n] = (char)('0' + ns % 10);
		ns /= 10;
	} while (ns);
	while (sizeof text - n < width && n)
		text[--n] = ' ';
	af_buf_add(b, text + n, sizeof text - n);
}

/* How many decimal digits @v has. */
static size_t digits_of(uint64_t v)
{
	size_t n = 1;

	for (; v >= 10000; v /= 10000)
		n += 4;
	return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

/* Two digits at a time, from the last on. */
char *af_buf_put_u64(char *to, uint64_t v)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char *end = to + digits_of(v), *at = end;

	for (; v >= 100; v /= 100)
		memcpy(at -= 2, pairs + v % 100 * 2, 2);
	if (v >= 10)
		memcpy(at - 2, pairs + v * 2, 2);
	else
		at[-1] = (char)('0' + v);
	return end;
}

void af_buf_u64(struct af_buf *b, uint64_t v)
{
	af_buf_took(b, af_buf_put_u64(af_buf_room(b, AF_BUF_U64), v));
}

void af_buf_fmt(struct af_buf *b, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n > 0) {
		vsnprintf(af_buf_room(b, (size_t)n), (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

/* Length of the valid UTF-8 sequence at @p (at most @left bytes), or 0. */
static size_t utf8_len(const unsigned char *p, size_t left)
{
	if (p[0] < 0x80)
		return 1;
	size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

void af_buf_utf8(struct af_buf *b, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t whole = 0; /* start of what goes out as it is */

	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_len(p + i, len - i);
		if (n)
			continue;
		af_buf_add(b, s + whole, i - whole);
		af_buf_str(b, "\xef\xbf\xbd");
		n = 1;
		whole = i + 1;
	}
	af_buf_add(b, s + whole, len - whole);
}

void af_buf_json(struct af_buf *b, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	af_buf_char(b, '"');
	for (size_t i = 0; i < len;) {
		size_t n = utf8_len(p + i, len - i);
		if (!n) {
			af_buf_str(b, "\xef\xbf\xbd");
			i++;
		} else if (p[i] == '"' || p[i] == '\\') {
			af_buf_char(b, '\\');
			af_buf_char(b, s[i++]);
		} else if (p[i] < 0x20 || p[i] == 0x7f || p[i] == '<') {
			/* '<' too: JSON often ends up inside a <script>. */
			af_buf_fmt(b, "\\u%04x", p[i++]);
		} else {
			af_buf_add(b, s + i, n);
			i += n;
		}
	}
	af_buf_char(b, '"');
}

void af_buf_xml(struct af_buf *b, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	for (size_t i = 0; i < len;) {
		size_t n = utf8_len(p + i, len - i);
		if (!n || (p[i] < 0x20 && p[i] != '\t' && p[i] != '\n') || p[i] == 0x7f) {
			af_buf_str(b, "\xef\xbf\xbd");
			i++;
			continue;
		}
		switch (p[i]) {
		case '&':
			af_buf_str(b, "&amp;");
			break;
		case '<':
			af_buf_str(b, "&lt;");
			break;
		case '>':
			af_buf_str(b, "&gt;");
			break;
		case '"':
			af_buf_str(b, "&quot;");
			break;
		case '\'':
			af_buf_str(b, "&#39;");
			break;
		default:
			af_buf_add(b, s + i, n);
		}
		i += n;
	}
}

/* C1 controls (U+0080 to U+009F) and the bidirectional marks of U+202A to 202E, 2066 to 2069. */
static bool utf8_is_control(const unsigned char *p, size_t n)
{
	if (n == 2)
		return p[0] == 0xc2 && p[1] < 0xa0;
	if (n == 3 && p[0] == 0xe2)
		return (p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) ||
		       (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);
	return n == 1 && (p[0] < 0x20 || p[0] == 0x7f);
}

void af_buf_terminal(struct af_buf *b, const char *s, size_t len, const char *quoted)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t plain = 0; /* start of a run that goes out as it is */

	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_len(p + i, len - i);
		bool bad = !n || utf8_is_control(p + i, n);
		if (!bad && !(n == 1 && strchr(quoted, s[i])))
			continue;
		af_buf_add(b, s + plain, i - plain);
		n = n ? n : 1;
		plain = bad ? i + n : i;
		if (!bad)
			af_buf_char(b, '\\');
		for (size_t k = 0; bad && k < n; k++)
			af_buf_fmt(b, "\\x%02x", p[i + k]);
	}
	af_buf_add(b, s + plain, len - plain);
}

void af_terminal_text(char *s)
{
	for (size_t len = strlen(s), n; len; s += n, len -= n) {
		n = utf8_len((unsigned char *)s, len);
		if (n && !utf8_is_control((unsigned char *)s, n))
			continue;
		n = n ? n : 1;
		memset(s, '?', n);
	}
}

int af_buf_flush(struct af_buf *b, int fd)
{
	int rc = af_write_all(fd, b->data, b->len);
	b->len = 0;
	return rc;
}

void af_list_add(struct af_list *l, const char *word, uint64_t first, uint64_t last)
{
	bool goes_on = !word && l->is_range && (first <= l->last || first - 1 == l->last);

	if (l->is_full)
		return;
	if (!goes_on) {
		l->is_full = l->text.len >= AF_LIST_BYTES;
		af_buf_str(&l->text, l->text.len ? ", " : "");
		l->at = l->text.len;
		l->first = first;
	}
	l->last = goes_on && last < l->last ? l->last : last;
	l->is_range = !word;
	l->text.len = l->at;
	if (word || l->is_full) {
		af_buf_str(&l->text, l->is_full ? "…" : word);
		return;
	}
	af_buf_u64(&l->text, l->first);
	if (l->last > l->first)
		af_buf_fmt(&l->text, "-%llu", (unsigned long long)l->last);
}

void af_buf_word(struct af_buf *b, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "./_-+,:@%";
	size_t len = strspn(text, plain);

	if (len && !text[len] && *text != '-') {
		af_buf_add(b, text, len);
		return;
	}
	af_buf_char(b, '\'');
	for (const char *c = text; *c; c++)
		if (*c == '\'')
			af_buf_str(b, "'\\''");
		else
			af_buf_char(b, *c);
	af_buf_char(b, '\'');
}
