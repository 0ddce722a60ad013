/*
 * The part that calls of all functions of Level Zero share (ze.py). The system's loader loads the
 * mock driver; its path is in ZE_ENABLE_ALT_DRIVERS. With CALL_BY=dlopen the loader is opened and
 * its functions are looked up on its handle, as programs do that can do without it.
 */
#ifndef AF_TESTS_API_CALLER_ZE_H
#define AF_TESTS_API_CALLER_ZE_H

enum { CHILDREN_WAYS = 3 };

#include "children.h"

static void *(*object)(unsigned i);
static void (*arm)(const char *name, int fails);
static unsigned (*arm_reached)(void);
static void *loader; /* NULL: the program's own */

static void callback(void)
{
}

static void *named(const char *name)
{
	void *found = dlsym(loader ? loader : RTLD_DEFAULT, name);

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

static void note_module_desc(ze_module_desc_t *desc)
{
	*desc = (ze_module_desc_t){
	    .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
	    .format = ZE_MODULE_FORMAT_NATIVE,
	    .inputSize = 64,
	    .pInputModule = note_bytes(3),
	    .pBuildFlags = note_string("flags"),
	};
}

static void note_kernel_desc(ze_kernel_desc_t *desc)
{
	*desc = (ze_kernel_desc_t){.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
	                           .pKernelName = note_string("name")};
}

static int driver_open(const char *path)
{
	const char *by = getenv("CALL_BY");

	if (by && !strcmp(by, "dlopen"))
		loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
	ze_result_t (*init)(ze_init_flags_t) = named("zeInit");
	ze_result_t rc = init(0);
	void *driver = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	if (rc || !driver) {
		fprintf(stderr, "the loader has not taken %s: 0x%x\n", path, (unsigned)rc);
		return 0;
	}
	*(void **)&object = dlsym(driver, "mock_object");
	*(void **)&arm = dlsym(driver, "mock_arm");
	*(void **)&arm_reached = dlsym(driver, "mock_reached");
	return 1;
}

int main(int argc, char **argv)
{
	const char *driver = getenv("ZE_ENABLE_ALT_DRIVERS");

	if (argc == 4 && (!driver || !driver_open(driver)))
		return 4;
	return children_main(argc, argv);
}

#endif
