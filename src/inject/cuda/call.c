/*
 * Callbacks of the driver API: calls become CALL events with their stacks, allocations become
 * MEMORY.
 */
#include "inject/cuda/cuda.h"

#include <string.h>

#include "api/models/cuda_functions.h"
#include "inject/api/clock.h"
#include "inject/api/sums.h"
#include "inject/api/usdt.h"
#include "inject/core/handles.h"
#include "inject/core/inject.h"
#include "inject/cuda/pc.h"

/* Dense numbers of the functions: their ids in the trace, from 1. */
enum function {
	FUNCTION_NONE,
#define AF_F(id, name, category) FUNCTION_##name,
	AF_CUDA_FUNCTIONS(AF_F)
#undef AF_F
	    FUNCTIONS
};

enum { CALLBACKS_MAX = 1024 };

_Static_assert(FUNCTIONS <= UINT8_MAX, "a CALL has a byte for its function");

static const uint8_t functions[CALLBACKS_MAX] = {
#define AF_F(id, name, category) [id] = FUNCTION_##name,
    AF_CUDA_FUNCTIONS(AF_F)
#undef AF_F
};

/* How a call tells of memory: in its first parameters. */
enum memory_form {
	FORM_NONE,
	FORM_MADE,    /* where the address was put, bytes */
	FORM_PITCH,   /* the same, where the bytes of a row were put, …, rows */
	FORM_HANDLED, /* the address itself, bytes (0 for a free) */
};

