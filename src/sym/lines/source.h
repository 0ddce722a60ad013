/*
 * Lines of source files, read from the disk of this machine: traces name files of the machine that
 * the program was built on. The names in a trace are hostile, and the lines may end up in a report
 * that is handed on. So files are read at their recorded paths only for the user's own traces of
 * this machine; otherwise only below directories that the user named. Only regular files with names
 * of source code are read, and at most AF_SOURCE_MOST bytes of each.
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
 * @here: read files at the paths in the trace (af_origin_is_here()). @dirs (may be NULL):
 * directories, separated by colons, below which moved sources may be.
 */
void af_source_open(struct af_source **out, const char *dirs, bool here);
void af_source_close(struct af_source *s);

/*
 * Use @text, whose ownership passes to @s, as the content of @file. Only for a @file that is not
 * found.
 */
void af_source_bind(struct af_source *s, const char *file, struct af_file *text);

/* Is @file one that only a directory named by the user could provide, and the user named none? */
bool af_source_is_withheld(const struct af_source *s, const char *file);

/*
 * Line @line (from 1) of @file, without its end; not NUL-terminated, *@len bytes that live as long
 * as @s. NULL when the file or the line is not there.
 */
const char *af_source_line(struct af_source *s, const char *file, uint32_t line, size_t *len);

/*
 * The path at which @file was found, NULL when it was not found: its own path if that exists, else
 * a path below the directories with as much of its own as fits.
 */
const char *af_source_where(struct af_source *s, const char *file);

#endif
