#include "sym/elf/fde.h"

bool af_fde_find(const struct af_cfi *c, uint64_t vaddr, uint64_t *start)
{
	struct af_cfi_function f;

	if (!af_cfi_function(c, vaddr, &f))
		return false;
	*start = f.start;
	/* A function whose FDE cannot be read reaches to the next FDE. */
	return vaddr - f.start < f.size;
}

uint64_t af_fde_part_len(const struct af_cfi *c, uint64_t start)
{
	struct af_cfi_function f;

	/*
	 * At its start a function has its return address on top of the stack; rules with a stack
	 * frame can only hold after an instruction.
	 */
	return af_cfi_function(c, start, &f) && f.start == start && f.defines ? f.size : 0;
}
