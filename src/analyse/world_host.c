/*
 * The world of device code that ran on the host: addresses of a process that lie in it. Names come
 * last in a trace, and these with them; but samples are told apart as they come, so they are read
 * before all else.
 */
#include <string.h>

#include "analyse/world_private.h"
#include "sym/sym.h"

#define HOST_WANTS (1ull << AF_KIND_PROGRAM | 1ull << AF_KIND_CODE | 1ull << AF_KIND_CODE_ADDRESS)
#define CLOCK_WANTS (1ull << AF_KIND_CLOCK | 1ull << AF_KIND_DEVICE)

/* In the map of programs: it has code of several kernels. */
#define HOST_KERNELS UINT32_MAX

static uint64_t address_key(uint32_t process, uint64_t address)
{
	return af_mix(address) ^ (uint64_t)process << 40;
}

static void learn_address(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_code_address fixed;

	if (!af_event_decode(ev, &fixed, sizeof fixed, NULL))
		return;
	uint32_t code = af_world_code(w, ev->process, fixed.code), i = WORLD_ADD(w, host_codes);
	uint64_t *slot = af_map_at(&w->by_address, address_key(fixed.process, fixed.address), NULL);
	w->host_codes[i] = (struct af_host_code){
	    .process = fixed.process,
	    .generation = fixed.generation,
	    .code = code,
	    .offset = fixed.offset,
	    .before = (uint32_t)*slot,
	};
	*slot = i;
}

/* A kernel's name where @code was made of one, 0 for a function that kernels call. */
static uint32_t kernel_of(struct af_world *w, uint32_t code)
{
	size_t len;
	const char *name =
	    af_sym_kernel_name(af_strtab_get(&w->strings, w->codes[code].name), &len);

	return name ? af_strtab_id(&w->strings, name, len) : 0;
}

/* What kernels call is theirs, where there is one kernel that it can be. */
static void name_kernels(struct af_world *w)
{
	struct af_map kernels = {0};

	for (uint32_t i = 1; i < w->nr_codes; i++) {
		uint32_t kernel = kernel_of(w, i);
		uint64_t *slot =
		    af_map_at(&kernels, world_key(w->codes[i].process, w->codes[i].program), NULL);
		if (kernel)
			*slot = *slot && *slot != kernel ? HOST_KERNELS : kernel;
	}
	for (uint32_t i = 1; i < w->nr_host_codes; i++) {
		struct af_host_code *h = &w->host_codes[i];
		const struct af_device_code *c = &w->codes[h->code];
		uint32_t of_program = world_find(&kernels, c->process, c->program);

		if (!h->code)
			continue;
		h->kernel = kernel_of(w, h->code);
		if (!h->kernel && of_program != HOST_KERNELS)
			h->kernel = of_program;
	}
	af_map_free(&kernels);
}

int af_world_read_ahead(struct af_world *w, const char *dir, struct af_err *err)
{
	struct af_trace *t;
	struct af_event ev;
	int rc = af_trace_open(&t, dir, CLOCK_WANTS | HOST_WANTS, err);

	if (rc)
		return rc;
	while (af_trace_next(t, &ev)) {
		if (1ull << ev.kind & CLOCK_WANTS)
			af_clocks_event(&w->clocks, &ev);
		else if (!ev.process && ev.kind == AF_KIND_PROGRAM)
			world_learn_program(w, &ev);
		else if (!ev.process && ev.kind == AF_KIND_CODE)
			world_learn_code(w, &ev);
		else if (ev.kind == AF_KIND_CODE_ADDRESS)
			learn_address(w, &ev);
	}
	af_trace_close(t);
	af_clocks_build(&w->clocks);
	name_kernels(w);
	return 0;
}

const struct af_host_code *af_world_host_code(const struct af_world *w, uint32_t process,
                                              uint64_t address, uint32_t generation)
{
	const uint64_t *slot = af_map_get(&w->by_address, address_key(process, address));
	const struct af_host_code *best = NULL;

	for (uint32_t i = slot ? (uint32_t)*slot : 0; i; i = w->host_codes[i].before) {
		const struct af_host_code *h = &w->host_codes[i];

		if (h->process == process && h->generation <= generation &&
		    (!best || h->generation > best->generation))
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
