/*
 * Reads the trace and calls the plug-in: first what holds for the whole of it, with the names of
 * addresses that stand at its end; then the events, joined to samples and works as for aflame's own
 * passes.
 */
#include <errno.h>
#include <string.h>

#include "analyse/world/work.h"
#include "plugin/private.h"
#include "trace/kinds.h"
#include "trace/packet_has.h"

#define BIT(KIND) (1ull << AF_KIND_##KIND)

#define FIRST_WANTS                                                                                \
	(BIT(LOST) | BIT(NOTE) | BIT(CLOCK) | BIT(PROCESS) | BIT(PROCESS_END) |                    \
	 BIT(PROCESS_NOTE) | BIT(THREAD) | BIT(COMM) | BIT(PY_CODE) | BIT(DEVICE) | BIT(QUEUE) |   \
	 BIT(KERNEL) | BIT(FUNCTION) | BIT(STRING) | BIT(SYMBOL) | BIT(SYMBOL_LATER) |             \
	 BIT(DEVICE_NOTE) | BIT(LATE_BIT))

/* Learnt anew by the second reading: a stream may redefine its ids as it goes on. */
#define SECOND_LEARNS                                                                              \
	(BIT(STACK) | BIT(PY_STACK) | BIT(KSTACK) | BIT(CALLPATH) | BIT(DESCRIPTOR) |              \
	 BIT(LAUNCH_CONFIG) | BIT(GRAPH_NODE) | BIT(RANGE) | BIT(OPERATION))

enum { READ_PROGRESS = 1 << 14 };

static void tell(struct plugin_host *h, uint64_t position, uint64_t size, int reading)
{
	__atomic_store_n(&h->page->size, 2 * size, __ATOMIC_RELAXED);
	__atomic_store_n(&h->page->position, position + (uint64_t)reading * size, __ATOMIC_RELAXED);
}

static int first(struct plugin_host *h, struct af_err *err)
{
	struct af_trace *trace;
	struct af_event ev;
	int rc = af_trace_open(&trace, h->request->dir, FIRST_WANTS, err);

	if (rc)
		return rc;
	af_world_read_later(&h->world, trace);
	for (uint64_t n = 1; af_trace_next(trace, &ev); n++) {
		if (ev.kind == AF_KIND_CLOCK || ev.kind == AF_KIND_DEVICE)
			af_clocks_event(&h->world.clocks, &ev);
		af_world_event(&h->world, &ev);
		if (n % READ_PROGRESS == 0)
			tell(h, af_trace_position(trace), af_trace_size(trace), 0);
	}
	af_clocks_build(&h->world.clocks);
	h->results.start_ns = af_trace_start_ns(trace);
	h->query = (struct af_query){.from_ns = h->request->from_ns, .to_ns = h->request->to_ns};
	af_time_range_set(&h->world.time_range, h->results.start_ns, &h->query);
	af_trace_close(trace);
	return 0;
}

static uint32_t pid_of(const struct plugin_host *h, uint32_t process)
{
	const struct af_process *p = af_world_process(&h->world, process);

	return p ? p->pid : 0;
}

static void give_event(struct plugin_host *h, const struct af_event *ev)
{
	const struct af_pass_event e = {.size = sizeof e,
	                                .kind = ev->kind,
	                                .time_ns = ev->time_ns,
	                                .process = ev->process,
	                                .pid = ev->pid,
	                                .tid = ev->tid,
	                                .stream = ev->stream,
	                                .payload = ev->payload,
	                                .payload_size = ev->payload_size};

	plugin_enter(h, PLUGIN_EVENT);
	h->is.event(&h->api, h->state, &e);
	plugin_leave(h);
}

static void give_sample(void *arg, const struct af_sample *whole)
{
	struct plugin_host *h = arg;
	struct af_sample cut = *whole;
	const struct af_sample *s = &cut;
	if (!af_time_range_sample(&h->world.time_range, &cut))
		return;
	const struct af_pass_sample sample = {
	    .size = sizeof sample,
	    .process = s->at.process,
	    .pid = pid_of(h, s->at.process),
	    .tid = s->tid,
	    .stack = plugin_choice_stack(h, plugin_stack_sample(h, &s->at)),
	    .in_kernel = s->in_kernel,
	    .time_ns = s->time_ns,
	    .weight_ns = s->weight_ns,
	    .count = s->counted ? s->count : 0,
	    .is_rest = s->out_of_range};

	if (h->err.code || sample.stack == PLUGIN_OUT)
		return;
	plugin_enter(h, PLUGIN_SAMPLE);
	h->is.sample(&h->api, h->state, &sample);
	plugin_leave(h);
}

/* Fill in the fields that the descriptor of a piece of work has. */
static void describe(const struct plugin_host *h, const struct af_work *work,
                     struct af_pass_work *to)
{
	const struct af_work_descriptor *d = &h->world.descriptors[work->descriptor];

	to->queue = d->is.queue;
	to->device = af_work_device(&h->world, work);
	const struct af_device *device = af_world_device(&h->world, work->process, to->device);
	to->device_name = device ? device->name : "";
	to->bytes = d->is.bytes;
	to->items[0] = d->is.global_x;
	to->items[1] = d->is.global_y;
	to->items[2] = d->is.global_z;
	to->group[0] = d->is.local_x;
	to->group[1] = d->is.local_y;
	to->group[2] = d->is.local_z;
	if (!d->config)
		return;
	to->registers = d->config->registers;
	to->static_shared = d->config->static_shared;
	to->dynamic_shared = d->config->dynamic_shared;
	to->local = d->config->local;
}

