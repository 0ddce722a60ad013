/*
 * Call frame information to one unwind rule. Reads .eh_frame by the search table of .eh_frame_hdr
 * (Linux Standard Base 5.0 core generic, 10.6: encodings, CIE and FDE with augmentations;
 * DWARF 5, 6.4: the instructions; CIE versions 1, 3 and 4) and runs the instructions up to one
 * program counter. Follows the stack pointer, the frame pointer, the return address and the base
 * register of arch/arch.h; the rules of other registers are read over. Holds no state, allocates
 * nothing, is bounded by the bytes it is given whatever they hold, and may run in a signal handler.
 */
#ifndef AF_INJECT_CFI_H
#define AF_INJECT_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a frame's canonical frame address comes from the registers in it. */
enum af_cfa {
	AF_CFA_NONE = 1,    /* no table: cfa_offset 1 when a call ends at the address */
	AF_CFA_SP,          /* sp + offset */
	AF_CFA_FP,          /* fp + offset */
	AF_CFA_SP_DEREF,    /* the word at sp + offset */
	AF_CFA_FP_DEREF,    /* the word at fp + offset */
	AF_CFA_PLT,         /* sp + 8, and 8 more when the low 4 bits of pc reach offset */
	AF_CFA_SIGNAL,      /* none: registers are in the kernel's signal frame */
	AF_CFA_END,         /* the outermost frame */
	AF_CFA_BASE,        /* base + offset */
	AF_CFA_DRAP,        /* drap + offset, where a function begins */
	AF_CFA_UNSUPPORTED, /* a table says something that cannot be followed */
	AF_CFA_NOT_CODE,    /* nothing readable is mapped at the address */
};

/* Where a register of the caller is. */
enum af_saved {
	AF_SAVED_SAME,  /* untouched in the register */
	AF_SAVED_CFA,   /* the word at cfa + offset */
	AF_SAVED_FP,    /* the word at fp + offset */
	AF_SAVED_SP,    /* the word at sp + offset */
	AF_SAVED_VALUE, /* cfa + offset itself */
	AF_SAVED_LOST,
};

/* Offsets in bytes. */
struct af_rule {
	uint8_t cfa; /* enum af_cfa */
	uint8_t fp;  /* enum af_saved */
	uint8_t base;
	bool exact; /* the caller was interrupted: its pc is not a return address */
	int32_t cfa_offset, fp_offset, base_offset;
	int32_t ra_offset; /* the return address is the word at cfa + ra_offset */
};

/* Bytes of an ELF image and the address they have (or would have) at run time. */
struct af_cfi_image {
	const uint8_t *bytes;
	uint64_t len;
	uint64_t address;
};

/*
 * The rule for @pc from the .eh_frame_hdr that lies @hdr bytes into @image. 0; -ENOENT when no
 * FDE covers @pc; -EINVAL for malformed tables; -ENOTSUP for a rule that struct af_rule cannot
 * express. *@rule is set only on success.
 */
int af_cfi_rule(const struct af_cfi_image *image, uint64_t hdr, uint64_t pc, struct af_rule *rule);

#endif
