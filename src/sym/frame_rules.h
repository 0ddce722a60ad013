/*
 * From a frame to its caller: what an ELF file's call frame information says for an address
 * (.eh_frame: Linux Standard Base 5.0 core generic, 10.6; .debug_frame: DWARF 5, 6.4), as libdw
 * reads it. Each address is looked up once; all registers are known, as a copied stack leaves the
 * time for it. x86-64, numbered as its psABI 1.0 does (figure 3.36).
 *
 *	af_frame_rules_open → { af_frame_rule }* → af_frame_rules_close
 */
#ifndef AF_SYM_FRAME_RULES_H
#define AF_SYM_FRAME_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "sym/elf_file.h"

enum {
	AF_FRAME_RAX = 0,
	AF_FRAME_RBX = 3,
	AF_FRAME_RBP = 6,
	AF_FRAME_RSP = 7,
	AF_FRAME_RIP = 16, /* of the caller: the return address */
	AF_FRAME_REGISTERS = 17,
};

/* An operation of a DWARF expression (DWARF 5, 2.5): DW_OP_… and its operands. */
struct af_frame_op {
	uint8_t code;
	uint64_t first, second;
};

/* How something comes about. No operations: it cannot be known. */
struct af_frame_value {
	const struct af_frame_op *ops;
	uint8_t nr;
	uint8_t reg; /* of the caller, of those that differ from this frame's */
};

struct af_frame_rule {
	enum { AF_FRAME_NO_RULE, AF_FRAME_RULE, AF_FRAME_BAD_RULE } kind;
	bool signal; /* what it returns to was interrupted and called nothing */
	uint8_t nr;
	struct af_frame_value cfa; /* the frame's address */
	struct af_frame_value *saved;
};

struct af_frame_rules {
	struct Elf *elf;
	struct Dwarf *dwarf;
	struct Dwarf_CFI_s *frames[2]; /* .eh_frame, .debug_frame */
	struct af_map by_address;
	struct af_arena memory;
};

/* @elf, whose bytes outlive @r, in private pages; without such information all has NO_RULE. */
void af_frame_rules_open(struct af_frame_rules *r, const struct af_elf *elf);
void af_frame_rules_close(struct af_frame_rules *r); /* a zeroed one is fine */

/* Of @vaddr, an address of the file; valid until the rules are closed. */
const struct af_frame_rule *af_frame_rule(struct af_frame_rules *r, uint64_t vaddr);

#endif
