/*
 * The callbacks of the tracing layer: one before and one after each function. Calls become CALL
 * events with their stacks, and those that make objects or launch work are handed on.
 */
#include "inject/ze/calls.h"

#include <string.h>

#include "inject/api/api.h"
#include "inject/api/sums.h"
#include "inject/core/handles.h"
#include "inject/core/inject.h"
#include "inject/ze/metric.h"
#include "inject/ze/ze.h"

/* Kinds of calls with their arguments (src/api/models/ze.api). */
enum { KIND_FIRST = 0x2400, KIND_LAST = 0x27ff };

/* Ids of the functions in the trace. CUDA's begin at 1, and a CALL has a byte for them. */
enum function {
	FUNCTION_FIRST = 192,
	/* Lists without work that are executed: nothing is to be expected of the device */
	FUNCTION_EMPTY = FUNCTION_FIRST,
#define AF_F(name, category) FUNCTION_##name,
	AF_ZE_CALLS(AF_F)
#undef AF_F
	    FUNCTION_END
};

_Static_assert(FUNCTION_END <= UINT8_MAX, "a CALL has a byte for its function");

static __thread struct af_ze_call call;
static struct af_handles fence_lanes = AF_HANDLES_INIT; /* → struct af_ze_lane * */
static struct af_handles fence_calls = AF_HANDLES_INIT; /* → number of the call that signals it */

static const uint8_t categories[] = {AF_CATEGORY_OTHER,
#define AF_F(name, category) AF_CATEGORY_##category,
                                     AF_ZE_CALLS(AF_F)
#undef AF_F
};

void af_ze_functions_define(void)
{
	static const char *const names[] = {"zeCommandQueueExecuteCommandLists",
#define AF_F(name, category) "ze" #name,
	                                    AF_ZE_CALLS(AF_F)
#undef AF_F
	};
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct af_ev_function ev = {FUNCTION_FIRST + i, AF_API_LEVEL_ZERO, categories[i]};
		struct af_tail tail = {names[i], (uint32_t)strlen(names[i]), 0};
		af_stream_put_tail(&t->stream, AF_KIND_FUNCTION, af_now_ns(), &ev, sizeof ev, &tail,
		                   1);
	}
	af_thread_leave(t);
}

/* Before the call. NULL: there is no recording. */
static struct af_ze_call *call_begin(void)
{
	struct af_ze_call *c = &call;

	c->begin_ns = 0;
	c->list = NULL;
	c->query = NULL;
	/* In a driver that does OpenCL by Level Zero it is OpenCL's, and recorded as that. */
	if (!af_inject_session() || af_inject_in_opencl)
		return NULL;
	af_ze_check_fork();
	c->records = af_inject_recording() != NULL;
	c->correlation = af_ze_correlation_last();
	c->begin_ns = af_now_ns();
	return c;
}

bool af_ze_in_call(void)
{
	return call.begin_ns != 0;
}

/* After it. NULL: its prologue was not seen. */
static struct af_ze_call *call_end(void)
{
	struct af_ze_call *c = &call;

	return c->begin_ns && af_inject_session() ? c : NULL;
}

static void call_put(struct af_thread_context *t, const struct af_ze_call *c, uint32_t function,
                     uint32_t callpath, uint64_t end_ns, uint32_t status)
{
	/* A new stack has been defined in the meantime: the event is later. */
	if (end_ns < t->stream.last_ns)
		end_ns = t->stream.last_ns;
	uint64_t duration_ns = end_ns - c->begin_ns;
	if (!status && duration_ns <= AF_U24_MAX)
		af_stream_put(&t->stream, call, end_ns, .callpath = callpath,
		              .correlation = (uint32_t)c->correlation,
		              .function = (uint8_t)function,
		              .duration_ns = af_u24_make((uint32_t)duration_ns));
	else
		af_stream_put(&t->stream, call_long, end_ns, .callpath = callpath,
		              .correlation = (uint32_t)c->correlation, .function = function,
		              .duration_ns = duration_ns, .status = (int32_t)status);
}

/* Is libaflame-ze.so about to write the call, with its stack? */
static bool is_traced(void)
{
	uint16_t kind = af_api_under_way();

	return kind >= KIND_FIRST && kind <= KIND_LAST;
}

