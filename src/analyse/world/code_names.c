#include "analyse/world/code_names.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/world/world.h"
#include "base/arena.h"
#include "base/err.h"
#include "sym/device/listing.h"

struct code_name {
	bool known;
	struct af_code *object; /* NULL: the trace does not have it, or not this function of it */
	uint32_t function, program;
};

void af_code_names_open(struct af_code_names *n, const char *dir)
{
	*n = (struct af_code_names){.dir = dir};
}

void af_code_names_close(struct af_code_names *n)
{
	for (size_t i = 0; i < n->listings.cap; i++)
		if (n->listings.slots[i].used)
			af_listing_close((void *)(uintptr_t)n->listings.slots[i].value);
	af_map_free(&n->listings);
	free(n->codes);
	af_code_store_close(n->store);
	*n = (struct af_code_names){0};
}

struct af_code_store *af_code_names_store(struct af_code_names *n)
{
	struct af_err err = {0};

	if (!n->store && af_code_store_open(&n->store, n->dir, &err))
		n->store = NULL;
	return n->store;
}

static void code_find(struct af_code_names *n, const struct af_world *w, uint32_t code,
                      struct code_name *name)
{
	const struct af_device_code *c = &w->codes[code];
	uint32_t program = af_world_code_program(w, code);
	struct af_code_store *store = program ? af_code_names_store(n) : NULL;
	struct af_code *object =
	    store ? af_code_store_get(store, w->programs[program].object) : NULL;
	int function =
	    object ? af_code_find(object, af_strtab_get(&w->strings, c->name), c->symbol) : -1;

	name->known = program != 0; /* which program it is of may still come */
	name->object = function < 0 ? NULL : object;
	name->function = function < 0 ? 0 : (uint32_t)function;
	name->program = program;
}

static const struct code_name *code_name(struct af_code_names *n, const struct af_world *w,
                                         uint32_t code)
{
	if (!code)
		return NULL;
	AF_REACH(n->codes, code, n->nr_codes);
	struct code_name *name = &n->codes[code];
	if (!name->known)
		code_find(n, w, code, name);
	return name->object ? name : NULL;
}

const struct af_code_function *af_code_names_function(struct af_code_names *n,
                                                      const struct af_world *w, uint32_t code)
{
	const struct code_name *name = code_name(n, w, code);

	return name ? af_code_function(name->object, name->function) : NULL;
}

bool af_code_names_runs(struct af_code_names *n, const struct af_world *w, uint32_t code,
                        const char *kernel)
{
	const struct code_name *name = code_name(n, w, code);

	if (!name)
		return false;
	uint32_t holder = af_code_function(name->object, name->function)->holder;
	const struct af_code_function *holds = af_code_function(name->object, holder);
	if (holds->entry)
		return !strcmp(holds->name, kernel);
	int entry = af_code_find(name->object, kernel, 0);
	return entry >= 0 && af_code_function(name->object, (uint32_t)entry)->entry;
}

uint32_t af_code_names_frames(struct af_code_names *n, const struct af_world *w, uint32_t code,
                              uint64_t offset, struct af_code_frame *frames, uint32_t most)
{
	const struct code_name *name = code_name(n, w, code);

	return name ? af_code_frames(name->object, name->function, offset, frames, most) : 0;
}

const char *af_code_names_text(struct af_code_names *n, const struct af_world *w, uint32_t code,
                               uint64_t offset)
{
	const struct code_name *name = code_name(n, w, code);
	bool fresh;

	if (!name)
		return NULL;
	uint64_t *slot = af_map_at(&n->listings, (uintptr_t)name->object, &fresh);
	if (fresh)
		*slot = (uintptr_t)af_listing_open(name->object, w->programs[name->program].object);
	return af_listing_text((void *)(uintptr_t)*slot, name->function, offset);
}
