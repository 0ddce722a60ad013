/* The functions that set a thread's signal mask, interposed: see masks.h and below. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "inject/core/interpose.h"
#include "inject/sampler/masks.h"
#include "inject/sampler/signals.h"

/*
 * The functions of libc that set or report the calling thread's signal mask, and those that wait
 * with another one. Not here: what sets the mask of a later thread or program
 * (pthread_attr_setsigmask_np, posix_spawnattr_setsigmask), which is looked at when that begins,
 * and contexts (setcontext), which carry the kernel's mask.
 */

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* glibc declares them in no header, or only with _FORTIFY_SOURCE. */
INTERPOSE int __ppoll_chk(struct pollfd *fds, nfds_t nr, const struct timespec *timeout,
                          const sigset_t *mask, size_t size);
INTERPOSE void __longjmp_chk(struct __jmp_buf_tag env[1], int value) __attribute__((noreturn));
INTERPOSE int epoll_pwait2(int fd, struct epoll_event *events, int nr,
                           const struct timespec *timeout, const sigset_t *mask);
INTERPOSE int sigblock(int mask);
INTERPOSE int sigsetmask(int mask);

INTERPOSE int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return af_masks_change(how, set, old, REAL(sigprocmask));
}

INTERPOSE int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return af_masks_change(how, set, old, REAL(pthread_sigmask));
}

/* BSD's: a mask is an int, of signals 1 to 32. */
static int change_32(int how, int mask)
{
	sigset_t set, old;

	sigemptyset(&set);
	set.__val[0] = (unsigned int)mask;
	if (sigprocmask(how, &set, &old))
		return -1;
	return (int)(unsigned int)old.__val[0];
}

INTERPOSE int sigblock(int mask)
{
	return change_32(SIG_BLOCK, mask);
}

INTERPOSE int sigsetmask(int mask)
{
	return change_32(SIG_SETMASK, mask);
}

INTERPOSE int siggetmask(void)
{
	return change_32(SIG_BLOCK, 0);
}

static int change_one(int how, int signo)
{
	sigset_t one;

	sigemptyset(&one);
	return sigaddset(&one, signo) ? -1 : sigprocmask(how, &one, NULL);
}

INTERPOSE int sighold(int signo)
{
	return change_one(SIG_BLOCK, signo);
}

INTERPOSE int sigrelse(int signo)
{
	return change_one(SIG_UNBLOCK, signo);
}

/* @call has the mask as `given`. */
#define WAIT(mask, call)                                                                           \
	({                                                                                         \
		struct af_mask_wish before_;                                                       \
		sigset_t room_;                                                                    \
		const sigset_t *given = af_masks_wait(mask, &room_, &before_);                     \
		int rc_ = (call);                                                                  \
		af_masks_put(before_);                                                             \
		rc_;                                                                               \
	})

INTERPOSE int sigsuspend(const sigset_t *mask)
{
	return WAIT(mask, REAL(sigsuspend)(given));
}

INTERPOSE int ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *timeout,
                    const sigset_t *mask)
{
	return WAIT(mask, REAL(ppoll)(fds, nr, timeout, given));
}

INTERPOSE int __ppoll_chk(struct pollfd *fds, nfds_t nr, const struct timespec *timeout,
                          const sigset_t *mask, size_t size)
{
	return WAIT(mask, REAL(__ppoll_chk)(fds, nr, timeout, given, size));
}

INTERPOSE int pselect(int nr, fd_set *in, fd_set *out, fd_set *except,
                      const struct timespec *timeout, const sigset_t *mask)
{
	return WAIT(mask, REAL(pselect)(nr, in, out, except, timeout, given));
}

INTERPOSE int epoll_pwait(int fd, struct epoll_event *events, int nr, int timeout,
                          const sigset_t *mask)
{
	return WAIT(mask, REAL(epoll_pwait)(fd, events, nr, timeout, given));
}

INTERPOSE int epoll_pwait2(int fd, struct epoll_event *events, int nr,
                           const struct timespec *timeout, const sigset_t *mask)
{
	if (!REAL(epoll_pwait2)) { /* before glibc 2.35 */
		errno = ENOSYS;
		return -1;
	}
	return WAIT(mask, REAL(epoll_pwait2)(fd, events, nr, timeout, given));
}

/* Before a jump, which may restore the mask of sigsetjmp(). */
static void jump(const struct __jmp_buf_tag *env)
{
	if (env->__mask_was_saved)
		af_masks_jump();
	else
		af_masks_jump_out();
}

INTERPOSE void siglongjmp(struct __jmp_buf_tag env[1], int value)
{
	jump(env);
	REAL(siglongjmp)(env, value);
	__builtin_unreachable();
}

INTERPOSE void longjmp(struct __jmp_buf_tag env[1], int value)
{
	jump(env);
	REAL(longjmp)(env, value);
	__builtin_unreachable();
}

INTERPOSE void _longjmp(struct __jmp_buf_tag env[1], int value)
{
	jump(env);
	REAL(_longjmp)(env, value);
	__builtin_unreachable();
}

INTERPOSE void __longjmp_chk(struct __jmp_buf_tag env[1], int value)
{
	jump(env);
	REAL(__longjmp_chk)(env, value);
	__builtin_unreachable();
}
