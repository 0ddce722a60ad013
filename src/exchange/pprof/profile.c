#include "exchange/pprof/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/perf/kernel.h"

void pprof_free(struct pprof_profile *p)
{
	void *arrays[] = {p->strings, p->functions, p->locations, p->lines, p->mappings, p->frames};
	struct af_map *maps[] = {&p->by_function, &p->by_location, &p->by_mapping};

	for (unsigned i = 0; i < sizeof arrays / sizeof *arrays; i++)
		free(arrays[i]);
	for (unsigned i = 0; i < sizeof maps / sizeof *maps; i++)
		af_map_free(maps[i]);
	*p = (struct pprof_profile){0};
}

struct pprof_string *pprof_string(struct pprof_profile *p, uint64_t index)
{
	static struct pprof_string none = {(const uint8_t *)"", 0, 1};

	if (index < p->nr_strings)
		return &p->strings[index];
	p->builder->unused[AF_BUILDER_STRINGS_UNUSED]++;
	return &none;
}

uint32_t pprof_name(struct pprof_profile *p, uint64_t index)
{
	struct pprof_string *s = index ? pprof_string(p, index) : NULL;

	if (!s || !s->len)
		return 0;
	if (!s->name)
		s->name = af_builder_text(p->builder, (const char *)s->at, s->len) + 1;
	return s->name - 1;
}

const char *pprof_text(struct pprof_profile *p, uint64_t index)
{
	return af_strtab_get(&p->builder->names, pprof_name(p, index));
}

static bool read_type(struct af_cursor in, uint64_t texts[2])
{
	struct af_pb_field f;

	while (af_pb_next(&in, &f))
		if (f.number == PPROF_TYPE_TYPE || f.number == PPROF_TYPE_UNIT)
			texts[f.number - PPROF_TYPE_TYPE] = f.value;
	return !in.bad;
}

static bool read_mapping(struct pprof_profile *p, struct af_cursor in)
{
	uint64_t id = 0, file = 0;
	struct af_pb_field f;

	while (af_pb_next(&in, &f)) {
		if (f.number == PPROF_MAPPING_ID)
			id = f.value;
		else if (f.number == PPROF_MAPPING_FILE)
			file = f.value;
	}
	*af_map_at(&p->by_mapping, id, NULL) = p->nr_mappings;
	AF_GROW(p->mappings, p->nr_mappings, p->cap_mappings);
	p->mappings[p->nr_mappings++] = file;
	return !in.bad;
}

static bool read_function(struct pprof_profile *p, struct af_cursor in)
{
	struct pprof_function function = {0};
	uint64_t id = 0;
	struct af_pb_field f;

	while (af_pb_next(&in, &f)) {
		uint64_t *to[] = {
		    [PPROF_FUNCTION_ID] = &id,
		    [PPROF_FUNCTION_NAME] = &function.name,
		    [PPROF_FUNCTION_SYSTEM_NAME] = &function.system_name,
		    [PPROF_FUNCTION_FILE] = &function.file,
		};
		if (f.number < sizeof to / sizeof *to)
			*to[f.number] = f.value;
	}
	*af_map_at(&p->by_function, id, NULL) = p->nr_functions;
	AF_GROW(p->functions, p->nr_functions, p->cap_functions);
	p->functions[p->nr_functions++] = function;
	return !in.bad;
}

static bool read_line(struct pprof_profile *p, struct af_cursor in)
{
	struct pprof_line line = {0};
	struct af_pb_field f;

	while (af_pb_next(&in, &f)) {
		if (f.number == PPROF_LINE_FUNCTION)
			line.function = f.value;
		else if (f.number == PPROF_LINE_LINE)
			line.line = (int64_t)f.value;
	}
	AF_GROW(p->lines, p->nr_lines, p->cap_lines);
	p->lines[p->nr_lines++] = line;
	return !in.bad;
}

static bool read_location(struct pprof_profile *p, struct af_cursor in)
{
	struct pprof_location l = {.first = p->nr_lines};
	uint64_t id = 0;
	struct af_pb_field f;
	bool good = true;

	while (af_pb_next(&in, &f)) {
		if (f.number == PPROF_LOCATION_ID)
			id = f.value;
		else if (f.number == PPROF_LOCATION_MAPPING)
			l.mapping = f.value;
		else if (f.number == PPROF_LOCATION_ADDRESS)
			l.address = f.value;
		else if (f.number == PPROF_LOCATION_LINE &&
		         p->nr_lines - l.first < AF_BUILDER_DEPTH)
			good = read_line(p, f.bytes) && good;
		else if (f.number == PPROF_LOCATION_LINE)
			p->builder->unused[AF_BUILDER_DEPTH_UNUSED]++;
	}
	l.nr = p->nr_lines - l.first;
	*af_map_at(&p->by_location, id, NULL) = p->nr_locations;
	AF_GROW(p->locations, p->nr_locations, p->cap_locations);
	p->locations[p->nr_locations++] = l;
	return good && !in.bad;
}

