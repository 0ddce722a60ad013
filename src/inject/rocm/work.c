/* Records of kernels and copies become GPU_WORK events, or WORK_LONG where there is a LAUNCH. */
#include "inject/api/sums.h"
#include "inject/core/inject.h"
#include "inject/rocm/rocm.h"

static _Atomic uint64_t nr_seen, nr_dropped_known;

static void call_work_put(struct af_thread_context *t, uint64_t now, uint32_t descriptor,
                          const struct af_rocm_record *r, bool stamped)
{
	uint64_t busy = r->end - r->start;

	if (stamped && busy <= UINT32_MAX)
		af_stream_put(&t->stream, gpu_work, now, .descriptor = descriptor,
		              .correlation = (uint32_t)r->external, .start_ns = r->start,
		              .busy_ns = (uint32_t)busy);
	else
		af_stream_put(&t->stream, gpu_work_long, now, .descriptor = descriptor,
		              .correlation = (uint32_t)r->external,
		              .start_ns = stamped ? r->start : 0, .end_ns = stamped ? r->end : 0);
}

/* The SDK does not say when work was queued: it counts as queued when it starts. */
static void launched_work_put(struct af_thread_context *t, uint64_t now, uint32_t descriptor,
                              const struct af_rocm_record *r, bool stamped)
{
	uint64_t start = stamped ? r->start : 0;

	af_stream_put(&t->stream, work_long, now, .descriptor = descriptor,
	              .correlation = r->external, .queued_ns = start, .submit_ns = start,
	              .start_ns = start, .end_ns = stamped ? r->end : 0);
}

static void work_put(struct af_thread_context *t, uint64_t now, const struct af_rocm_record *r,
                     const struct af_ev_descriptor *is)
{
	bool stamped = r->start && r->end >= r->start;
	uint32_t id = af_work_descriptor_id(af_thread_descriptors(t), &t->stream, now, is);

	if (!stamped)
		af_stream_put(&t->stream, lost, now, .reason = AF_LOST_NO_STAMPS, .count = 1);
	if (af_sums_only())
		af_sums_add(t, AF_SUM_WORK | id, !stamped, stamped ? r->end - r->start : 0, 0);
	else if (r->external & AF_ROCM_LAUNCH_BIT)
		launched_work_put(t, now, id, r, stamped);
	else
		call_work_put(t, now, id, r, stamped);
}

static void kernel_take(struct af_thread_context *t, uint64_t now, const struct af_rocm_kernel *k)
{
	const struct af_ev_descriptor is = {
	    .op = AF_OP_KERNEL,
	    .queue = af_rocm_queue(t, k->agent, k->queue),
	    .kernel = af_rocm_kernel_id(k->kernel),
	    .global_x = k->grid[0],
	    .global_y = k->grid[1],
	    .global_z = k->grid[2],
	    .local_x = k->group[0],
	    .local_y = k->group[1],
	    .local_z = k->group[2],
	};

	work_put(t, now, &k->record, &is);
}

static uint32_t copy_op(const struct af_rocm_copy *c)
{
	switch (c->record.operation) {
	case AF_ROCM_HOST_TO_HOST:
		return AF_OP_HOST;
	case AF_ROCM_HOST_TO_DEVICE:
		return AF_OP_WRITE;
	case AF_ROCM_DEVICE_TO_HOST:
		return AF_OP_READ;
	default:
		return c->to == c->from ? AF_OP_COPY : AF_OP_PEER;
	}
}

static void copy_take(struct af_thread_context *t, uint64_t now, const struct af_rocm_copy *c)
{
	uint64_t agent = af_rocm_is_gpu(c->to) || !af_rocm_is_gpu(c->from) ? c->to : c->from;
	const struct af_ev_descriptor is = {
	    .op = copy_op(c), .queue = af_rocm_queue(t, agent, 0), .bytes = c->bytes};

	work_put(t, now, &c->record, &is);
}

/* Records of work that was not asked for while recording have no number. False: not ours. */
static bool record_take(struct af_thread_context *t, uint64_t now, const struct af_rocm_header *h)
{
	const struct af_rocm_record *r = h->payload;

	if (h->category != AF_ROCM_CATEGORY_TRACING || !r || r->size < sizeof *r || !r->external)
		return false;
	if (h->kind == AF_ROCM_BUFFERED_KERNEL && r->size >= sizeof(struct af_rocm_kernel))
		kernel_take(t, now, h->payload);
	else if (h->kind == AF_ROCM_BUFFERED_COPY && r->size >= sizeof(struct af_rocm_copy))
		copy_take(t, now, h->payload);
	else
		return false;
	return true;
}

/* @nr_dropped counts from the start. */
void af_rocm_buffer(uint64_t context, uint64_t buffer, struct af_rocm_header **headers, size_t nr,
                    void *arg, uint64_t nr_dropped)
{
	(void)context, (void)buffer, (void)arg;
	struct af_thread_context *t = af_rocm_is_on() ? af_thread_enter() : NULL;

	if (!t)
		return;
	uint64_t now = af_now_ns(), seen = 0;
	for (size_t i = 0; i < nr; i++)
		seen += record_take(t, now, headers[i]);
	af_thread_leave(t);
	atomic_fetch_add(&nr_seen, seen);
	uint64_t known = atomic_exchange(&nr_dropped_known, nr_dropped);
	if (nr_dropped > known)
		af_inject_lost(AF_LOST_DROPPED, nr_dropped - known);
}

void af_rocm_works_end(void)
{
	uint64_t asked = af_rocm_nr_asked();
	uint64_t came = atomic_load(&nr_seen) + atomic_load(&nr_dropped_known);

	af_inject_lost(AF_LOST_UNFINISHED, asked > came ? asked - came : 0);
}
