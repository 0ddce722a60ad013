/*
 * A copied stack of hostile bytes, unwound by the tables of a hostile file: the input is how many
 * bytes are the stack (u16), an address of the file (u32), registers of x86-64, the stack, and the
 * file. A file of another machine makes them registers of that one, which has more: they repeat.
 */
#include <stdlib.h>
#include <string.h>

#include "sym/elf/unwind_copy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAMES = 128 };

static const struct af_unwind_code *find(void *arg, uint64_t pc)
{
	static const struct af_unwind_code nothing, bare = {.mapped = true};

	/* Some addresses are of code that has no file, some of none. */
	return pc >> 40 == 1 ? &bare : pc >> 40 ? &nothing : arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_stack_copy copy = {.known = UINT32_MAX, .has_pc = true, .cut = size & 1};
	const size_t head = 6 + AF_X86_64_REGISTERS * sizeof *copy.regs;
	uint16_t stack_size;
	uint32_t pc;

	if (size < head)
		return 0;
	memcpy(&stack_size, data, 2);
	memcpy(&pc, data + 2, 4);
	for (unsigned i = 0; i < AF_DWARF_REGISTERS; i++)
		memcpy(&copy.regs[i], data + 6 + i % AF_X86_64_REGISTERS * sizeof *copy.regs,
		       sizeof *copy.regs);
	data += head;
	size -= head;
	copy.size = stack_size < size ? stack_size : size;
	/* Blocks of their own, so that a read past an end is seen. */
	uint8_t *stack = malloc(copy.size + 1), *file = malloc(size - copy.size + 1);
	memcpy(stack, data, copy.size);
	memcpy(file, data + copy.size, size - copy.size);
	copy.bytes = stack;
	copy.pc = pc;

	struct af_frame_rules rules = {0};
	struct af_elf elf;
	copy.machine = af_machine(EM_X86_64);
	if (!af_elf_parse(&elf, file, size - copy.size)) {
		af_frame_rules_open(&rules, &elf);
		copy.machine = af_machine(elf.machine) ? af_machine(elf.machine) : copy.machine;
	}
	if (!copy.machine->links)
		copy.regs[copy.machine->ra] = pc;
	struct af_unwind_code code = {.mapped = true, .rules = &rules};
	const struct af_unwind_maps maps = {find, &code};
	uint64_t pcs[FRAMES];
	enum af_stop stop;
	uint32_t nr = af_unwind_copy(&copy, &maps, pcs, FRAMES, &stop);
	if (!nr || nr > FRAMES || stop == AF_STOP_NOT_WALKED || stop >= AF_STOP_END)
		abort();
	af_frame_rules_close(&rules);
	free(stack);
	free(file);
	return 0;
}
