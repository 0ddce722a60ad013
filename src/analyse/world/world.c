#include "analyse/world/world.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/world/private.h"

void af_world_close(struct af_world *w)
{
	struct af_map *maps[] = {&w->by_stack,    &w->by_py_stack,
	                         &w->by_path,     &w->by_descriptor,
	                         &w->by_string,   &w->by_py_code,
	                         &w->by_kernel,   &w->by_device,
	                         &w->by_queue,    &w->by_gpu,
	                         &w->by_pci,      &w->by_kstack,
	                         &w->by_thread,   &w->by_pid,
	                         &w->by_function, &w->by_node,
	                         &w->by_program,  &w->by_code,
	                         &w->by_stall,    &w->by_counter,
	                         &w->by_mapping,  &w->by_function_source,
	                         &w->by_ze};
	struct af_keys *keys[] = {&w->by_kernel_code, &w->by_crc,    &w->by_stall_name, &w->by_made,
	                          &w->by_address,     &w->by_symbol, &w->by_later};

	for (unsigned i = 0; i < sizeof maps / sizeof *maps; i++)
		af_map_free(maps[i]);
	for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
		af_keys_free(keys[i]);
	af_region_names_free(&w->regions);
	free(w->processes);
	free(w->threads);
	free(w->kstacks);
	free(w->stacks);
	free(w->py_stacks);
	free(w->paths);
	free(w->descriptors);
	free(w->devices);
	free(w->queues);
	free(w->functions);
	free(w->nodes);
	free(w->programs);
	free(w->codes);
	free(w->stalls);
	free(w->counters);
	free(w->host_codes);
	free(w->later);
	world_small_free(&w->small_paths);
	world_small_free(&w->small_descriptors);
	af_clocks_free(&w->clocks);
	af_annotations_free(&w->annotations);
	af_strtab_free(&w->strings);
	af_arena_free(&w->arena);
	*w = (struct af_world){0};
}

static void learn_stack(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_stack fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	uint32_t i = WORLD_ADD(w, stacks);
	w->stacks[i] = (struct af_stack){
	    .process = ev->process,
	    .epoch = fixed.epoch,
	    .stop = fixed.stop,
	    .nr = tails[0].len,
	    .pcs = world_u64s(w, &tails[0]),
	};
	w->stacks_left_out |= fixed.stop == AF_STOP_NOT_CHOSEN;
	*af_map_at(&w->by_stack, world_key(ev->stream, fixed.stack), NULL) = i;
}

static void learn_kstack(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_kstack fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	uint32_t i = WORLD_ADD(w, kstacks);
	w->kstacks[i] = (struct af_stack){
	    .stop = fixed.stop,
	    .nr = tails[0].len,
	    .pcs = world_u64s(w, &tails[0]),
	};
	world_set(w, &w->by_kstack, world_key(ev->stream, fixed.kstack), i);
}

static void learn_py_stack(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_py_stack fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	uint32_t i = WORLD_ADD(w, py_stacks);
	w->py_stacks[i] = (struct af_stack){
	    .process = ev->process,
	    .stop = fixed.stop,
	    .nr = tails[0].len,
	    .pcs = world_u64s(w, &tails[0]),
	};
	*af_map_at(&w->by_py_stack, world_key(ev->stream, fixed.py_stack), NULL) = i;
}

static void learn_path(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_callpath fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	uint32_t i = WORLD_ADD(w, paths);
	w->paths[i] = (struct af_path){
	    .process = ev->process,
	    .stack = world_find(&w->by_stack, ev->stream, fixed.stack),
	    .py_stack = world_find(&w->by_py_stack, ev->stream, fixed.py_stack),
	};
	world_set(w, &w->by_path, world_key(ev->stream, fixed.callpath), i);
	world_small_set(&w->small_paths, ev->stream, fixed.callpath, i);
	world_path_later(w, i);
}

static void learn_code(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_py_code fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	struct af_py_code *c = af_arena_alloc(&w->arena, sizeof *c);
	*c = (struct af_py_code){
	    .version = fixed.version,
	    .first_line = fixed.first_line,
	    .lines = (const uint8_t *)world_text(w, &tails[0]),
	    .lines_len = tails[0].len,
	    .name = world_text(w, &tails[1]),
	    .file = world_text(w, &tails[2]),
	};
	*af_map_at(&w->by_py_code, world_key(ev->process, fixed.code), NULL) = (uintptr_t)c;
}

