/*
 * Unwinds a stack from the registers of a thread and a copy of the memory at its stack pointer, as
 * perf record --call-graph dwarf keeps them: by the unwind tables of the mapped files
 * (frame_rules.h), and by frame pointers through code that has none. x86-64.
 */
#ifndef AF_SYM_ELF_UNWIND_COPY_H
#define AF_SYM_ELF_UNWIND_COPY_H

#include "sym/elf/frame_rules.h"
#include "trace/layout.h"

struct af_stack_copy {
	uint64_t regs[AF_X86_64_REGISTERS];
	uint32_t known;       /* a bit for each of regs */
	const uint8_t *bytes; /* from regs[AF_DWARF_RSP] on */
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
