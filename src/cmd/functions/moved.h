/*
 * Instructions of x86-64 that a probe moves elsewhere, where they do the same. Only where this
 * build has Capstone.
 */
#ifndef AF_CMD_FUNCTIONS_MOVED_H
#define AF_CMD_FUNCTIONS_MOVED_H

#ifdef AF_HAVE_CAPSTONE

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <capstone/capstone.h>

#include "trace/write/probes.h"

/* Does it go elsewhere, or may it? Calls and returns do, too. */
bool functions_branches(const cs_insn *insn);

/* Does it only fill room? */
bool functions_fills(const cs_insn *insn);

/*
 * Where what fills the room behind a function ends, which is where the next one begins: a multiple
 * of 16. @end, where the room is not filled, as between functions that are not aligned: they may
 * begin with such instructions. @code: @left bytes at @end; @insn is overwritten.
 */
uint64_t functions_next(csh handle, cs_insn *insn, const uint8_t *code, size_t left, uint64_t end);

/*
 * Add it to @to's code, as it is to be there; @to->len has the bytes before it in the old place.
 * False: it works only where it is.
 */
bool functions_move(struct af_probe *to, const cs_insn *insn);

/* The same for an instruction that is no call, and no jump to a fixed address. */
bool functions_copy(struct af_probe *to, const cs_insn *insn);

#endif

#endif