static bool read_field(struct pprof_profile *p, struct af_pb_field *f)
{
	switch (f->number) {
	case PPROF_SAMPLE_TYPE:
		return p->nr_types++ >= IMPORT_VALUE_TYPES ||
		       read_type(f->bytes, &p->type_texts[2 * (p->nr_types - 1)]);
	case PPROF_MAPPING:
		return read_mapping(p, f->bytes);
	case PPROF_LOCATION:
		return read_location(p, f->bytes);
	case PPROF_FUNCTION:
		return read_function(p, f->bytes);
	case PPROF_STRING:
		AF_GROW(p->strings, p->nr_strings, p->cap_strings);
		p->strings[p->nr_strings++] = (struct pprof_string){
		    .at = f->bytes.at, .len = (size_t)(f->bytes.end - f->bytes.at)};
		return true;
	case PPROF_TIME_NS:
		p->time_ns = (int64_t)f->value;
		return true;
	case PPROF_DURATION_NS:
		p->duration_ns = (int64_t)f->value;
		return true;
	case PPROF_PERIOD_TYPE:
		return read_type(f->bytes, p->period_texts);
	case PPROF_PERIOD:
		p->period = (int64_t)f->value;
		return true;
	case PPROF_COMMENT:
		while (af_pb_each(f, &p->comment))
			;
		return true;
	case PPROF_DEFAULT_TYPE:
		p->default_type = f->value;
		return true;
	default:
		return true;
	}
}

bool pprof_read(struct pprof_profile *p, struct af_cursor in)
{
	struct af_pb_field f;
	bool good = true;

	while (af_pb_next(&in, &f))
		good = read_field(p, &f) && good;
	return good && !in.bad;
}

static uint32_t location_module(struct pprof_profile *p, const struct pprof_location *l)
{
	const uint64_t *at = l->mapping ? af_map_get(&p->by_mapping, l->mapping) : NULL;

	if (l->mapping && !at)
		p->builder->unused[AF_BUILDER_FRAMES_UNUSED]++;
	return at ? pprof_name(p, p->mappings[*at]) : 0;
}

/* An address that nobody named goes by its file: by its number each would be a function. */
static uint32_t unnamed(struct pprof_profile *p, const struct pprof_location *l, uint32_t module)
{
	const char *path = af_strtab_get(&p->builder->names, module), *slash = strrchr(path, '/');
	char text[512];

	if (*path)
		snprintf(text, sizeof text, "[%s: no symbol]",
		         slash && slash[1] ? slash + 1 : path);
	else
		snprintf(text, sizeof text, "0x%llx", (unsigned long long)l->address);
	return af_builder_name(p->builder, text, strlen(text));
}

static struct af_builder_frame_of frame_of(struct pprof_profile *p, const struct pprof_location *l,
                                           const struct pprof_line *line, uint32_t module)
{
	const uint64_t *at = line ? af_map_get(&p->by_function, line->function) : NULL;
	struct af_builder_frame_of frame = {.module = module};

	if (at) {
		const struct pprof_function *f = &p->functions[*at];
		frame.name = pprof_name(p, f->name);
		if (!frame.name)
			frame.name = pprof_name(p, f->system_name);
		frame.file = pprof_name(p, f->file);
		frame.line = line->line > 0 && line->line <= INT32_MAX ? (uint32_t)line->line : 0;
	} else if (line) {
		p->builder->unused[AF_BUILDER_FRAMES_UNUSED]++;
	}
	if (!frame.name)
		frame.name = unnamed(p, l, module);
	return frame;
}

static bool is_kernel(const struct af_builder *d, uint32_t module)
{
	const char *text = af_strtab_get(&d->names, module);

	return !strncmp(text, "[guest.kernel", 13) || perf_kernel_module(text, strlen(text));
}

static void frames_make(struct pprof_profile *p, struct pprof_location *l)
{
	uint32_t module = location_module(p, l);
	bool kernel = is_kernel(p->builder, module);

	l->frames = p->nr_frames + 1;
	for (uint32_t i = l->nr ? l->nr : 1; i-- > 0;) {
		const struct pprof_line *line = l->nr ? &p->lines[l->first + i] : NULL;
		struct af_builder_frame_of frame = frame_of(p, l, line, module);
		frame.kind = kernel                   ? AF_BUILDER_KERNEL
		             : l->nr && i + 1 < l->nr ? AF_BUILDER_INLINED
		                                      : AF_BUILDER_NATIVE;
		AF_GROW(p->frames, p->nr_frames, p->cap_frames);
		p->frames[p->nr_frames++] = frame;
	}
}

uint32_t pprof_frames(struct pprof_profile *p, uint64_t id,
                      const struct af_builder_frame_of **frames)
{
	const uint64_t *at = af_map_get(&p->by_location, id);

	if (!at) {
		p->builder->unused[AF_BUILDER_FRAMES_UNUSED]++;
		return 0;
	}
	struct pprof_location *l = &p->locations[*at];
	if (!l->frames)
		frames_make(p, l);
	*frames = &p->frames[l->frames - 1];
	return l->nr ? l->nr : 1;
}