static void learn_string(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_string fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	*af_map_at(&w->by_string, world_key(ev->stream, fixed.string), NULL) =
	    af_strtab_id(&w->strings, (const char *)tails[0].data, tails[0].len);
}

const uint32_t *world_frames(struct af_world *w, const struct af_event *ev,
                             const struct af_tail_view *v)
{
	uint32_t *frames = af_arena_alloc(&w->arena, (size_t)v->len * 4);

	memcpy(frames, v->data, (size_t)v->len * 4);
	for (uint32_t i = 0; i + 2 < v->len; i += 3) {
		frames[i] = world_find(&w->by_string, ev->stream, frames[i]);
		frames[i + 1] = world_find(&w->by_string, ev->stream, frames[i + 1]);
	}
	return frames;
}

static void learn_symbol(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_symbol fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	struct af_symbol *s = af_arena_alloc(&w->arena, sizeof *s);
	*s = (struct af_symbol){
	    .epoch = fixed.epoch,
	    .module = world_find(&w->by_string, ev->stream, fixed.module),
	    .source = fixed.source,
	    .offset = fixed.offset,
	    .nr_frames = tails[0].len / 3,
	    .frames = world_frames(w, ev, &tails[0]),
	};
	uint64_t *slot = af_keys_at(&w->by_symbol, AF_KEY(fixed.process, fixed.address), NULL);
	s->next = (struct af_symbol *)(uintptr_t)*slot;
	*slot = (uintptr_t)s;
}

/* Functions of one name in one module; a damaged trace may have any number. */
enum { FUNCTION_SOURCES = 1024 };

static void learn_function_source(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_function_source fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	uint32_t module = world_find(&w->by_string, ev->stream, fixed.module);
	uint32_t function = world_find(&w->by_string, ev->stream, fixed.function);
	uint32_t file = world_find(&w->by_string, ev->stream, fixed.file);
	uint64_t *slot = af_map_at(&w->by_function_source, (uint64_t)module << 32 | function, NULL);
	const struct af_function_source *before = (void *)(uintptr_t)*slot;
	if (before && before->nr == FUNCTION_SOURCES)
		return;
	struct af_function_source *s = af_arena_alloc(&w->arena, sizeof *s);
	*s = (struct af_function_source){
	    .start = fixed.start,
	    .file = file ? af_strtab_get(&w->strings, file) : NULL,
	    .line = fixed.line,
	    .nr = before ? before->nr + 1 : 1,
	    .next = before,
	};
	*slot = (uintptr_t)s;
}

static void learn_range(struct af_world *w, const struct af_event *ev)
{
	af_annotations_event(&w->annotations, w, ev);
}

static void learn_lost(struct af_world *w, const struct af_event *ev)
{
	struct af_ev_lost fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (af_event_decode(ev, &fixed, sizeof fixed, tails))
		w->lost[fixed.reason < AF_LOST_END ? fixed.reason : 0] += fixed.count;
}

static void (*const learn[AF_KIND_MAX])(struct af_world *, const struct af_event *) = {
    [AF_KIND_LOST] = learn_lost,
    [AF_KIND_NOTE] = world_learn_note,
    [AF_KIND_PROCESS] = world_learn_process,
    [AF_KIND_PROCESS_END] = world_learn_process_end,
    [AF_KIND_PROCESS_NOTE] = world_learn_process_note,
    [AF_KIND_THREAD] = world_learn_thread,
    [AF_KIND_COMM] = world_learn_comm,
    [AF_KIND_STACK] = learn_stack,
    [AF_KIND_KSTACK] = learn_kstack,
    [AF_KIND_PY_STACK] = learn_py_stack,
    [AF_KIND_PY_CODE] = learn_code,
    [AF_KIND_CALLPATH] = learn_path,
    [AF_KIND_DEVICE] = world_learn_device,
    [AF_KIND_QUEUE] = world_learn_queue,
    [AF_KIND_DEVICE_NOTE] = world_learn_device_note,
    [AF_KIND_KERNEL] = world_learn_kernel,
    [AF_KIND_CALL_SUM] = world_learn_call_sum,
    [AF_KIND_DESCRIPTOR] = world_learn_descriptor,
    [AF_KIND_STRING] = learn_string,
    [AF_KIND_SYMBOL] = learn_symbol,
    [AF_KIND_FUNCTION_SOURCE] = learn_function_source,
    [AF_KIND_SYMBOL_LATER] = world_learn_later,
    [AF_KIND_FUNCTION] = world_learn_function,
    [AF_KIND_GRAPH_NODE] = world_learn_node,
    [AF_KIND_LAUNCH_CONFIG] = world_learn_config,
    [AF_KIND_RANGE] = learn_range,
    [AF_KIND_OPERATION] = learn_range,
    [AF_KIND_PROGRAM] = world_learn_program,
    [AF_KIND_PROGRAM_CRC] = world_learn_crc,
    [AF_KIND_CODE] = world_learn_code,
    [AF_KIND_KERNEL_CODE] = world_learn_kernel_code,
    [AF_KIND_STALL] = world_learn_stall,
    [AF_KIND_COUNTER] = world_learn_counter,
    [AF_KIND_MAPPING] = world_learn_mapping,
};