static void give_work(void *arg, struct af_work *joined)
{
	struct plugin_host *h = arg;
	struct af_work work = *joined;
	if (!af_time_range_work(&h->world.time_range, &h->world, &work))
		return;
	struct af_pass_work w = {.size = sizeof w,
	                         .process = work.process,
	                         .pid = pid_of(h, work.process),
	                         .tid = work.launched ? work.tid : 0,
	                         .stack = plugin_stack_work(h, &work),
	                         .status = work.status,
	                         .busy_ns = work.status ? 0 : af_work_busy_ns(&work),
	                         .call_start_ns = work.call_start_ns,
	                         .call_end_ns = work.call_end_ns,
	                         .is_rest = work.out_of_range,
	                         .api = plugin_api_name(work.api),
	                         .device_name = ""};

	if (h->err.code)
		return;
	w.name = plugin_work_name(h, &work, &w.op);
	w.stack = plugin_choice_work(h, w.stack, &w.name);
	if (w.stack == PLUGIN_OUT)
		return;
	if (work.descriptor)
		describe(h, &work, &w);
	if (w.busy_ns && work.descriptor && af_work_place(&h->world, &work, NULL)) {
		w.start_ns = work.start_ns;
		w.end_ns = work.end_ns;
	}
	plugin_enter(h, PLUGIN_WORK);
	h->is.work(&h->api, h->state, &w);
	plugin_leave(h);
}

/*
 * Is @ev in the chosen time, and its stack among the chosen ones? What defines something, or holds
 * from its moment on, is: what comes later may need it.
 */
static bool is_chosen(struct plugin_host *h, const struct af_event *ev)
{
	const struct af_time_range *range = &h->world.time_range;
	struct af_call room;

	if (!(af_kind_bit(ev->kind) & AF_KINDS_MOMENTARY))
		return true;
	const struct af_call *call = af_call_at(&h->world, ev, &room);
	if (call)
		return af_time_range_reaches(range, call->start_ns, call->end_ns) &&
		       (!h->choice ||
		        plugin_choice_stack(h, plugin_stack_call(h, call->process, call->path,
		                                                 call->function)) != PLUGIN_OUT);
	return ev->kind == AF_KIND_OFFCPU ? af_time_range_event(range, ev)
	                                  : af_time_range_moment(range, ev->time_ns);
}

static void read_event(struct plugin_host *h, const struct af_event *ev)
{
	uint64_t kind = af_kind_bit(ev->kind);

	h->world.call = NULL;
	if (kind & SECOND_LEARNS)
		af_world_event(&h->world, ev);
	if (kind & (BIT(CALL) | BIT(CALL_LONG)))
		af_call_take(&h->world, ev, &h->call);
	if (h->is.event && (h->all_kinds || h->kinds[ev->kind / 8] & 1u << ev->kind % 8) &&
	    is_chosen(h, ev))
		give_event(h, ev);
	if (h->is.work && kind & AF_LAUNCHES_WANTS)
		af_launches_event(&h->launches, &h->world, ev);
	if (h->is.sample && kind & AF_SAMPLES_WANTS)
		af_samples_event(&h->samples, &h->world, ev);
}

static uint64_t second_wants(const struct plugin_host *h)
{
	if (h->all_kinds && h->is.event)
		return 0;
	return SECOND_LEARNS | (h->is.event ? h->wanted : 0) |
	       (h->is.work ? AF_LAUNCHES_WANTS : 0) | (h->is.sample ? AF_SAMPLES_WANTS : 0);
}

static void second(struct plugin_host *h)
{
	uint64_t size = af_trace_size(h->trace);
	struct af_event ev;

	h->samples.take = give_sample;
	h->launches.take = give_work;
	h->samples.arg = h->launches.arg = h;
	for (uint64_t n = 1; !h->err.code && af_trace_next(h->trace, &ev); n++) {
		read_event(h, &ev);
		if (n % READ_PROGRESS == 0)
			tell(h, af_trace_position(h->trace), size, 1);
	}
	h->world.call = NULL;
	if (!h->err.code && h->is.sample)
		af_samples_end(&h->samples, &h->world);
	if (!h->err.code && h->is.work)
		af_launches_end(&h->launches, &h->world);
}

/* Both return 0 for success, and should have called fail() for another value. */
static void give_begin(struct plugin_host *h)
{
	plugin_enter(h, PLUGIN_BEGIN);
	int rc =
	    h->is.begin ? h->is.begin(&h->api, h->request->argc, h->request->argv, &h->state) : 0;
	if (rc)
		plugin_fail(h, "it returned %d", rc);
	plugin_leave(h);
}

static void give_finish(struct plugin_host *h)
{
	plugin_enter(h, PLUGIN_FINISH);
	int rc = h->is.finish ? h->is.finish(&h->api, h->state) : 0;
	if (rc)
		plugin_fail(h, "it returned %d", rc);
	plugin_leave(h);
}

int plugin_read(struct plugin_host *h, void (*limit)(struct plugin_host *h), struct af_err *err)
{
	static char damage[768];
	int rc = first(h, err);

	if (rc)
		return rc;
	plugin_stacks_open(h);
	limit(h);
	rc = plugin_load(h, err);
	if (rc)
		return rc;
	h->results.name = h->is.name;
	give_begin(h);
	if (h->err.code)
		return 0;
	plugin_choice_open(h);
	if (h->err.code)
		return 0;
	rc = af_trace_open(&h->trace, h->request->dir, second_wants(h), err);
	if (rc)
		return rc;
	second(h);
	if (!h->err.code)
		give_finish(h);
	af_trace_damage_text(af_trace_damage(h->trace), damage, sizeof damage);
	h->results.damage = damage;
	return 0;
}
