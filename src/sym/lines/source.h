/*
 * Lines of source files, read where they are now: traces name files of the machine that the program
 * was built on. What a trace names is hostile and what is read may end up in a report that is
 * handed on. So files are read where they are said to be for the user's own traces of this machine
 * only, else below directories that he named; regular files that are called as source code is, and
 * never more of one than AF_SOURCE_MOST bytes.
 *
 *	af_source_open → { af_source_line, af_source_where }* → af_source_close
 */
#ifndef AF_SYM_LINES_SOURCE_H
#define AF_SYM_LINES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AF_SOURCE_MOST = 16 << 20 };

struct af_file;
struct af_source;

/*
 * @here: files are read where the trace says that they are (af_origin_is_here()). @dirs (may be
 * NULL): directories, with colons between, below which sources may be that have moved.
 */
void af_source_open(struct af_source **out, const char *dirs, bool here);
void af_source_close(struct af_source *s);

/* What @file would say is in @text, which this takes. Only for a @file that is not found. */
void af_source_bind(struct af_source *s, const char *file, struct af_file *text);

/* Is @file one that only a directory named by the user would give, and none was? */
bool af_source_is_withheld(const struct af_source *s, const char *file);

/*
 * Line @line (from 1) of @file, without its end; not NUL-terminated, *@len bytes that live as long
 * as @s. NULL when the file or the line is not there.
 */
const char *af_source_line(struct af_source *s, const char *file, uint32_t line, size_t *len);

/*
 * Where @file was found, NULL when it was not: as it is called if that is there, else below the
 * directories with as much of its path as fits.
 */
const char *af_source_where(struct af_source *s, const char *file);

#endif
