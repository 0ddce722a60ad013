/*
 * Function starts in a stripped file: the unwind tables stay in it, because exceptions need them.
 * There is one start for each frame description entry (FDE: unwind/cfi.h).
 */
#ifndef AF_SYM_ELF_FDE_H
#define AF_SYM_ELF_FDE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

/* The start of the function that covers @vaddr; false when no FDE covers it. Takes tens of ns. */
bool af_fde_find(const struct af_cfi *c, uint64_t vaddr, uint64_t *start);

/*
 * The length of the code at @start if its FDE has a stack frame before the first instruction: no
 * function begins like that, but a part that a compiler has moved elsewhere does. 0 for all other
 * code.
 */
uint64_t af_fde_part_len(const struct af_cfi *c, uint64_t start);

#endif
