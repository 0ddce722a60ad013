/*
 * The OMPT tool that an OpenMP runtime finds in the process (OpenMP 5.2, 19.2), and its callbacks.
 * Begin and end of one call come on one thread and nest. Another tool's callbacks are outside of
 * what is timed.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "base/pages.h"
#include "inject/core/inject.h"
#include "inject/core/interpose.h"
#include "inject/omp/host.h"
#include "inject/omp/next.h"
#include "inject/omp/omp.h"
#include "inject/omp/ompt_abi.h"

enum { CALLS_MAX = 16 };

/* Calls that this thread is inside of; those deeper than the table are only counted. */
static __thread struct {
	struct af_omp_call *calls; /* CALLS_MAX of them, while nr is not 0 and there is memory */
	uint32_t nr;
} inside;

static struct af_spares spares = {.size = CALLS_MAX * sizeof(struct af_omp_call)};

static struct af_omp_call *call_push(enum af_omp_function function)
{
	uint32_t i = inside.nr++;

	if (!i)
		inside.calls = af_spares_take(&spares);
	if (i >= CALLS_MAX || !inside.calls)
		return NULL;
	/* All but arguments, member by member: as one block it costs three times as much. */
	struct af_omp_call *c = &inside.calls[i];
	c->begin_ns = c->correlation = 0;
	c->region = NULL;
	c->nr_args = c->descriptor = c->callpath = c->epoch = 0;
	c->function = function;
	return c;
}

/* The call that this thread is inside of, or the one around @c; NULL: there is none. */
static const struct af_omp_call *call_around(const struct af_omp_call *c)
{
	uint32_t nr = inside.nr - (c != NULL);

	return nr && nr <= CALLS_MAX && inside.calls ? &inside.calls[nr - 1] : NULL;
}

/* The call of @function that ends; calls above it were left without an end. */
static struct af_omp_call *call_pop(enum af_omp_function function)
{
	while (inside.nr) {
		uint32_t i = --inside.nr;
		if (i >= CALLS_MAX || !inside.calls)
			return NULL;
		if (inside.calls[i].function == function)
			return &inside.calls[i];
	}
	return NULL;
}

static void call_end(enum af_omp_function function, const struct af_regs *regs)
{
	struct af_omp_call *c = call_pop(function);

	if (c)
		af_omp_end(c, (uint8_t)inside.nr, regs);
	if (inside.nr || !inside.calls)
		return;
	af_spares_give(&spares, inside.calls);
	inside.calls = NULL;
}

static void device_initialize(int device, const char *type, void *handle, af_ompt_lookup lookup,
                              const char *documentation)
{
	af_omp_check_fork();
	af_omp_device(device, type);
	af_omp_next_device(device, type, handle, lookup, documentation);
}

static enum af_omp_function target_function(int kind)
{
	static const enum af_omp_function functions[] = {
	    [AF_OMPT_TARGET] = AF_OMP_TARGET,
	    [AF_OMPT_TARGET_ENTER_DATA] = AF_OMP_ENTER_DATA,
	    [AF_OMPT_TARGET_EXIT_DATA] = AF_OMP_EXIT_DATA,
	    [AF_OMPT_TARGET_UPDATE] = AF_OMP_UPDATE,
	    [AF_OMPT_TARGET + AF_OMPT_TARGET_NOWAIT] = AF_OMP_TARGET_NOWAIT,
	    [AF_OMPT_TARGET_ENTER_DATA + AF_OMPT_TARGET_NOWAIT] = AF_OMP_ENTER_DATA_NOWAIT,
	    [AF_OMPT_TARGET_EXIT_DATA + AF_OMPT_TARGET_NOWAIT] = AF_OMP_EXIT_DATA_NOWAIT,
	    [AF_OMPT_TARGET_UPDATE + AF_OMPT_TARGET_NOWAIT] = AF_OMP_UPDATE_NOWAIT,
	};

	return (unsigned)kind < sizeof functions / sizeof *functions ? functions[kind]
	                                                             : AF_OMP_NONE;
}

