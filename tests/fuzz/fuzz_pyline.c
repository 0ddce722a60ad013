/*
 * Line tables of Python code objects as any bytes: the input is the first line, an instruction and
 * the table. Checked on the way: a line is one or -1, and what the beginning of a table tells of an
 * instruction, the whole table tells too.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sym/sym.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* From a copy of exactly @len bytes, so that a read past the end is seen. */
static int line_of(uint32_t version, const uint8_t *table, size_t len, int32_t first_line,
                   uint32_t lasti)
{
	uint8_t *exact = malloc(len ? len : 1);

	memcpy(exact, table, len);
	int line = af_py_line(version, exact, len, first_line, lasti);
	if (line < -1)
		abort();
	free(exact);
	return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int32_t first_line;
	uint32_t lasti;

	if (size < sizeof first_line + sizeof lasti)
		return 0;
	memcpy(&first_line, data, sizeof first_line);
	memcpy(&lasti, data + sizeof first_line, sizeof lasti);
	data += sizeof first_line + sizeof lasti;
	size -= sizeof first_line + sizeof lasti;
	/* Most instructions are near the beginning of their code. */
	if (lasti & 0x10000)
		lasti &= 0xfff;

	for (uint32_t version = 0x308; version <= 0x30e; version++) {
		int whole = line_of(version, data, size, first_line, lasti);
		int half = line_of(version, data, size / 2, first_line, lasti);
		/* To 3.9 an instruction after the table is on the table's last line. */
		if (version >= 0x30a && half != -1 && half != whole)
			abort();
	}
	return 0;
}
