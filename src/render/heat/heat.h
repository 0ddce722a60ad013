/*
 * The heat map of analyse/time/heat.h, drawn from its tables: for a terminal and as SVG. Time goes
 * up in each column and then on to the next column; the first cell is the lowest of the first
 * column.
 */
#ifndef AF_RENDER_HEAT_HEAT_H
#define AF_RENDER_HEAT_HEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/table/table.h"
#include "base/buf.h"

/*
 * Append lines of at most @width characters, with two rows in each; where there are more columns,
 * several maps below one another. Without @colour a cell is a character, of " .:-=+*#%@"; with it,
 * on a terminal of 256 colours, its background too. @f has the tables of af_pass_heat.
 */
void af_heat_text(struct af_buf *b, const struct af_tables *f, uint32_t width, bool colour);

/*
 * An SVG that needs no script, with its title above, and below a sentence about what is periodic.
 */
void af_heat_svg(struct af_buf *b, const struct af_tables *f, const char *title);

#endif