/*
 * Write the CALL, and before it the @node that it made. The number of the call is new; @wait is the
 * last one before it for functions that wait, whose result may be "not ready".
 */
static void call_write(struct af_ze_call *c, uint32_t function, uint32_t result,
                       const struct af_ze_node *node, const struct af_regs *regs)
{
	struct af_thread_context *t;
	uint64_t end_ns = af_now_ns();

	c->correlation = af_ze_correlation_next();
	bool traced = is_traced();
	/* Nothing is to be expected of the device for lists without work. */
	if (traced && function != FUNCTION_EMPTY)
		af_api_correlate((uint32_t)c->correlation);
	if ((!c->records || traced) && !node)
		return;
	t = af_thread_enter();
	if (!t)
		return;
	enum af_call_category category =
	    node ? AF_CATEGORY_GRAPH : categories[function - FUNCTION_FIRST];
	uint32_t callpath = af_sums_only() ? 0 : af_callpath_call(t, regs, category);
	if (node && !af_sums_only())
		af_stream_put(&t->stream, graph_node, end_ns, .node = node->id,
		              .graph = c->list->graph, .callpath = callpath);
	if (c->records && !traced && !af_sums_only())
		call_put(t, c, function, callpath, end_ns, result);
	af_thread_leave(t);
}

/* A call that is written, and of no more interest. */
static void plain(struct af_ze_call *c, uint32_t function, uint32_t result,
                  const struct af_regs *regs)
{
	call_write(c, function, result, NULL, regs);
}

static void appended(struct af_ze_call *c, uint32_t function, uint32_t result,
                     struct af_ev_descriptor *is, const struct af_regs *regs)
{
	struct af_ze_node *node = NULL;

	/* A list that is not known is none of the program's. */
	if (!c->list)
		return;
	if (result)
		af_ze_append_failed(c);
	else if (!c->list->is_immediate)
		node = af_ze_append_node(c, is);
	c->node = node ? node->id : 0;
	call_write(c, function, result, node, regs);
	bool is_measured = af_ze_query_end(c, result);
	if (!result && c->list->is_immediate && c->records)
		af_ze_append_launched(c, is);
	if (is_measured)
		af_ze_append_query(c);
}

static void barrier(struct af_ze_call *c, uint32_t function, uint32_t result,
                    const struct af_regs *regs)
{
	struct af_ev_descriptor is = {.op = AF_OP_BARRIER};

	if (c->list && c->event)
		appended(c, function, result, &is, regs);
	else
		plain(c, function, result, regs);
}

static void executed(struct af_ze_call *c, struct af_ze_lane *lane, uint32_t nr, void **lists,
                     uint32_t function, uint32_t result, const struct af_regs *regs)
{
	bool works = af_ze_has_work(nr, lists);

	if (!lane)
		return;
	call_write(c, works ? function : FUNCTION_EMPTY, result, NULL, regs);
	if (!result && c->records && works)
		af_ze_executed(c, lane, nr, lists);
}

/* All that was launched on @lane before the call @before has completed. */
static void waited(struct af_ze_call *c, struct af_ze_lane *lane, uint64_t before, uint32_t result)
{
	if (lane && !result)
		af_ze_completed(lane, before);
	af_ze_tick(c->begin_ns);
}

static void fence_given(void *fence, struct af_ze_lane *lane, uint64_t correlation)
{
	if (!fence)
		return;
	af_handles_set(&fence_lanes, (uintptr_t)fence, (uintptr_t)lane);
	af_handles_set(&fence_calls, (uintptr_t)fence, correlation);
}

static void fence_signalled(struct af_ze_call *c, void *fence, uint32_t result)
{
	struct af_ze_lane *l = (void *)(uintptr_t)af_handles_get(&fence_lanes, (uintptr_t)fence);

	waited(c, l, af_handles_get(&fence_calls, (uintptr_t)fence), result);
}

static void memory_write(const struct af_ze_call *c, uint32_t category, uint32_t kind, void *device,
                         const void *p, uint64_t bytes)
{
	struct af_ze_device *d = device ? af_ze_device(device) : NULL;
	struct af_thread_context *t = c->records && p && !af_sums_only() ? af_thread_enter() : NULL;

	if (!t)
		return;
	af_stream_put(&t->stream, memory, af_now_ns(), .category = category, .memory = kind,
	              .device = d ? d->id : 0, .correlation = (uint32_t)c->correlation,
	              .address = (uintptr_t)p, .bytes = bytes);
	af_thread_leave(t);
}

