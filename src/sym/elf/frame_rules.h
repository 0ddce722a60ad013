/*
 * The unwind rules of an ELF file (unwind/cfi.h), from a frame to its caller. Each address is
 * looked up once. All registers are followed, since unwinding a copied stack has time for that.
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
	const struct af_cfi_image *image; /* that expressions lie in */
	struct af_cfi_row row;
};

struct af_frame_rules {
	struct af_cfi tables[2]; /* .eh_frame, .debug_frame */
	uint8_t *unpacked;       /* bytes of an unpacked .debug_frame, or NULL */
	struct af_map by_address;
	struct af_keys rules; /* few rules differ */
	struct af_arena memory;
	struct af_frame_rule last;
};

/* @elf's bytes outlive @r. Without unwind tables every address has NO_RULE. */
void af_frame_rules_open(struct af_frame_rules *r, const struct af_elf *elf);
void af_frame_rules_close(struct af_frame_rules *r); /* a zeroed one is fine */

/* The rule at @vaddr, an address of the file; valid until the next call. */
const struct af_frame_rule *af_frame_rule(struct af_frame_rules *r, uint64_t vaddr);

#endif
