/*
 * Where functions start in a file that is stripped: the unwind tables stay in it, as exceptions
 * need them. A start for each frame description entry (FDE: unwind/cfi.h).
 */
#ifndef AF_SYM_ELF_FDE_H
#define AF_SYM_ELF_FDE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

/* The start of the function that covers @vaddr; false when none is known to. Tens of ns. */
bool af_fde_find(const struct af_cfi *c, uint64_t vaddr, uint64_t *start);

/*
 * The length of the code at @start when its FDE says that a stack frame is there before the first
 * instruction: no function begins like that, but a part of one that a compiler has put elsewhere.
 * 0 for everything else.
 */
uint64_t af_fde_part_len(const struct af_cfi *c, uint64_t start);

#endif
