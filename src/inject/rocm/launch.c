/* Numbers that tie device work to the call of HIP that asked for it, or to a LAUNCH of our own. */
#include "inject/api/api.h"
#include "inject/api/sums.h"
#include "inject/core/inject.h"
#include "inject/rocm/rocm.h"

/* Kinds of calls with their arguments (src/api/models/hip.api). */
enum { KIND_FIRST = 0x2800, KIND_LAST = 0x2bff };

static _Atomic uint32_t nr_calls;
static _Atomic uint64_t nr_launches, nr_asked;

/* The thread's last call with a number: all work of one call has the same. */
static __thread struct {
	uint64_t begin;
	uint32_t number;
} numbered;

uint64_t af_rocm_nr_asked(void)
{
	return atomic_load(&nr_asked);
}

/* The number of the call of HIP that the thread is in; 0: it is in none that is recorded. */
static uint32_t call_number(void)
{
	uint16_t kind = af_api_under_way();

	if (kind < KIND_FIRST || kind > KIND_LAST)
		return 0;
	uint64_t begin = af_api_began();
	if (numbered.begin != begin) {
		numbered.begin = begin;
		numbered.number = af_inject_next_id(&nr_calls);
	}
	af_api_correlate(numbered.number);
	return numbered.number;
}

/* Work that a thread of the runtime launches, or a call that is not recorded. */
static uint64_t launch_write(const struct af_regs *regs)
{
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return 0;
	uint64_t number = AF_ROCM_LAUNCH_BIT | (atomic_fetch_add(&nr_launches, 1) + 1);
	if (!af_sums_only()) {
		uint32_t callpath = af_thread_callpath(t, regs);
		af_stream_put(&t->stream, launch, af_now_ns(), .callpath = callpath,
		              .correlation = number);
	}
	af_thread_leave(t);
	return number;
}

int af_rocm_request(uint64_t thread, uint64_t context, uint32_t kind, int32_t operation,
                    uint64_t internal, uint64_t *external, void *arg)
{
	struct af_regs regs;

	(void)thread, (void)context, (void)kind, (void)operation, (void)internal, (void)arg;
	AF_REGS_CALLER(&regs);
	*external = 0;
	if (!af_rocm_is_on() || !af_inject_recording())
		return 0;
	*external = call_number();
	if (!*external)
		*external = launch_write(&regs);
	if (*external)
		atomic_fetch_add_explicit(&nr_asked, 1, memory_order_relaxed);
	return 0;
}
