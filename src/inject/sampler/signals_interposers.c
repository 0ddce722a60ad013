/*
 * The functions that set signal handlers or wait for signals, interposed: see signals.h and below.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/system/clock.h"
#include "inject/arch/arch.h"
#include "inject/core/inject.h"
#include "inject/core/interpose.h"
#include "inject/core/thread.h"
#include "inject/sampler/masks.h"
#include "inject/sampler/sampler.h"
#include "inject/sampler/seccomp.h"
#include "inject/sampler/signals.h"
#include "inject/walk/guard.h"
#include "trace/write/stream.h"

/*
 * glibc's other ways to set a handler do not go through the sigaction symbol, and those that wait
 * for signals would be given ours. Each does for the signals that we share what its page of POSIX
 * or of the manual says, and is glibc's own for all others.
 */

/* The old ones are deprecated for those who call them. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* Not declared everywhere any more. */
INTERPOSE sighandler_t bsd_signal(int signo, sighandler_t handler);
INTERPOSE sighandler_t ssignal(int signo, sighandler_t handler);
INTERPOSE sighandler_t sysv_signal(int signo, sighandler_t handler);
INTERPOSE sighandler_t __sysv_signal(int signo, sighandler_t handler);
INTERPOSE int siginterrupt(int signo, int interrupt);
INTERPOSE sighandler_t sigset(int signo, sighandler_t disposition);
INTERPOSE int sigignore(int signo);

static volatile bool interrupts[_NSIG]; /* siginterrupt(3) */

static sighandler_t signal_with_flags(int signo, sighandler_t handler, int flags)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = flags}, old;

	if (!(flags & (int)(SA_NODEFER | SA_RESETHAND)))
		sigaddset(&act.sa_mask, signo);
	return sigaction(signo, &act, &old) ? SIG_ERR : old.sa_handler;
}

/* BSD semantics, as in glibc. */
INTERPOSE sighandler_t signal(int signo, sighandler_t handler)
{
	if (!af_signals_shares(signo))
		return REAL(signal)(signo, handler);
	return signal_with_flags(signo, handler, interrupts[signo] ? 0 : SA_RESTART);
}

INTERPOSE sighandler_t bsd_signal(int signo, sighandler_t handler)
{
	return signal(signo, handler);
}

INTERPOSE sighandler_t ssignal(int signo, sighandler_t handler)
{
	return signal(signo, handler);
}

