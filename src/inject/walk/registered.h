/*
 * Unwind tables of code that is made at run time, which its compiler registers with the unwinder of
 * C++ (__register_frame() of libgcc): a table is copied, so that a walk never reads what its owner
 * has freed. What does not fit the bounds below is left out, and stacks end in such code.
 *
 *	{ af_registered_add → { af_registered_rule }* → af_registered_remove }*
 */
#ifndef AF_INJECT_WALK_REGISTERED_H
#define AF_INJECT_WALK_REGISTERED_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

enum {
	AF_REGISTERED_TABLES = 4096,
	AF_REGISTERED_BYTES = 1 << 20,      /* of one table */
	AF_REGISTERED_ALL_BYTES = 32 << 20, /* of all copies */
};

/*
 * Copy the table (.eh_frame, LSB 5.0 core generic, 10.6) that begins at @frames and ends in a zero.
 * Any thread, in no handler. @frames may be anything.
 */
void af_registered_add(const void *frames);

/* Forget it. True when some walk has used it: rules and stacks may be remembered. Likewise. */
bool af_registered_remove(const void *frames);

/* The rule for @pc, as af_cfi_rule(); -ENOENT: no table has it. In handlers. */
int af_registered_rule(uint64_t pc, struct af_rule *rule);

#endif
