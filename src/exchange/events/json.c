/*
 * Trace Event Format as PyTorch (Kineto) and gpuperf write it, which the categories of its events
 * show. A file with none of these may be of any program: then the slices of threads are used.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/builder/builder.h"
#include "exchange/events/event.h"
#include "exchange/events/flows.h"
#include "exchange/events/spans.h"
#include "exchange/events/stacks.h"
#include "exchange/source/source.h"

enum { DEVICES_MAX = 4096 };

enum event_kind {
	EVENT_NONE,
	EVENT_KNOWN, /* says what something else says too */
	EVENT_FLOW,  /* from an operator to the one that runs backwards for it */
	EVENT_OP,
	EVENT_FUNCTION,
	EVENT_RANGE,
	EVENT_CALL,
	EVENT_KERNEL,
	EVENT_COPY,
	EVENT_FILL,
};

/* Kineto's categories, those of 2021, gpuperf's. */
static const struct category {
	const char *name;
	enum event_kind kind;
	bool gpuperf;
} categories[] = {
    {"cpu_op", EVENT_OP, false},        {"python_function", EVENT_FUNCTION, false},
    {"kernel", EVENT_KERNEL, false},    {"cuda_runtime", EVENT_CALL, false},
    {"cuda_driver", EVENT_CALL, false}, {"ac2g", EVENT_KNOWN, false},
    {"fwdbwd", EVENT_FLOW, false},      {"gpu_memcpy", EVENT_COPY, false},
    {"gpu_memset", EVENT_FILL, false},  {"user_annotation", EVENT_RANGE, false},
    {"Operator", EVENT_OP, false},      {"Kernel", EVENT_KERNEL, false},
    {"Runtime", EVENT_CALL, false},     {"Memcpy", EVENT_COPY, false},
    {"Memset", EVENT_FILL, false},      {"GPU_Kernel", EVENT_KERNEL, true},
    {"CUDA_Runtime", EVENT_CALL, true}, {"CUDA_Driver", EVENT_CALL, true},
    {"MemCopy", EVENT_COPY, true},      {"CONCURRENT_KERNEL", EVENT_KERNEL, true},
};

/* A name that an event of phase M gives; whose it is may come later. */
struct naming {
	uint32_t pid, tid, name;
	bool thread;
};

struct import_json {
	struct af_builder *builder;
	struct af_json json;
	uint32_t space; /* of Kineto's processes; gpuperf's is 0 */
	int64_t base_ns;
	struct naming *namings;
	uint32_t nr_namings, cap_namings;
	struct import_flows flows;
	uint64_t first_slice, first_sample, first_work; /* of this file */
	bool known;                /* it has events of categories that are known */
	struct import_spans spans; /* slices of others */
	struct import_stacks stacks;
	struct import_event event;
};

/* gpuperf's names say again what they are: "Kernel: saxpy". */
static uint32_t event_name(struct import_json *in, bool gpuperf)
{
	const struct import_event *e = &in->event;
	const char *name = e->name, *colon = gpuperf ? strstr(name, ": ") : NULL;

	if (colon)
		name = colon + 2;
	size_t len = e->name_len - (size_t)(name - e->name);
	return af_builder_name(in->builder, name, gpuperf ? import_function_len(name, len) : len);
}

static uint32_t event_correlation(struct import_json *in)
{
	const struct import_number *n = &in->event.correlation;

	if (n->given && !import_fits(n))
		in->builder->unused[AF_BUILDER_CORRELATIONS_UNUSED]++;
	return import_u32(n);
}

/* False: the event has no times, or none that can be. */
static bool event_times(struct import_json *in)
{
	struct import_event *e = &in->event;
	bool given = e->ts_ns.given && (e->dur_ns.given || e->phase != 'X');

	if (given && e->ts_ns.value >= 0 && (!e->dur_ns.given || e->dur_ns.value >= 0))
		return true;
	in->builder->unused[given ? AF_BUILDER_TIMES_UNUSED : AF_BUILDER_FIELDS_UNUSED]++;
	return false;
}

