/*
 * One line of lines_dump.py (tests/live/python_frames): a code object's line table, and the line
 * of every instruction as the interpreter tells it. For test_pyline and for py_lines.
 */
#ifndef AF_TESTS_PYLINE_CASE_H
#define AF_TESTS_PYLINE_CASE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sym/sym.h"

enum { PYLINE_TABLE_MAX = 1 << 20 };

/* The bytes of the hexadecimal at @text, up to a blank; returns how many, -1 when it is none. */
static long pyline_hex(const char *text, uint8_t *bytes, const char **end)
{
	long nr = 0;
	unsigned byte;

	if (*text == '-') {
		*end = text + 1;
		return 0;
	}
	for (; *text && *text != ' '; text += 2) {
		if (nr == PYLINE_TABLE_MAX || sscanf(text, "%2x", &byte) != 1)
			return -1;
		bytes[nr++] = (uint8_t)byte;
	}
	*end = text;
	return nr;
}

/*
 * Compare af_py_line() with every range of the case @text, instruction by instruction. Returns how
 * many were compared, or -1: *@why says at which.
 */
static long pyline_check(const char *text, char *why, size_t size)
{
	static uint8_t table[PYLINE_TABLE_MAX];
	unsigned version, start, stop;
	int first_line, at, line, used;
	long compared = 0;

	if (sscanf(text, "%x %d %n", &version, &first_line, &at) != 2) {
		snprintf(why, size, "no code object: %.40s", text);
		return -1;
	}
	long len = pyline_hex(text + at, table, &text);
	if (len < 0) {
		snprintf(why, size, "no table: %.40s", text);
		return -1;
	}
	for (; sscanf(text, " %u-%u=%d%n", &start, &stop, &line, &used) == 3; text += used)
		for (unsigned lasti = start; lasti < stop; lasti += 2) {
			int is = af_py_line(version, table, (size_t)len, first_line, lasti);
			if (is != line) {
				snprintf(why, size, "%x, code at line %d, byte %u: %d, not %d",
				         version, first_line, lasti, line, is);
				return -1;
			}
			compared++;
		}
	return compared;
}

#endif
