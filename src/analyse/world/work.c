#include "analyse/world/work.h"

#include "analyse/world/world.h"
#include "api/tables/tables.h"

static bool work_read_short(const struct af_event *ev, struct af_work *work, uint32_t *descriptor)
{
	struct af_ev_work f;

	if (!af_event_fixed(ev, &f, sizeof f))
		return false;
	uint64_t submit = f.queued_ns + f.submit_after_ns;
	*descriptor = f.descriptor;
	*work = (struct af_work){
	    .api = AF_API_OPENCL,
	    .id = f.correlation,
	    .queued_ns = f.queued_ns,
	    .submit_ns = submit,
	    .start_ns = submit + f.start_after_ns,
	    .end_ns = submit + f.start_after_ns + f.busy_ns,
	};
	return true;
}

static bool work_read_long(const struct af_event *ev, struct af_work *work, uint32_t *descriptor)
{
	struct af_ev_work_long f;

	if (!af_event_fixed(ev, &f, sizeof f))
		return false;
	*descriptor = f.descriptor;
	*work = (struct af_work){
	    .api = AF_API_OPENCL,
	    .id = f.correlation,
	    .queued_ns = f.queued_ns,
	    .submit_ns = f.submit_ns,
	    .start_ns = f.start_ns,
	    .end_ns = f.end_ns,
	    .status = f.status,
	};
	return true;
}

static bool work_read_gpu(const struct af_event *ev, struct af_work *work, uint32_t *descriptor)
{
	struct af_ev_gpu_work f;

	if (!af_event_fixed(ev, &f, sizeof f))
		return false;
	*descriptor = f.descriptor;
	*work = (struct af_work){
	    .api = AF_API_CUDA,
	    .id = f.correlation,
	    .start_ns = f.start_ns,
	    .end_ns = f.start_ns + f.busy_ns,
	    .node_id = f.node,
	};
	return true;
}

static bool work_read_gpu_long(const struct af_event *ev, struct af_work *work,
                               uint32_t *descriptor)
{
	struct af_ev_gpu_work_long f;

	if (!af_event_fixed(ev, &f, sizeof f))
		return false;
	*descriptor = f.descriptor;
	*work = (struct af_work){
	    .api = AF_API_CUDA,
	    .id = f.correlation,
	    .start_ns = f.start_ns,
	    .end_ns = f.end_ns,
	    .node_id = f.node,
	};
	return true;
}

static bool work_read(const struct af_event *ev, struct af_work *work, uint32_t *descriptor)
{
	switch (ev->kind) {
	case AF_KIND_GPU_WORK:
		return work_read_gpu(ev, work, descriptor);
	case AF_KIND_GPU_WORK_LONG:
		return work_read_gpu_long(ev, work, descriptor);
	case AF_KIND_WORK:
		return work_read_short(ev, work, descriptor);
	case AF_KIND_WORK_LONG:
		return work_read_long(ev, work, descriptor);
	default:
		return false;
	}
}

bool af_work_read(const struct af_world *w, const struct af_event *ev, struct af_work *work)
{
	uint32_t descriptor;

	if (!work_read(ev, work, &descriptor))
		return false;
	work->process = ev->process;
	work->descriptor = af_world_descriptor(w, ev, descriptor);
	if (work->api != AF_API_CUDA || !af_work_device(w, work))
		return true;
	uint32_t api = __atomic_load_n(&w->descriptors[work->descriptor].api, __ATOMIC_RELAXED);
	if (api == AF_API_LEVEL_ZERO || api == AF_API_HIP)
		work->api = api;
	return true;
}

/* The call that @ev and these fields of it are. */
static inline void call_make(const struct af_world *w, const struct af_event *ev, uint32_t callpath,
                             uint32_t function, uint64_t duration_ns, struct af_call *call)
{
	call->process = ev->process;
	call->tid = ev->tid;
	call->stream = ev->stream;
	call->path = callpath ? af_world_path(w, ev, callpath) : 0;
	call->function = af_world_function(w, ev->process, function);
	call->start_ns = ev->time_ns - (duration_ns < ev->time_ns ? duration_ns : 0);
	call->end_ns = ev->time_ns;
	call->out_of_range = call->is_hip = false;
}

static bool call_read_short(const struct af_world *w, const struct af_event *ev,
                            struct af_call *call)
{
	struct af_ev_call f;

	if (!af_event_fixed(ev, &f, sizeof f))
		return false;
	call_make(w, ev, f.callpath, f.function, af_u24_value(f.duration_ns), call);
	call->correlation = f.correlation;
	call->status = 0;
	return true;
}

static bool call_read_long(const struct af_world *w, const struct af_event *ev,
                           struct af_call *call)
{
	struct af_ev_call_long f;

	if (!af_event_fixed(ev, &f, sizeof f))
		return false;
	call_make(w, ev, f.callpath, f.function, f.duration_ns, call);
	call->correlation = f.correlation;
	call->status = f.status;
	return true;
}

static bool call_read_api(const struct af_world *w, const struct af_event *ev, struct af_call *call)
{
	uint32_t function = ev->kind;
	struct af_api_head head;
	size_t size = sizeof head + (ev->kind == AF_KIND_API_CALL ? sizeof function : 0);

	if (ev->payload_size < size)
		return false;
	memcpy(&head, ev->payload, sizeof head);
	if (ev->kind == AF_KIND_API_CALL)
		memcpy(&function, ev->payload + sizeof head, sizeof function);
	call_make(w, ev, head.callpath, function, af_u48_value(head.duration_ns), call);
	call->correlation = head.correlation;
	call->status = head.flags & AF_API_CALL_FAILED ? -1 : 0;
	/* The function may not be known here. */
	const struct af_api_table *api = af_api_of(ev->kind);
	call->is_hip = api && api->api == AF_API_HIP;
	return true;
}

