#include "inject/sampler/sampler.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/system/proc.h"
#include "inject/arch/arch.h"
#include "inject/core/inject.h"
#include "inject/core/thread.h"
#include "inject/sampler/masks.h"
#include "inject/sampler/rest.h"
#include "inject/sampler/signals.h"
#include "inject/sampler/stack.h"
#include "inject/sampler/usage.h"
#include "inject/walk/modules.h"
#include "trace/write/cpu_event.h"
#include "unwind/notes.h"

enum { PREEMPTED_NS = 1000000 };

/*
 * Before Linux 6.1 the signal of a tick in the kernel is sent at once, and a system call that then
 * would wait ends with EINTR instead (commit ca6c21327c6a, perf: Fix missing SIGTRAPs).
 */
static bool kernel_ticks_are_harmless(void)
{
	return af_linux_is_at_least(6, 1);
}

/*
 * Go's runtime installs its handlers by the bare system call, over ours, and dies of a SIGTRAP that
 * it does not know. Its linker marks programs by a note of owner "Go" and type 4 (the build id).
 */
static bool is_go(void)
{
	const ElfW(Phdr) *ph = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	unsigned long nr = getauxval(AT_PHNUM);
	uintptr_t bias = 0;
	struct af_note note;

	for (unsigned long i = 0; ph && i < nr; i++)
		if (ph[i].p_type == PT_PHDR)
			bias = (uintptr_t)ph - ph[i].p_vaddr;
	for (unsigned long i = 0; ph && i < nr; i++) {
		if (ph[i].p_type != PT_NOTE)
			continue;
		struct af_notes notes =
		    af_notes_in((const void *)(bias + ph[i].p_vaddr), ph[i].p_memsz);
		while (af_note_next(&notes, &note))
			if (af_note_is(&note, 4, "Go\0", 4))
				return true;
	}
	return false;
}

/*
 * A debugger stops at every SIGTRAP, as if it had met a breakpoint, before any handler sees it;
 * SIGPROF it passes on. What is forked by a process that was debugged keeps to its way.
 */
static bool is_debugged(void)
{
	static bool was;

	was = was || af_proc_is_traced(0);
	return was;
}

/*
 * Where the recorder adds what happens in the kernel it also starts the event: until then, it
 * samples us from outside. Who has no right to see the kernel leaves that part to it.
 */
static int event_open(const struct af_session *session, bool *sees_kernel)
{
	bool joined = session->flags & AF_SESSION_KERNEL;
	int fd;

	*sees_kernel = joined && kernel_ticks_are_harmless();
	fd = af_cpu_event_open(session->sample_period_ns, *sees_kernel, !joined, AF_SAMPLER_COOKIE);
	if ((fd == -EACCES || fd == -EPERM) && *sees_kernel) {
		*sees_kernel = false;
		fd = af_cpu_event_open(session->sample_period_ns, false, false, AF_SAMPLER_COOKIE);
	}
	return fd;
}

void af_sampler_count_failed(void)
{
	struct af_session *session = af_inject_session();

	if (session)
		atomic_fetch_add(&session->sampler_failed, 1);
}

void af_sampler_await(void)
{
	struct af_session *session = af_inject_session();
	uint32_t own = af_inject_process();
	struct timespec patience = {.tv_nsec = 100000000};

	if (!session || session->cpu_mode != AF_CPU_PERF || !(session->flags & AF_SESSION_KERNEL))
		return;
	static uint32_t awaited; /* at most once for each process: nobody may come */
	if (awaited == own)
		return;
	awaited = own;
	_Atomic uint32_t *slot = &session->sampled[own % AF_SAMPLED_SLOTS];
	for (uint32_t is; (is = atomic_load(slot)) != own && session->state != AF_SESSION_OVER;)
		if (syscall(SYS_futex, slot, FUTEX_WAIT, is, &patience, NULL, 0) &&
		    errno != EAGAIN && errno != EINTR)
			break;
}

void af_sampler_start(void)
{
	struct af_session *session = af_inject_session();
	bool sees_kernel = false;
	int fd = -1, rc = 0;

	if (!session)
		return;
	uint32_t mode = session->cpu_mode;
	/* A recorder that samples processes from outside does so until it is given an event. */
	if (mode == AF_CPU_PERF && is_debugged()) {
		mode = session->flags & AF_SESSION_KERNEL ? 0 : AF_CPU_TIMER;
		af_inject_note("debugger", mode ? "had started a program: sampled by the timer"
		                                : "had started a program: sampled from outside");
	}
	if (mode && is_go()) {
		rc = -EOPNOTSUPP;
	} else if (mode == AF_CPU_PERF) {
		af_signals_sample(SIGTRAP);
		af_masks_adopt();
		/* In the constructor there is only this thread; all others inherit from it. */
		fd = event_open(session, &sees_kernel);
		rc = fd < 0 ? fd : 0;
	} else if (mode == AF_CPU_TIMER) {
		af_signals_sample(SIGPROF);
		af_masks_adopt();
		rc = af_sampler_timer_start(session->sample_period_ns,
		                            session->flags & AF_SESSION_WALL);
	}
	if (rc) {
		af_sampler_count_failed();
		af_usage_unsampled(
		    rc == -EOPNOTSUPP ? AF_UNSAMPLED_GO : AF_UNSAMPLED_SAMPLER_FAILED, 1, 0);
	}
	/* The recorder keeps the event: the program may close every descriptor it finds. */
	if (af_inject_register(fd, rc, sees_kernel) && fd >= 0)
		close(fd);
}

