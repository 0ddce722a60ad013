/*
 * Functions that libaflame.so probes in the process: which of their first instructions can run
 * elsewhere, so that a jump can stand in their place; and their ends (tails.h).
 */
#ifndef AF_CMD_FUNCTIONS_HEADS_H
#define AF_CMD_FUNCTIONS_HEADS_H

#include <stdint.h>

#include "cmd/functions/functions.h"
#include "trace/write/probes.h"

/*
 * Make probes of all of @f, and of the exits of those that are timed, in @to, which has room for
 * AF_PROBES_MOST + AF_PROBES_EXITS_MOST; *@nr of them. -ENOTSUP with a message that names the
 * function where one has none: its first instructions depend on where they are, or are jumped into,
 * a jump has no room where it ends, or this build has no Capstone. Those that a pattern named are
 * then left without times, or out: see @f->untimed and @f->unprobed.
 */
int af_functions_heads(struct af_functions *f, struct af_probe *to, uint32_t *nr,
                       struct af_err *err);

#endif