#define ARG(i, type) AF_ZE_ARG(params, i, type)
#define HANDLE(i) ARG(i, void *)

/* The handle that a function returned by pointer, where it succeeded. */
#define MADE(i) (ARG(i, void **) ? *ARG(i, void **) : NULL)

/* The two callbacks of a function: they have @params, @c, and after it @result and @regs. */
#define HOOKS(NAME, BEFORE, AFTER)                                                                 \
	static void before_##NAME(void *params, uint32_t result, void *user, void **instance)      \
	{                                                                                          \
		struct af_ze_call *c = call_begin();                                               \
		(void)params, (void)result, (void)user, (void)instance;                            \
		if (c) {                                                                           \
			BEFORE;                                                                    \
		}                                                                                  \
	}                                                                                          \
	static void after_##NAME(void *params, uint32_t result, void *user, void **instance)       \
	{                                                                                          \
		struct af_ze_call *c = call_end();                                                 \
		struct af_regs regs;                                                               \
		(void)params, (void)result, (void)user, (void)instance;                            \
		AF_REGS_CALLER(&regs);                                                             \
		if (c) {                                                                           \
			AFTER;                                                                     \
			c->begin_ns = 0;                                                           \
		}                                                                                  \
	}

#define PLAIN(NAME) HOOKS(NAME, , plain(c, FUNCTION_##NAME, result, &regs))

/*
 * @SIGNAL: the number of the argument that names the event; BEFORE: what else is done before it;
 * FILL says what the work is.
 */
