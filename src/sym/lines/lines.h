/*
 * Lines and inlined functions of a module from its DWARF (versions 2 to 5). elfutils' libdw reads a
 * compilation unit when an address first falls into it. Tables of our own map addresses to units,
 * functions and inlined calls, because libdw's searches are linear.
 *
 *	af_lines_open → { af_lines_find }* → af_lines_close
 */
#ifndef AF_SYM_LINES_LINES_H
#define AF_SYM_LINES_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "sym/elf/ranges.h"

struct Dwarf;

/* An ELF file in memory, in private pages that libelf may write to. */
struct af_lines_image {
	const uint8_t *data;
	size_t size;
};

struct af_lines {
	struct Elf *elf, *elf_alternate;
	struct Dwarf *dwarf, *dwarf_alternate;
	struct lines_unit *units;
	uint32_t nr_units, cap_units;
	struct af_ranges by_address; /* → unit */
	struct af_map names;         /* declaration → name */
	struct af_arena strings;
};

/* One level of the answer; strings belong to the struct af_lines. */
struct af_lines_frame {
	const char *name;      /* linkage name where there is one, else the plain name, or NULL */
	const char *file;      /* as in the debug information, or NULL */
	const char *directory; /* base of a relative file name, or NULL */
	uint32_t line;         /* 0 when not known */
	/* Where the function is declared, or defined where that is known, in the same form */
	const char *source;
	uint32_t source_line;
};

/*
 * @image and @alternate (may be NULL), the file that its .gnu_debugaltlink names, outlive the
 * struct; libelf writes to them when sections are compressed. -ENODATA when there is no readable
 * debug information; the struct is then empty and finds nothing.
 */
int af_lines_open(struct af_lines *l, const struct af_lines_image *image,
                  const struct af_lines_image *alternate);
void af_lines_close(struct af_lines *l);

/*
 * Frames of @vaddr, innermost inlined function first, a function inlined into itself only once; at
 * most @most. The last is always the function that is not inlined. 0 when the debug information
 * does not cover the address.
 */
uint32_t af_lines_find(struct af_lines *l, uint64_t vaddr, struct af_lines_frame *frames,
                       uint32_t most);

/*
 * The row of the line table at @vaddr, which starts a function: its file, directory and line, all
 * else NULL or 0. False when there is none.
 */
bool af_lines_row(struct af_lines *l, uint64_t vaddr, struct af_lines_frame *row);

#endif
