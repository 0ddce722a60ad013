/*
 * The part that calls of all CUDA functions share (cuda.py): they are reported by the mock of CUPTI
 * (tests/mock_cuda), with the structs that NVIDIA's headers declare for each callback.
 */
#ifndef AF_TESTS_API_CALLER_CUDA_H
#define AF_TESTS_API_CALLER_CUDA_H

#include <dlfcn.h>

enum { CHILDREN_WAYS = 1 };

#include "children.h"

enum { CUDA_OBJECTS = 64, CUDA_FAILS = 1, CUDA_RESULT = 64, CUDA_COUNT = 3 };

static uint32_t (*report)(uint32_t domain, uint32_t id, const char *name, const void *params,
                          const void *result, void (*callee)(void *), void *arg);

/* Objects hold pointers to themselves, for a mock that follows them. */
static void *objects[CUDA_OBJECTS][32];

static void callback(void)
{
}

static void *object(unsigned i)
{
	for (unsigned k = 0; k < 32; k++)
		objects[i % CUDA_OBJECTS][k] = objects[i % CUDA_OBJECTS];
	return objects[i % CUDA_OBJECTS];
}

static void *note_objects(unsigned index)
{
	void **room = calloc(1, NOTE_ROOM);

	for (unsigned i = 0; i < NOTE_ELEMENTS; i++)
		room[i] = object(16 + 4 * index + i);
	return room;
}

/* Room for a number that the call may read before it writes it. */
static void *note_count(size_t element)
{
	char *room = note_room();

	memset(room, 0, element);
	*room = CUDA_COUNT + 1;
	return room;
}

/* A pointer to nowhere. */
static void *wild(unsigned index)
{
	return (void *)(uintptr_t)(0x7000dead0000u + 16 * index);
}

/* The call writes at @to: a count of elements first, where @is_count. */
static void put(void *to, unsigned index, size_t element, int is_count)
{
	for (unsigned e = 0; e < NOTE_ELEMENTS && (e + 1) * element <= NOTE_ROOM; e++)
		note_pattern((char *)to + e * element, index, e, element);
	if (is_count) {
		memset(to, 0, element);
		*(char *)to = CUDA_COUNT;
	}
}

static const void *result_of(enum note_way way)
{
	static unsigned char result[CUDA_RESULT];

	memset(result, way == NOTE_WORKS ? 0 : 0x11, sizeof result);
	memset(result, 0, 4);
	result[0] = way == NOTE_WORKS ? 0 : CUDA_FAILS;
	return result;
}

int main(int argc, char **argv)
{
	if (argc == 4) {
		void *driver = dlopen("libcuda.so.1", RTLD_NOW);
		int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
		if (!init || init(0))
			return 4;
		void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
		*(void **)&report = cupti ? dlsym(cupti, "mock_cupti_report") : NULL;
		if (!report)
			return 5;
	}
	return children_main(argc, argv);
}

#endif
