/*
 * Lines of Python code objects. The tables come from a trace and are hostile: every byte is
 * bounds-checked, every sum wraps instead of overflowing, and a line that cannot be is none.
 */
#include "base/cursor.h"
#include "sym/sym.h"

static uint8_t line_byte(struct af_cursor *c)
{
	return (uint8_t)af_cursor_uint(c, 1);
}

/* Unsigned integer in groups of six bits, least significant first (Objects/locations.md). */
static uint32_t line_varint(struct af_cursor *c)
{
	uint32_t value = 0;

	for (unsigned shift = 0; shift <= 30; shift += 6) {
		uint8_t byte = line_byte(c);
		value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			return value;
	}
	c->bad = true;
	return 0;
}

/* Signed: the lowest bit is the sign. */
static int64_t line_svarint(struct af_cursor *c)
{
	uint32_t u = line_varint(c);

	return u & 1 ? -(int64_t)(u >> 1) : (int64_t)(u >> 1);
}

static int line_checked(int64_t line)
{
	return line < 0 || line > INT32_MAX ? -1 : (int)line;
}

/* co_lnotab (Objects/lnotab_notes.txt): pairs of bytes to advance and lines to add then. */
static int line_lnotab(struct af_cursor c, int64_t line, uint32_t lasti)
{
	uint64_t address = 0;

	while (c.end - c.at >= 2) {
		address += line_byte(&c);
		if (address > lasti)
			break;
		line += (int8_t)line_byte(&c);
	}
	return line_checked(line);
}

/* co_linetable of 3.10 (PEP 626): pairs of lines to add and the bytes they hold for; -128: none. */
static int line_ranges(struct af_cursor c, int64_t line, uint32_t lasti)
{
	uint64_t end = 0;

	while (c.end - c.at >= 2) {
		end += line_byte(&c);
		int8_t lines = (int8_t)line_byte(&c);
		bool none = lines == -128;
		if (!none)
			line += lines;
		if (lasti < end)
			return none ? -1 : line_checked(line);
	}
	return -1;
}

/*
 * One entry of the locations table after its first byte: what it adds to the line, and whether it
 * has one. False when the table ends inside it.
 */
static bool location_read(struct af_cursor *c, unsigned kind, int64_t *add, bool *has_line)
{
	*add = kind >= 10 && kind < 13 ? kind - 10 : 0;
	*has_line = kind != 15;
	if (kind == 13 || kind == 14)
		*add = line_svarint(c);
	for (unsigned i = 0; kind == 14 && i < 3; i++)
		line_varint(c);
	af_cursor_bytes(c, kind < 10 ? 1 : kind < 13 ? 2 : 0);
	return !c->bad;
}

/* co_linetable from 3.11 on (Objects/locations.md, later InternalDocs/code_objects.md). */
static int line_locations(struct af_cursor c, int64_t line, uint32_t lasti)
{
	uint64_t end = 0;

	while (c.at < c.end) {
		uint8_t first = line_byte(&c);
		int64_t add;
		bool has_line;
		if (!(first & 0x80) || !location_read(&c, first >> 3 & 15, &add, &has_line))
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
	struct af_cursor c = {table, len ? table + len : table, false};

	/* A frame that has not begun: the interpreter, too, says the first line. */
	if ((int32_t)lasti < 0)
		return line_checked(first_line);
	if (version <= 0x309)
		return line_lnotab(c, first_line, lasti);
	if (version == 0x30a)
		return line_ranges(c, first_line, lasti);
	return line_locations(c, first_line, lasti);
}
