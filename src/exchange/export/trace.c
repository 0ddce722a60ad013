#include "exchange/export/trace.h"

#include <stdlib.h>

#include "analyse/pass/pass.h"
#include "analyse/world/work.h"
#include "base/arena.h"
#include "exchange/builder/launch_name.h"
#include "exchange/export/export.h"

#define EXPORT_LEARNS (1ull << AF_KIND_QUEUE | 1ull << AF_KIND_CLOCK)

static void learn_queue(struct export_trace *t, const struct af_event *ev)
{
	struct af_ev_queue q;

	if (af_event_decode(ev, &q, sizeof q, NULL))
		*af_map_at(&t->queue_handles, (uint64_t)ev->process << 32 | q.queue, NULL) =
		    q.handle;
}

static void learn_kernel(struct export_trace *t, const struct af_event *ev)
{
	struct af_ev_kernel k;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (af_event_decode(ev, &k, sizeof k, tails))
		*af_map_at(&t->kernel_names, (uint64_t)ev->process << 32 | k.kernel, NULL) =
		    af_strtab_id_z(&t->names, (const char *)tails[0].data);
}

/* The first pair: times are then those of the machine when recording began. */
static void learn_epoch(struct export_trace *t, const struct af_event *ev)
{
	struct af_ev_clock c;

	if (!t->epoch_ns && af_event_decode(ev, &c, sizeof c, NULL) &&
	    c.clock == AF_CLOCK_REALTIME && c.foreign > c.mono_ns)
		t->epoch_ns = c.foreign - c.mono_ns;
}

/* 0: none that is known. */
static const char *function_name(const struct af_world *w, uint32_t function)
{
	const char *name =
	    function && function < w->nr_functions ? w->functions[function].name : NULL;

	return name ? name : "";
}

/*
 * A launch that only the kernel saw. One with a correlation id was recorded as a CALL as well, and
 * is exported from there.
 */
static bool launch_seen(const struct af_world *w, const struct af_event *ev, struct af_call *call)
{
	return af_call_seen_read(w, ev, call) && !call->correlation &&
	       exchange_is_launch(function_name(w, call->function));
}

bool export_launch_read(const struct export_trace *t, const struct af_event *ev,
                        struct af_call *call)
{
	if (launch_seen(&t->now, ev, call))
		return true;
	return af_call_read(&t->now, ev, call) &&
	       exchange_is_launch(function_name(&t->now, call->function)) &&
	       (call->path || !af_map_get(&t->launches_seen, call->process));
}

int export_trace_open(struct export_trace *t, const struct af_export_request *request,
                      uint64_t wanted, struct af_err *err)
{
	const struct af_query query = {.from_ns = request->from_ns, .to_ns = request->to_ns};
	struct af_event ev;
	struct af_call call;

	*t = (struct export_trace){.wanted = wanted | AF_WORLD_WANTS | EXPORT_LEARNS};
	int rc = af_clocks_read(&t->now.clocks, request->dir, NULL, err);
	if (!rc)
		rc = af_trace_open(&t->trace, request->dir, t->wanted, err);
	if (rc)
		return rc;
	af_world_read_later(&t->whole, t->trace);
	af_world_read_later(&t->now, t->trace);
	while (af_trace_next(t->trace, &ev)) {
		af_world_event(&t->whole, &ev);
		if (ev.kind == AF_KIND_QUEUE)
			learn_queue(t, &ev);
		else if (ev.kind == AF_KIND_KERNEL)
			learn_kernel(t, &ev);
		else if (ev.kind == AF_KIND_CLOCK)
			learn_epoch(t, &ev);
		else if (launch_seen(&t->whole, &ev, &call))
			++*af_map_at(&t->launches_seen, call.process, NULL);
	}
	af_time_range_set(&t->now.time_range, af_trace_start_ns(t->trace), &query);
	t->now.time_range.query = NULL; /* it does not live as long */
	af_trace_close(t->trace);
	t->trace = NULL;
	return af_trace_open(&t->trace, request->dir, t->wanted, err);
}

bool export_trace_next(struct export_trace *t, struct af_event *ev)
{
	if (!af_trace_next(t->trace, ev))
		return false;
	af_world_event(&t->now, ev);
	return true;
}

void export_trace_close(struct export_trace *t)
{
	af_trace_close(t->trace);
	af_world_close(&t->whole);
	af_world_close(&t->now);
	af_map_free(&t->queue_handles);
	af_map_free(&t->kernel_names);
	af_map_free(&t->launches_seen);
	af_strtab_free(&t->names);
}

uint64_t export_queue_handle(const struct export_trace *t, uint32_t process, uint32_t queue)
{
	const uint64_t *handle = af_map_get(&t->queue_handles, (uint64_t)process << 32 | queue);

	return handle ? *handle : 0;
}

const char *export_kernel_name(const struct export_trace *t, uint32_t process, uint32_t kernel)
{
	const uint64_t *name = af_map_get(&t->kernel_names, (uint64_t)process << 32 | kernel);

	return name ? af_strtab_get(&t->names, (uint32_t)*name) : "";
}

void export_stack(const struct af_tree *t, uint32_t node,
                  void (*take)(void *arg, const char *text, size_t len, uint32_t kind, bool last),
                  void *arg)
{
	uint32_t *path = NULL, nr = 0, cap = 0;

	/* The root's child is the process. */
	for (uint32_t at = node; at && t->nodes[at].parent; at = t->nodes[at].parent) {
		AF_GROW(path, nr, cap);
		path[nr++] = at;
	}
	for (uint32_t i = nr; i-- > 0;) {
		uint32_t name = t->nodes[path[i]].name;
		size_t len;
		const char *text = af_tree_text(t, name, &len);
		take(arg, text, len, af_tree_frame(t, name), i == 0);
	}
	free(path);
}

void export_frame_text(struct af_buf *b, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		af_buf_char(b, c == ';' ? ':' : (unsigned char)c < 0x20 || c == 0x7f ? ' ' : c);
	}
}

const struct af_export_format af_export_formats[] = {
    {"gpuperf-cpu", "CPU samples and launches", "CPU samples", af_export_samples},
    {"gpuperf-gpu", "calls and pieces of device work",
     "pieces of device work: fills, or without times", af_export_events},
    {"gpuperf-folded", "stacks of device work", "stacks of less than half a microsecond",
     af_export_merged},
    {"iaprof", "samples of device instructions", "samples in code that is not known",
     af_export_iaprof},
    {"iaprof-folded", "samples of device instructions", "samples in code that is not known",
     af_export_iaprof_folded},
    {NULL, NULL, NULL, NULL},
};
