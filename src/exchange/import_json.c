/* Trace Event Format as PyTorch (Kineto) and gpuperf write it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/draft.h"
#include "exchange/import.h"

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
    {"MemCopy", EVENT_COPY, true},
};

/* A number that an event may have. */
struct number {
	bool given;
	int64_t value;
};

struct event {
	char phase, category[24], name[AF_JSON_TEXT_MAX + 1], label[AF_JSON_TEXT_MAX + 1];
	size_t name_len, label_len; /* label: args.name, of metadata */
	struct number ts_ns, dur_ns, pid, tid, id;
	struct number correlation, external, device, context, stream, bytes, registers, shared;
	struct number grid[3], block[3];
};

/* A name that an event of phase M gives; whose it is may come later. */
struct naming {
	uint32_t pid, tid, name;
	bool thread;
};

/* One end of an arrow. */
struct flow {
	uint64_t ns;
	uint32_t id, thread;
	bool end;
};

struct import_json {
	struct af_draft *draft;
	struct af_json json;
	uint32_t space; /* of Kineto's processes; gpuperf's is 0 */
	int64_t base_ns;
	struct naming *namings;
	uint32_t nr_namings, cap_namings;
	struct flow *flows;
	uint64_t nr_flows, cap_flows;
	uint64_t first_slice, first_work; /* of this file */
	struct event event;
};

static bool is(const struct af_json *j, const char *text)
{
	size_t len = strlen(text);

	return j->len == len && !memcmp(j->text, text, len);
}

/* The value that is read next, if it is a number (also one in quotes), times 10^@power. */
static bool take_number(struct af_json *j, int power, struct number *n)
{
	enum af_json_token token = af_json_next(j);

	if (token == AF_JSON_NUMBER || token == AF_JSON_STRING) {
		n->given = !j->cut && af_json_fixed(j->text, j->len, power, &n->value);
		return true;
	}
	return af_json_skip(j, token);
}

/* A thread or a device may be a number or have one at its end: GPU0_Stream7. */
static bool take_id(struct af_json *j, struct number *n)
{
	enum af_json_token token = af_json_next(j);

	if (token != AF_JSON_NUMBER && token != AF_JSON_STRING)
		return af_json_skip(j, token);
	size_t from = j->len;
	while (from && j->text[from - 1] >= '0' && j->text[from - 1] <= '9')
		from--;
	if (token == AF_JSON_NUMBER || (from == 1 && *j->text == '-'))
		from = 0;
	n->given = !j->cut && af_json_fixed(j->text + from, j->len - from, 0, &n->value);
	return true;
}

static bool take_text(struct import_json *in, char *to, size_t size, size_t *len)
{
	struct af_json *j = &in->json;
	enum af_json_token token = af_json_next(j);

	if (token != AF_JSON_STRING)
		return af_json_skip(j, token);
	*len = j->len < size ? j->len : size - 1;
	memcpy(to, j->text, *len);
	to[*len] = 0;
	in->draft->unused[AF_DRAFT_TEXTS_UNUSED] += j->cut;
	return true;
}

static bool take_three(struct af_json *j, struct number n[3])
{
	enum af_json_token token = af_json_next(j);

	if (token != AF_JSON_ARRAY)
		return af_json_skip(j, token);
	for (int i = 0; (token = af_json_next(j)) != AF_JSON_ARRAY_END; i++) {
		if (token == AF_JSON_NUMBER && i < 3)
			n[i].given = !j->cut && af_json_fixed(j->text, j->len, 0, &n[i].value);
		else if (!af_json_skip(j, token))
			return false;
	}
	return true;
}

static bool take_arg(struct import_json *in)
{
	struct event *e = &in->event;
	struct af_json *j = &in->json;
	const struct {
		const char *name;
		struct number *to;
	} numbers[] = {
	    {"correlation", &e->correlation},
	    {"correlationId", &e->correlation},
	    {"External id", &e->external},
	    {"device", &e->device},
	    {"deviceId", &e->device},
	    {"context", &e->context},
	    {"contextId", &e->context},
	    {"stream", &e->stream},
	    {"streamId", &e->stream},
	    {"bytes", &e->bytes},
	    {"size", &e->bytes},
	    {"registers per thread", &e->registers},
	    {"shared memory", &e->shared},
	};

	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (is(j, numbers[i].name))
			return take_number(j, 0, numbers[i].to);
	if (is(j, "grid"))
		return take_three(j, e->grid);
	if (is(j, "block"))
		return take_three(j, e->block);
	if (is(j, "name"))
		return take_text(in, e->label, sizeof e->label, &e->label_len);
	return af_json_skip(j, af_json_next(j));
}

