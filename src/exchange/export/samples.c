/* gpuperf's extended folded text: a line a CPU sample, and a line a launch of a kernel. */
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/frames.h"
#include "analyse/world/samples.h"
#include "analyse/world/stack_locations.h"
#include "analyse/world/work.h"
#include "base/arena.h"
#include "base/err.h"
#include "exchange/builder/launch_name.h"
#include "exchange/export/export.h"
#include "exchange/export/trace.h"

#define EXPORT_LAUNCHES                                                                            \
	(1ull << AF_KIND_CALL | 1ull << AF_KIND_CALL_LONG | 1ull << AF_KIND_CALL_SEEN)

struct export_samples {
	struct export_trace trace;
	struct af_samples samples;
	struct af_stack_locations stack_locations;
	struct af_tree tree;
	const char **stacks; /* by place: text; NULL: not made yet */
	uint32_t cap_stacks;
	struct af_arena texts;
	struct af_buf line, out;
	uint32_t cpu; /* of the event at hand */
	struct af_export_count *count;
	int fd, error;
};

static void stack_frame(void *arg, const char *text, size_t len, uint32_t kind, bool last)
{
	struct af_buf *b = arg;

	export_frame_text(b, text, len);
	if (kind == AF_FRAME_KERNEL)
		af_buf_str(b, "_[k]");
	if (!last)
		af_buf_char(b, ';');
}

/* Sample and names come from two readings of the same events: places mean the same in both. */
static const char *stack_text(struct export_samples *x, const struct af_stack_location *at)
{
	uint32_t place = af_stack_locations_number(&x->stack_locations, at);

	AF_REACH(x->stacks, place, x->cap_stacks);
	if (!x->stacks[place]) {
		x->line.len = 0;
		export_stack(&x->tree, af_frames_node(&x->tree, &x->trace.whole, at), stack_frame,
		             &x->line);
		x->stacks[place] =
		    af_arena_strdup(&x->texts, x->line.len ? x->line.data : "", x->line.len);
	}
	return x->stacks[place];
}

/* Without blanks: gpuperf's reader takes it for one word. */
static void comm_add(struct export_samples *x, uint32_t process, uint32_t tid)
{
	const struct af_world *w = &x->trace.whole;
	const struct af_thread *t = af_world_thread(w, process, tid);
	const struct af_process *p = af_world_process(w, process);
	const char *name = t && *t->name ? t->name : p && *p->name ? p->name : "unknown";

	for (; *name; name++)
		af_buf_char(&x->out, (unsigned char)*name <= ' ' ? '_' : *name);
}

/* A line has no weight: it is there where the moment is. */
static bool line_begin(struct export_samples *x, uint64_t time_ns, uint32_t process, uint32_t tid)
{
	const struct af_process *p = af_world_process(&x->trace.whole, process);

	if (!af_time_range_moment(&x->trace.now.time_range, time_ns))
		return false;
	af_buf_u64(&x->out, time_ns + x->trace.epoch_ns);
	af_buf_char(&x->out, ' ');
	comm_add(x, process, tid);
	af_buf_fmt(&x->out, " %u %u %u ", p ? p->pid : 0, tid, x->cpu);
	return true;
}

static void line_end(struct export_samples *x)
{
	af_buf_char(&x->out, '\n');
	x->count->written++;
	if (x->out.len >= EXPORT_FLUSH_BYTES && !x->error)
		x->error = af_buf_flush(&x->out, x->fd);
}

static void sample_take(void *arg, const struct af_sample *s)
{
	struct export_samples *x = arg;

	if (!line_begin(x, s->time_ns, s->at.process, s->tid))
		return;
	af_buf_str(&x->out, stack_text(x, &s->at));
	line_end(x);
}

/* How much of @stack there is up to the first function that launches, with that; 0: none. */
static size_t launch_end(const char *stack)
{
	char frame[128];

	for (const char *p = stack, *stop; *p; p = *stop ? stop + 1 : stop) {
		stop = strchrnul(p, ';');
		size_t len = (size_t)(stop - p);
		if (len >= sizeof frame)
			continue;
		memcpy(frame, p, len);
		frame[len] = 0;
		if (exchange_is_launch(frame))
			return (size_t)(stop - stack);
	}
	return 0;
}

/* gpuperf looks for the runtime's function at the end, not for the driver's, which that calls. */
static void launch_take(struct export_samples *x, const struct af_call *call)
{
	const struct af_stack_location at = {.process = call->process, .path = call->path};

	if (!line_begin(x, call->start_ns, call->process, call->tid))
		return;
	const char *stack = stack_text(x, &at);
	size_t len = launch_end(stack);
	af_buf_add(&x->out, stack, len ? len : strlen(stack));
	if (!len) {
		af_buf_str(&x->out, *stack ? ";" : "");
		af_buf_str(&x->out, x->trace.whole.functions[call->function].name);
	}
	line_end(x);
}

/* Where the kernel took the sample it says the CPU; one that was joined later has moved on. */
static uint32_t event_cpu(const struct af_event *ev)
{
	struct af_ev_counted c;
	struct af_ev_ksample k;

	if (ev->kind == AF_KIND_COUNTED && af_event_decode(ev, &c, sizeof c, NULL))
		return c.cpu;
	if (ev->kind != AF_KIND_KSAMPLE || !af_event_decode(ev, &k, sizeof k, NULL))
		return 0;
	return k.cpu;
}

int af_export_samples(const struct af_export_request *request, struct af_export_count *count,
                      struct af_err *err)
{
	static const struct af_tree_weight weight = {"time", "ns", 1};
	struct export_samples x = {.fd = request->fd, .count = count};
	struct af_event ev;
	struct af_call call;

	int rc = export_trace_open(&x.trace, request, AF_SAMPLES_WANTS | EXPORT_LAUNCHES, err);
	af_tree_open(&x.tree, &weight, 1);
	x.samples.take = sample_take;
	x.samples.arg = &x;
	while (!rc && !x.error && export_trace_next(&x.trace, &ev)) {
		x.cpu = event_cpu(&ev);
		if (export_launch_read(&x.trace, &ev, &call))
			launch_take(&x, &call);
		else
			af_samples_event(&x.samples, &x.trace.now, &ev);
	}
	x.cpu = 0;
	af_samples_end(&x.samples, &x.trace.now);
	if (!rc && !x.error)
		x.error = af_buf_flush(&x.out, request->fd);
	if (!rc && x.error)
		rc = af_fail(err, x.error, "cannot write the samples");
	export_trace_close(&x.trace);
	af_samples_free(&x.samples);
	af_stack_locations_free(&x.stack_locations);
	af_tree_close(&x.tree);
	af_arena_free(&x.texts);
	af_buf_free(&x.line);
	af_buf_free(&x.out);
	free(x.stacks);
	return rc;
}
