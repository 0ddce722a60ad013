/*
 * Lines of Python code objects. The tables come from a trace and are hostile: every byte is
 * bounds-checked, every sum wraps instead of overflowing, and a line that cannot be is none.
 */
#include "sym/sym.h"

struct line_bytes {
	const uint8_t *at, *end;
};

static bool bytes_next(struct line_bytes *b, uint8_t *byte)
{
	if (b->at == b->end)
		return false;
	*byte = *b->at++;
	return true;
}

/* Unsigned integer in groups of six bits, least significant first (Objects/locations.md). */
static bool bytes_varint(struct line_bytes *b, uint32_t *value)
{
	uint8_t byte;

	*value = 0;
	for (unsigned shift = 0; shift <= 30; shift += 6) {
		if (!bytes_next(b, &byte))
			return false;
		*value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			return true;
	}
	return false;
}

/* Signed: the lowest bit is the sign. */
static bool bytes_svarint(struct line_bytes *b, int64_t *value)
{
	uint32_t u;

	if (!bytes_varint(b, &u))
		return false;
	*value = u & 1 ? -(int64_t)(u >> 1) : (int64_t)(u >> 1);
	return true;
}

static int line_checked(int64_t line)
{
	return line < 0 || line > INT32_MAX ? -1 : (int)line;
}

/* co_lnotab (Objects/lnotab_notes.txt): pairs of bytes to advance and lines to add then. */
static int line_lnotab(struct line_bytes b, int64_t line, uint32_t lasti)
{
	uint64_t address = 0;
	uint8_t bytes, lines;

	while (bytes_next(&b, &bytes) && bytes_next(&b, &lines)) {
		address += bytes;
		if (address > lasti)
			break;
		line += (int8_t)lines;
	}
	return line_checked(line);
}

/* co_linetable of 3.10 (PEP 626): pairs of lines to add and the bytes they hold for; -128: none. */
static int line_ranges(struct line_bytes b, int64_t line, uint32_t lasti)
{
	uint64_t end = 0;
	uint8_t bytes, lines;

	while (bytes_next(&b, &bytes) && bytes_next(&b, &lines)) {
		bool none = (int8_t)lines == -128;
		if (!none)
			line += (int8_t)lines;
		end += bytes;
		if (lasti < end)
			return none ? -1 : line_checked(line);
	}
	return -1;
}

/*
 * One entry of the locations table after its first byte: what it adds to the line, and whether it
 * has one. False when the table ends inside it.
 */
static bool location_read(struct line_bytes *b, unsigned kind, int64_t *add, bool *has_line)
{
	unsigned skip = kind < 10 ? 1 : kind < 13 ? 2 : 0;
	uint32_t unused;
	uint8_t byte;

	*add = kind >= 10 && kind < 13 ? kind - 10 : 0;
	*has_line = kind != 15;
	if ((kind == 13 || kind == 14) && !bytes_svarint(b, add))
		return false;
	for (unsigned i = 0; kind == 14 && i < 3; i++)
		if (!bytes_varint(b, &unused))
			return false;
	while (skip--)
		if (!bytes_next(b, &byte))
			return false;
	return true;
}

/* co_linetable from 3.11 on (Objects/locations.md, later InternalDocs/code_objects.md). */
static int line_locations(struct line_bytes b, int64_t line, uint32_t lasti)
{
	uint64_t end = 0;
	uint8_t first;

	while (bytes_next(&b, &first)) {
		int64_t add;
		bool has_line;
		if (!(first & 0x80) || !location_read(&b, first >> 3 & 15, &add, &has_line))
			return -1;
		line += add;
		end += ((first & 7) + 1) * 2;
		if (lasti < end)
			return has_line ? line_checked(line) : -1;
	}
	return -1;
}

int af_py_line(uint32_t version, const uint8_t *table, size_t len, int32_t first_line,
               uint32_t lasti)
{
	struct line_bytes b = {table, len ? table + len : table};

	/* A frame that has not begun: the interpreter, too, says the first line. */
	if ((int32_t)lasti < 0)
		return line_checked(first_line);
	if (version <= 0x309)
		return line_lnotab(b, first_line, lasti);
	if (version == 0x30a)
		return line_ranges(b, first_line, lasti);
	return line_locations(b, first_line, lasti);
}
