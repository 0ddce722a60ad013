#include "exchange/builder/builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/builder/write.h"
#include "exchange/source/json.h"

#define BUILDER_TIME_MAX (INT64_MAX / 2) /* ends can be added without thinking */

void af_builder_open(struct af_builder *d)
{
	*d = (struct af_builder){.sample_weight_ns = 20000000};
	AF_GROW(d->nodes, d->nr_nodes, d->cap_nodes);
	d->nodes[d->nr_nodes++] = (struct af_builder_node){0};
}

void af_builder_close(struct af_builder *d)
{
	for (uint32_t i = 0; i < d->nr_notes; i++) {
		free(d->notes[i].key);
		free(d->notes[i].value);
	}
	void *arrays[] = {d->processes,   d->threads,     d->slices,   d->works,       d->samples,
	                  d->descriptors, d->nodes,       d->frames,   d->notes,       d->links,
	                  d->sums,        d->graph_nodes, d->memories, d->device_notes};
	for (unsigned i = 0; i < sizeof arrays / sizeof *arrays; i++)
		free(arrays[i]);
	struct af_map *maps[] = {&d->by_process, &d->by_thread,    &d->by_descriptor, &d->by_node,
	                         &d->by_frame,   &d->device_names, &d->ranks,         &d->noted};
	for (unsigned i = 0; i < sizeof maps / sizeof *maps; i++)
		af_map_free(maps[i]);
	builder_stalls_free(&d->stalls);
	builder_addresses_free(&d->addresses);
	af_strtab_free(&d->names);
	*d = (struct af_builder){0};
}

const char *af_builder_unused_text(enum af_builder_unused unused)
{
	static const char *const texts[] = {
#define AF_D(NAME, text) [AF_BUILDER_##NAME##_UNUSED] = text,
	    AF_BUILDER_UNUSED(AF_D)
#undef AF_D
	};

	return texts[unused];
}

void af_builder_note(struct af_builder *d, const char *key, const char *fmt, ...)
{
	char value[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof value, fmt, ap);
	va_end(ap);
	AF_GROW(d->notes, d->nr_notes, d->cap_notes);
	d->notes[d->nr_notes++] = (struct af_builder_note){af_xstrdup(key), af_xstrdup(value)};
}

void af_builder_count_unit(struct af_builder *d, const char *unit)
{
	static const char key[] = "weight.count";

	for (uint32_t i = 0; i < d->nr_notes; i++) {
		struct af_builder_note *n = &d->notes[i];
		if (strcmp(n->key, key) != 0)
			continue;
		if (strcmp(n->value, unit) != 0) {
			free(n->value);
			n->value = af_xstrdup("events");
		}
		return;
	}
	af_builder_note(d, key, "%s", unit);
}

uint32_t af_builder_name(struct af_builder *d, const char *text, size_t len)
{
	const char *nul = memchr(text, 0, len);

	return af_strtab_id(&d->names, text, nul ? (size_t)(nul - text) : len);
}

uint32_t af_builder_process_new(struct af_builder *d, uint32_t space, uint32_t pid)
{
	AF_GROW(d->processes, d->nr_processes, d->cap_processes);
	d->processes[d->nr_processes] = (struct af_builder_process){.space = space, .pid = pid};
	*af_map_at(&d->by_process, (uint64_t)space << 32 | pid, NULL) = d->nr_processes;
	return d->nr_processes++;
}

uint32_t af_builder_text(struct af_builder *d, const char *text, size_t len)
{
	if (len > AF_JSON_TEXT_MAX) {
		len = AF_JSON_TEXT_MAX;
		d->unused[AF_BUILDER_TEXTS_UNUSED]++;
	}
	return af_builder_name(d, text, len);
}

uint32_t af_builder_process(struct af_builder *d, uint32_t space, uint32_t pid)
{
	const uint64_t *known = af_map_get(&d->by_process, (uint64_t)space << 32 | pid);

	return known ? (uint32_t)*known : af_builder_process_new(d, space, pid);
}