static void host_event(struct import_json *in, const struct category *c)
{
	const struct import_event *e = &in->event;
	struct af_builder *d = in->builder;
	enum af_builder_slice_kind kind = c->kind == EVENT_OP         ? AF_BUILDER_OP
	                                  : c->kind == EVENT_FUNCTION ? AF_BUILDER_FUNCTION
	                                  : c->kind == EVENT_RANGE    ? AF_BUILDER_RANGE
	                                                              : AF_BUILDER_CALL;
	const char *function;
	size_t len;
	int32_t line;

	if (!import_fits(&e->pid) || !import_fits(&e->tid) || !e->name_len) {
		d->unused[AF_BUILDER_FIELDS_UNUSED]++;
		return;
	}
	if (kind == AF_BUILDER_FUNCTION && !af_builder_python(e->name, &len, &line, &function))
		kind = AF_BUILDER_OP;
	uint32_t external = c->kind == EVENT_OP ? import_u32(&e->external) : 0;
	uint32_t process = af_builder_process(d, c->gpuperf ? 0 : in->space, import_u32(&e->pid));
	uint32_t thread = af_builder_thread(d, process, import_u32(&e->tid));
	if (thread == UINT32_MAX)
		return;
	struct af_builder_slice s = {
	    .start_ns = (uint64_t)e->ts_ns.value,
	    .busy_ns = (uint64_t)e->dur_ns.value,
	    .name = event_name(in, c->gpuperf),
	    .thread = thread,
	    .correlation = kind == AF_BUILDER_CALL ? event_correlation(in) : 0,
	    .external = external,
	};
	af_builder_slice(d, kind, &s);
}

static void descriptor_dimensions(const struct import_event *e, struct af_builder_descriptor *s)
{
	for (int i = 0; i < 3; i++) {
		s->local[i] = import_u32(&e->block[i]);
		s->global[i] = (uint64_t)import_u32(&e->grid[i]) * s->local[i];
	}
}

static void device_event(struct import_json *in, const struct category *c)
{
	const struct import_event *e = &in->event;
	/* As it is described, a kernel's pid is that of the program. */
	bool numbered = strcmp(c->name, "CONCURRENT_KERNEL") != 0;
	uint32_t device = e->device.given ? import_u32(&e->device)
	                  : numbered      ? import_u32(&e->pid)
	                                  : 0;
	struct af_builder_descriptor descriptor = {
	    .op = c->kind == EVENT_KERNEL ? AF_OP_KERNEL
	          : c->kind == EVENT_FILL ? AF_OP_FILL
	                                  : import_copy_op(e->name),
	    .bytes = e->bytes.given && e->bytes.value > 0 ? (uint64_t)e->bytes.value : 0,
	    .device = device < DEVICES_MAX ? device : 0,
	    .context = import_u32(&e->context),
	    .stream = import_u32(e->stream.given ? &e->stream : &e->tid),
	    .registers = import_u32(&e->registers),
	    .shared = import_u32(&e->shared),
	};
	struct af_builder_work work = {
	    .start_ns = (uint64_t)e->ts_ns.value,
	    .busy_ns = (uint64_t)e->dur_ns.value,
	    .correlation = event_correlation(in),
	    .space = c->gpuperf ? 0 : in->space,
	    .external = import_u32(&e->external),
	};

	if (c->kind == EVENT_KERNEL) {
		descriptor.kernel = event_name(in, c->gpuperf);
		descriptor_dimensions(e, &descriptor);
	}
	af_builder_work(in->builder, &work, &descriptor);
}

static void flow_event(struct import_json *in)
{
	const struct import_event *e = &in->event;

	if (!import_fits(&e->pid) || !import_fits(&e->tid) || !import_fits(&e->id)) {
		in->builder->unused[AF_BUILDER_FIELDS_UNUSED]++;
		return;
	}
	uint32_t process = af_builder_process(in->builder, in->space, import_u32(&e->pid));
	uint32_t thread = af_builder_thread(in->builder, process, import_u32(&e->tid));
	if (thread == UINT32_MAX)
		return;
	import_flows_add(&in->flows, (struct import_flow){.ns = (uint64_t)e->ts_ns.value,
	                                                  .id = import_u32(&e->id),
	                                                  .thread = thread,
	                                                  .end = e->phase == 'f'});
}

static void metadata_event(struct import_json *in)
{
	const struct import_event *e = &in->event;
	bool thread = !strcmp(e->name, "thread_name");

	if ((!thread && strcmp(e->name, "process_name")) || !e->label_len || !import_fits(&e->pid))
		return;
	AF_GROW(in->namings, in->nr_namings, in->cap_namings);
	in->namings[in->nr_namings++] =
	    (struct naming){import_u32(&e->pid), import_u32(&e->tid),
	                    af_builder_name(in->builder, e->label, e->label_len), thread};
}

/*
 * gpuperf's calls, as it is described, have no category: the function and its correlation say it.
 */
static bool is_plain_call(const struct import_event *e)
{
	return !*e->category && e->correlation.given && e->phase == 'X' &&
	       (!strncmp(e->name, "cuda", 4) || !strncmp(e->name, "hip", 3) ||
	        (!strncmp(e->name, "cu", 2) && e->name[2] >= 'A' && e->name[2] <= 'Z'));
}

