/*
 * Call frame information: tells, for an address of an ELF file, how to find the caller of its
 * frame. Reads .eh_frame by the search table of .eh_frame_hdr, or by an index made here where there
 * is none (Linux Standard Base 5.0 core generic, 10.6: encodings, CIE and FDE with augmentations),
 * and .debug_frame (DWARF 5, 6.4; CIE versions 1, 3 and 4), and runs the instructions up to one
 * address. The bytes are hostile: whatever they hold, nothing outside them is read, and a query
 * takes a fixed amount of memory and a bounded number of instructions.
 *
 *	af_cfi_open → { af_cfi_rule, af_cfi_row, af_cfi_function }* → af_cfi_close
 *
 * The caller may also fill in a struct af_cfi by hand for an image that is mapped with its
 * .eh_frame_hdr. Then nothing is allocated, and af_cfi_rule() may run in a signal handler.
 */
#ifndef AF_UNWIND_CFI_H
#define AF_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/machine.h"
#include "unwind/registers.h"

struct af_elf;

/* Bytes of an ELF image and the address they have (or would have) at run time. */
struct af_cfi_image {
	const uint8_t *bytes;
	uint64_t len;
	uint64_t address;
};

/* Where the frame descriptions (FDE) of an image are. */
struct af_cfi {
	struct af_cfi_image image;
	const struct af_machine *machine; /* NULL: no rules, only where functions are */
	uint64_t hdr;               /* where .eh_frame_hdr lies in @image, when there is no index */
	struct af_cfi_entry *index; /* sorted; malloc'd */
	uint32_t nr_index;
	uint32_t nr_read; /* entries, to make it */
	bool is_debug_frame, has_tables;
};

enum {
	AF_CFI_INDEX_MAX = 4 << 20, /* of a file without a search table; they take 64 MiB */
	/* For one query; gcc's own largest function has 13,000, others 400 */
	AF_CFI_INSNS_MAX = 1 << 16,
};

/*
 * Open the unwind tables of @elf, whose bytes outlive @c: its .eh_frame, with an index of at most
 * @most entries where it has no search table. False when there are none, or more than that
 * (*@too_many, may be NULL). af_cfi_open_debug() takes the bytes of .debug_frame, and the e_machine
 * of their file.
 */
bool af_cfi_open(struct af_cfi *c, const struct af_elf *elf, uint32_t most, bool *too_many);
bool af_cfi_open_debug(struct af_cfi *c, uint16_t elf_machine, const uint8_t *bytes, uint64_t len);
void af_cfi_close(struct af_cfi *c); /* a zeroed one is fine */

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
	AF_CFA_UNSUPPORTED, /* the table holds something that cannot be followed */
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

/*
 * The rule by which walks step to the caller: sp, fp, base (both of struct af_machine) and the
 * return address. Offsets are in bytes.
 */
struct af_rule {
	uint8_t cfa; /* enum af_cfa */
	uint8_t fp;  /* enum af_saved */
	uint8_t base;
	bool exact;          /* the caller was interrupted: its pc is not a return address */
	bool ra_in_register; /* the return address is still where the call left it */
	int32_t cfa_offset, fp_offset, base_offset;
	int32_t ra_offset; /* otherwise the return address is the word at cfa + ra_offset */
};

/*
 * The rule for @pc. 0; -ENOENT when no FDE covers @pc; -EINVAL for malformed tables; -E2BIG when it
 * takes more than *@insns instructions, which are counted down; -ENOTSUP for a rule that struct
 * af_rule cannot express, or a machine that is not known. *@rule is set only on success.
 */
int af_cfi_rule(const struct af_cfi *c, uint64_t pc, uint32_t *insns, struct af_rule *rule);

/* How the value of a caller's register, or of the CFA, is found. */
enum af_cfi_how {
	AF_CFI_UNSET,            /* af_cfi_row() never gives it */
	AF_CFI_SAME,             /* the value that it has in the frame */
	AF_CFI_UNDEFINED,        /* cannot be known; for the return address: there is no caller */
	AF_CFI_AT_CFA,           /* the word at CFA + offset */
	AF_CFI_CFA,              /* CFA + offset itself */
	AF_CFI_REGISTER,         /* register @number of the frame, of the CFA with offset */
	AF_CFI_AT_EXPRESSION,    /* the word at the value of an expression: expression.h */
	AF_CFI_VALUE_EXPRESSION, /* the value of an expression itself */
};

struct af_cfi_value {
	int64_t offset;  /* for an expression: where it lies in the image */
	uint32_t number; /* number of a register; bytes of an expression */
	uint32_t how;    /* enum af_cfi_how */
};

/* All registers of the caller. Without padding, so equal is equal. */
struct af_cfi_row {
	struct af_cfi_value cfa;
	uint64_t is_signal; /* the caller was interrupted: its pc is not a return address */
	struct af_cfi_value regs[AF_DWARF_REGISTERS]; /* as many as the machine has */
};

/*
 * The same for all registers. Registers that the tables do not mention follow the psABI (of x86-64:
 * 3.2.1). -ENOTSUP when the return address is in an unusual column.
 */
int af_cfi_row(const struct af_cfi *c, uint64_t pc, uint32_t *insns, struct af_cfi_row *row);

/* Bytes of a row of @m that count; those behind them hold nothing. */
static inline size_t af_cfi_row_size(const struct af_machine *m)
{
	return offsetof(struct af_cfi_row, regs) + m->nr * sizeof(struct af_cfi_value);
}

/* The code that an FDE covers. */
struct af_cfi_function {
	uint64_t start;
	uint64_t size;   /* UINT64_MAX: not known, because its FDE cannot be read */
	uint8_t defines; /* the first instruction says where the frame or a register is */
};

/* Describes the last FDE that starts at or before @pc. False: there is none. */
bool af_cfi_function(const struct af_cfi *c, uint64_t pc, struct af_cfi_function *f);

/* Where the code of the FDE at offset @at of the image begins. False: none can be read there. */
bool af_cfi_start(const struct af_cfi *c, uint64_t at, uint64_t *start);

#endif
