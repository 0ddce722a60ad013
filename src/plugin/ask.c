/* The host's functions by which a plug-in asks what a trace has. */
#include <string.h>

#include "analyse/world/work.h"
#include "api/tables/decode.h"
#include "plugin/private.h"

/*
 * A struct for the plug-in, of which it knows the first @to->size bytes, as it has set them: those
 * are filled, and the size is how many were.
 */
int plugin_give(struct plugin_host *h, void *to, void *from, uint32_t size)
{
	uint32_t known;

	memcpy(&known, to, sizeof known);
	if (known < 2 * sizeof known)
		return plugin_fail(h, "the size of a struct that the host is to fill is not set");
	known = known < size ? known : size;
	memcpy(from, &known, sizeof known);
	memcpy(to, from, known);
	return 0;
}

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static struct af_event event_of(const struct af_pass_event *ev)
{
	return (struct af_event){.kind = (uint16_t)ev->kind,
	                         .time_ns = ev->time_ns,
	                         .process = ev->process,
	                         .pid = ev->pid,
	                         .tid = ev->tid,
	                         .stream = ev->stream,
	                         .payload = ev->payload,
	                         .payload_size = ev->payload_size};
}

static int ask_want(const struct af_pass_host *api, const char *kind)
{
	struct plugin_host *h = plugin_host_of(api);

	if (h->in != PLUGIN_BEGIN)
		return plugin_fail(h, "want() is for begin() alone");
	if (!kind) {
		h->all_kinds = true;
		return 0;
	}
	uint16_t number = af_kind_find(kind);
	if (!number && plugin_functions_want(h, kind))
		return 0;
	if (!number)
		return plugin_fail(
		    h, "want(): no kind of event, and no traced function, is called \"%s\"", kind);
	h->wanted |= af_kind_bit(number);
	h->kinds[number / 8] |= (uint8_t)(1u << number % 8);
	return 0;
}

static int ask_kind_find(const struct af_pass_host *api, const char *name)
{
	uint16_t kind = af_kind_find(name);

	(void)api;
	kind = kind ? kind : plugin_function_find(name);
	return kind ? kind : -1;
}

static const char *ask_kind_name(const struct af_pass_host *api, uint32_t kind)
{
	const char *name = kind <= UINT16_MAX ? af_kind_name((uint16_t)kind) : NULL;
	const struct af_api_function *is =
	    !name && kind <= UINT16_MAX ? af_api_function((uint16_t)kind) : NULL;

	(void)api;
	return name ? name : is ? is->name : "";
}

static int field_give(struct plugin_host *h, const struct af_field *f, struct af_pass_field *to)
{
	bool is_text = f->type == AF_VALUE_TEXT, is_seq = f->type == AF_VALUE_SEQ;

	return PLUGIN_GIVE(h, to, .type = f->type, .number = is_text || is_seq ? 0 : f->number,
	                   .text = is_text ? f->text : "", .values = is_seq ? f->seq.data : NULL,
	                   .nr = is_seq ? f->seq.nr : 0, .width = is_seq ? f->seq.size : 0,
	                   .name = f->name, .meaning = f->meaning,
	                   .value_name = is_text || is_seq ? NULL : af_field_value_name(f));
}

static int ask_field_at(const struct af_pass_host *api, const struct af_pass_event *ev, uint32_t i,
                        struct af_pass_field *field)
{
	const struct af_event event = event_of(ev);
	struct af_field f;

	return af_event_field_at(&event, i, &f) ? field_give(plugin_host_of(api), &f, field) : -1;
}

static int ask_field(const struct af_pass_host *api, const struct af_pass_event *ev,
                     const char *name, struct af_pass_field *field)
{
	const struct af_event event = event_of(ev);
	struct af_field f;

	return af_event_field(&event, name, &f) ? field_give(plugin_host_of(api), &f, field) : -1;
}

static uint64_t ask_number(const struct af_pass_host *api, const struct af_pass_event *ev,
                           const char *name)
{
	const struct af_event event = event_of(ev);

	(void)api;
	return af_event_number(&event, name);
}

static const char *ask_text(const struct af_pass_host *api, const struct af_pass_event *ev,
                            const char *name)
{
	const struct af_event event = event_of(ev);

	(void)api;
	return text_or_empty(af_event_text(&event, name));
}

static int ask_definition(const struct af_pass_host *api, const struct af_pass_event *by,
                          uint32_t kind, uint32_t id, struct af_pass_event *definition)
{
	struct plugin_host *h = plugin_host_of(api);
	const struct af_event event = event_of(by);
	struct af_event found;

	if (!h->trace)
		return plugin_fail(h, "definition() is not for begin()");
	if (kind > UINT16_MAX || !af_trace_definition(h->trace, &event, (uint16_t)kind, id, &found))
		return -1;
	return PLUGIN_GIVE(h, definition, .kind = found.kind, .time_ns = found.time_ns,
	                   .process = found.process, .pid = found.pid, .tid = found.tid,
	                   .stream = found.stream, .payload = found.payload,
	                   .payload_size = found.payload_size);
}

static int ask_call(const struct af_pass_host *api, const struct af_pass_event *ev,
                    struct af_pass_call *to)
{
	struct plugin_host *h = plugin_host_of(api);
	const struct af_event event = event_of(ev);
	struct af_call call;