static bool take_args(struct import_json *in)
{
	struct af_json *j = &in->json;
	enum af_json_token token = af_json_next(j);

	if (token != AF_JSON_OBJECT)
		return af_json_skip(j, token);
	while ((token = af_json_next(j)) == AF_JSON_KEY)
		if (!take_arg(in))
			return false;
	return token == AF_JSON_OBJECT_END;
}

static bool take_member(struct import_json *in)
{
	struct event *e = &in->event;
	struct af_json *j = &in->json;
	size_t len;
	char phase[4] = "";

	if (is(j, "name"))
		return take_text(in, e->name, sizeof e->name, &e->name_len);
	if (is(j, "cat"))
		return take_text(in, e->category, sizeof e->category, &len);
	if (is(j, "args"))
		return take_args(in);
	if (is(j, "ts"))
		return take_number(j, 3, &e->ts_ns);
	if (is(j, "dur"))
		return take_number(j, 3, &e->dur_ns);
	if (is(j, "id"))
		return take_number(j, 0, &e->id);
	if (is(j, "pid"))
		return take_id(j, &e->pid);
	if (is(j, "tid"))
		return take_id(j, &e->tid);
	if (!is(j, "ph"))
		return af_json_skip(j, af_json_next(j));
	if (!take_text(in, phase, sizeof phase, &len))
		return false;
	e->phase = phase[0];
	return true;
}

static bool fits_u32(const struct number *n)
{
	return n->given && n->value >= 0 && n->value <= UINT32_MAX;
}

static uint32_t u32_of(const struct number *n)
{
	return fits_u32(n) ? (uint32_t)n->value : 0;
}

/* gpuperf's names say again what they are: "Kernel: saxpy". */
static uint32_t event_name(struct import_json *in, bool gpuperf)
{
	const struct event *e = &in->event;
	const char *name = e->name, *colon = gpuperf ? strstr(name, ": ") : NULL;

	if (colon)
		name = colon + 2;
	return af_draft_name(in->draft, name, e->name_len - (size_t)(name - e->name));
}

static uint32_t event_correlation(struct import_json *in)
{
	const struct number *n = &in->event.correlation;

	if (n->given && !fits_u32(n))
		in->draft->unused[AF_DRAFT_CORRELATIONS_UNUSED]++;
	return u32_of(n);
}

/* False: the event has no times, or none that can be. */
static bool event_times(struct import_json *in)
{
	struct event *e = &in->event;
	bool given = e->ts_ns.given && (e->dur_ns.given || e->phase != 'X');

	if (given && e->ts_ns.value >= 0 && (!e->dur_ns.given || e->dur_ns.value >= 0))
		return true;
	in->draft->unused[given ? AF_DRAFT_TIMES_UNUSED : AF_DRAFT_FIELDS_UNUSED]++;
	return false;
}

static void host_event(struct import_json *in, const struct category *c)
{
	const struct event *e = &in->event;
	struct af_draft *d = in->draft;
	enum af_draft_slice_kind kind = c->kind == EVENT_OP         ? AF_DRAFT_OP
	                                : c->kind == EVENT_FUNCTION ? AF_DRAFT_FUNCTION
	                                : c->kind == EVENT_RANGE    ? AF_DRAFT_RANGE
	                                                            : AF_DRAFT_CALL;
	const char *function;
	size_t len;
	int32_t line;

	if (!fits_u32(&e->pid) || !fits_u32(&e->tid) || !e->name_len) {
		d->unused[AF_DRAFT_FIELDS_UNUSED]++;
		return;
	}
	if (kind == AF_DRAFT_FUNCTION && !af_draft_python(e->name, &len, &line, &function))
		kind = AF_DRAFT_OP;
	uint32_t external = c->kind == EVENT_OP ? u32_of(&e->external) : 0;
	uint32_t process = af_draft_process(d, c->gpuperf ? 0 : in->space, u32_of(&e->pid));
	uint32_t thread = af_draft_thread(d, process, u32_of(&e->tid));
	if (thread == UINT32_MAX)
		return;
	struct af_draft_slice s = {
	    .start_ns = (uint64_t)e->ts_ns.value,
	    .busy_ns = (uint64_t)e->dur_ns.value,
	    .name = event_name(in, c->gpuperf),
	    .thread = thread,
	    .correlation = kind == AF_DRAFT_CALL ? event_correlation(in) : 0,
	    .external = external,
	};
	af_draft_slice(d, kind, &s);
}

