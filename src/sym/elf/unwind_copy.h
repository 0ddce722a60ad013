/*
 * Unwinds a stack from the registers of a thread and a copy of the memory at its stack pointer, as
 * perf record --call-graph dwarf keeps them: by the unwind tables of the mapped files
 * (frame_rules.h), and by frame pointers through code that has none. The stack may be of another
 * machine than this one.
 */
#ifndef AF_SYM_ELF_UNWIND_COPY_H
#define AF_SYM_ELF_UNWIND_COPY_H

#include "sym/elf/frame_rules.h"
#include "trace/layout.h"
#include "unwind/machine.h"

struct af_stack_copy {
	const struct af_machine *machine; /* NULL: its stacks cannot be unwound */
	uint64_t pc;
	uint64_t regs[AF_DWARF_REGISTERS]; /* by their number in unwind tables */
	uint32_t known;                    /* a bit for each of regs */
	bool has_pc;
	const uint8_t *bytes; /* from the stack pointer on */
	uint64_t size;
	bool cut; /* there was more of the stack than was copied */
};

/* The code at an address. */
struct af_unwind_code {
	bool mapped;                  /* something is mapped */
	bool missing;                 /* a file is mapped that cannot be found */
	struct af_frame_rules *rules; /* of the file, NULL: none */
	uint64_t bias;                /* an address less that in the file */
};

struct af_unwind_maps {
	/* Valid until the next call. */
	const struct af_unwind_code *(*find)(void *arg, uint64_t pc);
	void *arg;
};

/*
 * Unwind the stack into @pcs, leaf first, return addresses less one. Returns their number, at most
 * @most. *@stop is the reason why there are no more.
 */
uint32_t af_unwind_copy(const struct af_stack_copy *copy, const struct af_unwind_maps *maps,
                        uint64_t *pcs, uint32_t most, enum af_stop *stop);

#endif
