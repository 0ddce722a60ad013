/* The terminal summary of a trace. */
#ifndef AF_CMD_SHARED_SUMMARY_H
#define AF_CMD_SHARED_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

struct af_document;
struct af_err;
struct af_tables;

/*
 * The tables in the order for people, at most @limit rows each (0: all); @all is the hint how to
 * see the other rows.
 */
void af_summary_text(struct af_buf *b, const struct af_tables *f, bool colour, uint32_t limit,
                     const char *all);

/*
 * Only the findings among the facts: at most @limit (0: all), as @document for programs, or for
 * people when it is NULL.
 */
void af_summary_findings(struct af_buf *b, const struct af_tables *f, uint32_t limit,
                         const struct af_document *document);

/* The end of the line about rows that are not shown, for commands with --limit. */
#define AF_SHOW_ALL "--limit 0 shows all"

/*
 * Colours only on a terminal, and not when NO_COLOR is set (no-color.org). The terminal of a
 * process that a launcher started may be the launcher's, which writes to a file.
 */
bool af_colour(FILE *out);

#endif
