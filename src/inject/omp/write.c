/* Events of OpenMP: FUNCTIONs, calls as API_CALL, and device work as LAUNCH and WORK_LONG. */
#include <string.h>

#include "inject/api/clock.h"
#include "inject/omp/omp.h"

/* Apart from OpenCL's numbers, which are counted from 1. */
enum { CORRELATION_BIT = 40 };

/* Ids of functions belong to the process: these lie above those of other APIs. */
enum { FUNCTION_FIRST = 0x20000000 };

static _Atomic uint64_t nr_works;
static _Atomic uint32_t omp_epoch = UINT32_MAX; /* of the process that has been described */

static void functions_define(void)
{
	static const struct {
		const char *name;
		uint32_t category;
	} rows[AF_OMP_FUNCTIONS_END] = {
#define AF_F(NAME, name, category) [AF_OMP_##NAME] = {name, AF_CATEGORY_##category},
	    AF_OMP_FUNCTIONS(AF_F)
#undef AF_F
	};
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	for (uint32_t i = AF_OMP_NONE + 1; i < AF_OMP_FUNCTIONS_END; i++) {
		struct af_ev_function ev = {FUNCTION_FIRST + i, AF_API_OPENMP, rows[i].category};
		struct af_tail tail = {rows[i].name, (uint32_t)strlen(rows[i].name), 0};
		af_stream_put_tail(&t->stream, AF_KIND_FUNCTION, af_now_ns(), &ev, sizeof ev, &tail,
		                   1);
	}
	af_thread_leave(t);
}

void af_omp_check_fork(void)
{
	af_inject_check_fork();
	uint32_t now = af_inject_fork_epoch();
	uint32_t ours = atomic_load_explicit(&omp_epoch, memory_order_relaxed);

	if (__builtin_expect(ours == now, 1))
		return;
	if (!atomic_compare_exchange_strong(&omp_epoch, &ours, now))
		return;
	functions_define();
	af_omp_devices_after_fork();
}

static uint32_t call_path(struct af_thread_context *t, const struct af_omp_call *known,
                          const struct af_regs *regs)
{
	return known && known->callpath && known->epoch == t->epoch ? known->callpath
	                                                            : af_thread_callpath(t, regs);
}

/* Most launches of a thread are of the same region as the one before. */
static uint32_t descriptor_of(const struct af_omp_call *c, struct af_thread_context *t,
                              const struct af_ev_descriptor *work)
{
	static __thread struct {
		const struct af_thread_context *context;
		const void *region;
		uint32_t epoch, forked, queue, teams;
		uint32_t descriptor; /* 0: none */
	} last;
	struct af_ev_descriptor is = *work;

	if (is.op != AF_OP_KERNEL)
		return af_work_descriptor_id(af_thread_descriptors(t), &t->stream, c->begin_ns,
		                             &is);
	if (last.descriptor && last.context == t && last.epoch == t->epoch &&
	    last.forked == af_inject_fork_epoch() && last.region == c->region &&
	    last.queue == is.queue && last.teams == is.global_x)
		return last.descriptor;
	is.kernel = af_omp_kernel(t, c->region);
	last.descriptor =
	    af_work_descriptor_id(af_thread_descriptors(t), &t->stream, c->begin_ns, &is);
	last.context = t;
	last.region = c->region;
	last.epoch = t->epoch;
	last.forked = af_inject_fork_epoch();
	last.queue = is.queue;
	last.teams = is.global_x;
	return last.descriptor;
}

static void work_begin(struct af_omp_call *c, struct af_thread_context *t,
                       const struct af_ev_descriptor *work)
{
	c->correlation = 1ull << CORRELATION_BIT |
	                 (atomic_fetch_add_explicit(&nr_works, 1, memory_order_relaxed) + 1);
	c->descriptor = descriptor_of(c, t, work);
	af_stream_put(&t->stream, launch, c->begin_ns, .callpath = c->callpath,
	              .correlation = c->correlation);
}

static void work_end(const struct af_omp_call *c, struct af_thread_context *t, uint64_t end_ns)
{
	struct af_ev_work_long *ev =
	    af_stream_begin(&t->stream, AF_KIND_WORK_LONG, end_ns, sizeof *ev);

	if (!ev)
		return;
	/* In place: a copy of what was just written in smaller pieces waits for them. */
	ev->descriptor = c->descriptor;
	ev->correlation = c->correlation;
	ev->queued_ns = ev->submit_ns = ev->start_ns = c->begin_ns;
	ev->end_ns = end_ns;
	ev->status = 0;
	af_stream_end(&t->stream);
}

void af_omp_begin(struct af_omp_call *c, const struct af_omp_call *around,
                  const struct af_ev_descriptor *work, const struct af_regs *regs)
{
	const struct af_session *session = af_inject_recording();
	struct af_thread_context *t = session ? af_thread_enter() : NULL;

	if (t) {
		c->callpath = call_path(t, around, regs);
		c->epoch = t->epoch;
	}
	c->begin_ns = af_call_now_ns();
	if (!t)
		return;
	if (work)
		work_begin(c, t, work);
	af_thread_leave(t);
}

/* As af_stream_put_tail() would write it, at a third of its cost. */
static void call_put(struct af_thread_context *t, const struct af_omp_call *c, uint8_t depth,
                     uint64_t end_ns, const struct af_regs *regs)
{
	uint32_t callpath = call_path(t, c, regs);

	/* The stack's definition may be the later event: the call begins when it began. */
	if (end_ns < t->stream.last_ns)
		end_ns = t->stream.last_ns;
	size_t args = c->nr_args * sizeof *c->args;
	struct af_ev_api_call *ev = af_stream_begin(&t->stream, AF_KIND_API_CALL, end_ns,
	                                            sizeof *ev + sizeof c->nr_args + args);
	if (!ev)
		return;
	ev->callpath = callpath;
	ev->correlation = 0;
	ev->duration_ns = af_u48_make(end_ns - c->begin_ns);
	ev->depth = depth;
	ev->flags = 0;
	ev->function = FUNCTION_FIRST + c->function;
	ev->result = 0;
	char *p = (char *)(ev + 1);
	memcpy(p, &c->nr_args, sizeof c->nr_args);
	p += sizeof c->nr_args;
	for (uint32_t i = 0; i < c->nr_args; i++, p += sizeof *c->args)
		memcpy(p, &c->args[i], sizeof *c->args);
	af_stream_end(&t->stream);
}

void af_omp_end(struct af_omp_call *c, uint8_t depth, const struct af_regs *regs)
{
	const struct af_session *session = af_inject_recording();
	uint64_t end_ns = af_call_now_ns();
	struct af_thread_context *t = session ? af_thread_enter() : NULL;

	if (!t)
		return;
	/* The relation of the clocks may have been set anew meanwhile. */
	if (end_ns < c->begin_ns)
		end_ns = c->begin_ns;
	if (c->correlation)
		work_end(c, t, end_ns);
	call_put(t, c, depth, end_ns, regs);
	af_thread_leave(t);
}
