#include "inject/sampler/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/system/handler_mask.h"
#include "inject/arch/arch.h"
#include "inject/core/inject.h"
#include "inject/core/interpose.h"
#include "inject/core/libc_calls.h"
#include "inject/sampler/masks.h"
#include "inject/sampler/sampler.h"
#include "inject/walk/modules.h"

/* Room for one of the signals we share with the program. */
struct shared_signal {
	int signo;
	bool ours;                /* our handler is installed */
	struct sigaction program; /* what the program believes is installed */
};

/* The last ones only where somebody wants to know that they end the program. */
static struct shared_signal shared[] = {{.signo = SIGTRAP}, {.signo = SIGPROF}, {.signo = SIGSEGV},
                                        {.signo = SIGBUS},  {.signo = SIGINT},  {.signo = SIGTERM},
                                        {.signo = SIGHUP},  {.signo = SIGQUIT}, {.signo = SIGABRT},
                                        {.signo = SIGILL},  {.signo = SIGFPE},  {.signo = SIGPIPE},
                                        {.signo = SIGALRM}, {.signo = SIGUSR1}, {.signo = SIGUSR2}};
enum { SHARED_ENDING = 4 };

static void (*volatile ending)(void);

/*
 * Smaller alternate stacks have no room for a second signal frame (up to 3.5 KiB with AVX-512, 11
 * with AMX) and a walk on top of the program's handler.
 */
enum { ALTERNATE_LEAST = 32 << 10 };

static volatile bool alternate_is_small;
static volatile bool held[_NSIG]; /* during whose handler we block the sampling signal */
static volatile int sampling;

/* Actions of the program for signals that it handles with the sampling signal blocked. */
static struct sigaction masking[_NSIG];

_Static_assert(AF_SIGNALS_FAULTS == (AF_SIGNAL_BIT(SIGSEGV) | AF_SIGNAL_BIT(SIGBUS)) &&
                   AF_SIGNALS_UNBLOCKABLE == (AF_SIGNAL_BIT(SIGKILL) | AF_SIGNAL_BIT(SIGSTOP)),
               "handler_mask.h has Linux' numbers");

static struct shared_signal *shared_find(int signo)
{
	for (unsigned i = 0; i < sizeof shared / sizeof *shared; i++)
		if (shared[i].signo == signo)
			return &shared[i];
	return NULL;
}

static void signals_handle(int signo, siginfo_t *info, void *context);

static __typeof__(&sigaction) libc_sigaction(void)
{
	static _Atomic(__typeof__(&sigaction)) found;
	__typeof__(&sigaction) real = atomic_load_explicit(&found, memory_order_relaxed);

	if (!real) {
		real = (__typeof__(&sigaction))af_libc_find("sigaction");
		atomic_store_explicit(&found, real, memory_order_relaxed);
	}
	return real;
}

/*
 * Our signals bypass wrappers of sigaction(): TSan's runtime would put a sample off until the
 * program calls something.
 */
static int call_real(int signo, const struct sigaction *act, struct sigaction *old)
{
	const struct shared_signal *s = shared_find(signo);

	if (s && (s->ours || (act && act->sa_sigaction == signals_handle)))
		return libc_sigaction()(signo, act, old);
	return REAL(sigaction)(signo, act, old);
}

static bool is_fault(int signo)
{
	return signo == SIGSEGV || signo == SIGBUS;
}

static bool is_synchronous(int signo)
{
	return is_fault(signo) || signo == SIGILL || signo == SIGFPE;
}

static bool is_handled(const struct sigaction *act)
{
	return act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN;
}

static bool is_on_small_stack(const struct sigaction *act)
{
	return alternate_is_small && act->sa_flags & SA_ONSTACK;
}

/* Give @act to the kernel; on small stacks of their own handlers hold samples back. */
static int install_held(int signo, const struct sigaction *act)
{
	struct sigaction more = *act;

	if (!sampling || !is_handled(act) || !is_on_small_stack(act) ||
	    sigismember(&act->sa_mask, sampling)) {
		held[signo] = false;
		return call_real(signo, act, NULL);
	}
	sigaddset(&more.sa_mask, sampling);
	int rc = call_real(signo, &more, NULL);
	if (!rc)
		held[signo] = true;
	return rc;
}

/* In the place of a handler that blocks the sampling signal: what it does is sampled. */
static void masking_handle(int signo, siginfo_t *info, void *context)
{
	struct sigaction program = masking[signo];
	struct af_mask_wish before = af_masks_handler_begins(true);

	if (program.sa_flags & SA_SIGINFO)
		program.sa_sigaction(signo, info, context);
	else
		program.sa_handler(signo);
	af_masks_handler_ends(before);
}

