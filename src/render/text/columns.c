#include "render/text/columns.h"

#include <string.h>

size_t af_columns_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

size_t af_columns_offset(const char *s, size_t n)
{
	size_t i = 0;

	for (; s[i]; i++)
		if ((s[i] & 0xc0) != 0x80 && !n--)
			break;
	return i;
}

void af_columns_text(struct af_buf *b, const char *s, size_t width, bool pad)
{
	struct af_buf shown = {0};

	af_buf_str(&shown, "");
	af_buf_terminal(&shown, s, strlen(s), "");
	size_t columns = af_columns_of(shown.data);
	if (columns > width) {
		af_buf_add(b, shown.data, af_columns_offset(shown.data, width ? width - 1 : 0));
		af_buf_str(b, width ? "…" : "");
	} else {
		af_buf_add(b, shown.data, shown.len);
		if (pad)
			af_buf_fmt(b, "%*s", (int)(width - columns), "");
	}
	af_buf_free(&shown);
}

void af_columns_right(struct af_buf *b, const char *s, size_t width)
{
	size_t columns = af_columns_of(s);

	af_buf_fmt(b, "%*s%s", columns < width ? (int)(width - columns) : 0, "", s);
}

void af_columns_wrap(struct af_buf *b, const char *s, size_t used, size_t width, size_t indent)
{
	while (*s) {
		size_t len = strcspn(s, " "), next = len + strspn(s + len, " ");
		size_t columns = 0;
		for (size_t i = 0; i < len; i++)
			columns += (s[i] & 0xc0) != 0x80;
		if (used + columns > width && used > indent) {
			af_buf_fmt(b, "\n%*s", (int)indent, "");
			used = indent;
		}
		af_buf_add(b, s, len);
		used += columns;
		if (s[next]) {
			af_buf_char(b, ' ');
			used++;
		}
		s += next;
	}
	af_buf_char(b, '\n');
}

void af_columns_trim(struct af_buf *b, size_t from)
{
	size_t to = from;

	for (size_t i = from; i < b->len; i++) {
		while (b->data[i] == '\n' && to > from && b->data[to - 1] == ' ')
			to--;
		b->data[to++] = b->data[i];
	}
	if (b->len > from)
		b->data[b->len = to] = 0;
}