static uint32_t copy_op(const char *name)
{
	static const struct {
		const char *part;
		enum af_op op;
	} parts[] = {{"HtoD", AF_OP_WRITE}, {"DtoH", AF_OP_READ},  {"HtoH", AF_OP_HOST},
	             {"PtoP", AF_OP_PEER},  {"HtoA", AF_OP_WRITE}, {"AtoH", AF_OP_READ}};

	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strstr(name, parts[i].part))
			return parts[i].op;
	return AF_OP_COPY;
}

static void shape_dimensions(const struct event *e, struct af_draft_shape *s)
{
	for (int i = 0; i < 3; i++) {
		s->local[i] = u32_of(&e->block[i]);
		s->global[i] = (uint64_t)u32_of(&e->grid[i]) * s->local[i];
	}
}

static void device_event(struct import_json *in, const struct category *c)
{
	const struct event *e = &in->event;
	uint32_t device = u32_of(e->device.given ? &e->device : &e->pid);
	struct af_draft_shape shape = {
	    .op = c->kind == EVENT_KERNEL ? AF_OP_KERNEL
	          : c->kind == EVENT_FILL ? AF_OP_FILL
	                                  : copy_op(e->name),
	    .bytes = e->bytes.given && e->bytes.value > 0 ? (uint64_t)e->bytes.value : 0,
	    .device = device < DEVICES_MAX ? device : 0,
	    .context = u32_of(&e->context),
	    .stream = u32_of(e->stream.given ? &e->stream : &e->tid),
	    .registers = u32_of(&e->registers),
	    .shared = u32_of(&e->shared),
	};
	struct af_draft_work work = {
	    .start_ns = (uint64_t)e->ts_ns.value,
	    .busy_ns = (uint64_t)e->dur_ns.value,
	    .correlation = event_correlation(in),
	    .space = c->gpuperf ? 0 : in->space,
	    .external = u32_of(&e->external),
	};

	if (c->kind == EVENT_KERNEL) {
		shape.kernel = event_name(in, c->gpuperf);
		shape_dimensions(e, &shape);
	}
	af_draft_work(in->draft, &work, &shape);
}

static void flow_event(struct import_json *in)
{
	const struct event *e = &in->event;

	if (!fits_u32(&e->pid) || !fits_u32(&e->tid) || !fits_u32(&e->id)) {
		in->draft->unused[AF_DRAFT_FIELDS_UNUSED]++;
		return;
	}
	uint32_t process = af_draft_process(in->draft, in->space, u32_of(&e->pid));
	uint32_t thread = af_draft_thread(in->draft, process, u32_of(&e->tid));
	if (thread == UINT32_MAX)
		return;
	AF_GROW(in->flows, in->nr_flows, in->cap_flows);
	in->flows[in->nr_flows++] = (struct flow){.ns = (uint64_t)e->ts_ns.value,
	                                          .id = u32_of(&e->id),
	                                          .thread = thread,
	                                          .end = e->phase == 'f'};
}

static void metadata_event(struct import_json *in)
{
	const struct event *e = &in->event;
	bool thread = !strcmp(e->name, "thread_name");

	if ((!thread && strcmp(e->name, "process_name")) || !e->label_len || !fits_u32(&e->pid))
		return;
	AF_GROW(in->namings, in->nr_namings, in->cap_namings);
	in->namings[in->nr_namings++] =
	    (struct naming){u32_of(&e->pid), u32_of(&e->tid),
	                    af_draft_name(in->draft, e->label, e->label_len), thread};
}

