/* Text of any size, a line at a time. */
#ifndef AF_EXCHANGE_TEXT_LINES_H
#define AF_EXCHANGE_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct af_draft;
struct af_import_source;

/*
 * Give @take the lines of @in, each with a NUL for its newline, through one buffer of @most bytes:
 * of a line that is longer only the first part, and @cut says so. It may write to a line. 0, or the
 * error of the source, when what came before was given all the same.
 */
ssize_t import_lines(const struct af_import_source *in, size_t most,
                     void (*take)(void *arg, char *line, size_t len, bool cut), void *arg);

/* As who takes the lines counts them: the one it is at, and those that it had no use for. */
struct import_line_count {
	uint64_t line, bad, first_bad;
};

/* Count the current line as one that cannot be used. */
void import_line_bad(struct import_line_count *count, struct af_draft *d);

/*
 * What is to be said after import_lines() gave @rc: that the rest cannot be read, or how many lines
 * "are no stacks", as @are has it; else @complaint stays as it is. Where most are not, @d says so.
 */
void import_lines_complain(const struct import_line_count *count, ssize_t rc, const char *are,
                           struct af_draft *d, char *complaint, size_t size);

#endif
