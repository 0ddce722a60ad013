/*
 * The part that calls of all OpenCL functions share (opencl.py). The system's loader loads the mock
 * driver; its path is in MOCK_ICD. Without it the calls go to the drivers that are installed.
 */
#ifndef AF_TESTS_API_CALLER_OPENCL_H
#define AF_TESTS_API_CALLER_OPENCL_H

enum { CHILDREN_WAYS = 3 };

#include "children.h"

static void *(*object)(unsigned i);
static void (*arm)(const char *name, int fails);
static cl_platform_id platform;

static void callback(void)
{
}

/* As a program finds it: by the loader's symbol, or as an extension. */
static void *named(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found)
		found = clGetExtensionFunctionAddressForPlatform(platform, name);
	if (!found) {
		fprintf(stderr, "no function %s\n", name);
		exit(3);
	}
	return found;
}

static void *note_objects(unsigned index)
{
	void **room = calloc(1, NOTE_ROOM);

	for (unsigned i = 0; i < NOTE_ELEMENTS; i++)
		room[i] = object(16 + 4 * index + i);
	return room;
}

static void note_platform_list(cl_platform_id of, const cl_context_properties *to, size_t size)
{
	const cl_context_properties list[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)of, 0, 0};
	(void)size;

	memcpy((void *)to, list, sizeof list);
}

static void *no_object(unsigned i)
{
	(void)i;
	return NULL;
}

static void no_arm(const char *name, int fails)
{
	(void)name;
	(void)fails;
}

static int driver_open(const char *path)
{
	void *driver = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);

	if (!driver || !platform) {
		fprintf(stderr, "the loader has not taken %s\n", path);
		return 0;
	}
	*(void **)&object = dlsym(driver, "mock_object");
	*(void **)&arm = dlsym(driver, "mock_arm");
	return 1;
}

int main(int argc, char **argv)
{
	const char *driver = getenv("MOCK_ICD");

	object = no_object;
	arm = no_arm;
	if (argc == 4) {
		clGetPlatformIDs(1, &platform, NULL);
		if (driver && !driver_open(driver))
			return 4;
	}
	return children_main(argc, argv);
}

#endif
