/* The loader's tracing layer: found, turned on, and given our callbacks. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/core/inject.h"
#include "inject/intel/placed.h"
#include "inject/sampler/exec.h"
#include "inject/ze/metric.h"
#include "inject/ze/ze.h"

enum { DRIVERS_MAX = 16, NOT_BEGUN = 0, BEGUN = 1, DONE = 2 };

struct af_ze_next af_ze_next;

static _Atomic uint32_t ze_state;
static _Atomic uint32_t ze_epoch; /* of the process that the tables belong to */

bool af_ze_is_wanted(void)
{
	const struct af_session *session = af_inject_start() ? af_inject_session() : NULL;

	return session && session->flags & AF_SESSION_ZE;
}

bool af_ze_is_ours(void)
{
	return atomic_load(&ze_state) == DONE && !af_inject_is_forked() &&
	       atomic_load(&ze_epoch) == af_inject_fork_epoch();
}

void af_ze_check_fork(void)
{
	af_inject_check_fork();
	uint32_t ours = atomic_load_explicit(&ze_epoch, memory_order_relaxed);
	uint32_t now = af_inject_fork_epoch();

	if (__builtin_expect(ours == now, 1))
		return;
	if (!atomic_compare_exchange_strong(&ze_epoch, &ours, now))
		return;
	af_ze_devices_after_fork();
	af_ze_modules_after_fork();
	af_ze_lists_after_fork();
	af_ze_events_after_fork();
	af_ze_works_after_fork();
	af_ze_groups_after_fork();
	af_ze_queries_after_fork();
	af_ze_tick_after_fork();
	af_ze_calls_after_fork();
	af_placed_after_fork();
	af_ze_functions_define();
}

static bool functions_resolve(void *library, char *words, size_t size)
{
#define AF_P(name, parameters)                                                                     \
	af_ze_next.name = (__typeof__(af_ze_next.name))af_ze_function(library, #name);
	AF_ZE_OPTIONAL(AF_P)
	AF_ZE_FUNCTIONS(AF_P)
#undef AF_P
#define AF_P(name, parameters)                                                                     \
	if (!af_ze_next.name) {                                                                    \
		snprintf(words, size,                                                              \
		         "Level Zero's loader lacks " #name ": 1.8 or later is needed");           \
		return false;                                                                      \
	}
	AF_ZE_FUNCTIONS(AF_P)
#undef AF_P
	return true;
}

/* The loader's refusal to trace, and its cure. */
static void refusal(uint32_t rc, char *words, size_t size)
{
	const char *set = getenv("ZE_ENABLE_TRACING_LAYER");

	if (set && strcmp(set, "1"))
		snprintf(words, size,
		         "ZE_ENABLE_TRACING_LAYER=%.20s keeps the loader's tracing layer off: "
		         "unset it",
		         set);
	else
		snprintf(words, size,
		         "Level Zero's tracing layer refused (0x%x): is libze_tracing_layer.so.1 "
		         "installed beside the loader?",
		         rc);
}

/* Loaders turn the layer on by the environment, later ones also by a call. */
static uint32_t tracer_create(void **tracer)
{
	const struct af_ze_tracer_desc desc = {.stype = AF_ZE_STYPE_TRACER_DESC};
	const char *set = getenv("ZE_ENABLE_TRACING_LAYER");
	uint32_t rc = af_ze_next.zelTracerCreate(&desc, tracer);

	if (rc && af_ze_next.zelEnableTracingLayer && !set && !af_ze_next.zelEnableTracingLayer())
		rc = af_ze_next.zelTracerCreate(&desc, tracer);
	return rc;
}

/* Functions that this loader does not have are not called either. */
static void callbacks_register(void *library, void *tracer)
{
	for (const struct af_ze_traced *f = af_ze_traced; f->name; f++) {
		uint32_t (*set)(void *, uint32_t, af_ze_callback *) =
		    af_ze_function(library, f->name);
		if (set && f->prologue)
			set(tracer, AF_ZE_PROLOGUE, f->prologue);
		if (set && f->epilogue)
			set(tracer, AF_ZE_EPILOGUE, f->epilogue);
	}
}

static bool tracer_start(void *library, char *words, size_t size)
{
	void *tracer = NULL;

	if (!functions_resolve(library, words, size))
		return false;
	uint32_t rc = tracer_create(&tracer);
	if (rc) {
		refusal(rc, words, size);
		return false;
	}
	callbacks_register(library, tracer);
	rc = af_ze_next.zelTracerSetEnabled(tracer, 1);
	if (rc) {
		af_ze_next.zelTracerDestroy(tracer);
		refusal(rc, words, size);
	}
	return !rc;
}

static void devices_start(void **drivers, uint32_t nr)
{
	void *own[DRIVERS_MAX];

	if (!drivers) {
		drivers = own;
		if (af_ze_next.zeDriverGet(&nr, NULL))
			return;
		nr = nr < DRIVERS_MAX ? nr : DRIVERS_MAX;
		if (nr && af_ze_next.zeDriverGet(&nr, drivers))
			return;
	}
	for (uint32_t i = 0; i < nr && i < DRIVERS_MAX; i++)
		af_ze_devices_define(drivers[i]);
}

static void ze_start(void *library, void **drivers, uint32_t nr)
{
	char words[400] = "", note[420];
	Dl_info info = {0};

	atomic_store(&ze_epoch, af_inject_fork_epoch());
	if (!tracer_start(library, words, sizeof words)) {
		snprintf(note, sizeof note, "not recorded: %s", words);
		af_inject_note("ze", note);
		return;
	}
	dladdr((void *)af_ze_next.zeDriverGet, &info);
	snprintf(note, sizeof note, "traced by the layer of %.300s",
	         info.dli_fname ? info.dli_fname : "the loader");
	af_inject_note("ze", note);
	af_ze_functions_define();
	devices_start(drivers, nr);
	/* In the child the tables are emptied before it can start a second thread. */
	pthread_atfork(NULL, NULL, af_ze_check_fork);
	/* After the driver's own handlers are registered, so that it runs before them. */
	atexit(af_ze_at_exit);
	(void)!at_quick_exit(af_ze_last);
	af_exit_await(af_ze_last);
	af_exec_await(af_ze_last);
}

/* A thread that comes second waits: its first launch must find the tracer. */
void af_ze_start(void *library, void **drivers, uint32_t nr_drivers)
{
	uint32_t first = NOT_BEGUN;

	if (atomic_compare_exchange_strong(&ze_state, &first, BEGUN)) {
		ze_start(library, drivers, nr_drivers);
		atomic_store(&ze_state, DONE);
		return;
	}
	while (atomic_load(&ze_state) == BEGUN && !af_inject_is_forked())
		sched_yield();
}