static void target(int kind, int scope, int device, union af_ompt_data *task,
                   union af_ompt_data *target_task, union af_ompt_data *data, const void *region)
{
	enum af_omp_function function = target_function(kind);
	struct af_omp_call *c;
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	if (scope & AF_OMPT_BEGIN)
		af_omp_next_target(kind, scope, device, task, target_task, data, region);
	af_omp_check_fork();
	if (function && scope & AF_OMPT_BEGIN && (c = call_push(function))) {
		c->region = region;
		c->args[c->nr_args++] = (uint64_t)(int64_t)device;
		c->args[c->nr_args++] = (uintptr_t)region;
		af_omp_begin(c, call_around(c), NULL, &regs);
	}
	if (function && scope & AF_OMPT_END)
		call_end(function, &regs);
	if (!(scope & AF_OMPT_BEGIN))
		af_omp_next_target(kind, scope, device, task, target_task, data, region);
}

static enum af_omp_function data_function(int op)
{
	static const enum af_omp_function functions[] = {
	    [AF_OMPT_ALLOC] = AF_OMP_ALLOC,
	    [AF_OMPT_TO_DEVICE] = AF_OMP_TO_DEVICE,
	    [AF_OMPT_FROM_DEVICE] = AF_OMP_FROM_DEVICE,
	    [AF_OMPT_DELETE] = AF_OMP_DELETE,
	    [AF_OMPT_ASSOCIATE] = AF_OMP_ASSOCIATE,
	    [AF_OMPT_DISASSOCIATE] = AF_OMP_DISASSOCIATE,
	};

	op &= ~AF_OMPT_ASYNC;
	return (unsigned)op < sizeof functions / sizeof *functions ? functions[op] : AF_OMP_NONE;
}

/* The piece of work that a transfer is, with the queue 0 where it is none of ours. */
static struct af_ev_descriptor data_work(enum af_omp_function function, int from_device,
                                         int to_device, size_t bytes)
{
	struct af_ev_descriptor work = {.bytes = bytes};

	if (function == AF_OMP_TO_DEVICE) {
		work.op = AF_OP_WRITE;
		work.queue = af_omp_queue(to_device);
	} else if (function == AF_OMP_FROM_DEVICE) {
		work.op = AF_OP_READ;
		work.queue = af_omp_queue(from_device);
	}
	return work;
}

static void data_op(int scope, union af_ompt_data *target_task, union af_ompt_data *data,
                    uint64_t *id, int op, void *from, int from_device, void *to, int to_device,
                    size_t bytes, const void *region)
{
	enum af_omp_function function = data_function(op);
	struct af_omp_call *c;
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	if (scope & AF_OMPT_BEGIN)
		af_omp_next_data_op(scope, target_task, data, id, op, from, from_device, to,
		                    to_device, bytes, region);
	af_omp_check_fork();
	if (function && scope & AF_OMPT_BEGIN && (c = call_push(function))) {
		const struct af_ev_descriptor work =
		    data_work(function, from_device, to_device, bytes);
		const uint64_t args[] = {(uintptr_t)from, (uint64_t)(int64_t)from_device,
		                         (uintptr_t)to, (uint64_t)(int64_t)to_device, bytes};
		_Static_assert(sizeof args == sizeof c->args, "all arguments");
		memcpy(c->args, args, sizeof args);
		c->nr_args = AF_OMP_ARGS;
		c->region = region;
		af_omp_begin(c, call_around(c), work.queue ? &work : NULL, &regs);
	}
	if (function && scope & AF_OMPT_END)
		call_end(function, &regs);
	if (!(scope & AF_OMPT_BEGIN))
		af_omp_next_data_op(scope, target_task, data, id, op, from, from_device, to,
		                    to_device, bytes, region);
}

/* The target construct that this thread is inside of names the device and the region. */
static void submit(int scope, union af_ompt_data *data, uint64_t *id, unsigned teams)
{
	const struct af_omp_call *around = call_around(NULL);
	struct af_ev_descriptor work = {.op = AF_OP_KERNEL, .global_x = teams};
	struct af_omp_call *c;
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	if (scope & AF_OMPT_BEGIN)
		af_omp_next_submit(scope, data, id, teams);
	af_omp_check_fork();
	if (around)
		work.queue = af_omp_queue((int)around->args[0]);
	if (scope & AF_OMPT_BEGIN && (c = call_push(AF_OMP_SUBMIT))) {
		c->region = around ? around->region : NULL;
		c->args[c->nr_args++] = teams;
		af_omp_begin(c, around, work.queue ? &work : NULL, &regs);
	}
	if (scope & AF_OMPT_END)
		call_end(AF_OMP_SUBMIT, &regs);
	if (!(scope & AF_OMPT_BEGIN))
		af_omp_next_submit(scope, data, id, teams);
}

