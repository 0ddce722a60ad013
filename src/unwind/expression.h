/*
 * DWARF expressions (DWARF 5, 2.5), as unwind tables have them: without branches, so each takes as
 * many steps as it has operations. What they read is the caller's to give.
 */
#ifndef AF_UNWIND_EXPRESSION_H
#define AF_UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

enum {
	AF_EXPRESSION_MAX = 256,  /* bytes; longer ones are not followed */
	AF_EXPRESSION_STACK = 16, /* values */
};

struct af_expression {
	/* The value of a register of the frame, the word at an address; false: not known. */
	bool (*reg)(void *arg, uint64_t reg, uint64_t *value);
	bool (*read)(void *arg, uint64_t at, uint64_t *word);
	void *arg;
};

/*
 * What @v of a row of @image, an expression, comes to; @cfa is what it begins with, NULL: with
 * nothing. 0; -ENOTSUP for what is not understood; -EFAULT when something was not known.
 */
int af_expression_value(const struct af_cfi_image *image, const struct af_cfi_value *v,
                        const uint64_t *cfa, const struct af_expression *of, uint64_t *value);

#endif