#define APPEND_OF(NAME, SIGNAL, BEFORE, FILL)                                                      \
	HOOKS(                                                                                     \
	    NAME, af_ze_append(c, HANDLE(0), &HANDLE(SIGNAL));                                     \
	    BEFORE, struct af_ev_descriptor is = {0};                                              \
	    if (c->is_ours && c->list) HANDLE(SIGNAL) = NULL;                                      \
	    if (!result && c->list) { FILL; } appended(c, FUNCTION_##NAME, result, &is, &regs))

#define APPEND(NAME, SIGNAL, FILL) APPEND_OF(NAME, SIGNAL, , FILL)

/* The events that it waits for come behind the one that it signals. */
#define LAUNCH(NAME, SIGNAL, FILL)                                                                 \
	APPEND_OF(NAME, SIGNAL,                                                                    \
	          af_ze_query_begin(c, ARG((SIGNAL) + 1, uint32_t), ARG((SIGNAL) + 2, void **)),   \
	          FILL)

#define KERNEL(groups) af_ze_kernel_work(c, HANDLE(1), groups, &is)
#define COPY(to, from, size) af_ze_copy_work(c, to, from, size, &is)

static uint64_t region_bytes(const struct af_ze_copy_region *r)
{
	if (!r)
		return 0;
	return (uint64_t)r->width * (r->height ? r->height : 1) * (r->depth ? r->depth : 1);
}

/* Several kernels of one event: which one, only if it is one. */
static void many_work(const struct af_ze_call *c, uint32_t nr, void **kernels,
                      struct af_ev_descriptor *is)
{
	bool same = nr && kernels;

	for (uint32_t i = 1; same && i < nr; i++)
		same = kernels[i] == kernels[0];
	is->op = AF_OP_KERNEL;
	if (same)
		af_ze_kernel_work(c, kernels[0], NULL, is);
}

LAUNCH(CommandListAppendLaunchKernel, 3, KERNEL(ARG(2, const struct af_ze_group_count *)))
LAUNCH(CommandListAppendLaunchCooperativeKernel, 3,
       KERNEL(ARG(2, const struct af_ze_group_count *)))
LAUNCH(CommandListAppendLaunchKernelIndirect, 3, KERNEL(NULL))
LAUNCH(CommandListAppendLaunchMultipleKernelsIndirect, 5,
       many_work(c, ARG(1, uint32_t), ARG(2, void **), &is))
LAUNCH(CommandListAppendLaunchKernelWithParameters, 4,
       KERNEL(ARG(2, const struct af_ze_group_count *)))
LAUNCH(CommandListAppendLaunchKernelWithArguments, 6, KERNEL(&ARG(2, struct af_ze_group_count)))
APPEND(CommandListAppendMemoryCopy, 4, COPY(HANDLE(1), HANDLE(2), ARG(3, size_t)))
APPEND(CommandListAppendMemoryCopyRegion, 9,
       COPY(HANDLE(1), HANDLE(5), region_bytes(ARG(2, const struct af_ze_copy_region *))))
APPEND(CommandListAppendMemoryCopyFromContext, 5, COPY(HANDLE(1), HANDLE(3), ARG(4, size_t)))
APPEND(CommandListAppendImageCopy, 3, is.op = AF_OP_COPY)
APPEND(CommandListAppendImageCopyRegion, 5, is.op = AF_OP_COPY)
APPEND(CommandListAppendImageCopyToMemory, 4, is.op = AF_OP_READ)
APPEND(CommandListAppendImageCopyFromMemory, 4, is.op = AF_OP_WRITE)
APPEND(CommandListAppendMemoryFill, 5, is.op = AF_OP_FILL; is.bytes = ARG(4, size_t))

/*
 * A barrier is work where the program gives it an event, whose stamps tell when it was reached and
 * when it was over; none gets an event of ours. Signals have no stamps, waits no event.
 */
#define BARRIER(NAME, SIGNAL)                                                                      \
	HOOKS(NAME, if (HANDLE(SIGNAL)) af_ze_append(c, HANDLE(0), &HANDLE(SIGNAL)),               \
	      barrier(c, FUNCTION_##NAME, result, &regs))
BARRIER(CommandListAppendBarrier, 1)
BARRIER(CommandListAppendMemoryRangesBarrier, 4)
PLAIN(CommandListAppendSignalEvent)
PLAIN(CommandListAppendWaitOnEvents)
PLAIN(CommandListAppendMemoryPrefetch)
PLAIN(CommandListClose)
HOOKS(CommandListAppendEventReset, af_ze_event_ends(HANDLE(1)),
      plain(c, FUNCTION_CommandListAppendEventReset, result, &regs))
HOOKS(CommandListReset, af_ze_list_emptied(HANDLE(0)),
      plain(c, FUNCTION_CommandListReset, result, &regs))

HOOKS(CommandQueueExecuteCommandLists, af_ze_execute(ARG(1, uint32_t), ARG(2, void **)),
      struct af_ze_lane *lane = af_ze_lane(HANDLE(0));
      executed(c, lane, ARG(1, uint32_t), ARG(2, void **), FUNCTION_CommandQueueExecuteCommandLists,
               result, &regs);
      if (!result) fence_given(HANDLE(3), lane, c->correlation))
HOOKS(CommandListImmediateAppendCommandListsExp, af_ze_execute(ARG(1, uint32_t), ARG(2, void **)),
      struct af_ze_list *list = af_ze_list(HANDLE(0));
      executed(c, list ? list->lane : NULL, ARG(1, uint32_t), ARG(2, void **),
               FUNCTION_CommandListImmediateAppendCommandListsExp, result, &regs))

HOOKS(CommandQueueSynchronize, , uint64_t before = c->correlation;
      plain(c, FUNCTION_CommandQueueSynchronize, result, &regs);
      waited(c, af_ze_lane(HANDLE(0)), before, result))
HOOKS(CommandListHostSynchronize, , uint64_t before = c->correlation;
      struct af_ze_list *list = af_ze_list(HANDLE(0));
      plain(c, FUNCTION_CommandListHostSynchronize, result, &regs);
      waited(c, list ? list->lane : NULL, before, result))
HOOKS(FenceHostSynchronize, , plain(c, FUNCTION_FenceHostSynchronize, result, &regs);
      fence_signalled(c, HANDLE(0), result))
HOOKS(FenceQueryStatus, , fence_signalled(c, HANDLE(0), result))
HOOKS(EventHostSynchronize, , plain(c, FUNCTION_EventHostSynchronize, result, &regs);
      if (!result) af_ze_event_signalled(HANDLE(0)); af_ze_tick(c->begin_ns))
HOOKS(EventQueryStatus, , if (!result) af_ze_event_signalled(HANDLE(0)); af_ze_tick(c->begin_ns))

HOOKS(EventPoolCreate, af_ze_pool_flags(&ARG(1, const struct af_ze_pool_desc *), &c->pool),
      if (!result) af_ze_pool_made(MADE(4), ARG(1, const struct af_ze_pool_desc *)))
HOOKS(EventCreate, , if (!result) af_ze_event_made(HANDLE(0), MADE(2)))
HOOKS(EventDestroy, af_ze_event_gone(HANDLE(0)), )
HOOKS(EventHostReset, af_ze_event_ends(HANDLE(0)), )

HOOKS(ContextCreate, , if (!result) af_ze_context_made(HANDLE(0), MADE(2)))
HOOKS(ContextCreateEx, , if (!result) af_ze_context_made(HANDLE(0), MADE(4)))
HOOKS(ContextDestroy, af_ze_context_gone(HANDLE(0)), )
HOOKS(CommandQueueCreate, , if (!result) af_ze_queue_made(HANDLE(0), HANDLE(1), MADE(3)))
HOOKS(CommandQueueDestroy, af_ze_queue_gone(HANDLE(0)), )
HOOKS(CommandListCreate, , if (!result) af_ze_list_made(HANDLE(0), HANDLE(1), MADE(3), NULL))
HOOKS(CommandListCreateImmediate, ,
      if (!result)
          af_ze_list_made(HANDLE(0), HANDLE(1), MADE(3), ARG(2, const struct af_ze_queue_desc *)))
HOOKS(CommandListDestroy, af_ze_list_gone(HANDLE(0)), )

HOOKS(ModuleCreate, , plain(c, FUNCTION_ModuleCreate, result, &regs);
      if (!result) af_ze_module_made(HANDLE(0), HANDLE(1), ARG(2, const struct af_ze_module_desc *),
                                     MADE(3)))
HOOKS(ModuleDestroy, af_ze_module_gone(HANDLE(0)), )
HOOKS(KernelCreate, , plain(c, FUNCTION_KernelCreate, result, &regs);
      if (!result) af_ze_kernel_made(HANDLE(0), ARG(1, const struct af_ze_kernel_desc *), MADE(2)))
HOOKS(KernelSetGroupSize, ,
      if (!result)
          af_ze_kernel_sized(HANDLE(0), ARG(1, uint32_t), ARG(2, uint32_t), ARG(3, uint32_t)))

#define ALLOC(NAME, KIND, DEVICE, SIZE, P)                                                         \
	HOOKS(NAME, , plain(c, FUNCTION_##NAME, result, &regs); if (!result) memory_write(         \
		  c, AF_CATEGORY_ALLOC, AF_MEMORY_##KIND, DEVICE, MADE(P), ARG(SIZE, size_t)))
ALLOC(MemAllocDevice, DEVICE, HANDLE(4), 2, 5)
ALLOC(MemAllocShared, MANAGED, HANDLE(5), 3, 6)
ALLOC(MemAllocHost, PINNED, NULL, 2, 4)
HOOKS(MemFree, , plain(c, FUNCTION_MemFree, result, &regs);
      if (!result) memory_write(c, AF_CATEGORY_FREE, AF_MEMORY_DEVICE, NULL, HANDLE(1), 0))

const struct af_ze_traced af_ze_traced[] = {
#define AF_F(NAME, category) {"zelTracer" #NAME "RegisterCallback", before_##NAME, after_##NAME},
#define AF_O(NAME) AF_F(NAME, )
    AF_ZE_CALLS(AF_F) AF_O(FenceQueryStatus) AF_O(EventQueryStatus) AF_O(EventPoolCreate)
	AF_O(EventCreate) AF_O(EventDestroy) AF_O(EventHostReset) AF_O(ContextCreate)
	    AF_O(ContextCreateEx) AF_O(ContextDestroy) AF_O(CommandQueueCreate)
		AF_O(CommandQueueDestroy) AF_O(CommandListCreate) AF_O(CommandListCreateImmediate)
		    AF_O(CommandListDestroy) AF_O(ModuleDestroy) AF_O(KernelSetGroupSize)
#undef AF_O
#undef AF_F
			{0},
};

void af_ze_calls_after_fork(void)
{
	af_handles_after_fork(&fence_lanes);
	af_handles_after_fork(&fence_calls);
}
