/*
 * The machine's registers, numbered as in unwind tables: x86-64, System V psABI 1.0, figure 3.36.
 * Besides them this layer knows only that the machine's stack grows down, and what a call leaves on
 * it.
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
	AF_DWARF_RIP = 16, /* of the caller: the return address */
	AF_DWARF_REGISTERS = 17,
};

#endif
