/* A growing byte buffer, for text that is built before it is written. NUL-terminated always. */
#ifndef AF_BASE_BUF_H
#define AF_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct af_buf {
	char *data; /* NULL while empty */
	size_t len, cap;
};

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

/* The same in place, for messages of fixed size: those bytes become '?'. */
void af_terminal_text(char *s);

/* Write and empty the buffer: 0 or -errno. */
int af_buf_flush(struct af_buf *b, int fd);

#endif
