#include "inject/signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "inject/inject.h"
#include "inject/modules.h"
#include "inject/sampler.h"

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
 * Of alternate stacks with less there is no room for a second signal frame (up to 3.5 KiB with
 * AVX-512, 11 with AMX) and a walk on top of the program's handler.
 */
enum { ALTERNATE_LEAST = 32 << 10 };

static volatile bool alternate_is_small;
static volatile bool held[_NSIG]; /* during whose handler we block the sampling signal */
static volatile int sampling;

static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);

static struct shared_signal *shared_find(int signo)
{
	for (unsigned i = 0; i < sizeof shared / sizeof *shared; i++)
		if (shared[i].signo == signo)
			return &shared[i];
	return NULL;
}

static int call_real(int signo, const struct sigaction *act, struct sigaction *old)
{
	if (!real_sigaction)
		real_sigaction = (__typeof__(real_sigaction))dlsym(RTLD_NEXT, "sigaction");
	return real_sigaction(signo, act, old);
}

static void signals_handle(int signo, siginfo_t *info, void *context);

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

/* Give @act to the kernel; on small stacks of their own handlers hold samples back. */
static int install_held(int signo, const struct sigaction *act)
{
	struct sigaction more = *act;

	if (!alternate_is_small || !sampling || !is_handled(act) || !(act->sa_flags & SA_ONSTACK) ||
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

/*
 * Ours, as close to the program's as can be: its choice of stack and its restart behaviour are the
 * kernel's business then. SA_RESETHAND is played by shared_forward(). A sample is taken with all
 * signals blocked: a handler that ran on top of it would go unsampled, as would the thread for ever
 * if it jumped out. A fault must get through, for guarded reads.
 */
static int shared_install(struct shared_signal *s)
{
	bool fault = is_fault(s->signo);
	struct sigaction act = s->program;

	if (!is_handled(&s->program)) {
		act.sa_flags = SA_RESTART;
		sigemptyset(&act.sa_mask);
	}
	if (!fault) {
		sigfillset(&act.sa_mask);
		sigdelset(&act.sa_mask, SIGSEGV);
		sigdelset(&act.sa_mask, SIGBUS);
		act.sa_flags &= ~SA_NODEFER;
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

/* Only where the default action is the program's wish now: what it handles or ignores is its own.
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

bool af_signals_sampling_is_ignored(void)
{
	const struct shared_signal *s = shared_find(sampling);

	return s && s->ours && s->program.sa_handler == SIG_IGN;
}

bool af_signals_shares(int signo)
{
	const struct shared_signal *s = shared_find(signo);

	return s && s->ours;
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

/* The default action of all of them is to end the process: let the kernel do it, with the same
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

/* The mask that the kernel would have given the program's handler. The kernel's sigset is a word.
 */
static void mask_as_program(const struct shared_signal *s, const struct sigaction *program,
                            void *context)
{
	const ucontext_t *interrupted = context;
	uint64_t mask, more;

	memcpy(&mask, &interrupted->uc_sigmask, sizeof mask);
	memcpy(&more, &program->sa_mask, sizeof more);
	mask |= more;
	if (!(program->sa_flags & SA_NODEFER))
		mask |= 1ull << (s->signo - 1);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
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
	if (!fault)
		mask_as_program(s, &program, context);
	if (program.sa_flags & SA_SIGINFO)
		program.sa_sigaction(s->signo, info, context);
	else
		program.sa_handler(s->signo);
}

static void signals_handle(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	if (is_fault(signo)) {
		if (info->si_code > 0 && af_guard_fault(context))
			return;
	} else if (af_sampler_signal(signo, info, context)) {
		errno = saved;
		return;
	}
	errno = saved;
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
	if (signo < 1 || signo >= _NSIG || !sampling || af_inject_in_vfork_child())
		return call_real(signo, act, old);

	bool was_held = held[signo];
	struct sigaction before;
	if (call_real(signo, NULL, &before) || (act && install_held(signo, act)))
		return -1;
	if (was_held)
		sigdelset(&before.sa_mask, sampling);
	if (old)
		*old = before;
	return 0;
}
