/* The world of device code: objects, their functions, and why instructions of them stall. */
#include <stdio.h>
#include <stdlib.h>

#include "analyse/world/private.h"
#include "base/arena.h"
#include "sym/sym.h"

/* The code of a target region of OpenMP is named as the regions that run on the host are. */
static const char *region_shown(struct af_world *w, const char *name)
{
	char function[2048], text[2048 + 32];
	uint32_t line;

	if (!af_region_offloaded(name, function, sizeof function, &line))
		return NULL;
	char *clear = af_function_name(function);
	snprintf(text, sizeof text, "%.2047s:%u target region", clear, line);
	free(clear);
	return af_arena_strdup(&w->arena, text, strlen(text));
}

const char *world_shown(struct af_world *w, const char *name)
{
	const char *region = *name == '_' ? region_shown(w, name) : NULL;
	if (region)
		return region;
	char *clear = !strncmp(name, "_Z", 2) ? af_demangle(name) : NULL;

	if (clear)
		name = af_arena_strdup(&w->arena, clear, strlen(clear));
	free(clear);
	return name;
}

enum { WORLD_FORMS = 16 }; /* more than there are of an object */

/* Rings on disk repeat definitions. */
static void program_add(struct af_world *w, const struct af_program *p)
{
	uint64_t *slot = af_map_at(&w->by_program, world_key(p->process, p->id), NULL);
	uint32_t before = (uint32_t)*slot;

	for (uint32_t i = before; i; i = w->programs[i].before)
		if (w->programs[i].form == p->form)
			return;
	uint32_t i = WORLD_ADD(w, programs);
	w->programs[i] = *p;
	w->programs[i].before = before;
	*slot = i;
}

void world_learn_program(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_program fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails) || fixed.form >= WORLD_FORMS)
		return;
	const struct af_program p = {
	    .process = ev->process,
	    .id = fixed.program,
	    .device = fixed.device,
	    .form = fixed.form,
	    .size = fixed.size,
	    .object = world_text(w, &tails[0]),
	};
	program_add(w, &p);
}

void world_learn_crc(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_program_crc fixed;

	if (af_event_decode(ev, &fixed, sizeof fixed, NULL))
		*af_keys_at(&w->by_crc, AF_KEY(ev->process, fixed.crc), NULL) = fixed.program;
}

/* The two parts of "$kernel$function"; a function outside of kernels is both. */
static void code_names(struct af_world *w, struct af_device_code *c, const char *name)
{
	const char *inner = *name == '$' ? strchr(name + 1, '$') : NULL;
	const char *shown = inner && inner[1] ? inner + 1 : name;

	c->name = c->kernel = af_strtab_id_z(&w->strings, name);
	if (inner)
		c->kernel = af_strtab_id(&w->strings, name + 1, (size_t)(inner - name - 1));
	if (shown == name)
		shown = af_strtab_get(&w->strings, c->name);
	else
		shown = af_arena_strdup(&w->arena, shown, strlen(shown));
	c->shown = world_shown(w, shown);
}

void world_learn_code(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_code fixed;
	struct af_tail_view tails[AF_TAILS_MAX];
	bool fresh;

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	uint64_t *slot = af_map_at(&w->by_code, world_key(ev->process, fixed.code), &fresh);
	uint32_t i = fresh ? WORLD_ADD(w, codes) : (uint32_t)*slot;

	/* Code that ran on the host was read ahead. */
	if (!fresh && !ev->process)
		return;
	*slot = i;
	w->codes[i] = (struct af_device_code){
	    .process = ev->process,
	    .id = fixed.code,
	    .program = fixed.program,
	    .symbol = fixed.symbol,
	    .crc = fixed.crc,
	};
	code_names(w, &w->codes[i], (const char *)tails[0].data);
}

void world_learn_kernel_code(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_kernel_code fixed;

	if (af_event_decode(ev, &fixed, sizeof fixed, NULL))
		af_keys_at(&w->by_kernel_code, AF_KEY(ev->process, fixed.kernel, fixed.code), NULL);
}

bool af_world_batch_runs(const struct af_world *w, uint32_t process, uint32_t kernel, uint32_t code)
{
	return w->by_kernel_code.nr && w->codes[code].process == process &&
	       af_keys_get(&w->by_kernel_code, AF_KEY(process, kernel, w->codes[code].id));
}

