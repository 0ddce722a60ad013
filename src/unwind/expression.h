/*
 * DWARF expressions (DWARF 5, 2.5) in unwind tables: without branches, so each takes as many steps
 * as it has operations. The caller supplies the registers and memory that they read.
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
	/* The value of a register of the frame, and the word at an address. False: not known. */
	bool (*reg)(void *arg, uint64_t reg, uint64_t *value);
	bool (*read)(void *arg, uint64_t at, uint64_t *word);
	void *arg;
};

/*
 * The value of the expression @v, from a row of @image. Evaluation starts with @cfa on the stack;
 * NULL: with an empty stack. 0; -ENOTSUP for an operation that is not supported; -EFAULT when a
 * register or word was not known.
 */
int af_expression_value(const struct af_cfi_image *image, const struct af_cfi_value *v,
                        const uint64_t *cfa, const struct af_expression *of, uint64_t *value);

#endif