uint32_t af_builder_thread(struct af_builder *d, uint32_t process, uint32_t tid)
{
	uint64_t key = (uint64_t)process << 32 | tid;
	uint64_t *known = af_map_get(&d->by_thread, key);

	if (known)
		return (uint32_t)*known;
	if (d->nr_threads == AF_BUILDER_THREADS) {
		d->unused[AF_BUILDER_THREADS_UNUSED]++;
		return UINT32_MAX;
	}
	AF_GROW(d->threads, d->nr_threads, d->cap_threads);
	d->threads[d->nr_threads] = (struct af_builder_thread){.process = process, .tid = tid};
	d->processes[process].threads++;
	*af_map_at(&d->by_thread, key, NULL) = d->nr_threads;
	return d->nr_threads++;
}

bool af_builder_python(const char *name, size_t *file_len, int32_t *line, const char **function)
{
	for (const char *end = name; (end = strstr(end, "): ")); end++) {
		const char *digits = end;
		while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
			digits--;
		if (digits == end || end - digits > 9 || digits - name < 2 || digits[-1] != '(')
			continue;
		*file_len = (size_t)(digits - 1 - name);
		*line = (int32_t)strtol(digits, NULL, 10);
		*function = end + 3;
		return **function != 0;
	}
	return false;
}

static uint32_t builder_frame(struct af_builder *d, const struct af_builder_frame_of *frame)
{
	uint64_t hash = af_scatter_bytes(frame, sizeof *frame);
	bool fresh;
	uint64_t *slot = af_map_at(&d->by_frame, hash, &fresh);

	/* The rare frames with the same hash come one after the other. */
	while (!fresh && memcmp(&d->frames[*slot], frame, sizeof *frame))
		slot = af_map_at(&d->by_frame, ++hash, &fresh);
	if (fresh) {
		*slot = d->nr_frames;
		AF_GROW(d->frames, d->nr_frames, d->cap_frames);
		d->frames[d->nr_frames++] = *frame;
	}
	return (uint32_t)*slot;
}

uint32_t af_builder_node_of(struct af_builder *d, uint32_t parent,
                            const struct af_builder_frame_of *frame)
{
	struct af_builder_frame_of whole = *frame;
	bool fresh;

	if (d->nodes[parent].depth == AF_BUILDER_DEPTH) {
		d->unused[AF_BUILDER_DEPTH_UNUSED]++;
		return parent;
	}
	whole.outer = d->nodes[parent].frame;
	uint32_t around = parent ? d->frames[whole.outer].kind : AF_BUILDER_KERNEL;
	if (whole.kind == AF_BUILDER_INLINED && around != AF_BUILDER_NATIVE &&
	    around != AF_BUILDER_INLINED)
		whole.kind = AF_BUILDER_NATIVE;
	if (whole.kind != AF_BUILDER_INLINED)
		whole.outer = 0;
	uint32_t index = builder_frame(d, &whole);
	uint64_t *slot = af_map_at(&d->by_node, (uint64_t)parent << 32 | index, &fresh);
	if (fresh) {
		*slot = d->nr_nodes;
		AF_GROW(d->nodes, d->nr_nodes, d->cap_nodes);
		d->nodes[d->nr_nodes++] = (struct af_builder_node){
		    .parent = parent, .frame = index, .depth = d->nodes[parent].depth + 1};
	}
	return (uint32_t)*slot;
}

uint32_t af_builder_node(struct af_builder *d, uint32_t parent, uint32_t name,
                         enum af_builder_frame kind)
{
	return af_builder_node_of(d, parent,
	                          &(struct af_builder_frame_of){.name = name, .kind = kind});
}

bool af_builder_times(struct af_builder *d, uint64_t start_ns, uint64_t busy_ns)
{
	if (start_ns <= BUILDER_TIME_MAX && busy_ns <= BUILDER_TIME_MAX)
		return true;
	d->unused[AF_BUILDER_TIMES_UNUSED]++;
	return false;
}

