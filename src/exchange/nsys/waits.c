/*
 * Nsight Systems' export: when threads were off the CPUs, and the calls of the C library and its
 * like that they mostly were in, of which the longer ones have stacks.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "exchange/nsys/nsys.h"

enum { CALL_NAME = 2, CALL_THREAD, CALL_CHAIN, CALL_NESTING };
enum { SCHED_THREAD = 1, SCHED_IN, SCHED_STATE };

struct nsys_waits {
	struct af_map chains; /* id → stack */
	struct af_map off_ns; /* thread → since when it is off; 0: on, or not known */
	struct af_map states; /* the same → why, if that is known */
};

static void take_chain(struct import_nsys *in, const struct sqlite_rows *rows)
{
	nsys_chain_add(in, &in->waits->chains, rows);
}

static void take_call(struct import_nsys *in, const struct sqlite_rows *rows)
{
	struct af_builder_slice s = {.thread = UINT32_MAX};
	const uint64_t *chain;

	/* Rows without a nesting level come from processes that fork and end. */
	if (!sqlite_has(rows, CALL_NESTING))
		return;
	s.name = nsys_string(in, rows, CALL_NAME);
	if (!sqlite_has(rows, CALL_THREAD) || !s.name) {
		in->builder->unused[AF_BUILDER_FIELDS_UNUSED]++;
		return;
	}
	if (!nsys_times(in, rows, &s.start_ns, &s.busy_ns))
		return;
	chain = af_map_get(&in->waits->chains, (uint64_t)sqlite_int(rows, CALL_CHAIN, -1));
	s.external = chain ? nsys_stack_to(in, (uint32_t)*chain, s.name) : 0;
	s.thread = nsys_thread(in, sqlite_int(rows, CALL_THREAD, 0));
	if (s.thread != UINT32_MAX)
		af_builder_slice(in->builder, AF_BUILDER_LIBRARY, &s);
}

/* ENUM_SAMPLING_THREAD_STATE; most files leave it open. */
static uint32_t state_of(int64_t state)
{
	switch (state) {
	case 2:
		return AF_STATE_SLEEPING;
	case 3:
		return AF_STATE_DISK;
	case 4:
		return AF_STATE_STOPPED;
	default:
		return UINT32_MAX;
	}
}

/*
 * Rows come in order of time. Before a thread's first row and after its last, its state is not
 * known.
 */
static void take_switch(struct import_nsys *in, const struct sqlite_rows *rows)
{
	struct af_builder_slice s = {.thread = UINT32_MAX};
	int64_t thread = sqlite_int(rows, SCHED_THREAD, 0);

	if (!sqlite_has(rows, SCHED_THREAD)) {
		in->builder->unused[AF_BUILDER_FIELDS_UNUSED]++;
		return;
	}
	if (!nsys_time(in, rows, &s.start_ns))
		return;
	uint64_t *off_ns = af_map_at(&in->waits->off_ns, (uint64_t)thread, NULL);
	uint64_t *state = af_map_at(&in->waits->states, (uint64_t)thread, NULL);
	if (!sqlite_int(rows, SCHED_IN, 0)) {
		*off_ns = s.start_ns;
		*state = state_of(sqlite_int(rows, SCHED_STATE, 0));
		return;
	}
	if (*off_ns && s.start_ns > *off_ns)
		s.thread = nsys_thread(in, thread);
	s.busy_ns = s.start_ns - *off_ns;
	s.correlation = (uint32_t)*state;
	*off_ns = 0;
	if (s.thread != UINT32_MAX)
		af_builder_slice(in->builder, AF_BUILDER_BACK, &s);
}

void nsys_waits(struct import_nsys *in)
{
	struct nsys_waits *waits = af_xcalloc(1, sizeof *waits);

	in->waits = waits;
	nsys_table(in, "OSRT_CALLCHAINS", NSYS_CHAIN_ORDER, nsys_chain_columns, take_chain);
	nsys_table(in, "OSRT_API", NULL,
	           (const char *const[]){"start", "end", "nameId", "globalTid", "callchainId",
	                                 "nestingLevel", NULL},
	           take_call);
	nsys_table(in, "SCHED_EVENTS", "start",
	           (const char *const[]){"start", "globalTid", "isSchedIn", "threadState", NULL},
	           take_switch);
	in->waits = NULL;
	af_map_free(&waits->chains);
	af_map_free(&waits->off_ns);
	af_map_free(&waits->states);
	free(waits);
}
