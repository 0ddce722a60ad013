/*
 * The part that calls of all MPI functions share (mpi.py). The mock of MPI is linked with the
 * program, as MPI is.
 */
#ifndef AF_TESTS_API_CALLER_MPI_H
#define AF_TESTS_API_CALLER_MPI_H

#include <dlfcn.h>

enum { CHILDREN_WAYS = 3 };

#include "children.h"

/* Objects of Open MPI, which are pointers. */
static char objects[128][64];

/* From the mock. */
void mock_arm(const char *function, int fails);

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

/* The first function of that name: a program is linked with it. */
static void *named(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found)
		exit(3);
	return found;
}

int main(int argc, char **argv)
{
	return children_main(argc, argv);
}

#endif
