#include "unwind/machine.h"

#include <stddef.h>

#include "unwind/registers.h"

#define BITS(first, last) ((2u << (last)) - (1u << (first)))

/* Most asked for first. */
static const struct af_machine machines[] = {
    {
	.elf = EM_X86_64,
	.nr = AF_X86_64_REGISTERS,
	.sp = AF_DWARF_RSP,
	.fp = AF_DWARF_RBP,
	.ra = AF_DWARF_RIP,
	.base = AF_DWARF_RBX,
	.drap = AF_DWARF_R10,
	.kept = 1u << AF_DWARF_RBX | 1u << AF_DWARF_RBP | BITS(AF_DWARF_R12, AF_DWARF_R15),
    },
    {
	.elf = EM_AARCH64,
	.nr = AF_DWARF_REGISTERS,
	.sp = AF_AARCH64_SP,
	.fp = AF_AARCH64_X29,
	.ra = AF_AARCH64_X30,
	.base = AF_AARCH64_X19,
	.drap = AF_NO_REGISTER,
	.links = true,
	.kept = BITS(AF_AARCH64_X19, AF_AARCH64_X30),
    },
    {
	.elf = EM_RISCV,
	.nr = AF_DWARF_REGISTERS,
	.sp = AF_RISCV_SP,
	.fp = AF_RISCV_S0,
	.ra = AF_RISCV_RA,
	.base = AF_RISCV_S1,
	.drap = AF_NO_REGISTER,
	.links = true,
	.kept = BITS(AF_RISCV_ZERO, AF_RISCV_RA) | BITS(AF_RISCV_GP, AF_RISCV_TP) |
                BITS(AF_RISCV_S0, AF_RISCV_S1) | BITS(AF_RISCV_S2, AF_RISCV_S11),
    },
};

const struct af_machine *af_machine(uint16_t elf)
{
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		if (machines[i].elf == elf)
			return &machines[i];
	return NULL;
}
