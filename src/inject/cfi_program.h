/*
 * The instructions of call frame information (DWARF 5, 6.4.2, and the GNU ones): from a CIE's or
 * FDE's bytes to the row of one program counter. Private to cfi.c and cfi_program.c.
 */
#ifndef AF_INJECT_CFI_PROGRAM_H
#define AF_INJECT_CFI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/dwarf.h"

enum {
	CFI_SAVED_ROWS = 8, /* remember_state nests once or twice in real code */
};

/* The rule of one register at one point of the function. */
struct cfi_saved {
	enum {
		CFI_UNSET,
		CFI_SAME,
		CFI_UNDEFINED,
		CFI_AT_CFA,
		CFI_VALUE_CFA,
		CFI_AT_EXPRESSION,
		CFI_OTHER,
	} how;
	int64_t offset;
	struct af_dwarf_cursor expression;
};

struct cfi_row {
	bool by_expression;
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct af_dwarf_cursor expression;
	struct cfi_saved fp, base, ra;
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_register;
	uint8_t fde_encoding;
	bool has_size; /* augmentation z */
	bool is_signal;
	struct af_dwarf_cursor insns;
};

struct cfi_run {
	const struct cfi_cie *cie;
	struct cfi_row row, initial;
	struct cfi_row saved[CFI_SAVED_ROWS];
	unsigned nr_saved;
	struct cfi_saved ignored; /* registers that are not followed */
	uint64_t at, target;
	bool stop; /* the row of the target is there */
};

/*
 * Run @insns on run->row from run->at on, until they end or the row of run->target is complete.
 * 0; -EINVAL for what is no program; -ENOTSUP when it remembers too many rows.
 */
int af_cfi_execute(struct cfi_run *run, struct af_dwarf_cursor insns);

#endif
