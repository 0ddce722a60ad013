/* Text of any size, a line at a time. */
#ifndef AF_EXCHANGE_TEXT_LINES_H
#define AF_EXCHANGE_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct af_builder;
struct af_import_source;

/*
 * Call @take for the lines of @in, each with a NUL in place of its newline, through one buffer of
 * @most bytes. Of a longer line only the first part is given, and @cut is set. @take may write to
 * the line. 0, or the error of the source; the lines before the error have been given.
 */
ssize_t import_lines(const struct af_import_source *in, size_t most,
                     void (*take)(void *arg, char *line, size_t len, bool cut), void *arg);

/*
 * Counts of the caller of import_lines(): the current line, and the lines that could not be used.
 */
struct import_line_count {
	uint64_t line, bad, first_bad;
};

/* Count the current line as one that cannot be used. */
void import_line_bad(struct import_line_count *count, struct af_builder *d);

/*
 * Report after import_lines() returned @rc that the rest cannot be read, or how many lines "are no
 * stacks", in the words of @are; else @complaint stays as it is. Sets @d->unparsed when most lines
 * are bad.
 */
void import_lines_complain(const struct import_line_count *count, ssize_t rc, const char *are,
                           struct af_builder *d, char *complaint, size_t size);

#endif
