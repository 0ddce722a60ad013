/* Which frame of an off-CPU path says what was waited for. */
#ifndef AF_ANALYSE_FUNCTIONS_BLOCKED_H
#define AF_ANALYSE_FUNCTIONS_BLOCKED_H

#include <stdint.h>

#include "analyse/tree/tree.h"

/*
 * From @node, the end of an off-CPU path, inwards: the function of the program that waited; 0 when
 * the path has none (a kernel thread, or the process that ended a wait).
 */
uint32_t af_blocked_user(const struct af_tree *t, uint32_t node);

/* The kernel's function that decided to wait: the innermost that is no scheduler's. 0: none. */
uint32_t af_blocked_kernel(const struct af_tree *t, uint32_t node);

#endif
