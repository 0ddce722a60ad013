/*
 * Runs the instructions of call frame information (DWARF 5, 6.4.2, and the GNU ones): from a CIE's
 * or FDE's bytes to the row of one program counter. Private to src/unwind.
 */
#ifndef AF_UNWIND_CFI_PROGRAM_H
#define AF_UNWIND_CFI_PROGRAM_H

#include "unwind/cfi_table.h"

enum {
	CFI_SAVED_ROWS = 8, /* remember_state nests once or twice in real code */
	CFI_ROWS = 2 + CFI_SAVED_ROWS,
	/* Columns of every row: the frame's address, and the registers that are not followed. */
	CFI_CFA = 0,
	CFI_IGNORED = 1,
};

/* The registers that are followed: a caller that needs few has short rows. */
struct cfi_columns {
	uint8_t nr; /* columns of a row */
	/* Column of each register; CFI_IGNORED when it is not followed */
	uint8_t of[AF_DWARF_REGISTERS];
};

struct cfi_run {
	const struct cfi_cie *cie;
	const struct cfi_columns *columns;
	struct af_cfi_value *rows; /* CFI_ROWS of columns->nr: now, initial, remembered */
	unsigned nr_saved;
	uint32_t *insns; /* how many may still be run */
	uint64_t at, target;
	bool stop; /* the row of the target is complete */
};

/*
 * The row of @pc, in @fde, at the head of @rows: CFI_ROWS * columns->nr values. 0; -EINVAL when the
 * program is malformed; -ENOTSUP when it remembers too many rows; -E2BIG when it takes more than
 * *@insns instructions.
 */
int cfi_run(const struct cfi_fde *fde, const struct cfi_columns *columns, uint64_t pc,
            uint32_t *insns, struct af_cfi_value *rows);

/* Does the first instruction define the frame or a register? */
bool cfi_defines(struct af_dwarf_cursor insns);

#endif