/* Without "_not_issued", a string of the world. */
static uint32_t stall_issued(struct af_world *w, const char *name, size_t len, bool not_issued)
{
	static const char suffix[] = "_not_issued";
	size_t end = sizeof suffix - 1;

	if (not_issued && (len < end || memcmp(name + len - end, suffix, end)))
		return 0;
	return af_strtab_id(&w->strings, name, not_issued ? len - end : len);
}

void world_learn_stall(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_stall fixed;
	struct af_tail_view tails[AF_TAILS_MAX];
	bool fresh;

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	uint64_t *slot = af_map_at(&w->by_stall, world_key(ev->process, fixed.stall), &fresh);
	uint32_t i = fresh ? WORLD_ADD(w, stalls) : (uint32_t)*slot;
	bool not_issued = fixed.flags & AF_STALL_NOT_ISSUED;

	*slot = i;
	w->stalls[i] = (struct af_stall_reason){
	    .process = ev->process,
	    .id = fixed.stall,
	    .device = fixed.device,
	    .flags = fixed.flags,
	    .name = world_text(w, &tails[0]),
	    .issued = stall_issued(w, (const char *)tails[0].data, tails[0].len, not_issued),
	};
	if (!not_issued)
		*af_keys_at(&w->by_stall_name,
		            AF_KEY(ev->process, fixed.device, w->stalls[i].issued), NULL) = i;
}

uint32_t af_world_code(const struct af_world *w, uint32_t process, uint32_t id)
{
	return world_find(&w->by_code, process, id);
}

uint32_t af_world_stall(const struct af_world *w, uint32_t process, uint32_t id)
{
	return world_find(&w->by_stall, process, id);
}

uint32_t af_world_stall_of(const struct af_world *w, uint32_t stall)
{
	if (!stall || !(w->stalls[stall].flags & AF_STALL_NOT_ISSUED))
		return stall;
	const struct af_stall_reason *s = &w->stalls[stall];
	const uint64_t *slot =
	    s->issued ? af_keys_get(&w->by_stall_name, AF_KEY(s->process, s->device, s->issued))
		      : NULL;
	return slot ? (uint32_t)*slot : 0;
}

uint32_t af_world_code_program(const struct af_world *w, uint32_t code)
{
	if (!code)
		return 0;
	const struct af_device_code *c = &w->codes[code];
	uint32_t id = c->program, best = 0;
	if (!id && c->crc) {
		const uint64_t *slot = af_keys_get(&w->by_crc, AF_KEY(c->process, c->crc));
		id = slot ? (uint32_t)*slot : 0;
	}
	/* Forms are numbered from the source on. */
	for (uint32_t i = id ? world_find(&w->by_program, c->process, id) : 0; i;
	     i = w->programs[i].before)
		if (!best || w->programs[i].form > w->programs[best].form)
			best = i;
	return best;
}

uint32_t af_world_code_make(struct af_world *w, uint32_t process, const char *object,
                            const char *name)
{
	/* Ids of the trace are below these: they count up from 1. */
	uint32_t program = UINT32_MAX - af_strtab_id_z(&w->strings, object);
	uint32_t id = UINT32_MAX - af_strtab_id_z(&w->strings, name);
	bool fresh;
	uint64_t *slot = af_keys_at(&w->by_made, AF_KEY(process, program, id), &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	uint32_t i = WORLD_ADD(w, codes);
	*slot = i;
	w->codes[i] = (struct af_device_code){.process = process, .id = id, .program = program};
	code_names(w, &w->codes[i], name);
	if (!world_find(&w->by_program, process, program)) {
		const struct af_program p = {
		    .process = process,
		    .id = program,
		    .form = AF_OBJECT_NATIVE,
		    .object = af_arena_strdup(&w->arena, object, strlen(object))};
		program_add(w, &p);
	}
	return i;
}

void world_learn_mapping(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_mapping fixed;
	struct af_tail_view tails[AF_TAILS_MAX];
	char hex[2 * 64 + 1];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails) || !tails[0].len || tails[0].len > 64)
		return;
	for (uint32_t i = 0; i < tails[0].len; i++)
		snprintf(hex + 2 * i, 3, "%02x", tails[0].data[i]);
	const char *path = (const char *)tails[1].data;
	uint32_t id = af_strtab_id(&w->strings, path, tails[1].len);
	*af_map_at(&w->by_mapping, world_key(ev->process, id), NULL) =
	    af_strtab_id_z(&w->strings, hex);
}

const char *af_world_build_id(const struct af_world *w, uint32_t process, uint32_t path)
{
	return af_strtab_get(&w->strings, world_find(&w->by_mapping, process, path));
}
