/*
 * The functions of a module as one sorted table, from the symbol tables of its ELF file and of its
 * separate debug file (System V gABI, "Symbol Table"), the stubs of its procedure linkage table,
 * and the functions that Go lists for itself.
 *
 *	{ af_symtab_add, af_plt_add, af_go_add }* → af_symtab_build → { af_symtab_find }*
 *	→ af_symtab_free
 */
#ifndef AF_SYM_ELF_SYMTAB_H
#define AF_SYM_ELF_SYMTAB_H

#include <stdint.h>

#include "base/arena.h"
#include "sym/elf/ranges.h"
#include "trace/layout.h"
#include "unwind/elf_file.h"

struct af_symtab_entry {
	uint64_t start;
	uint64_t size;  /* 0: not known */
	uint64_t limit; /* it ends here at the latest: the end of its section */
	/* Mangled, perhaps with a symbol version; lives as long as the ELF data */
	const char *name;
	uint8_t rank;   /* binding and type: of the names for one address, the highest wins */
	uint8_t source; /* enum af_symbol_source */
};

struct af_symtab {
	struct af_symtab_entry *entries;
	uint32_t nr, cap;
	struct af_ranges ranges;
	struct af_arena strings; /* names that stand in no file */
};

/* A zeroed struct is an empty table. */
void af_symtab_free(struct af_symtab *t);

/* Add the functions of .symtab and .dynsym. The data of @e must outlive the table. */
void af_symtab_add(struct af_symtab *t, const struct af_elf *e);

/*
 * Add the PLT stubs of @e as `function@plt`. Call it after the symbols that name them are added.
 * x86-64 only.
 */
void af_plt_add(struct af_symtab *t, const struct af_elf *e);

/*
 * Add the functions of Go that @e lists in .gopclntab, however it was stripped. Adds nothing for
 * other files. The data of @e must outlive the table.
 */
void af_go_add(struct af_symtab *t, const struct af_elf *e);

/* Add one entry, for the three functions above. @name outlives the table. */
void af_symtab_put(struct af_symtab *t, const struct af_symtab_entry *entry);

/*
 * Decide which function each address belongs to. A symbol covers its size; one without a size
 * reaches to the next symbol, the end of its section or 16 KiB, whichever comes first. Of several
 * that cover an address, the one that starts last wins. Of several names for one address the order
 * is: with size before without, global before local, fewest leading underscores, strong before
 * weak, shortest, first in bytes.
 */
void af_symtab_build(struct af_symtab *t);

/* The function that @vaddr lies in, or NULL. Takes a few ns. */
const struct af_symtab_entry *af_symtab_find(const struct af_symtab *t, uint64_t vaddr);

#endif
