/* The header of one line program, for table.c. */
#ifndef AF_SYM_LINES_HEADER_H
#define AF_SYM_LINES_HEADER_H

#include "base/cursor.h"
#include "sym/lines/table.h"

/* Sections that hold the strings of DWARF 5 headers; zeroed when not there. */
struct line_strings {
	const struct af_elf *elf;
	Elf64_Shdr str, line_str;
};

struct line_header {
	uint16_t version;
	uint8_t min_length, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *lengths;   /* operands of opcodes 1 to opcode_base - 1 */
	struct af_cursor program; /* what follows the header */
	uint32_t first_file;      /* of the table: file number `file_base` of this program */
	uint32_t file_base;       /* 1 before DWARF 5 */
	const char **directories; /* malloc'd */
	uint32_t nr_directories, cap_directories;
};

/*
 * Read the header that @c begins with and its files into @t, and leave @c after the program. False
 * when there is no readable header. The caller frees directories.
 */
bool line_header_read(struct line_header *h, struct af_cursor *c, struct af_line_table *t,
                      const struct line_strings *strings);

/* A file in the form of versions up to 4: name, directory, time, length. False for the last. */
bool line_header_file(const struct line_header *h, struct af_cursor *c, struct af_line_table *t);

#endif
