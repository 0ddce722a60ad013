/*
 * A driver of OpenCL for the system's loader, of which tests/api/coverage generates the functions:
 * what they share. Each answers with known values; a few answer as a real driver must for the
 * loader to take it.
 */
#ifndef AF_TESTS_API_MOCK_ICD_H
#define AF_TESTS_API_MOCK_ICD_H

#include "note.h"

enum { MOCK_OBJECTS = 128, MOCK_COUNT = 3, MOCK_ERROR = -30 };

#define MOCK_EXPORT __attribute__((visibility("default")))

/* The loader calls by the table that an object begins with. */
static struct _cl_icd_dispatch mock_dispatch;
static struct {
	struct _cl_icd_dispatch *dispatch;
	unsigned number;
} mock_objects[MOCK_OBJECTS];

static char mock_function[100]; /* the one whose next call has known answers */
static int mock_fails;
static unsigned mock_nr_calls;
static int mock_error; /* of the call under way */

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

/* Is this the call under test? */
static int mock_is_armed(const char *function)
{
	if (strcmp(function, mock_function))
		return 0;
	mock_nr_calls++;
	return mock_nr_calls == 1;
}

/* A call begins. */
static int mock_begin(const char *function)
{
	int armed = mock_is_armed(function);

	mock_error = armed && mock_fails ? MOCK_ERROR : 0;
	return armed;
}

static void mock_put_objects(void *to, unsigned index, int armed)
{
	void **out = to;

	for (unsigned e = 0; out && e < (armed ? NOTE_ELEMENTS : 1u); e++)
		out[e] = mock_object(64 + 4 * index + e);
}

/* The first is a count, or an error code where @is_error. */
static void mock_put_integers(void *to, unsigned index, size_t element, int is_error, int several)
{
	const uint64_t first = is_error ? (uint64_t)(int64_t)mock_error : MOCK_COUNT;

	for (unsigned e = 1; to && several && e < NOTE_ELEMENTS; e++)
		note_pattern((char *)to + e * element, index, e, element);
	if (to)
		memcpy(to, &first, element);
}

static void mock_put_bytes(void *to, unsigned index, size_t element, int armed)
{
	for (unsigned e = 0; to && armed && e < NOTE_ELEMENTS; e++)
		note_pattern((char *)to + e * element, index, e, element);
}

static int mock_text(const char *text, size_t size, void *to, size_t *len)
{
	if (to && size <= strlen(text))
		return MOCK_ERROR;
	if (to)
		strcpy(to, text);
	if (len)
		*len = strlen(text) + 1;
	return 0;
}

static int mock_platform_info(cl_uint what, size_t size, void *to, size_t *len)
{
	return mock_text(what == CL_PLATFORM_VERSION          ? "OpenCL 3.0 mock"
	                 : what == CL_PLATFORM_EXTENSIONS     ? "cl_khr_icd"
	                 : what == CL_PLATFORM_ICD_SUFFIX_KHR ? "MOCK"
	                                                      : "mock",
	                 size, to, len);
}

/* Texts have a text, and everything else is zero. */
static int mock_device_info(cl_device_info what, size_t size, void *to, size_t *len)
{
	if (what == CL_DEVICE_NAME || what == CL_DEVICE_VENDOR || what == CL_DEVICE_VERSION ||
	    what == CL_DRIVER_VERSION || what == CL_DEVICE_EXTENSIONS)
		return mock_text("mock", size, to, len);
	if (to)
		memset(to, 0, size);
	if (len)
		*len = size;
	return 0;
}

static int mock_platforms(cl_uint nr, cl_platform_id *to, cl_uint *found)
{
	if (nr && to)
		*to = mock_object(0);
	if (found)
		*found = 1;
	return 0;
}

#endif
