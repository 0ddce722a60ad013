/* Rows of "The run" that name the programs whose allocations were recorded. */
#ifndef AF_ANALYSE_PASSES_ALLOCATIONS_H
#define AF_ANALYSE_PASSES_ALLOCATIONS_H

#include "analyse/table/table.h"
#include "analyse/world/world.h"

/* Add them to @t; none where the recording was not asked for allocations. */
void af_allocations_rows(struct af_tables *f, struct af_table *t, const struct af_world *w);

#endif
