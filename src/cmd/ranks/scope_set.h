/* When the ranks of a set were busy, as one heat map. */
#ifndef AF_CMD_RANKS_SCOPE_SET_H
#define AF_CMD_RANKS_SCOPE_SET_H

#include "analyse/pass/pass.h"
#include "analyse/time/heat.h"

struct af_err;

/*
 * Read all ranks of the set at @dir into the map @heat and its tables, into @r, which the caller
 * closes. @query and @heat say what is asked; times are since the set's first trace began, on one
 * clock. Ranks that cannot be read are named on standard error; -ENODATA: none can.
 */
int af_scope_set_read(const char *dir, const struct af_query *query, struct af_heat *heat,
                      struct af_results *r, struct af_err *err);

#endif