/* False: the runtime refuses one of @callbacks. The others' bits are added to *@taken. */
static bool callbacks_set(af_ompt_set_callback set, const struct af_omp_callback *callbacks,
                          size_t nr, uint64_t *taken)
{
	bool refused = !set;

	for (size_t i = 0; set && i < nr; i++) {
		bool is_set =
		    set(callbacks[i].event, callbacks[i].callback) > AF_OMPT_SET_IMPOSSIBLE;
		*taken |= (uint64_t)is_set << callbacks[i].event;
		refused |= !is_set;
	}
	return !refused;
}

static bool host_set(af_ompt_set_callback set, uint64_t *taken)
{
	size_t nr;
	const struct af_omp_callback *callbacks = af_omp_host_callbacks(&nr);

	if (!af_omp_host_is_wanted())
		return false;
	bool accepted = callbacks_set(set, callbacks, nr, taken);
	af_inject_note("omp.host", accepted ? "parallel regions, tasks and waits are recorded"
	                                    : "this OpenMP runtime tells only a part of parallel "
	                                      "regions, tasks and waits");
	return accepted;
}

static int tool_initialize(af_ompt_lookup lookup, int initial_device, union af_ompt_data *data)
{
#define F(function) ((af_ompt_function)(function))
	const struct af_omp_callback callbacks[] = {
	    {AF_OMPT_DEVICE_INITIALIZE, F(device_initialize)},
	    {AF_OMPT_TARGET_EMI, F(target)},
	    {AF_OMPT_TARGET_DATA_OP_EMI, F(data_op)},
	    {AF_OMPT_TARGET_SUBMIT_EMI, F(submit)},
	};
#undef F
	const af_ompt_set_callback set = (af_ompt_set_callback)lookup("ompt_set_callback");
	uint64_t taken = 0;

	(void)data;
	bool accepted = callbacks_set(set, callbacks, sizeof callbacks / sizeof *callbacks, &taken);
	af_inject_note("omp", !accepted ? "not recorded: this OpenMP runtime tells nothing of "
	                                  "target regions (LLVM's does from version 17 on)"
	                                : "target regions are recorded");
	bool host = host_set(set, &taken);
	af_omp_check_fork();
	/* 0: the runtime goes on without a tool. */
	return af_omp_next_initialize(lookup, initial_device, taken) || accepted || host;
}

static void tool_finalize(union af_ompt_data *data)
{
	(void)data;
	af_omp_next_finalize();
}

INTERPOSE struct af_ompt_tool *ompt_start_tool(unsigned version, const char *runtime);
INTERPOSE struct af_ompt_tool *ompt_start_tool(unsigned version, const char *runtime)
{
	static struct af_ompt_tool ours = {tool_initialize, tool_finalize, {0}};
	const struct af_session *session = af_inject_start() ? af_inject_session() : NULL;
	struct af_ompt_tool *other = af_omp_next_loaded(version, runtime);

	if (!session || !(session->flags & AF_SESSION_OMP))
		return other;
	if (session->flags & AF_SESSION_SUMS) {
		af_inject_note("omp", "not recorded: sums of calls do not have OpenMP's");
		return other;
	}
	if (!other)
		other = af_omp_next_named(version, runtime);
	if (other)
		af_inject_note("omp", "another OMPT tool gets all callbacks too");
	af_omp_next_is(other);
	return &ours;
}

/*
 * Does the executable have a tool? A runtime finds it before ours, which then is never called. The
 * first object in the order of search has no name in the list of loaded ones.
 */
static bool program_has_tool(void)
{
	const void *first = dlsym(RTLD_DEFAULT, "ompt_start_tool");
	struct link_map *map = NULL;
	Dl_info info;

	return first && dladdr1(first, &info, (void **)&map, RTLD_DL_LINKMAP) && map &&
	       map->l_name && !*map->l_name;
}

/*
 * The note is written at the start, as not every program comes to its end. This is behind the
 * constructor that starts recording: meson.build has this room after that of the sampler.
 */
__attribute__((constructor)) static void begin(void)
{
	const struct af_session *session = af_inject_session();

	if (session && session->flags & AF_SESSION_OMP && program_has_tool())
		af_inject_note(
		    "omp", "not recorded: the executable has an OMPT tool of its own, which OpenMP "
			   "runtimes take before any other; make it a library that "
			   "OMP_TOOL_LIBRARIES names: aflame then hands all callbacks on to it");
}