void af_builder_slice(struct af_builder *d, enum af_builder_slice_kind kind,
                      const struct af_builder_slice *s)
{
	if (!af_builder_times(d, s->start_ns, s->busy_ns))
		return;
	AF_GROW(d->slices, d->nr_slices, d->cap_slices);
	d->slices[d->nr_slices] = *s;
	d->slices[d->nr_slices++].thread |= (uint32_t)kind << 24;
}

void af_builder_work(struct af_builder *d, const struct af_builder_work *w,
                     const struct af_builder_descriptor *descriptor)
{
	uint64_t hash = af_scatter_bytes(descriptor, sizeof *descriptor);
	bool fresh;

	if (!af_builder_times(d, w->start_ns, w->busy_ns))
		return;
	/* The rare descriptors with the same hash come one after the other. */
	uint64_t *slot = af_map_at(&d->by_descriptor, hash, &fresh);
	while (!fresh && memcmp(&d->descriptors[*slot], descriptor, sizeof *descriptor))
		slot = af_map_at(&d->by_descriptor, ++hash, &fresh);
	if (fresh) {
		*slot = d->nr_descriptors;
		AF_GROW(d->descriptors, d->nr_descriptors, d->cap_descriptors);
		d->descriptors[d->nr_descriptors++] = *descriptor;
	}
	AF_GROW(d->works, d->nr_works, d->cap_works);
	d->works[d->nr_works] = *w;
	d->works[d->nr_works++].descriptor = (uint32_t)*slot;
}

void af_builder_sample(struct af_builder *d, const struct af_builder_sample *s)
{
	if (!af_builder_times(d, s->time_ns, 0))
		return;
	AF_GROW(d->samples, d->nr_samples, d->cap_samples);
	d->samples[d->nr_samples] = *s;
	d->samples[d->nr_samples].function = builder_call_of(d, s);
	d->nr_calls += d->samples[d->nr_samples++].function != 0;
}

void af_builder_sum(struct af_builder *d, const struct af_builder_sum *s)
{
	if (!af_builder_times(d, s->time_ns, 0))
		return;
	AF_GROW(d->sums, d->nr_sums, d->cap_sums);
	d->sums[d->nr_sums++] = *s;
}

void af_builder_link(struct af_builder *d, const struct af_builder_link *l)
{
	AF_GROW(d->links, d->nr_links, d->cap_links);
	d->links[d->nr_links++] = *l;
}

void af_builder_memory(struct af_builder *d, const struct af_builder_memory *m)
{
	if (!af_builder_times(d, m->time_ns, 0))
		return;
	AF_GROW(d->memories, d->nr_memories, d->cap_memories);
	d->memories[d->nr_memories++] = *m;
}

void af_builder_device(struct af_builder *d, uint32_t space, uint32_t device, const char *name,
                       size_t len)
{
	*af_map_at(&d->device_names, (uint64_t)space << 32 | device, NULL) =
	    af_builder_name(d, name, len);
}

void af_builder_device_note(struct af_builder *d, uint32_t space, uint32_t device, const char *key,
                            const char *value)
{
	uint64_t *last = af_map_at(&d->noted, (uint64_t)space << 32 | device, NULL);

	AF_GROW(d->device_notes, d->nr_device_notes, d->cap_device_notes);
	d->device_notes[d->nr_device_notes++] =
	    (struct af_builder_device_note){.key = af_builder_name(d, key, strlen(key)),
	                                    .value = af_builder_name(d, value, strlen(value)),
	                                    .before = (uint32_t)*last};
	*last = d->nr_device_notes;
}

void af_builder_rank(struct af_builder *d, uint32_t space, uint32_t rank)
{
	char text[16];
	int len = snprintf(text, sizeof text, "%u", rank);

	*af_map_at(&d->ranks, space, NULL) = af_builder_name(d, text, (size_t)len);
}
