/*
 * The part that calls of all HIP functions share (hip.py). The program is linked with the mock of
 * HIP or, with zeros for all arguments, with the real library.
 */
#ifndef AF_TESTS_API_CALLER_HIP_H
#define AF_TESTS_API_CALLER_HIP_H

enum { CHILDREN_WAYS = 3, HIP_COUNT = 4 };

#include "children.h"

static char objects[128][64];

/* From the mock; the real library has none. */
__attribute__((weak)) void mock_arm(const char *function, int fails);

static void callback(void)
{
}

static void *object(unsigned i)
{
	return objects[i];
}

static void *note_objects(unsigned index)
{
	void **room = calloc(1, NOTE_ROOM);

	for (unsigned i = 0; i < NOTE_ELEMENTS; i++)
		room[i] = object(16 + 4 * (index % 20) + i);
	return room;
}

/* Room for a number that the call may read before it writes it. */
static void *note_count(size_t element)
{
	char *room = note_room();

	memset(room, 0, element);
	*room = HIP_COUNT;
	return room;
}

int main(int argc, char **argv)
{
	return children_main(argc, argv);
}

#endif
