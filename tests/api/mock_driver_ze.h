/*
 * A driver of Level Zero for the system's loader, of which tests/api/coverage generates the
 * functions: what they share. Each answers with known values; a few answer as a real driver must.
 */
#ifndef AF_TESTS_API_MOCK_DRIVER_ZE_H
#define AF_TESTS_API_MOCK_DRIVER_ZE_H

#include "note.h"

enum { MOCK_OBJECTS = 256, MOCK_COUNT = 3 };

#define MOCK_EXPORT __attribute__((visibility("default")))

static uint64_t mock_objects[MOCK_OBJECTS];

static char mock_function[100]; /* the one whose next call has known answers */
static int mock_fails;
static unsigned mock_nr_calls;
static ze_result_t mock_error; /* of the call under way */

MOCK_EXPORT void *mock_object(unsigned i)
{
	return &mock_objects[i % MOCK_OBJECTS];
}

MOCK_EXPORT void mock_arm(const char *function, int fails)
{
	snprintf(mock_function, sizeof mock_function, "%s", function);
	mock_fails = fails;
	mock_nr_calls = 0;
}

MOCK_EXPORT unsigned mock_reached(void)
{
	return mock_nr_calls;
}

/* A call begins. Is it the one under test? */
static int mock_begin(const char *function)
{
	int armed = !strcmp(function, mock_function) && !mock_nr_calls++;

	mock_error = armed && mock_fails ? ZE_RESULT_ERROR_INVALID_ARGUMENT : ZE_RESULT_SUCCESS;
	return armed;
}

static void mock_put_objects(void *to, unsigned index, int armed)
{
	void **out = to;

	for (unsigned e = 0; out && e < (armed ? NOTE_ELEMENTS : 1u); e++)
		out[e] = mock_object(64 + 4 * index + e);
}

/* Counts and sizes are known numbers, and zero for calls that are not under test. */
static void mock_put_integers(void *to, unsigned index, size_t element, int armed, int is_count)
{
	const uint64_t count = armed ? MOCK_COUNT : 0;

	for (unsigned e = 0; to && armed && !is_count && e < NOTE_ELEMENTS; e++)
		note_pattern((char *)to + e * element, index, e, element);
	if (to && (is_count || !armed))
		memcpy(to, &count, element);
}

static void mock_put_bytes(void *to, unsigned index, size_t element, int armed)
{
	if (to && armed && element == 16) /* also texts */
		memset((char *)to + NOTE_ELEMENTS * element, 0, 1);
	for (unsigned e = 0; to && armed && e < NOTE_ELEMENTS && (e + 1) * element <= NOTE_ROOM;
	     e++)
		note_pattern((char *)to + e * element, index, e, element);
}

/* One object, of number @i; with -1 none. */
static ze_result_t mock_list(uint32_t *nr, void **to, int i)
{
	if (nr && *nr && to && i >= 0)
		*to = mock_object((unsigned)i);
	if (nr)
		*nr = i >= 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t mock_address(const char *name, void **to)
{
	(void)name;
	if (to)
		*to = NULL;
	return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

#endif