bool af_call_read(const struct af_world *w, const struct af_event *ev, struct af_call *call)
{
	if (w->call && w->call_payload == ev->payload) {
		*call = *w->call;
		return true;
	}
	if (ev->kind == AF_KIND_CALL)
		return call_read_short(w, ev, call);
	if (ev->kind >= AF_KIND_API || ev->kind == AF_KIND_API_CALL)
		return call_read_api(w, ev, call);
	return ev->kind == AF_KIND_CALL_LONG && call_read_long(w, ev, call);
}

void af_call_take(struct af_world *w, const struct af_event *ev, struct af_call *room)
{
	w->call = NULL;
	if (!af_call_read(w, ev, room))
		return;
	w->call = room;
	w->call_payload = ev->payload;
}

const struct af_call *af_call_at(const struct af_world *w, const struct af_event *ev,
                                 struct af_call *room)
{
	if (w->call && w->call_payload == ev->payload)
		return w->call;
	return af_call_read(w, ev, room) ? room : NULL;
}

bool af_call_of_runtime(const struct af_world *w, uint32_t function)
{
	uint32_t api = function ? w->functions[function].api : 0;

	return api == AF_API_CUDART || api == AF_API_OPENMP;
}

bool af_call_of_program(const struct af_world *w, uint32_t function)
{
	return function && w->functions[function].api == AF_API_FUNCTION;
}

bool af_call_seen_read(const struct af_world *w, const struct af_event *ev, struct af_call *call)
{
	struct af_ev_call_seen f;

	if (ev->kind != AF_KIND_CALL_SEEN || !af_event_fixed(ev, &f, sizeof f))
		return false;
	*call = (struct af_call){
	    .process = ev->process,
	    .tid = ev->tid,
	    .stream = ev->stream,
	    .path = f.callpath ? af_world_path(w, ev, f.callpath) : 0,
	    .function = af_world_function(w, ev->process, f.function),
	    .correlation = f.correlation,
	    .start_ns = ev->time_ns,
	    .end_ns = ev->time_ns,
	};
	return true;
}

uint32_t af_work_find_device(const struct af_world *w, const struct af_work *work)
{
	struct af_work_descriptor *d = &w->descriptors[work->descriptor];
	const struct af_queue *queue = af_world_queue(w, work->process, d->is.queue);

	if (queue) {
		const struct af_device *device = af_world_device(w, work->process, queue->device);
		if (device)
			__atomic_store_n(&d->api, device->api, __ATOMIC_RELAXED);
		__atomic_store_n(&d->device, queue->device, __ATOMIC_RELEASE);
	}
	return queue ? queue->device : 0;
}

uint32_t af_call_api(const struct af_world *w, const struct af_call *call)
{
	/* Other profilers name no function. */
	bool is_ze = !call->function || w->functions[call->function].api == AF_API_LEVEL_ZERO;

	if (call->is_hip)
		return AF_API_HIP;
	return is_ze && af_map_get(&w->by_ze, call->process) ? AF_API_LEVEL_ZERO : AF_API_CUDA;
}

/* Most works have a descriptor whose clock is known, which is asked whose it is. */
static struct af_clock *work_clock(const struct af_world *w, const struct af_work *work)
{
	uint32_t device = af_work_device(w, work);
	if (!device)
		return NULL;
	uint32_t *known = &w->descriptors[work->descriptor].clock;
	uint32_t i = __atomic_load_n(known, __ATOMIC_RELAXED);
	if (i && i <= w->clocks.nr && w->clocks.clocks[i - 1].process == work->process &&
	    w->clocks.clocks[i - 1].device == device)
		return &w->clocks.clocks[i - 1];
	struct af_clock *clock = af_clocks_find(&w->clocks, work->process, device);
	if (clock)
		__atomic_store_n(known, (uint32_t)(clock - w->clocks.clocks) + 1, __ATOMIC_RELAXED);
	return clock;
}

uint64_t af_work_placed_ns(const struct af_world *w, const struct af_work *work)
{
	struct af_clock *clock = w->clocks.nr && work->start_ns ? work_clock(w, work) : NULL;

	return clock ? af_clock_convert(clock, work->start_ns, NULL) : 0;
}

bool af_work_place(const struct af_world *w, struct af_work *work, uint64_t *uncertainty_ns)
{
	uint64_t *stamps[] = {&work->queued_ns, &work->submit_ns, &work->start_ns, &work->end_ns};
	struct af_clock *clock = work_clock(w, work);
	uint64_t busy_ns = af_work_busy_ns(work), worst = 0, doubt;

	if (!clock)
		return false;
	for (int i = 0; i < 4; i++) {
		if (!*stamps[i])
			continue;
		*stamps[i] = af_clock_convert(clock, *stamps[i], &doubt);
		worst = doubt > worst ? doubt : worst;
	}
	if (busy_ns)
		work->end_ns = work->start_ns + busy_ns;
	if (uncertainty_ns)
		*uncertainty_ns = worst;
	return true;
}