/* For a signal that we do not share. The kernel passes all three arguments to any handler. */
static int unshared_install(int signo, const struct sigaction *act)
{
	struct sigaction less = *act;

	if (!is_handled(act) || !sigismember(&act->sa_mask, sampling))
		return install_held(signo, act);
	masking[signo] = *act;
	less.sa_sigaction = masking_handle;
	sigdelset(&less.sa_mask, sampling);
	return install_held(signo, &less);
}

/* Give the kernel the action that the program set. */
static void unshared_report(int signo, struct sigaction *act)
{
	if (act->sa_sigaction == masking_handle) {
		act->sa_handler = masking[signo].sa_handler;
		sigaddset(&act->sa_mask, sampling);
	} else if (held[signo]) {
		sigdelset(&act->sa_mask, sampling);
	}
}

/*
 * Ours, as close to the program's as can be: its choice of stack and its restart behaviour are the
 * kernel's business then. SA_RESETHAND is played by shared_forward(). A sample is taken with all
 * signals blocked: a handler that ran on top of it would go unsampled, as would the thread for ever
 * if it jumped out. A fault must get through, for guarded reads.
 */
static int shared_install(struct shared_signal *s)
{
	const uint64_t handler_mask = AF_HANDLER_MASK; /* the kernel's sigset is a word */
	bool fault = is_fault(s->signo);
	struct sigaction act = s->program;

	if (!is_handled(&s->program)) {
		act.sa_flags = SA_RESTART;
		sigemptyset(&act.sa_mask);
	}
	if (!fault) {
		sigemptyset(&act.sa_mask);
		memcpy(&act.sa_mask, &handler_mask, sizeof handler_mask);
		act.sa_flags &= ~SA_NODEFER;
	} else if (sampling) {
		sigdelset(&act.sa_mask, sampling);
	}
	act.sa_flags |= SA_SIGINFO;
	act.sa_flags &= ~(int)SA_RESETHAND;
	act.sa_sigaction = signals_handle;
	int rc = install_held(s->signo, &act);
	s->ours = !rc;
	return rc;
}

static void shared_take(int signo)
{
	struct shared_signal *s = shared_find(signo);

	if (!s->ours && !call_real(signo, NULL, &s->program))
		shared_install(s);
}

void af_signals_start(void)
{
	shared_take(SIGSEGV);
	shared_take(SIGBUS);
	af_guard_arm(true);
}

/*
 * Only where the default action is the program's wish now: what it handles or ignores is its own.
 */
void af_signals_ending(void (*last)(void))
{
	struct sigaction act;

	ending = last;
	for (unsigned i = SHARED_ENDING; i < sizeof shared / sizeof *shared; i++)
		if (!call_real(shared[i].signo, NULL, &act) && act.sa_handler == SIG_DFL)
			shared_take(shared[i].signo);
}

void af_signals_sample(int signo)
{
	sampling = signo;
	shared_take(signo);
}

int af_signals_sampling(void)
{
	return sampling;
}

bool af_signals_sampling_is_replaced(void)
{
	const struct shared_signal *s = shared_find(sampling);
	struct sigaction act;

	return s && s->ours && !call_real(sampling, NULL, &act) &&
	       act.sa_sigaction != signals_handle;
}

bool af_signals_sampling_is_ignored(void)
{
	const struct shared_signal *s = shared_find(sampling);

	return s && s->ours && s->program.sa_handler == SIG_IGN;
}

bool af_signals_shares(int signo)
{
	const struct shared_signal *s = shared_find(signo);
	struct sigaction act;

	if (s && s->ours)
		return true;
	return signo >= 1 && signo < _NSIG && masking[signo].sa_handler &&
	       !call_real(signo, NULL, &act) && act.sa_sigaction == masking_handle;
}

void af_signals_alternate(size_t size)
{
	struct sigaction act;

	if (size >= ALTERNATE_LEAST || alternate_is_small)
		return;
	alternate_is_small = true;
	for (int signo = 1; signo < _NSIG; signo++)
		if (!call_real(signo, NULL, &act) && act.sa_flags & SA_ONSTACK && is_handled(&act))
			install_held(signo, &act);
}

/*
 * The default action of all of them is to end the process: let the kernel do it, with the same
 * core.
 */
static void shared_die(int signo, const siginfo_t *info)
{
	struct sigaction act = {.sa_handler = SIG_DFL};

	call_real(signo, &act, NULL);
	/* A fault happens again by itself when we return; what was sent must be sent again. */
	if (info->si_code <= 0 || !is_synchronous(signo))
		syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signo, info);
}

/* Does the program's handler run with the sampling signal blocked, as the program sees it? */
static bool blocks_sampling(const struct shared_signal *s, const struct sigaction *program)
{
	return sampling && (sigismember(&program->sa_mask, sampling) ||
	                    (s->signo == sampling && !(program->sa_flags & SA_NODEFER)));
}

/*
 * The mask that the kernel would have given the program's handler, but for the sampling signal,
 * which is blocked only where there is no room for a sample. The kernel's sigset is a word.
 */