INTERPOSE sighandler_t sysv_signal(int signo, sighandler_t handler)
{
	if (!af_signals_shares(signo))
		return REAL(sysv_signal)(signo, handler);
	return signal_with_flags(signo, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

/* signal() as it is in programs compiled for System V or strict X/Open. */
INTERPOSE sighandler_t __sysv_signal(int signo, sighandler_t handler)
{
	return sysv_signal(signo, handler);
}

INTERPOSE int siginterrupt(int signo, int interrupt)
{
	struct sigaction act;

	if (!af_signals_shares(signo))
		return REAL(siginterrupt)(signo, interrupt);
	if (sigaction(signo, NULL, &act))
		return -1;
	interrupts[signo] = interrupt;
	act.sa_flags = interrupt ? act.sa_flags & ~SA_RESTART : act.sa_flags | SA_RESTART;
	return sigaction(signo, &act, NULL);
}

INTERPOSE sighandler_t sigset(int signo, sighandler_t disposition)
{
	sigset_t one, before;
	struct sigaction act = {.sa_handler = disposition}, old;

	if (!af_signals_shares(signo))
		return REAL(sigset)(signo, disposition);
	sigemptyset(&one);
	sigaddset(&one, signo);
	if (disposition == SIG_HOLD) {
		if (sigaction(signo, NULL, &old) || sigprocmask(SIG_BLOCK, &one, &before))
			return SIG_ERR;
	} else if (sigaction(signo, &act, &old) || sigprocmask(SIG_UNBLOCK, &one, &before)) {
		return SIG_ERR;
	}
	return sigismember(&before, signo) ? SIG_HOLD : old.sa_handler;
}

INTERPOSE int sigignore(int signo)
{
	struct sigaction act = {.sa_handler = SIG_IGN};

	return af_signals_shares(signo) ? sigaction(signo, &act, NULL) : REAL(sigignore)(signo);
}

static void time_left(struct timespec *left, uint64_t end_ns)
{
	uint64_t now = af_now_ns(), ns = end_ns > now ? end_ns - now : 0;

	*left = (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

/* A sample that came while its signal was blocked is nothing the program waits for. */
INTERPOSE int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	__typeof__(&sigtimedwait) real = REAL(sigtimedwait);
	struct timespec left;
	siginfo_t got;

	int signo = af_signals_sampling();
	if (!signo || !sigismember(set, signo))
		return real(set, info, timeout);
	uint64_t end_ns = 0;
	if (timeout) {
		left = *timeout;
		end_ns = af_now_ns() + af_timespec_ns(&left);
	}
	for (;;) {
		/* A signal that is no sample waits in the kernel, not for a handler. */
		struct af_mask_wish before = af_masks_make_real();
		int rc = real(set, &got, timeout ? &left : NULL), saved = errno;
		if (rc == signo) /* what it had given in for */
			before.given_in = false;
		af_masks_put(before);
		errno = saved;
		if (rc < 0)
			return rc;
		if (!af_sampler_is_ours(rc, &got)) {
			if (info)
				*info = got;
			return rc;
		}
		if (timeout)
			time_left(&left, end_ns);
	}
}

INTERPOSE int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return sigtimedwait(set, info, NULL);
}

INTERPOSE int sigwait(const sigset_t *set, int *signo)
{
	int rc;

	do
		rc = sigtimedwait(set, NULL, NULL);
	while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return errno;
	*signo = rc;
	return 0;
}

/* A descriptor cannot be read past a sample: ours is left out of what it gives. */
INTERPOSE int signalfd(int fd, const sigset_t *mask, int flags)
{
	int signo = af_signals_sampling();
	sigset_t less;

	if (!signo || !sigismember(mask, signo))
		return REAL(signalfd)(fd, mask, flags);
	less = *mask;
	sigdelset(&less, signo);
	return REAL(signalfd)(fd, &less, flags);
}

INTERPOSE int sigaltstack(const stack_t *stack, stack_t *old)
{
	int rc = REAL(sigaltstack)(stack, old);

	if (!rc && stack && !(stack->ss_flags & SS_DISABLE) && !af_inject_in_vfork_child())
		af_signals_alternate(stack->ss_size);
	return rc;
}

/*
 * A filter that ends the program for what recording calls; strict seccomp does for any system call
 * but four. From there on we make none. The filter only adds to those that are there already.
 */
static void seccomp_comes(bool strict, unsigned long filter)
{
	if (strict || af_seccomp_forbids((const struct sock_fprog *)filter))
		af_inject_forbidden();
	else
		af_inject_filtered();
}

INTERPOSE int prctl(int option, ...)
{
	unsigned long arg[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_SECCOMP)
		seccomp_comes(arg[0] == SECCOMP_MODE_STRICT, arg[1]);
	int rc = REAL(prctl)(option, arg[0], arg[1], arg[2], arg[3]);
	if (option == PR_SET_NAME && !rc)
		af_thread_renamed();
	return rc;
}

/* The name of another thread is read when that thread begins to write. */
INTERPOSE int pthread_setname_np(pthread_t thread, const char *name)
{
	int rc = REAL(pthread_setname_np)(thread, name);

	if (!rc && pthread_equal(thread, pthread_self()))
		af_thread_renamed();
	return rc;
}

static int kernel_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	long rc = af_arch_syscall(SYS_rt_sigprocmask, how, (long)set, (long)old, sizeof(uint64_t));

	if (rc < 0)
		errno = (int)-rc;
	return rc < 0 ? -1 : 0;
}

/*
 * glibc has no function for seccomp(2), so all its users call this one. As in glibc, six arguments
 * are read, however many were given.
 */
__attribute__((no_sanitize("address"))) INTERPOSE long syscall(long number, ...)
{
	long arg[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_seccomp && arg[0] == SECCOMP_SET_MODE_STRICT)
		seccomp_comes(true, 0);
	else if (number == SYS_seccomp && arg[0] == SECCOMP_SET_MODE_FILTER)
		seccomp_comes(false, (unsigned long)arg[2]);
	uint64_t mask;
	if (number == SYS_rt_sigprocmask && arg[3] == sizeof mask &&
	    (!arg[1] || !af_guarded_read(&mask, (uint64_t)arg[1], sizeof mask)))
		return af_masks_change((int)arg[0], (const sigset_t *)arg[1], (sigset_t *)arg[2],
		                       kernel_sigprocmask);
	long rc = af_arch_syscall6(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	if (rc < 0 && rc >= -4095) {
		errno = (int)-rc;
		return -1;
	}
	return rc;
}
