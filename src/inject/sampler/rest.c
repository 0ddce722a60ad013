#include "inject/sampler/rest.h"

#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "inject/core/inject.h"
#include "inject/core/thread.h"
#include "inject/sampler/sampler.h"
#include "inject/sampler/signals.h"
#include "inject/walk/modules.h"
#include "inject/walk/unwind.h"
#include "trace/layout.h"
#include "trace/write/stream.h"

enum {
	/* CPU-time timers run out at a tick of the clock, ten milliseconds apart at most, that
	 * hits their thread. */
	TICK_NS = 10000000,
	SHARE_KEPT_NS = 5000000,
};

static __thread struct {
	uint64_t sampled_ns;
	uint64_t before_ns; /* the thread's clock when this program began */
	void (*run)(void);
} self;

/* The share of the process's time that is in user mode, in 1/65536, and until when it is taken. */
static _Atomic uint64_t share_until_ns;
static _Atomic uint32_t user_share;

/* The samples that the recorder adds to a process are not known in here. */
bool af_rest_is_wanted(void)
{
	const struct af_session *session = af_inject_recording();

	return session && !(session->flags & (AF_SESSION_WALL | AF_SESSION_OWN)) &&
	       (session->cpu_mode == AF_CPU_TIMER ||
	        (session->cpu_mode == AF_CPU_PERF && !(session->flags & AF_SESSION_KERNEL)));
}

void af_rest_thread_begins(void (*run)(void))
{
	self.run = run;
}

/* One program's word to the next, in the slot of its pid: the time in microseconds. */
static _Atomic uint64_t *handover(struct af_session *session)
{
	return &session->written_before_exec[(uint32_t)getpid() % AF_EXEC_SLOTS];
}

void af_rest_process_begins(bool exec)
{
	struct af_session *session = af_inject_session();

	self.sampled_ns = self.before_ns = 0;
	atomic_store(&share_until_ns, 0);
	if (!session || !exec)
		return;
	uint64_t reported = atomic_load(handover(session));
	if (reported >> 32 == (uint32_t)getpid() &&
	    atomic_compare_exchange_strong(handover(session), &reported, 0))
		self.before_ns = (reported & UINT32_MAX) * 1000;
}

void af_rest_begins(void)
{
	self.before_ns = af_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	self.sampled_ns = 0;
}

void af_rest_sampled(uint64_t weight_ns)
{
	self.sampled_ns += weight_ns;
}

/*
 * For one thread the kernel knows the two parts by its ticks alone, and a short thread has none.
 * For the process there are enough ticks.
 */
static uint64_t part_in_user_mode(uint64_t ns)
{
	uint64_t now = af_now_ns();
	struct rusage r;

	if (now >= atomic_load(&share_until_ns) && !getrusage(RUSAGE_SELF, &r)) {
		uint64_t user = af_timeval_ns(&r.ru_utime) / 1000;
		uint64_t all = user + af_timeval_ns(&r.ru_stime) / 1000;
		atomic_store(&user_share, all ? (uint32_t)(user * 65536 / all) : 65536);
		atomic_store(&share_until_ns, now + SHARE_KEPT_NS);
	}
	return (uint64_t)((unsigned __int128)ns * atomic_load(&user_share) / 65536);
}

/*
 * Beneath where threads of this process start, or the process does: what it was made for, a mark.
 */
static uint32_t callpath(struct af_thread_context *t, const struct af_regs *regs)
{
	struct af_capture *c = &t->hook;
	uint64_t start[2] = {0};
	unsigned nr = 0, nr_start = 0;

	c->stop = AF_STOP_COMPLETE;
	c->epoch = af_modules_epoch();
	c->nr_py = 0;
	if (regs)
		nr = af_unwind_walk(t->unwinder, regs, false, c->pcs, AF_STACK_MAX, &c->stop);
	if (nr > 2 && c->stop == AF_STOP_COMPLETE) {
		start[0] = c->pcs[nr - 2];
		start[1] = c->pcs[nr - 1];
		nr_start = 2;
	}
	c->stop = AF_STOP_COMPLETE;
	c->nr = 0;
	c->pcs[c->nr++] = AF_LEFT_OUT;
	if (self.run || !regs) {
		uint64_t began = self.run ? (uint64_t)self.run : getauxval(AT_ENTRY);
		/* Modules that no walk has met yet must get into the table, too. */
		af_module_find(began);
		c->pcs[c->nr++] = began;
	}
	for (unsigned i = 0; i < nr_start; i++)
		c->pcs[c->nr++] = start[i];
	uint32_t stack = af_callpath_stack(&t->callpaths, &t->stream, c);
	return af_callpath_path(&t->callpaths, &t->stream, stack, c);
}

static void part_write(struct af_thread_context *t, uint32_t path, uint64_t ns, uint32_t flags)
{
	if (ns)
		af_stream_put(&t->stream, sample, af_now_ns(), .callpath = path, .flags = flags,
		              .weight_ns = ns);
}

/* No samples yet (AF_SESSION_HELD), or no more (prof --cap). */
static bool is_out_of_samples(const struct af_session *s)
{
	return af_inject_is_held(s) ||
	       (s->samples_most && atomic_load(&s->samples_came) >= s->samples_most);
}

/* The timer ran out, and its signal is yet to come: to us, not to a handler of the program's. */
static bool sample_is_late(void)
{
	return af_sampler_timer_is_overdue() && !af_signals_sampling_is_replaced();
}

void af_rest_write(struct af_thread_context *t, const struct af_regs *regs)
{
	const struct af_session *session = af_inject_recording();

	if (!session || !af_rest_is_wanted() || is_out_of_samples(session))
		return;
	bool user_only = session->cpu_mode == AF_CPU_PERF;
	uint64_t used = af_clock_ns(CLOCK_THREAD_CPUTIME_ID), period = session->sample_period_ns,
		 most = user_only ? 2 * period : period + TICK_NS;
	used = used > self.before_ns ? used - self.before_ns : 0;
	if (user_only)
		used = part_in_user_mode(used);
	if (used <= self.sampled_ns ||
	    (used - self.sampled_ns >= most && (user_only || !sample_is_late())))
		return;
	uint64_t rest = used - self.sampled_ns, user = user_only ? rest : part_in_user_mode(rest);
	uint32_t path = callpath(t, regs);
	part_write(t, path, user, 0);
	part_write(t, path, rest - user, AF_SAMPLE_SYSCALL);
	self.sampled_ns = used;
}

void af_rest_before_exec(void)
{
	struct af_session *session = af_inject_session();
	struct af_thread_context *t = NULL;

	if (session && af_rest_is_wanted() && !af_inject_in_vfork_child())
		t = af_thread_enter();
	if (!t)
		return;
	af_rest_write(t, NULL);
	uint64_t us = af_clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1000;
	atomic_store(handover(session),
	             (uint64_t)getpid() << 32 | (us < UINT32_MAX ? us : UINT32_MAX));
	af_thread_leave(t);
}
