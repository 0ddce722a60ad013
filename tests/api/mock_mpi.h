/*
 * A library with all functions of an MPI, which tests/api/coverage generates: what they share. Only
 * the call under test has known answers; others do nothing and work.
 */
#ifndef AF_TESTS_API_MOCK_MPI_H
#define AF_TESTS_API_MOCK_MPI_H

#include "note.h"

enum { MOCK_COUNT = 3, MOCK_SIZE = 4, MOCK_CTOF = 77 };

static char mock_function[100];
static int mock_fails, mock_error;
static char mock_objects[256][64];

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

static void mock_put(void *to, unsigned index, size_t element, int is_count, int several)
{
	for (unsigned e = 0; to && e < (several ? NOTE_ELEMENTS : 1u); e++)
		note_pattern((char *)to + e * element, index, e, element);
	if (to && is_count) {
		memset(to, 0, element);
		*(char *)to = MOCK_COUNT;
	}
}

static void mock_put_objects(void *to, unsigned index)
{
	void **out = to;

	for (unsigned e = 0; out && e < NOTE_ELEMENTS; e++)
		out[e] = mock_objects[64 + 4 * (index % 40) + e];
}

#endif
