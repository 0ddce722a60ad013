/*
 * A mock of libamdhip64.so, which tests/api/coverage generates: what all its functions share. Only
 * the call under test has known answers; others do nothing and work.
 */
#ifndef AF_TESTS_API_MOCK_HIP_H
#define AF_TESTS_API_MOCK_HIP_H

#include "note.h"

enum { MOCK_COUNT = 3 };

static char mock_function[100];
static int mock_fails;
static long mock_error;

void mock_arm(const char *function, int fails)
{
	snprintf(mock_function, sizeof mock_function, "%s", function);
	mock_fails = fails;
}

/* A call begins. Does it write what it is to write? */
static int mock_begin(const char *function, int error)
{
	int armed = !strcmp(function, mock_function);

	mock_error = armed && mock_fails ? error : 0;
	if (armed)
		*mock_function = 0;
	return armed && !mock_fails;
}

/* The call writes at @to: a count of elements first, where @is_count. */
static void mock_put(void *to, unsigned index, size_t element, int is_count)
{
	for (unsigned e = 0; to && e < NOTE_ELEMENTS && (e + 1) * element <= NOTE_ROOM; e++)
		note_pattern((char *)to + e * element, index, e, element);
	if (to && is_count) {
		memset(to, 0, element);
		*(char *)to = MOCK_COUNT;
	}
}

#endif