	if (!af_call_read(&h->world, &event, &call) ||
	    !af_time_range_call(&h->world.time_range, &call))
		return -1;
	const struct af_api_function *is = call.function ? NULL : af_api_function(event.kind);
	struct af_api_call whole;
	if (!is || !af_api_decode(is, event.payload, event.payload_size, &whole))
		whole = (struct af_api_call){.nr_args = 0};
	uint32_t stack =
	    plugin_choice_stack(h, plugin_stack_call(h, call.process, call.path, call.function));
	const char *function = call.function ? h->world.functions[call.function].name
	                       : is          ? is->name
	                                     : "";
	return PLUGIN_GIVE(h, to, .process = call.process, .tid = call.tid,
	                   .stack = stack == PLUGIN_OUT ? 0 : stack, .status = call.status,
	                   .correlation = call.correlation, .start_ns = call.start_ns,
	                   .end_ns = call.end_ns, .function = function, .bytes = whole.bytes,
	                   .nr_arguments = whole.nr_args, .has_bytes = whole.has_bytes,
	                   .is_rest = call.out_of_range,
	                   .is_cut = whole.is_cut || whole.head.flags & AF_API_CALL_TRUNCATED);
}

static int ask_trace(const struct af_pass_host *api, struct af_pass_trace *trace)
{
	struct plugin_host *h = plugin_host_of(api);

	return PLUGIN_GIVE(h, trace, .nr_processes = h->world.nr_processes, .dir = h->request->dir,
	                   .member = text_or_empty(h->request->member),
	                   .start_ns = h->results.start_ns);
}

static int ask_process(const struct af_pass_host *api, uint32_t process, struct af_pass_process *to)
{
	struct plugin_host *h = plugin_host_of(api);
	const struct af_process *p = af_world_process(&h->world, process);

	if (!p)
		return -1;
	const char *rank = text_or_empty(p->rank);
	return PLUGIN_GIVE(h, to, .pid = p->pid, .ppid = p->ppid, .parent = p->parent,
	                   .name = text_or_empty(p->name), .exe = text_or_empty(p->exe),
	                   .command_line = text_or_empty(p->cmdline),
	                   .rank = *rank == ' ' ? rank + 1 : rank, .start_ns = p->start_ns,
	                   .end_ns = p->end_ns);
}

static int ask_device(const struct af_pass_host *api, uint32_t process, uint32_t device,
                      struct af_pass_device *to)
{
	struct plugin_host *h = plugin_host_of(api);
	const struct af_device *d = af_world_device(&h->world, process, device);

	if (!d)
		return -1;
	return PLUGIN_GIVE(h, to, .processors = d->processors, .api = plugin_api_name(d->api),
	                   .name = text_or_empty(d->name), .vendor = text_or_empty(d->vendor),
	                   .driver = text_or_empty(d->driver));
}

static const char *ask_thread_name(const struct af_pass_host *api, uint32_t process, uint32_t tid)
{
	const struct af_thread *t = af_world_thread(&plugin_host_of(api)->world, process, tid);

	return t ? text_or_empty(t->name) : "";
}

static const char *ask_note(const struct af_pass_host *api, const char *key)
{
	return text_or_empty(af_world_note(&plugin_host_of(api)->world, key));
}

static uint64_t ask_device_time(const struct af_pass_host *api, uint32_t process, uint32_t device,
                                uint64_t device_ns)
{
	struct plugin_host *h = plugin_host_of(api);
	struct af_clock *clock = af_clocks_find(&h->world.clocks, process, device);

	return clock ? af_clock_convert(clock, device_ns, NULL) : 0;
}

static uint32_t ask_stack(const struct af_pass_host *api, const struct af_pass_event *ev,
                          uint32_t id)
{
	struct plugin_host *h = plugin_host_of(api);
	const struct af_event event = event_of(ev);

	uint32_t stack = plugin_choice_stack(
	    h, plugin_stack_call(h, event.process, af_world_path(&h->world, &event, id), 0));

	return stack == PLUGIN_OUT ? 0 : stack;
}

static int ask_frame(const struct af_pass_host *api, uint32_t stack, struct af_pass_frame *frame)
{
	struct plugin_host *h = plugin_host_of(api);
	size_t len;

	if (!stack || stack >= h->stacks.nr)
		return -1;
	uint32_t name = h->stacks.nodes[stack].name;
	const char *text = af_tree_text(&h->stacks, name, &len);
	const struct af_location *at = af_tree_location(&h->stacks, name);
	uint32_t id = af_strtab_id(&h->texts, text, len);
	return PLUGIN_GIVE(h, frame, .kind = af_tree_frame(&h->stacks, name),
	                   .text = af_strtab_get(&h->texts, id),
	                   .module = text_or_empty(at->module), .file = text_or_empty(at->file),
	                   .line = at->line, .caller = h->stacks.nodes[stack].parent);
}

void plugin_ask_open(struct plugin_host *h)
{
	struct af_pass_host *api = &h->api;

	*api = (struct af_pass_host){.size = sizeof *api,
	                             .major = AF_PASS_MAJOR,
	                             .minor = AF_PASS_MINOR,
	                             .self = h,
	                             .want = ask_want,
	                             .kind_find = ask_kind_find,
	                             .kind_name = ask_kind_name,
	                             .field = ask_field,
	                             .field_at = ask_field_at,
	                             .number = ask_number,
	                             .text = ask_text,
	                             .definition = ask_definition,
	                             .call = ask_call,
	                             .trace = ask_trace,
	                             .process = ask_process,
	                             .device = ask_device,
	                             .thread_name = ask_thread_name,
	                             .note = ask_note,
	                             .device_time = ask_device_time,
	                             .stack = ask_stack,
	                             .frame = ask_frame};
}
