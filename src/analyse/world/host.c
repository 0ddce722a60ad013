/*
 * The world of device code that ran on the host: addresses of a process that lie in it. Names come
 * last in a trace, and these with them; but samples are told apart as they come, so they are read
 * before all else.
 */
#include <string.h>

#include "analyse/world/private.h"
#include "sym/sym.h"
#include "trace/read/near.h"

#define HOST_WANTS (1ull << AF_KIND_PROGRAM | 1ull << AF_KIND_CODE | 1ull << AF_KIND_CODE_ADDRESS)

/* In the map of programs: it has code of several kernels. */
#define HOST_KERNELS UINT32_MAX

static void learn_address(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_code_address fixed;

	if (!af_event_decode(ev, &fixed, sizeof fixed, NULL))
		return;
	uint32_t code = af_world_code(w, ev->process, fixed.code), i = WORLD_ADD(w, host_codes);
	uint64_t *slot = af_keys_at(&w->by_address, AF_KEY(fixed.process, fixed.address), NULL);
	w->host_codes[i] = (struct af_host_code){
	    .process = fixed.process,
	    .epoch = fixed.epoch,
	    .code = code,
	    .offset = fixed.offset,
	    .before = (uint32_t)*slot,
	};
	*slot = i;
}

/*
 * The kernel that the function @c was made of, a string of the world, 0 for none; it then goes by
 * that name. *@whole: of all that the kernel does for a work-group, so nobody else calls it.
 */
static uint32_t kernel_of(struct af_world *w, struct af_device_code *c, bool *whole)
{
	size_t len;
	const char *name = af_sym_kernel_name(af_strtab_get(&w->strings, c->name), &len);

	if (!name)
		return 0;
	*whole = name[len] == '_';
	c->shown = af_arena_strdup(&w->arena, name, len);
	return af_strtab_id(&w->strings, name, len);
}

static void note_kernel(struct af_map *kernels, uint32_t program, uint32_t kernel)
{
	uint64_t *slot = af_map_at(kernels, program, NULL);

	*slot = *slot && *slot != kernel ? HOST_KERNELS : kernel;
}

/* Functions called by kernels belong to the kernel, if it can only be one. */
static void name_kernels(struct af_world *w)
{
	struct af_map whole = {0}, part = {0};

	for (uint32_t i = 1; i < w->nr_codes; i++) {
		struct af_device_code *c = &w->codes[i];
		bool is_whole = false;
		uint32_t kernel = c->process ? 0 : kernel_of(w, c, &is_whole);

		if (kernel)
			note_kernel(is_whole ? &whole : &part, c->program, kernel);
	}
	for (uint32_t i = 1; i < w->nr_host_codes; i++) {
		struct af_host_code *h = &w->host_codes[i];
		if (!h->code)
			continue;
		struct af_device_code *c = &w->codes[h->code];
		const uint64_t *slot = af_map_get(&whole, c->program);

		if (!slot)
			slot = af_map_get(&part, c->program);
		if (!slot || *slot == HOST_KERNELS)
			continue;
		h->kernel = (uint32_t)*slot;
		if (strcmp(c->shown, af_strtab_get(&w->strings, h->kernel)))
			c->kernel = h->kernel;
	}
	af_map_free(&whole);
	af_map_free(&part);
}

int af_world_read_host_code(struct af_world *w, const char *dir, const struct af_near *near,
                            struct af_err *err)
{
	struct af_trace *t;
	struct af_event ev;
	int rc = af_trace_open_near(&t, dir, HOST_WANTS, near, err);

	if (rc)
		return rc;
	while (af_trace_next(t, &ev)) {
		if (ev.process)
			continue;
		if (ev.kind == AF_KIND_PROGRAM)
			world_learn_program(w, &ev);
		else if (ev.kind == AF_KIND_CODE)
			world_learn_code(w, &ev);
		else
			learn_address(w, &ev);
	}
	af_trace_close(t);
	name_kernels(w);
	return 0;
}

const struct af_host_code *af_world_host_code(const struct af_world *w, uint32_t process,
                                              uint64_t address, uint32_t epoch)
{
	const uint64_t *slot = af_keys_get(&w->by_address, AF_KEY(process, address));
	const struct af_host_code *best = NULL;

	for (uint32_t i = slot ? (uint32_t)*slot : 0; i; i = w->host_codes[i].before) {
		const struct af_host_code *h = &w->host_codes[i];

		if (h->process == process && h->epoch <= epoch && (!best || h->epoch > best->epoch))
			best = h;
	}
	return best && best->code ? best : NULL;
}

uint32_t af_world_host_device(const struct af_world *w, uint32_t process)
{
	for (uint32_t i = 1; i < w->nr_devices; i++)
		if (w->devices[i].process == process && w->devices[i].type == AF_DEVICE_CPU)
			return w->devices[i].id;
	return 0;
}
