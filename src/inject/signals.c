#include "inject/signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/inject.h"
#include "inject/modules.h"
#include "inject/sampler.h"

#define DOOR __attribute__((visibility("default")))

/* Room for one of the four signals we share with the program. */
struct shared_signal {
	int signo;
	bool ours;                /* our handler is installed */
	struct sigaction program; /* what the program believes is installed */
};

static struct shared_signal shared[] = {
    {.signo = SIGTRAP}, {.signo = SIGPROF}, {.signo = SIGSEGV}, {.signo = SIGBUS}};

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

/*
 * Ours, as close to the program's as can be: its mask, its choice of stack, its restart behaviour
 * are the kernel's business then. SA_RESETHAND is played by shared_forward().
 */
static int shared_install(struct shared_signal *s)
{
	struct sigaction act = s->program;
	bool handled = s->program.sa_handler != SIG_DFL && s->program.sa_handler != SIG_IGN;

	if (!handled) {
		act.sa_flags = SA_RESTART | SA_ONSTACK;
		/*
		 * A signal that comes together with a sample would run its handler on top of ours,
		 * which keeps its own signal blocked: all that time would go unsampled. A fault
		 * must get through, for guarded reads.
		 */
		sigfillset(&act.sa_mask);
		sigdelset(&act.sa_mask, SIGSEGV);
		sigdelset(&act.sa_mask, SIGBUS);
	}
	act.sa_flags |= SA_SIGINFO;
	act.sa_flags &= ~(int)SA_RESETHAND;
	act.sa_sigaction = signals_handle;
	int rc = call_real(s->signo, &act, NULL);
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

void af_signals_sample(int signo)
{
	shared_take(signo);
}

/* The default action of all four is to end the process: let the kernel do it, with the same core.
 */
static void shared_die(int signo, const siginfo_t *info)
{
	struct sigaction act = {.sa_handler = SIG_DFL};

	call_real(signo, &act, NULL);
	/* A fault happens again by itself when we return; what was sent must be sent again. */
	if (info->si_code <= 0 || signo == SIGTRAP || signo == SIGPROF)
		syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signo, info);
}

static void shared_forward(struct shared_signal *s, siginfo_t *info, void *context)
{
	struct sigaction program = s->program;
	bool fault = (s->signo == SIGSEGV || s->signo == SIGBUS) && info->si_code > 0;

	if (program.sa_handler == SIG_IGN && !fault)
		return;
	if (program.sa_handler == SIG_DFL || program.sa_handler == SIG_IGN) {
		s->ours = false;
		shared_die(s->signo, info);
		return;
	}
	if (program.sa_flags & (int)SA_RESETHAND) {
		s->program.sa_handler = SIG_DFL;
		s->program.sa_flags = 0;
	}
	if (program.sa_flags & SA_SIGINFO)
		program.sa_sigaction(s->signo, info, context);
	else
		program.sa_handler(s->signo);
}

static void signals_handle(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	if (signo == SIGSEGV || signo == SIGBUS) {
		if (info->si_code > 0 && af_guard_fault(context))
			return;
	} else if (af_sampler_signal(signo, info, context)) {
		errno = saved;
		return;
	}
	errno = saved;
	shared_forward(shared_find(signo), info, context);
}

/* sigaction(2) for the program. */
DOOR int sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
	struct shared_signal *s = shared_find(signo);

	if (!s || !s->ours)
		return call_real(signo, act, old);

	struct sigaction before = s->program;
	if (act) {
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

static sighandler_t signal_with_flags(int signo, sighandler_t handler, int flags)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = flags}, old;

	if (!(flags & (int)SA_NODEFER))
		sigaddset(&act.sa_mask, signo);
	return sigaction(signo, &act, &old) ? SIG_ERR : old.sa_handler;
}

/* signal(3), BSD semantics as in glibc; it does not go through the sigaction symbol. */
DOOR sighandler_t signal(int signo, sighandler_t handler)
{
	struct shared_signal *s = shared_find(signo);
	static sighandler_t (*real)(int, sighandler_t);

	if (s && s->ours)
		return signal_with_flags(signo, handler, SA_RESTART);
	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "signal");
	return real(signo, handler);
}
