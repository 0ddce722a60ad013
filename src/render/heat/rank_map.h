/*
 * Draws what each rank of a job did over time (analyse/ranks/ranks.h): a map with a row for each
 * rank, and time from left to right. A cell has the colour of the kind that took most of its time,
 * and is as strong as its share.
 */
#ifndef AF_RENDER_HEAT_RANK_MAP_H
#define AF_RENDER_HEAT_RANK_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/ranks/ranks.h"
#include "base/buf.h"

/*
 * Append lines of at most @width characters, and what the characters mean. Of more than @rows ranks
 * (0: all) only the odd ones and the typical rank of each group have a row.
 */
void af_rank_map_text(struct af_buf *b, const struct af_ranks_result *r,
                      const struct af_ranks_heat *h, uint32_t width, uint32_t rows, bool colour);

/* An SVG of all ranks that needs no script, with @title above and the kinds below. */
void af_rank_map_svg(struct af_buf *b, const struct af_ranks_result *r,
                     const struct af_ranks_heat *h, const char *title);

#endif