static const struct category *event_category(const struct import_event *e)
{
	static const struct category plain_call = {"", EVENT_CALL, true};

	if (is_plain_call(e))
		return &plain_call;
	for (unsigned i = 0; i < sizeof categories / sizeof *categories; i++)
		if (!strcmp(e->category, categories[i].name))
			return &categories[i];
	return NULL;
}

/* The number, or for a word one of its own, far from those of threads. Without either it is 0. */
static uint32_t word_id(struct import_json *in, const struct import_number *n, const char *word)
{
	return *word ? 1u << 30 | af_builder_name(in->builder, word, strlen(word)) : import_u32(n);
}

/* The thread of the slice. */
static uint32_t span_thread(struct import_json *in)
{
	const struct import_event *e = &in->event;
	struct af_builder *d = in->builder;
	uint32_t process = af_builder_process(d, in->space, word_id(in, &e->pid, e->pid_word));
	uint32_t thread = af_builder_thread(d, process, word_id(in, &e->tid, e->tid_word));

	if (*e->pid_word && !d->processes[process].exe)
		d->processes[process].exe = af_builder_name(d, e->pid_word, strlen(e->pid_word));
	if (*e->tid_word && thread != UINT32_MAX && !d->threads[thread].name)
		d->threads[thread].name = af_builder_name(d, e->tid_word, strlen(e->tid_word));
	return thread;
}

/* A slice of no category that is known, as long as the file has none that are. */
static void span_event(struct import_json *in)
{
	const struct import_event *e = &in->event;
	struct import_span span = {.phase = e->phase};

	if (!event_times(in))
		return;
	if (e->phase != 'E' && !e->name_len) {
		in->builder->unused[AF_BUILDER_FIELDS_UNUSED]++;
		return;
	}
	span.ns = (uint64_t)e->ts_ns.value;
	span.busy_ns = e->phase == 'X' ? (uint64_t)e->dur_ns.value : 0;
	if (!af_builder_times(in->builder, span.ns, span.busy_ns))
		return;
	span.name = af_builder_name(in->builder, e->name, e->name_len);
	span.thread = span_thread(in);
	if (span.thread != UINT32_MAX)
		import_spans_add(&in->spans, &span);
}

static void event_use(struct import_json *in)
{
	const struct category *c = event_category(&in->event);
	char phase = in->event.phase;

	if (phase == 'M') {
		metadata_event(in);
		return;
	}
	if (c && !in->known) {
		in->known = true;
		in->builder->unused[AF_BUILDER_OTHER_UNUSED] += in->spans.nr;
		import_spans_free(&in->spans);
	}
	if (c && c->kind == EVENT_KNOWN)
		return;
	if (!c && !in->known && (phase == 'X' || phase == 'B' || phase == 'E')) {
		span_event(in);
		return;
	}
	bool flow = c && c->kind == EVENT_FLOW && (phase == 's' || phase == 'f');
	if (!c || (!flow && (phase != 'X' || c->kind == EVENT_FLOW))) {
		in->builder->unused[AF_BUILDER_OTHER_UNUSED]++;
		return;
	}
	if (!event_times(in))
		return;
	if (flow)
		flow_event(in);
	else if (c->kind >= EVENT_KERNEL)
		device_event(in, c);
	else
		host_event(in, c);
}

static bool take_events(struct import_json *in)
{
	struct af_json *j = &in->json;
	enum af_json_token token;

	while ((token = af_json_next(j)) == AF_JSON_OBJECT) {
		bool read = import_event_read(j, &in->event);
		in->builder->unused[AF_BUILDER_TEXTS_UNUSED] += in->event.cut;
		if (!read)
			return false;
		event_use(in);
	}
	return token == AF_JSON_ARRAY_END;
}

static bool take_device(struct import_json *in)
{
	struct af_json *j = &in->json;
	struct import_event *e = &in->event;
	struct import_number id = {0};
	enum af_json_token token;

	e->label_len = 0;
	while ((token = af_json_next(j)) == AF_JSON_KEY) {
		bool read;
		if (import_is(j, "id"))
			read = import_take_number(j, 0, &id);
		else if (import_is(j, "name"))
			read = import_take_text(j, e->label, sizeof e->label, &e->label_len,
			                        &in->builder->unused[AF_BUILDER_TEXTS_UNUSED]);
		else
			read = af_json_skip(j, af_json_next(j));
		if (!read)
			return false;
	}
	if (import_fits(&id) && e->label_len)
		af_builder_device(in->builder, in->space, import_u32(&id), e->label, e->label_len);
	return token == AF_JSON_OBJECT_END;
}

