/* Text of any size, a line at a time. */
#ifndef AF_EXCHANGE_IMPORT_LINES_H
#define AF_EXCHANGE_IMPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct af_import_source;

/*
 * Give @take the lines of @in, each with a NUL for its newline, through one buffer of @most bytes:
 * of a line that is longer only the first part, and @cut says so. It may write to a line. 0, or the
 * error of the source, when what came before was given all the same.
 */
ssize_t import_lines(const struct af_import_source *in, size_t most,
                     void (*take)(void *arg, char *line, size_t len, bool cut), void *arg);

#endif