static const struct category *event_category(const struct event *e)
{
	for (unsigned i = 0; i < sizeof categories / sizeof *categories; i++)
		if (!strcmp(e->category, categories[i].name))
			return &categories[i];
	return NULL;
}

static void event_use(struct import_json *in)
{
	const struct category *c = event_category(&in->event);

	if (in->event.phase == 'M') {
		metadata_event(in);
		return;
	}
	if (c && c->kind == EVENT_KNOWN)
		return;
	char phase = in->event.phase;
	bool flow = c && c->kind == EVENT_FLOW && (phase == 's' || phase == 'f');
	if (!c || (!flow && (phase != 'X' || c->kind == EVENT_FLOW))) {
		in->draft->unused[AF_DRAFT_OTHER_UNUSED]++;
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

static void event_reset(struct event *e)
{
	e->phase = e->category[0] = e->name[0] = e->label[0] = 0;
	e->name_len = e->label_len = 0;
	memset(&e->ts_ns, 0, sizeof *e - offsetof(struct event, ts_ns));
}

static bool take_events(struct import_json *in)
{
	struct af_json *j = &in->json;
	enum af_json_token token;

	while ((token = af_json_next(j)) == AF_JSON_OBJECT) {
		event_reset(&in->event);
		while ((token = af_json_next(j)) == AF_JSON_KEY)
			if (!take_member(in))
				return false;
		if (token != AF_JSON_OBJECT_END)
			return false;
		event_use(in);
	}
	return token == AF_JSON_ARRAY_END;
}

static bool take_device(struct import_json *in)
{
	struct af_json *j = &in->json;
	struct number id = {0};
	enum af_json_token token;

	event_reset(&in->event);
	while ((token = af_json_next(j)) == AF_JSON_KEY) {
		bool read = is(j, "id")     ? take_number(j, 0, &id)
		            : is(j, "name") ? take_text(in, in->event.label, sizeof in->event.label,
		                                        &in->event.label_len)
		                            : af_json_skip(j, af_json_next(j));
		if (!read)
			return false;
	}
	if (fits_u32(&id) && in->event.label_len)
		af_draft_device(in->draft, in->space, u32_of(&id), in->event.label,
		                in->event.label_len);
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

static bool take_top(struct import_json *in)
{
	struct af_json *j = &in->json;
	enum af_json_token token = af_json_next(j);

	if (token == AF_JSON_ARRAY)
		return take_events(in);
	if (token != AF_JSON_OBJECT)
		return false;
	while ((token = af_json_next(j)) == AF_JSON_KEY) {
		struct number base = {0};
		bool read;
		if (is(j, "traceEvents")) {
			token = af_json_next(j);
			read = token == AF_JSON_ARRAY ? take_events(in) : af_json_skip(j, token);
		} else if (is(j, "deviceProperties")) {
			read = take_devices(in);
		} else if (is(j, "baseTimeNanoseconds")) {
			read = take_number(j, 0, &base);
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

static int flow_order(const void *a, const void *b)
{
	const struct flow *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->end != y->end)
		return x->end ? 1 : -1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* A beginning and an end with one id are an arrow. */
static void flows_join(struct import_json *in)
{
	uint64_t base = (uint64_t)in->base_ns;

	if (in->nr_flows)
		qsort(in->flows, in->nr_flows, sizeof *in->flows, flow_order);
	for (uint64_t i = 0; i + 1 < in->nr_flows; i++) {
		const struct flow *from = &in->flows[i], *to = from + 1;
		if (from->id != to->id || from->end || !to->end)
			continue;
		struct af_draft_link link = {from->ns + base, to->ns + base, from->thread,
		                             to->thread};
		af_draft_link(in->draft, &link);
	}
	free(in->flows);
}

/* What the file may say behind the events that it is about. */
static void finish(struct import_json *in)
{
	struct af_draft *d = in->draft;

	for (uint64_t i = in->first_slice; in->base_ns && i < d->nr_slices; i++)
		d->slices[i].start_ns += (uint64_t)in->base_ns;
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
	flows_join(in);
}

void af_import_json(struct af_draft *d, const struct af_import_source *source, uint32_t number,
                    char *complaint, size_t size)
{
	struct import_json *in = af_xcalloc(1, sizeof *in);

	in->draft = d;
	in->space = number + 1;
	in->first_slice = d->nr_slices;
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
