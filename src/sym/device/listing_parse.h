/*
 * The output of disassemblers, converted to lines of one form:
 *
 *	f NAME          instructions of the section of function NAME follow, by offsets in it
 *	i HEX TEXT      an instruction; before any f by its address
 */
#ifndef AF_SYM_DEVICE_LISTING_PARSE_H
#define AF_SYM_DEVICE_LISTING_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_buf;

/*
 * Append the output of nvdisasm (12 and 13, with -c), the @size bytes at @text, to @lines. Labels
 * become the offsets that they stand for. The bytes are hostile.
 */
void af_listing_nvdisasm(struct af_buf *lines, const char *text, size_t size);

/* The same of objdump -d --no-show-raw-insn. */
void af_listing_objdump(struct af_buf *lines, const char *text, size_t size);

/*
 * The same of iga64 -d -Xprint-pc, for a function that is at @start of its section. Labels become
 * the offsets in it.
 */
void af_listing_iga64(struct af_buf *lines, uint64_t start, const char *text, size_t size);

/* One line: a function's name (@offset is untouched), or an instruction. */
struct af_listing_line {
	bool is_function;
	uint64_t offset;
	const char *text; /* not ended by a NUL */
	size_t len;
};

/*
 * Take the next line off the *@size bytes at *@lines; false when there are no more. Other lines are
 * skipped.
 */
bool af_listing_next(const char **lines, size_t *size, struct af_listing_line *line);

#endif
