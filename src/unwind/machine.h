/*
 * The machines whose frames are followed: x86-64 (System V psABI 1.0), AArch64 (AAPCS64; DWARF for
 * the Arm 64-bit Architecture) and 64-bit RISC-V (RISC-V ELF psABI), little-endian. A file's tables
 * are read by the machine of that file, whatever machine this is. All stacks grow down.
 */
#ifndef AF_UNWIND_MACHINE_H
#define AF_UNWIND_MACHINE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

enum { AF_NO_REGISTER = 0xff };

/* Numbers of registers are those of unwind tables. */
struct af_machine {
	uint16_t elf;   /* e_machine */
	uint8_t nr;     /* registers that a row has, from 0 */
	uint8_t sp, fp; /* of the stack and of the frame */
	uint8_t ra;     /* the return address */
	uint8_t base;   /* that some frames are found by, in a call */
	uint8_t drap;   /* the same, where a function begins */
	bool links;     /* a call leaves the return address in register @ra, not on the stack */
	uint32_t kept;  /* a bit for each register that belongs to the caller */
};

/* The machine of an ELF file's e_machine, NULL when its frames cannot be followed. In handlers. */
const struct af_machine *af_machine(uint16_t elf);

/*
 * Return addresses may be signed in their high bits (Arm ARM, "Pointer authentication"). User code
 * has zeros there.
 */
static inline uint64_t af_machine_address(uint16_t elf, uint64_t ra)
{
	return elf == EM_AARCH64 ? ra & ((UINT64_C(1) << 48) - 1) : ra;
}

#endif
