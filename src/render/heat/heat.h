/*
 * The heat map of heat.h, from its tables: for a terminal and as SVG. Time goes up in columns and
 * on from one to the next, the first cell is the lowest of the first column.
 */
#ifndef AF_RENDER_HEAT_HEAT_H
#define AF_RENDER_HEAT_HEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/table/facts.h"
#include "base/buf.h"

/*
 * Lines of at most @width characters, two rows in each; several maps below one another where there
 * are more columns. Without @colour a cell is a character, of " .:-=+*#%@"; with it, on a terminal
 * of 256 colours, its background too. @f is what af_pass_heat left.
 */
void af_heat_text(struct af_buf *b, const struct af_facts *f, uint32_t width, bool colour);

/* An SVG that needs no script, with its title above and a sentence on what repeats itself below. */
void af_heat_svg(struct af_buf *b, const struct af_facts *f, const char *title);

#endif