/*
 * si_perf_data follows si_addr in the kernel's siginfo (include/uapi/asm-generic/siginfo.h,
 * _sigfault._perf); glibc before 2.36 does not name it.
 */
static uint64_t siginfo_perf_data(const siginfo_t *info)
{
	return *(const uint64_t *)((const char *)&info->si_addr + sizeof(void *));
}

void af_sampler_exec(bool begins)
{
	struct af_session *session = af_inject_session();

	/* From Linux 6.10 on the recorder's program keeps the signal back (src/bpf). */
	if (!session || session->cpu_mode != AF_CPU_PERF || !(session->flags & AF_SESSION_KERNEL) ||
	    af_inject_in_vfork_child() || af_linux_is_at_least(6, 10))
		return;
	/* The first thread has opened the event; others have no switch of their own. */
	if (syscall(SYS_gettid) == getpid())
		prctl(begins ? PR_TASK_PERF_EVENTS_DISABLE : PR_TASK_PERF_EVENTS_ENABLE);
	else
		af_inject_ask(begins ? AF_ASK_EXEC_BEGINS : AF_ASK_EXEC_FAILED);
}

bool af_sampler_is_ours(int signo, const siginfo_t *info)
{
	if (signo == SIGTRAP)
		return info->si_code == TRAP_PERF &&
		       (uint32_t)siginfo_perf_data(info) == AF_SAMPLER_COOKIE;
	return signo == SIGPROF && info->si_code == SI_TIMER &&
	       (uint32_t)(uintptr_t)info->si_value.sival_ptr == AF_SAMPLER_COOKIE;
}

/*
 * A process that opens events for threads that exist may give a thread two, of its own and by
 * inheritance. They differ in the upper half of their data (zero, where there is one event for
 * all): its upper 16 bits count the starts, the lower ones the events. Only the first is heard.
 */
static bool is_second_event(const siginfo_t *info)
{
	static __thread uint32_t heard;
	uint32_t event = (uint32_t)(siginfo_perf_data(info) >> 32);

	if (heard >> 16 == event >> 16 && heard)
		return heard != event;
	heard = event;
	return false;
}

/* Is the program counter just behind the instruction that asks the kernel? */
static bool after_syscall(const struct af_regs *regs)
{
	uint8_t insn[AF_ARCH_SYSCALL_BYTES];

	return !af_guarded_read(insn, regs->pc - sizeof insn, sizeof insn) &&
	       !memcmp(insn, AF_ARCH_SYSCALL, sizeof insn);
}

/* A signal that is a sample, as the kernel hands it over. */
struct tick {
	struct af_session *session;
	int signo;
	const siginfo_t *info;
	const ucontext_t *context;
};

/*
 * Off the alternate stack that the signal came upon, the kernel would take it for free: a guarded
 * read that faults would begin at its top, over the frames of the program's handler. Switched off
 * it is until the signal's return brings it back.
 */
static void spare_alternate(const ucontext_t *context, uint64_t sp)
{
	const stack_t *alternate = &context->uc_stack;
	stack_t none = {.ss_flags = SS_DISABLE};

	if (sp - (uintptr_t)alternate->ss_sp <= alternate->ss_size && alternate->ss_size)
		af_arch_syscall(SYS_sigaltstack, (long)&none, 0, 0, 0);
}

/* Is one more sample kept? */
static bool sample_fits(struct af_session *session)
{
	if (!session->samples_most ||
	    atomic_fetch_add(&session->samples_came, 1) < session->samples_most)
		return true;
	atomic_fetch_add(&session->lost_capped, 1);
	return false;
}

static void tick_record(void *arg)
{
	const struct tick *tick = arg;
	struct af_session *session = tick->session;
	uint64_t begin_ns = af_now_ns();
	uint64_t weight_ns = session->sample_period_ns;
	uint32_t flags = 0;
	struct af_regs regs;

	af_arch_context(tick->context, &regs);
	spare_alternate(tick->context, regs.sp);
	if (af_inject_is_held(session))
		return;
	if (tick->signo == SIGPROF) {
		if (tick->info->si_overrun > 0)
			weight_ns *= 1 + (uint64_t)tick->info->si_overrun;
		if (af_sampler_timer_was_in_kernel(weight_ns, after_syscall(&regs)))
			flags |= AF_SAMPLE_SYSCALL;
	}
	af_inject_check_fork();
	af_rest_sampled(weight_ns);
	if (sample_fits(session))
		af_thread_sample(&regs, weight_ns, flags);

	/* A handler that was preempted says nothing of what it cost. */
	uint64_t took_ns = af_now_ns() - begin_ns;
	if (took_ns < PREEMPTED_NS) {
		atomic_fetch_add_explicit(&session->handler_ns, took_ns, memory_order_relaxed);
		atomic_fetch_add_explicit(&session->handler_calls, 1, memory_order_relaxed);
	}
}

void af_sampler_signal(int signo, siginfo_t *info, void *context)
{
	struct tick tick = {af_inject_recording(), signo, info, context};
	int rc = -EPERM;

	if (signo == SIGTRAP && is_second_event(info))
		return;
	/* A timer's sample asks clocks that hardly any program asks. */
	if (tick.session && (signo != SIGPROF || af_inject_may_call()))
		rc = af_stack_run(tick_record, &tick);
	if (!rc)
		return;
	if (af_inject_is_forbidden())
		af_inject_forbidden_sample();
	else if (tick.session)
		atomic_fetch_add(
		    rc == -EBUSY ? &tick.session->lost_busy : &tick.session->lost_no_stream, 1);
}
