/*
 * The line table of an object that is not laid out yet: every section of code starts at 0, and
 * relocations say which section a row belongs to. Cubins are such objects, and libdw cannot read
 * them. The reader knows headers of DWARF versions 2 to 5 (DWARF 5, 6.2), and NVIDIA's extended
 * opcode by which a row names the call that it is inlined into.
 *
 *	af_line_table_read → { af_line_table_find }* → af_line_table_free
 */
#ifndef AF_SYM_LINES_TABLE_H
#define AF_SYM_LINES_TABLE_H

#include "unwind/elf_file.h"

#define AF_LINE_NONE UINT32_MAX

/* Code from this address of its section on belongs to this line, up to the next row. */
struct af_line_row {
	uint64_t address;
	uint32_t section; /* number in the ELF file */
	uint32_t file;    /* of the table's, or AF_LINE_NONE */
	uint32_t line;    /* 0: none */
	uint32_t caller;  /* an earlier row: where this was inlined, or AF_LINE_NONE */
	/* Name of the inlined function, an offset in .debug_str; AF_LINE_NONE: not known */
	uint32_t name;
	bool end; /* not a row, but the end of those before */
};

/* Strings lie in the object's data; NULL where they are not known. */
struct af_line_file {
	const char *directory, *name;
};

struct af_line_table {
	struct af_line_row *rows;
	uint32_t nr_rows, cap_rows;
	struct af_line_file *files;
	uint32_t nr_files, cap_files;
	uint32_t *order; /* rows by section and address */
	uint32_t nr_programs;
};

/*
 * Read section @name (".debug_line") of @e, whose data outlives the table. Damage ends the part
 * that it is in. Without such a section the table has no rows.
 */
void af_line_table_read(struct af_line_table *t, const struct af_elf *e, const char *name);
void af_line_table_free(struct af_line_table *t);

/* The row for @address of section number @section, NULL for none. */
const struct af_line_row *af_line_table_find(const struct af_line_table *t, uint32_t section,
                                             uint64_t address);

#endif