static void mask_as_program(const struct shared_signal *s, const struct sigaction *program,
                            void *context)
{
	const ucontext_t *interrupted = context;
	uint64_t before, mask, sample = sampling ? 1ull << (sampling - 1) : 0;

	memcpy(&before, &interrupted->uc_sigmask, sizeof before);
	memcpy(&mask, &program->sa_mask, sizeof mask);
	mask = (mask & ~sample) | before;
	if (s->signo != sampling && !(program->sa_flags & SA_NODEFER))
		mask |= 1ull << (s->signo - 1);
	if (is_on_small_stack(program))
		mask |= sample;
	af_arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask);
}

static void shared_forward(struct shared_signal *s, siginfo_t *info, void *context)
{
	struct sigaction program = s->program;
	bool fault = is_fault(s->signo) && info->si_code > 0;

	if (program.sa_handler == SIG_IGN && !fault)
		return;
	if (program.sa_handler == SIG_DFL || program.sa_handler == SIG_IGN) {
		s->ours = false;
		if (ending)
			ending();
		shared_die(s->signo, info);
		return;
	}
	if (program.sa_flags & (int)SA_RESETHAND) {
		s->program.sa_handler = SIG_DFL;
		s->program.sa_flags = 0;
	}
	struct af_mask_wish before = af_masks_handler_begins(blocks_sampling(s, &program));
	if (!fault)
		mask_as_program(s, &program, context);
	if (program.sa_flags & SA_SIGINFO)
		program.sa_sigaction(s->signo, info, context);
	else
		program.sa_handler(s->signo);
	af_masks_handler_ends(before);
}

/*
 * The sampling signal, but no sample, while the program blocks it. What the kernel raised in the
 * thread itself (a breakpoint) ends a program that blocks it, as force_sig() has it.
 */
static void blocked_arrive(struct shared_signal *s, siginfo_t *info, void *context)
{
	if (s->signo == SIGTRAP && info->si_code > 0 && info->si_code != TRAP_PERF) {
		s->ours = false;
		if (ending)
			ending();
		shared_die(s->signo, info);
		return;
	}
	af_masks_give_in(s->signo, info, context);
}

/* A guarded read that faults ends a thread that blocks faults. The kernel's sigset is a word. */
static void faults_unblock(const ucontext_t *interrupted)
{
	uint64_t blocked, faults = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);

	memcpy(&blocked, &interrupted->uc_sigmask, sizeof blocked);
	faults &= blocked;
	if (faults)
		af_arch_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&faults, 0, sizeof faults);
}

static void signals_handle(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	if (is_fault(signo)) {
		if (info->si_code > 0 && af_guard_fault(context))
			return;
	} else if (signo == sampling && af_sampler_is_ours(signo, info)) {
		faults_unblock(context);
		af_sampler_signal(signo, info, context);
		errno = saved;
		return;
	}
	errno = saved;
	if (signo == sampling && af_masks_blocks())
		blocked_arrive(shared_find(signo), info, context);
	else
		shared_forward(shared_find(signo), info, context);
}

void af_signals_before_exec(bool faults)
{
	for (unsigned i = 0; i < sizeof shared / sizeof *shared; i++) {
		struct shared_signal *s = &shared[i];
		if (s->ours && s->program.sa_handler == SIG_IGN && (faults || !is_fault(s->signo)))
			call_real(s->signo, &s->program, NULL);
	}
}

void af_signals_after_exec(void)
{
	for (unsigned i = 0; i < sizeof shared / sizeof *shared; i++)
		if (shared[i].ours && shared[i].program.sa_handler == SIG_IGN)
			shared_install(&shared[i]);
}

/*
 * sigaction(2) for the program. A child of vfork() has signal actions of its own but our memory:
 * what it asks for goes to the kernel as it is.
 */
__attribute__((visibility("default"))) int sigaction(int signo, const struct sigaction *act,
                                                     struct sigaction *old)
{
	struct shared_signal *s = shared_find(signo);

	if (s && s->ours) {
		struct sigaction before = s->program;
		if (act && af_inject_in_vfork_child()) {
			if (call_real(signo, act, NULL))
				return -1;
		} else if (act) {
			s->program = *act;
			if (shared_install(s)) {
				s->program = before;
				return -1;
			}
		}
		if (old)
			*old = before;
		return 0;
	}
	if (signo < 1 || signo >= _NSIG || !sampling)
		return call_real(signo, act, old);
	if (af_inject_in_vfork_child()) {
		int rc = call_real(signo, act, old);
		if (!rc && old)
			unshared_report(signo, old);
		return rc;
	}

	struct sigaction before;
	if (call_real(signo, NULL, &before))
		return -1;
	unshared_report(signo, &before);
	if (act && unshared_install(signo, act))
		return -1;
	if (old)
		*old = before;
	return 0;
}
