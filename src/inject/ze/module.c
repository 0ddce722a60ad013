/* Modules and kernels: PROGRAM with the driver's binary, KERNEL, and where kernels' code lies. */
#include <string.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "inject/core/handles.h"
#include "inject/core/inject.h"
#include "inject/core/keep.h"
#include "inject/core/kernels.h"
#include "inject/intel/placed.h"
#include "inject/intel/zebin.h"
#include "inject/ze/ze.h"

enum { NAME_BYTES = 4096, BINARY_MAX = 1 << 30 };

static struct af_handles programs = AF_HANDLES_INIT;  /* of modules → id | device << 32 */
static struct af_handles contexts = AF_HANDLES_INIT;  /* of modules → their context */
static struct af_handles by_kernel = AF_HANDLES_INIT; /* → id, its group size: see below */
static struct af_kernels kernels = AF_KERNELS_INIT;

/* A driver gives these in two calls: the size, then the bytes. */
struct binary {
	uint8_t *data;
	size_t size;
};

static void binary_free(struct binary *b)
{
	if (b->data)
		munmap(b->data, b->size);
	*b = (struct binary){0};
}

static void native_get(void *module, struct binary *b)
{
	*b = (struct binary){0};
	if (af_ze_next.zeModuleGetNativeBinary(module, &b->size, NULL) || !b->size ||
	    b->size > BINARY_MAX || !(b->data = af_pages(b->size, 0)))
		return;
	size_t size = b->size;
	if (af_ze_next.zeModuleGetNativeBinary(module, &size, b->data))
		binary_free(b);
}

/* The ELF file for debuggers has the same sections, and debug information for certain. */
static void debug_get(void *module, struct binary *b)
{
	*b = (struct binary){0};
	if (af_ze_next.zetModuleGetDebugInfo(module, AF_ZE_DEBUG_ELF, &b->size, NULL) || !b->size ||
	    b->size > BINARY_MAX || !(b->data = af_pages(b->size, 0)))
		return;
	size_t size = b->size;
	if (af_ze_next.zetModuleGetDebugInfo(module, AF_ZE_DEBUG_ELF, &size, b->data))
		binary_free(b);
}

/* The object that says most of @module. */
static void object_get(void *module, struct binary *b)
{
	struct binary debug;

	native_get(module, b);
	if (af_zebin_has_lines(b->data, b->size))
		return;
	debug_get(module, &debug);
	if (af_zebin_has_lines(debug.data, debug.size)) {
		binary_free(b);
		*b = debug;
	} else {
		binary_free(&debug);
	}
}

void af_ze_module_made(void *context, void *device, const struct af_ze_module_desc *desc,
                       void *module)
{
	const struct af_ze_device *d = af_ze_device(device);
	uint32_t id = af_inject_new_id(AF_ID_PROGRAM);
	struct binary b;

	object_get(module, &b);
	af_program_define(id, d ? d->id : 0, AF_OBJECT_NATIVE, b.data, b.size,
	                  desc && desc->options ? desc->options : "");
	binary_free(&b);
	af_handles_set(&contexts, (uintptr_t)module, (uintptr_t)context);
	af_handles_set(&programs, (uintptr_t)module, (uint64_t)(d ? d->id : 0) << 32 | id);
}

void af_ze_module_gone(void *module)
{
	uint32_t program = (uint32_t)af_handles_get(&programs, (uintptr_t)module);

	if (!program)
		return;
	af_placed_drop(program);
	af_handles_set(&programs, (uintptr_t)module, 0);
	af_handles_set(&contexts, (uintptr_t)module, 0);
}

/* A driver's own function takes the driver's own handles, which may be others than the loader's. */
static void *kernel_of_driver(void *kernel)
{
	void *own = NULL;

	if (!af_ze_next.zelLoaderTranslateHandle ||
	    af_ze_next.zelLoaderTranslateHandle(AF_ZE_HANDLE_KERNEL, kernel, &own) || !own)
		return kernel;
	return own;
}

/* All kernels of a module have their code when the first is made; each tells of its own. */
static void kernel_place(void *module, const char *name, void *kernel)
{
	void *context = (void *)(uintptr_t)af_handles_get(&contexts, (uintptr_t)module);
	uint64_t program = af_handles_get(&programs, (uintptr_t)module), address = 0;
	uint32_t (*get)(void *, uint64_t *) = af_ze_extension(context, "zexKernelGetBaseAddress");
	struct af_zebin_kernel k;
	struct binary b;

	if (!get || get(kernel_of_driver(kernel), &address) || !address ||
	    af_placed_has((uint32_t)program, (uint32_t)(program >> 32), name, address))
		return;
	native_get(module, &b);
	if (af_zebin_kernel(b.data, b.size, name, &k) || af_tokens_kernel(b.data, b.size, name, &k))
		af_placed_put((uint32_t)program, (uint32_t)(program >> 32), name, address, &k);
	binary_free(&b);
}

static uint32_t kernel_register(void *module, const char *name, void *kernel)
{
	uint32_t program = (uint32_t)af_handles_get(&programs, (uintptr_t)module);
	uint32_t id = af_kernel_id(&kernels, NULL, program, name, strnlen(name, NAME_BYTES));

	af_handles_set(&by_kernel, (uintptr_t)kernel, id);
	return id;
}

void af_ze_kernel_made(void *module, const struct af_ze_kernel_desc *desc, void *kernel)
{
	const char *name = desc && desc->name ? desc->name : "";

	kernel_register(module, name, kernel);
	kernel_place(module, name, kernel);
}

/* One word for the id and three sizes of 11 bits: devices have groups of 1,024 at most. */
enum { ID_BITS = 31, SIZE_BITS = 11, SIZE_MAX_KNOWN = (1 << SIZE_BITS) - 1 };
#define ID_MASK ((1ull << ID_BITS) - 1)

void af_ze_kernel_sized(void *kernel, uint32_t x, uint32_t y, uint32_t z)
{
	uint64_t id = af_handles_get(&by_kernel, (uintptr_t)kernel) & ID_MASK;

	if (x > SIZE_MAX_KNOWN || y > SIZE_MAX_KNOWN || z > SIZE_MAX_KNOWN)
		x = y = z = 0;
	af_handles_set(&by_kernel, (uintptr_t)kernel,
	               id | (uint64_t)x << ID_BITS | (uint64_t)y << (ID_BITS + SIZE_BITS) |
	                   (uint64_t)z << (ID_BITS + 2 * SIZE_BITS));
}

/* A kernel that was made in a way that is not traced. */
static uint32_t kernel_meet(void *kernel)
{
	char name[NAME_BYTES];
	size_t size = sizeof name;

	if (!kernel || af_ze_next.zeKernelGetName(kernel, &size, name))
		return 0;
	name[sizeof name - 1] = 0;
	return kernel_register(NULL, name, kernel);
}

uint32_t af_ze_kernel(void *kernel, uint32_t local[3])
{
	uint64_t known = af_handles_get(&by_kernel, (uintptr_t)kernel);

	local[0] = known >> ID_BITS & SIZE_MAX_KNOWN;
	local[1] = known >> (ID_BITS + SIZE_BITS) & SIZE_MAX_KNOWN;
	local[2] = known >> (ID_BITS + 2 * SIZE_BITS) & SIZE_MAX_KNOWN;
	return known & ID_MASK ? (uint32_t)(known & ID_MASK) : kernel_meet(kernel);
}

void af_ze_modules_after_fork(void)
{
	af_handles_after_fork(&programs);
	af_handles_after_fork(&contexts);
	af_handles_after_fork(&by_kernel);
	af_handles_after_fork(&kernels.ids);
}