static bool take_devices(struct import_json *in)
{
	struct af_json *j = &in->json;
	enum af_json_token token = af_json_next(j);

	if (token != AF_JSON_ARRAY)
		return af_json_skip(j, token);
	while ((token = af_json_next(j)) != AF_JSON_ARRAY_END)
		if (token == AF_JSON_OBJECT ? !take_device(in) : !af_json_skip(j, token))
			return false;
	return true;
}

/* For a run on several devices or machines, which each write a file of their own. */
static bool take_distributed(struct import_json *in)
{
	struct af_json *j = &in->json;
	struct import_number rank = {0};
	enum af_json_token token = af_json_next(j);

	if (token != AF_JSON_OBJECT)
		return af_json_skip(j, token);
	while ((token = af_json_next(j)) == AF_JSON_KEY) {
		bool read = import_is(j, "rank") ? import_take_number(j, 0, &rank)
		                                 : af_json_skip(j, af_json_next(j));
		if (!read)
			return false;
	}
	if (import_fits(&rank))
		af_builder_rank(in->builder, in->space, import_u32(&rank));
	return token == AF_JSON_OBJECT_END;
}

static bool take_top(struct import_json *in)
{
	struct af_json *j = &in->json;
	enum af_json_token token = af_json_next(j);

	if (token == AF_JSON_ARRAY)
		return take_events(in);
	if (token != AF_JSON_OBJECT)
		return false;
	while ((token = af_json_next(j)) == AF_JSON_KEY) {
		struct import_number base = {0};
		bool read;
		if (import_is(j, "traceEvents")) {
			token = af_json_next(j);
			read = token == AF_JSON_ARRAY ? take_events(in) : af_json_skip(j, token);
		} else if (import_is(j, "stackFrames")) {
			read = import_stacks_frames(&in->stacks, j, in->builder);
		} else if (import_is(j, "samples")) {
			read = import_stacks_samples(&in->stacks, j, in->builder);
		} else if (import_is(j, "deviceProperties")) {
			read = take_devices(in);
		} else if (import_is(j, "distributedInfo")) {
			read = take_distributed(in);
		} else if (import_is(j, "baseTimeNanoseconds")) {
			read = import_take_number(j, 0, &base);
			if (base.given && base.value > 0 && base.value < INT64_MAX / 4)
				in->base_ns = base.value;
		} else {
			read = af_json_skip(j, af_json_next(j));
		}
		if (!read)
			return false;
	}
	return token == AF_JSON_OBJECT_END;
}

/* Apply data that a file may have behind the events it belongs to. */
static void finish(struct import_json *in)
{
	struct af_builder *d = in->builder;

	/* Where the time went samples say, if there are any; slices are when what was done. */
	bool sampled = import_stacks_finish(&in->stacks, d, in->space);
	if (in->spans.nr && !sampled)
		af_builder_note(d, "import.weights",
		                "wall-clock time of slices, without that of slices in them");
	import_spans_finish(&in->spans, d, sampled);
	for (uint64_t i = in->first_slice; in->base_ns && i < d->nr_slices; i++)
		d->slices[i].start_ns += (uint64_t)in->base_ns;
	for (uint64_t i = in->first_sample; in->base_ns && i < d->nr_samples; i++)
		d->samples[i].time_ns += (uint64_t)in->base_ns;
	for (uint64_t i = in->first_work; in->base_ns && i < d->nr_works; i++)
		d->works[i].start_ns += (uint64_t)in->base_ns;
	for (uint32_t i = 0; i < in->nr_namings; i++) {
		const struct naming *n = &in->namings[i];
		const uint64_t *p = af_map_get(&d->by_process, (uint64_t)in->space << 32 | n->pid);
		if (!p)
			continue;
		const uint64_t *t = af_map_get(&d->by_thread, *p << 32 | n->tid);
		if (!n->thread)
			d->processes[*p].exe = n->name;
		else if (t)
			d->threads[*t].name = n->name;
	}
	free(in->namings);
	import_flows_join(&in->flows, in->builder, (uint64_t)in->base_ns);
}

void af_import_json(struct af_builder *d, const struct af_import_source *source, uint32_t number,
                    char *complaint, size_t size)
{
	struct import_json *in = af_xcalloc(1, sizeof *in);

	in->builder = d;
	in->space = number + 1;
	in->first_slice = d->nr_slices;
	in->first_sample = d->nr_samples;
	in->first_work = d->nr_works;
	af_json_open(&in->json, source->read, source->arg);
	bool read = take_top(in);
	if (!read || af_json_next(&in->json) != AF_JSON_END) {
		d->damaged++;
		snprintf(complaint, size, "%s",
		         in->json.err.code ? in->json.err.msg
		                           : "this is no list of events, nor an object with one");
	}
	af_json_close(&in->json);
	finish(in);
	free(in);
}