static const struct {
	uint8_t category, memory, form;
} memories[FUNCTIONS] = {
#define AF_M(name, category, memory, form)                                                         \
	[FUNCTION_##name] = {AF_CATEGORY_##category, AF_MEMORY_##memory, FORM_##form},
    AF_CUDA_MEMORIES(AF_M)
#undef AF_M
};

static const uint8_t category_of[FUNCTIONS] = {
#define AF_F(id, name, category) [FUNCTION_##name] = AF_CATEGORY_##category,
    AF_CUDA_FUNCTIONS(AF_F)
#undef AF_F
};

/* Those that a change of sampling must not meet. */
static bool is_launch(uint32_t function)
{
	return category_of[function] == AF_CATEGORY_LAUNCH ||
	       category_of[function] == AF_CATEGORY_GRAPH_LAUNCH;
}

static struct af_handles contexts = AF_HANDLES_INIT; /* → id of their device */

/*
 * The outermost call in progress: where it has its stack (0: there is none), which it is, when it
 * began. Calls within it are its business. What CUPTI offers to remember a call by is left to the
 * program's own profiler.
 */
static __thread struct {
	uint64_t sp, begin_ns;
	uint32_t id, correlation;
} outer;

/*
 * Launches in progress of this thread that began when there was a gate: the outermost entered it.
 */
static __thread uint32_t launches;

/*
 * Calls made while recording was off, each in the slot of its remainder: what devices do for them
 * is not recorded either. Touched only where recording is ever off.
 */
enum { SKIPPED_SLOTS = 1 << 16 };
static _Atomic uint32_t skipped[SKIPPED_SLOTS];
static _Atomic bool any_skipped;

bool af_cuda_skipped(uint32_t correlation)
{
	return __builtin_expect(atomic_load_explicit(&any_skipped, memory_order_relaxed), 0) &&
	       atomic_load_explicit(&skipped[correlation % SKIPPED_SLOTS], memory_order_relaxed) ==
	           correlation;
}

static void call_skip(uint32_t correlation)
{
	atomic_store_explicit(&skipped[correlation % SKIPPED_SLOTS], correlation,
	                      memory_order_relaxed);
	atomic_store_explicit(&any_skipped, true, memory_order_relaxed);
}

void af_cuda_functions_define(void)
{
	static const struct {
		const char *name;
		uint32_t category;
	} rows[FUNCTIONS] = {
#define AF_F(id, name, category) [FUNCTION_##name] = {#name, AF_CATEGORY_##category},
	    AF_CUDA_FUNCTIONS(AF_F)
#undef AF_F
	};
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	for (uint32_t i = 1; i < FUNCTIONS; i++) {
		struct af_ev_function ev = {i, AF_API_CUDA, rows[i].category};
		struct af_tail tail[] = {{rows[i].name, (uint32_t)strlen(rows[i].name), 0}};
		af_stream_put_tail(&t->stream, AF_KIND_FUNCTION, af_now_ns(), &ev, sizeof ev, tail,
		                   1);
	}
	af_thread_leave(t);
}

/* The device of a context, by CUPTI: asked once. */
static uint32_t context_device(void *context)
{
	uint64_t known = af_handles_get(&contexts, (uintptr_t)context);
	uint32_t ordinal = 0;

	if (known || !context || af_cupti.GetDeviceId(context, &ordinal))
		return (uint32_t)known;
	uint32_t id = af_cuda_device(ordinal);
	af_handles_set(&contexts, (uintptr_t)context, id);
	return id;
}

static void memory_read(uint32_t form, const uint64_t *params, struct af_ev_memory *m)
{
	if (form == FORM_HANDLED) {
		m->address = params[0];
		m->bytes = m->category == AF_CATEGORY_ALLOC ? params[1] : 0;
		return;
	}
	m->address = *(const uint64_t *)(uintptr_t)params[0];
	m->bytes = params[1];
	if (form == FORM_PITCH)
		m->bytes = *(const uint64_t *)(uintptr_t)params[1] * params[3];
}

/* The call has succeeded, so what its parameters point to is there. */
static void memory_write(struct af_thread_context *t, uint64_t now, uint32_t function,
                         const struct af_cupti_call *call)
{
	uint32_t form = memories[function].form;
	struct af_ev_memory m = {
	    .category = memories[function].category,
	    .memory = memories[function].memory,
	    .correlation = call->correlation,
	};

	if (form == FORM_NONE || !call->params)
		return;
	if (m.category == AF_CATEGORY_ALLOC && m.memory != AF_MEMORY_PINNED)
		m.device = context_device(call->context);
	memory_read(form, call->params, &m);
	void *at = m.address ? af_stream_begin(&t->stream, AF_KIND_MEMORY, now, sizeof m) : NULL;
	if (at) {
		memcpy(at, &m, sizeof m);
		af_stream_end(&t->stream);
	}
}

/* aflame:cuda_call(function, correlation): what the CALL says that is about to be written. */
AF_USDT_PLACE(cuda_call);

static void call_put(struct af_thread_context *t, const struct af_cupti_call *call,
                     uint32_t function, uint64_t begin_ns, uint64_t end_ns,
                     const struct af_regs *regs)
{
	int32_t status = call->result ? (int32_t)*call->result : 0;
	uint32_t callpath = af_callpath_call(t, regs, category_of[function]);

	/* A new stack has been defined in the meantime: the event is later, and the call begins
	 * when it began, before what the device did for it. */
	if (__builtin_expect(end_ns < t->stream.last_ns, 0))
		end_ns = t->stream.last_ns;
	uint64_t duration_ns = end_ns - begin_ns;
	if (__builtin_expect(!status && duration_ns <= AF_U24_MAX, 1))
		af_stream_put(&t->stream, call, end_ns, .callpath = callpath,
		              .correlation = call->correlation, .function = (uint8_t)function,
		              .duration_ns = af_u24_make((uint32_t)duration_ns));
	else
		af_stream_put(&t->stream, call_long, end_ns, .callpath = callpath,
		              .correlation = call->correlation, .function = function,
		              .duration_ns = duration_ns, .status = status);
}

static void call_write(const struct af_cupti_call *call, uint32_t function, uint64_t begin_ns,
                       const struct af_regs *regs, bool traced)
{
	uint64_t end_ns = af_call_now_ns();
	int32_t status = call->result ? (int32_t)*call->result : 0;

	AF_USDT(cuda_call, function, call->correlation);
	struct af_thread_context *t = af_thread_enter();
	if (!t)
		return;
	if (!traced && !af_sums_only())
		call_put(t, call, function, begin_ns, end_ns, regs);
	if (memories[function].form && !status && !af_sums_only())
		memory_write(t, end_ns, function, call);
	af_thread_leave(t);
}

static bool is_graph_update(uint32_t function)
{
	return function == FUNCTION_cuGraphExecUpdate || function == FUNCTION_cuGraphExecUpdate_v2;
}

void af_cuda_call_gate(uint32_t id, uint32_t site)
{
	if (id >= CALLBACKS_MAX || !is_launch(functions[id]))
		return;
	if (site == AF_CUPTI_ENTER) {
		if (!launches++)
			af_pc_gate_enter();
		return;
	}
	if (launches && !--launches)
		af_pc_gate_leave();
}

/* The stack is taken at the exit: it is the same, and one event tells the whole call. */
void af_cuda_call(uint32_t id, const struct af_cupti_call *call, const struct af_regs *regs,
                  bool traced)
{
	uint32_t function = id < CALLBACKS_MAX ? functions[id] : 0;

	if (!function)
		return;
	if (call->site == AF_CUPTI_ENTER) {
		if (outer.sp && regs->sp < outer.sp)
			return;
		outer.sp = regs->sp;
		outer.id = id;
		outer.correlation = call->correlation;
		outer.begin_ns = af_call_now_ns();
		return;
	}
	if (!outer.sp || outer.id != id || outer.correlation != call->correlation)
		return;
	uint64_t begin_ns = outer.begin_ns;
	outer.sp = 0;
	if (af_inject_recording())
		call_write(call, function, begin_ns, regs, traced);
	else
		call_skip(call->correlation);
	/* Definitions, which are written also where recording is off. */
	if (__builtin_expect(is_graph_update(function), 0) && !af_cuda_updates_reported() &&
	    call->params && call->result && !*call->result)
		af_cuda_graph_updated(*(void *const *)call->params, regs);
}
