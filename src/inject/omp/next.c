#include "inject/omp/next.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 64, LIBRARY_BYTES = 4096 };

static struct {
	struct af_ompt_tool *tool;
	af_ompt_lookup lookup;
	af_ompt_set_callback set;
	uint64_t ours;
	_Atomic(af_ompt_function) callbacks[EVENTS];
	_Atomic uint64_t numbers;
	bool works;
} next;

static struct af_ompt_tool *tool_start(af_ompt_start start, unsigned version, const char *runtime)
{
	return start ? start(version, runtime) : NULL;
}

struct af_ompt_tool *af_omp_next_loaded(unsigned version, const char *runtime)
{
	return tool_start((af_ompt_start)dlsym(RTLD_NEXT, "ompt_start_tool"), version, runtime);
}

struct af_ompt_tool *af_omp_next_named(unsigned version, const char *runtime)
{
	const char *rest = getenv("OMP_TOOL_LIBRARIES");
	struct af_ompt_tool *tool = NULL;
	char path[LIBRARY_BYTES];

	while (rest && *rest && !tool) {
		size_t len = strcspn(rest, ":");
		if (len && len < sizeof path) {
			memcpy(path, rest, len);
			path[len] = 0;
			/* RTLD_LOCAL: its name must not come before that of another library. */
			void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
			if (library)
				tool = tool_start((af_ompt_start)dlsym(library, "ompt_start_tool"),
				                  version, runtime);
			if (library && !tool)
				dlclose(library);
		}
		rest += rest[len] ? len + 1 : len;
	}
	return tool;
}

void af_omp_next_is(struct af_ompt_tool *tool)
{
	next.tool = tool;
}

/* The event that the runtime calls us for, and by which the other tool's @event is served. */
static int event_of_ours(int event)
{
	switch (event) {
	case AF_OMPT_TARGET_PLAIN:
		return AF_OMPT_TARGET_EMI;
	case AF_OMPT_TARGET_DATA_OP_PLAIN:
		return AF_OMPT_TARGET_DATA_OP_EMI;
	case AF_OMPT_TARGET_SUBMIT_PLAIN:
		return AF_OMPT_TARGET_SUBMIT_EMI;
	default:
		return event;
	}
}

static bool is_kept(int event)
{
	int served = event_of_ours(event);

	return event > 0 && event < EVENTS && served < EVENTS && next.ours >> served & 1;
}

static int callback_set(int event, af_ompt_function callback)
{
	if (!is_kept(event))
		return next.set(event, callback);
	atomic_store_explicit(&next.callbacks[event], callback, memory_order_release);
	return AF_OMPT_SET_ALWAYS;
}

static int callback_get(int event, af_ompt_function *callback)
{
	const af_ompt_get_callback get = (af_ompt_get_callback)next.lookup("ompt_get_callback");

	if (!is_kept(event))
		return get ? get(event, callback) : 0;
	af_ompt_function is = atomic_load_explicit(&next.callbacks[event], memory_order_acquire);
	if (is)
		*callback = is;
	return is != NULL;
}

static af_ompt_function tool_lookup(const char *name)
{
	if (!strcmp(name, "ompt_set_callback"))
		return (af_ompt_function)callback_set;
	if (!strcmp(name, "ompt_get_callback"))
		return (af_ompt_function)callback_get;
	/* cppcheck-suppress CastIntegerToAddressAtReturn ; it returns a pointer */
	return next.lookup(name);
}

bool af_omp_next_initialize(af_ompt_lookup lookup, int initial_device, uint64_t ours)
{
	next.lookup = lookup;
	next.set = (af_ompt_set_callback)lookup("ompt_set_callback");
	next.ours = ours;
	if (!next.tool || !next.set)
		return false;
	next.works = next.tool->initialize(tool_lookup, initial_device, &next.tool->tool_data) != 0;
	/* A tool that gives up is called no more, whatever it registered. */
	for (int i = 0; i < EVENTS && !next.works; i++)
		atomic_store(&next.callbacks[i], NULL);
	return next.works;
}

void af_omp_next_finalize(void)
{
	if (next.works)
		next.tool->finalize(&next.tool->tool_data);
}

bool af_omp_next_works(void)
{
	return next.works;
}

af_ompt_function af_omp_next_registered(enum af_ompt_event event)
{
	return atomic_load_explicit(&next.callbacks[event], memory_order_acquire);
}

void af_omp_next_device(int device, const char *type, void *handle, af_ompt_lookup lookup,
                        const char *documentation)
{
	af_ompt_on_device f = (af_ompt_on_device)af_omp_next_registered(AF_OMPT_DEVICE_INITIALIZE);

	if (f)
		f(device, type, handle, lookup, documentation);
}

/* Plain callbacks get numbers where the others have room of their own, which is ours then. */
static uint64_t number_of(const union af_ompt_data *data)
{
	return data ? data->value : 0;
}

static uint64_t number_new(void)
{
	return atomic_fetch_add_explicit(&next.numbers, 1, memory_order_relaxed) + 1;
}

void af_omp_next_target(int kind, int scope, int device, union af_ompt_data *task,
                        union af_ompt_data *target_task, union af_ompt_data *data,
                        const void *region)
{
	af_ompt_on_target_emi emi =
	    (af_ompt_on_target_emi)af_omp_next_registered(AF_OMPT_TARGET_EMI);
	af_ompt_on_target plain = (af_ompt_on_target)af_omp_next_registered(AF_OMPT_TARGET_PLAIN);

	if (emi) {
		emi(kind, scope, device, task, target_task, data, region);
	} else if (plain) {
		if (scope & AF_OMPT_BEGIN && data)
			data->value = number_new();
		plain(kind, scope, device, task, number_of(data), region);
	}
}

void af_omp_next_data_op(int scope, union af_ompt_data *target_task, union af_ompt_data *data,
                         uint64_t *id, int op, void *from, int from_device, void *to, int to_device,
                         size_t bytes, const void *region)
{
	af_ompt_on_data_op_emi emi =
	    (af_ompt_on_data_op_emi)af_omp_next_registered(AF_OMPT_TARGET_DATA_OP_EMI);
	af_ompt_on_data_op plain =
	    (af_ompt_on_data_op)af_omp_next_registered(AF_OMPT_TARGET_DATA_OP_PLAIN);

	if (emi)
		emi(scope, target_task, data, id, op, from, from_device, to, to_device, bytes,
		    region);
	else if (plain && scope & AF_OMPT_BEGIN)
		plain(number_of(data), number_new(), op, from, from_device, to, to_device, bytes,
		      region);
}

void af_omp_next_submit(int scope, union af_ompt_data *data, uint64_t *id, unsigned teams)
{
	af_ompt_on_submit_emi emi =
	    (af_ompt_on_submit_emi)af_omp_next_registered(AF_OMPT_TARGET_SUBMIT_EMI);
	af_ompt_on_submit plain =
	    (af_ompt_on_submit)af_omp_next_registered(AF_OMPT_TARGET_SUBMIT_PLAIN);

	if (emi)
		emi(scope, data, id, teams);
	else if (plain && scope & AF_OMPT_BEGIN)
		plain(number_of(data), number_new(), teams);
}
