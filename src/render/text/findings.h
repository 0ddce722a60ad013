/* The findings as text for people; findings.h has the table. */
#ifndef AF_RENDER_TEXT_FINDINGS_H
#define AF_RENDER_TEXT_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct af_table;

/*
 * A numbered list of at most @limit findings (0: all), each a sentence with what usually helps and
 * what to run to check it, in lines of at most @width characters. The list ends with how many are
 * left out, and with @all, how to see them (may be NULL).
 */
void af_findings_text(struct af_buf *b, const struct af_table *t, uint32_t limit, uint32_t width,
                      bool colour, const char *all);

#endif
