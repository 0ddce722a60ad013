/* A growing byte buffer, for text that is built before it is written. NUL-terminated always. */
#ifndef AF_BASE_BUF_H
#define AF_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct af_buf {
	char *data; /* NULL while empty */
	size_t len, cap;
};

/* The first room of a buffer; most digits of af_buf_put_u64(); of a list, about. */
enum { AF_BUF_FIRST = 256, AF_BUF_U64 = 20, AF_LIST_BYTES = 72 };

/*
 * Room for @most bytes at the end. The caller writes there, and gives what comes behind the last
 * byte to af_buf_took().
 */
static inline char *af_buf_room(struct af_buf *b, size_t most)
{
	size_t need = b->len + most + 1;

	AF_ROOM(b->data, need < AF_BUF_FIRST ? AF_BUF_FIRST : need, b->cap);
	return b->data + b->len;
}

static inline void af_buf_took(struct af_buf *b, char *end)
{
	*end = 0;
	b->len = (size_t)(end - b->data);
}

/* Write @v in decimal digits; returns what is behind them. */
char *af_buf_put_u64(char *to, uint64_t v);

/* A zeroed struct is an empty buffer. */
void af_buf_free(struct af_buf *b);
void af_buf_add(struct af_buf *b, const void *data, size_t len);
void af_buf_str(struct af_buf *b, const char *s);
void af_buf_char(struct af_buf *b, char c);
void af_buf_u64(struct af_buf *b, uint64_t v); /* decimal, fast */
/* @ns as seconds with nine digits, with blanks before it if it has fewer than @width. */
void af_buf_seconds(struct af_buf *b, uint64_t ns, size_t width);
void af_buf_hex(struct af_buf *b, uint64_t v); /* 0x1f */
void af_buf_leb128(struct af_buf *b, uint64_t v);
void af_buf_fmt(struct af_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* @s as UTF-8: bytes that are not part of a valid character become U+FFFD. */
void af_buf_utf8(struct af_buf *b, const char *s, size_t len);

/* @s as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void af_buf_json(struct af_buf *b, const char *s, size_t len);

/* @s for XML/HTML text and attributes; control characters become U+FFFD or a space. */
void af_buf_xml(struct af_buf *b, const char *s, size_t len);

/*
 * @s for a terminal: bytes that are not UTF-8, control characters (ANSI sequences among them) and
 * the marks that reorder text become \xNN; ASCII characters in @quoted get a backslash.
 */
void af_buf_terminal(struct af_buf *b, const char *s, size_t len, const char *quoted);

/* Append @text as one word for a POSIX shell: in quotes, unless it is plain. */
void af_buf_word(struct af_buf *b, const char *text);

/* "0-36, 38-63", "before, after"; what comes behind AF_LIST_BYTES is "…". Zeroed, it is empty. */
struct af_list {
	struct af_buf text;
	size_t at; /* where its last item begins */
	uint64_t first, last;
	bool is_range, is_full;
};

/* Add @word; or, if it is NULL, the numbers from @first to @last, the least of a list first. */
void af_list_add(struct af_list *l, const char *word, uint64_t first, uint64_t last);

/* The same in place, for messages of fixed size: those bytes become '?'. */
void af_terminal_text(char *s);

/* Write and empty the buffer: 0 or -errno. */
int af_buf_flush(struct af_buf *b, int fd);

#endif
