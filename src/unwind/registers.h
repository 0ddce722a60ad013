/*
 * Registers, numbered as in unwind tables: x86-64, System V psABI 1.0, figure 3.36; AArch64, DWARF
 * for the Arm 64-bit Architecture, 4.1; RISC-V, ELF psABI, "DWARF register numbers".
 */
#ifndef AF_UNWIND_REGISTERS_H
#define AF_UNWIND_REGISTERS_H

enum {
	AF_DWARF_RAX = 0,
	AF_DWARF_RBX = 3, /* the frame of ld.so's lazy binding */
	AF_DWARF_RBP = 6,
	AF_DWARF_RSP = 7,
	AF_DWARF_R10 = 10, /* a caller's frame, while a function realigns its own */
	AF_DWARF_R12 = 12,
	AF_DWARF_R15 = 15,
	AF_DWARF_RIP = 16, /* of the caller: the return address */
	AF_X86_64_REGISTERS = 17,
};

enum {
	AF_AARCH64_X19 = 19,
	AF_AARCH64_X29 = 29, /* frame pointer */
	AF_AARCH64_X30 = 30, /* link register */
	AF_AARCH64_SP = 31,
};

enum {
	AF_RISCV_ZERO = 0,
	AF_RISCV_RA = 1,
	AF_RISCV_SP = 2,
	AF_RISCV_GP = 3,
	AF_RISCV_TP = 4,
	AF_RISCV_S0 = 8, /* frame pointer */
	AF_RISCV_S1 = 9,
	AF_RISCV_S2 = 18,
	AF_RISCV_S11 = 27,
};

/* That a row has at most; tables mention more, which no frame is found by. */
enum { AF_DWARF_REGISTERS = 32 };

#endif
