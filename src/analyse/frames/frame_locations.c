#include "analyse/frames/frame_locations.h"

#include <stdio.h>
#include <string.h>

uint32_t af_frames_at(struct af_tree *t, uint32_t parent, const char *text, enum af_frame kind,
                      const struct af_location *location)
{
	return af_tree_child(t, parent, af_tree_name_at(t, text, strlen(text), kind, location));
}

/* NULL for "": not known. */
static const char *known(const char *text)
{
	return *text ? text : NULL;
}

struct af_location af_location_address(const struct af_world *w, uint32_t process,
                                       const struct af_symbol *s)
{
	const char *module = s ? known(af_strtab_get(&w->strings, s->module)) : NULL;

	/* The words that imports have instead of a file. */
	if (!module || !strcmp(module, "[imported]"))
		return (struct af_location){0};
	return (struct af_location){
	    .module = module,
	    .build_id = known(af_world_build_id(w, process, s->module)),
	    .address = s->offset,
	};
}

struct af_location af_location_function(const struct af_world *w, uint32_t process,
                                        const struct af_symbol *s, uint32_t i)
{
	struct af_location location = af_location_address(w, process, s);

	location.file = known(af_strtab_get(&w->strings, s->frames[i * 3 + 1]));
	location.line = s->frames[i * 3 + 2];
	location.inlined = i + 1 < s->nr_frames;
	const struct af_function_source *source = af_world_function_source(w, s, i);
	if (source && source->line) {
		location.source = source->file;
		location.source_line = source->line;
	}
	if (source && source->start && source->start <= s->offset) {
		location.begins = true;
		location.offset = s->offset - source->start;
	}
	return location;
}

struct af_location af_location_device(const struct af_world *w, uint32_t code, uint64_t offset)
{
	uint32_t program = code ? af_world_code_program(w, code) : 0;
	const char *object = program ? known(w->programs[program].object) : NULL;

	return (struct af_location){.module = object, .build_id = object, .address = offset};
}

struct af_location af_location_process(const struct af_world *w, uint32_t process)
{
	const struct af_process *p = af_world_process(w, process);

	return (struct af_location){.what = AF_LOCATION_PROCESS, .address = p ? p->pid : 0};
}

uint32_t af_frames_thread(struct af_tree *t, const struct af_world *w, uint32_t node,
                          uint32_t process, uint32_t tid)
{
	const struct af_thread *thread = af_world_thread(w, process, tid);
	const char *name = thread && *thread->name ? thread->name : "thread";
	const struct af_location location = {
	    .what = AF_LOCATION_THREAD, .function = name, .address = tid};
	char text[128];

	snprintf(text, sizeof text, "[%s %u]", name, tid);
	return af_frames_at(t, node, text, AF_FRAME_PROCESS, &location);
}