bool af_world_learns(const struct af_world *w, const struct af_event *ev)
{
	if (ev->process && !w->first_ns)
		return true;
	/* Contexts are for who joins, unless passes tell ranges apart. */
	if (ev->kind == AF_KIND_RANGE)
		return w->annotations.apart;
	if (ev->kind == AF_KIND_OPERATION)
		return false;
	if (ev->kind < AF_KIND_MAX)
		return learn[ev->kind] != NULL;
	return ev->kind >= AF_KIND_API && world_learns_api(w, ev);
}

bool af_world_learns_kind(uint16_t kind)
{
	return kind < AF_KIND_MAX ? learn[kind] != NULL : kind >= AF_KIND_API;
}

void af_world_event(struct af_world *w, const struct af_event *ev)
{
	af_world_count(w, ev);
	if (ev->kind < AF_KIND_MAX && learn[ev->kind])
		learn[ev->kind](w, ev);
	else if (ev->kind >= AF_KIND_API)
		world_learn_api(w, ev);
}

uint32_t af_world_large_path(const struct af_world *w, uint32_t stream, uint32_t callpath)
{
	return world_find(&w->by_path, stream, callpath);
}

uint32_t af_world_kstack(const struct af_world *w, const struct af_event *ev, uint32_t kstack)
{
	return world_find(&w->by_kstack, ev->stream, kstack);
}

/* Addresses of the kernel are the same in all processes and never reused while it runs. */
const struct af_symbol *af_world_kernel_symbol(const struct af_world *w, uint64_t address)
{
	return af_world_symbol(w, 0, address, 0);
}

/* Is @a a better answer than @b for a function that begins at or before @offset? */
static bool source_is_nearer(const struct af_function_source *a, const struct af_function_source *b,
                             uint64_t offset)
{
	return a->start && a->start <= offset && (!b || a->start > b->start);
}

const struct af_function_source *af_world_function_source(const struct af_world *w,
                                                          const struct af_symbol *s, uint32_t i)
{
	const uint64_t *slot =
	    af_map_get(&w->by_function_source, (uint64_t)s->module << 32 | s->frames[i * 3]);
	const char *file = af_strtab_get(&w->strings, s->frames[i * 3 + 1]);
	const struct af_function_source *nearest = NULL, *any = NULL;
	bool inlined = i + 1 < s->nr_frames;

	if (!slot)
		return NULL;
	for (const struct af_function_source *f = (void *)(uintptr_t)*slot; f; f = f->next) {
		if (!inlined && source_is_nearer(f, nearest, s->offset))
			nearest = f;
		/* Two that were inlined differ in their file, which the frame has too. */
		if (!f->start && (!any || (f->file && !strcmp(f->file, file))))
			any = f;
	}
	return nearest ? nearest : any;
}

const struct af_symbol *af_world_symbol(const struct af_world *w, uint32_t process,
                                        uint64_t address, uint32_t epoch)
{
	const uint64_t *slot = af_keys_get(&w->by_symbol, AF_KEY(process, address));
	const struct af_symbol *best = NULL;

	if (!slot)
		return NULL;
	for (const struct af_symbol *s = (void *)(uintptr_t)*slot; s; s = s->next) {
		if (s->from_ns)
			continue;
		bool fits = s->epoch <= epoch;
		if (!best || (fits && (best->epoch > epoch || s->epoch > best->epoch)))
			best = s;
	}
	return best;
}

const struct af_py_code *af_world_py_code(const struct af_world *w, uint32_t process, uint32_t code)
{
	const uint64_t *v = af_map_get(&w->by_py_code, world_key(process, code));
	return v ? (const void *)(uintptr_t)*v : NULL;
}
