/*
 * From a frame to its caller: what an ELF file's unwind tables say for an address (unwind/cfi.h).
 * Each address is looked up once; all registers are known, as a copied stack leaves the time for
 * it. x86-64.
 *
 *	af_frame_rules_open → { af_frame_rule }* → af_frame_rules_close
 */
#ifndef AF_SYM_ELF_FRAME_RULES_H
#define AF_SYM_ELF_FRAME_RULES_H

#include "base/arena.h"
#include "base/keys.h"
#include "base/map.h"
#include "unwind/cfi.h"
#include "unwind/elf_file.h"

struct af_frame_rule {
	enum { AF_FRAME_NO_RULE, AF_FRAME_RULE, AF_FRAME_BAD_RULE } kind;
	const struct af_cfi_image *image; /* that expressions are in */
	struct af_cfi_row row;
};

struct af_frame_rules {
	struct af_cfi tables[2]; /* .eh_frame, .debug_frame */
	uint8_t *unpacked;       /* of which the latter is, or NULL */
	struct af_map by_address;
	struct af_keys rules; /* there are few that differ */
	struct af_arena memory;
	struct af_frame_rule last;
};

/* @elf's bytes outlive @r; without such information all has NO_RULE. */
void af_frame_rules_open(struct af_frame_rules *r, const struct af_elf *elf);
void af_frame_rules_close(struct af_frame_rules *r); /* a zeroed one is fine */

/* Of @vaddr, an address of the file; valid until the next one is asked for. */
const struct af_frame_rule *af_frame_rule(struct af_frame_rules *r, uint64_t vaddr);

#endif
