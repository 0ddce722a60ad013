/*
 * What disassemblers print, as lines that are all alike:
 *
 *	f NAME		instructions of the section of function NAME follow, by offsets in it
 *	i HEX TEXT	an instruction; before any f by its address
 */
#ifndef AF_SYM_DEVICE_LISTING_PARSE_H
#define AF_SYM_DEVICE_LISTING_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_buf;

/*
 * Add to @lines what nvdisasm (12 and 13, with -c) printed: the @size bytes at @text. Labels become
 * the offsets that they stand for. Any bytes will do.
 */
void af_listing_nvdisasm(struct af_buf *lines, const char *text, size_t size);

/* The same of objdump -d --no-show-raw-insn. */
void af_listing_objdump(struct af_buf *lines, const char *text, size_t size);

/*
 * The same of iga64 -d -Xprint-pc, for a function that is at @start of its section. Labels become
 * the offsets in it.
 */
void af_listing_iga64(struct af_buf *lines, uint64_t start, const char *text, size_t size);

/* A line of either: a function's name (@offset is untouched), or an instruction. */
struct af_listing_line {
	bool is_function;
	uint64_t offset;
	const char *text; /* not ended by a NUL */
	size_t len;
};

/*
 * Take the next line off the *@size bytes at *@lines; false when there are no more. What is no such
 * line is skipped.
 */
bool af_listing_next(const char **lines, size_t *size, struct af_listing_line *line);

#endif
