/*
 * Relocatable objects by hand, for tests of the linker: code, thread-local data, symbols and
 * relocations of the code.
 */
#ifndef LINK_OBJECTS_H
#define LINK_OBJECTS_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OBJECT_TEXT = 1,
	OBJECT_SYMBOLS,
	OBJECT_STRINGS,
	OBJECT_RELA,
	OBJECT_NAMES,
	OBJECT_TDATA,
	OBJECT_GROUP,
	OBJECT_SECTIONS
};
enum { OBJECT_MOST = 8, OBJECT_SIZE = 4096 };

struct object_symbol {
	const char *name;
	unsigned bind, type, section;
	uint64_t value, size;
};

struct object_rela {
	uint64_t offset;
	uint32_t type, symbol; /* number in `symbols`, from 1 */
	int64_t addend;
};

struct object {
	uint16_t machine;
	uint8_t text[64];
	uint64_t text_size, tdata_size;
	struct object_symbol symbols[OBJECT_MOST]; /* ends with one without a name */
	struct object_rela relas[OBJECT_MOST];     /* ends with type 0 */
	uint32_t group; /* symbol of a COMDAT group with the code, or 0 */
};

/* Write it to @to, OBJECT_SIZE bytes that are zero; its size. */
size_t object_write(const struct object *o, uint8_t *to);

#endif
