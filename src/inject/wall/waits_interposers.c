/*
 * Functions that wait, and that a signal handler ends early whatever its flags are: SIGPROF, which
 * carries samples of the wall clock, waits until they are done. Those that wait under a signal mask
 * of the caller's get it with SIGPROF blocked.
 */
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "inject/arch/arch.h"

#define WAITS __attribute__((visibility("default")))
#define SET_BYTES 8 /* the kernel's signal set */
#define PROF_BIT (UINT64_C(1) << (SIGPROF - 1))

/* Block SIGPROF for this thread; returns whether the caller is to release it. */
static bool hold(void)
{
	uint64_t prof = PROF_BIT, old = PROF_BIT;

	/* The interposed ones of libaflame.so would keep it from the kernel. */
	af_arch_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&prof, (long)&old, SET_BYTES);
	return !(old & PROF_BIT);
}

/*
 * The same where @fd is a socket with a time limit, for functions that restart otherwise: @limit is
 * SO_RCVTIMEO or SO_SNDTIMEO.
 */
static bool hold_socket(int fd, int limit)
{
	struct timeval time = {0};
	socklen_t size = sizeof time;

	return !af_arch_syscall6(SYS_getsockopt, fd, SOL_SOCKET, limit, (long)&time, (long)&size,
	                         0) &&
	       (time.tv_sec || time.tv_usec) && hold();
}

/* The ticks of the wait come here, as one signal. */
static void release(bool held)
{
	int error = errno;
	uint64_t prof = PROF_BIT;

	if (held)
		af_arch_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&prof, 0, SET_BYTES);
	errno = error;
}

/* Several threads may find a function at once, and find the same. */
#define NEXT(name)                                                                                 \
	({                                                                                         \
		static _Atomic(__typeof__(&name)) found_;                                          \
		__typeof__(&name) next_ = found_;                                                  \
		if (!next_)                                                                        \
			found_ = next_ = (__typeof__(&name))dlsym(RTLD_NEXT, #name);               \
		next_;                                                                             \
	})

/* A function that waits: its type, name, parameters, arguments. */
#define WAIT(type, name, parameters, arguments)                                                    \
	WAITS type name parameters                                                                 \
	{                                                                                          \
		bool held = hold();                                                                \
		type rc = NEXT(name) arguments;                                                    \
                                                                                                   \
		release(held);                                                                     \
		return rc;                                                                         \
	}

/* The same where a socket has a time limit. */
#define WAIT_SOCKET(limit, name, parameters, arguments)                                            \
	WAITS ssize_t name parameters                                                              \
	{                                                                                          \
		bool held = hold_socket(fd, limit);                                                \
		ssize_t rc = NEXT(name) arguments;                                                 \
                                                                                                   \
		release(held);                                                                     \
		return rc;                                                                         \
	}

/* The same with a signal mask @mask, which may be NULL. */
#define WAIT_MASKED(name, parameters, arguments)                                                   \
	WAITS int name parameters                                                                  \
	{                                                                                          \
		sigset_t own;                                                                      \
		const sigset_t *with = mask_with_prof(mask, &own);                                 \
		bool held = hold();                                                                \
		int rc = NEXT(name) arguments;                                                     \
                                                                                                   \
		release(held);                                                                     \
		return rc;                                                                         \
	}

static const sigset_t *mask_with_prof(const sigset_t *mask, sigset_t *own)
{
	if (!mask)
		return NULL;
	*own = *mask;
	sigaddset(own, SIGPROF);
	return own;
}

/* Symbols of fortified programs and of newer libraries, which headers may lack. */
WAITS int __poll_chk(struct pollfd *fds, nfds_t nr, int ms, size_t size);
WAITS int __ppoll_chk(struct pollfd *fds, nfds_t nr, const struct timespec *time,
                      const sigset_t *mask, size_t size);
WAITS ssize_t __read_chk(int fd, void *to, size_t size, size_t most);
WAITS ssize_t __recv_chk(int fd, void *to, size_t size, size_t most, int flags);
WAITS ssize_t __recvfrom_chk(int fd, void *to, size_t size, size_t most, int flags,
                             struct sockaddr *from, socklen_t *len);
WAITS int epoll_pwait2(int fd, struct epoll_event *events, int most, const struct timespec *time,
                       const sigset_t *mask);
struct io_event;
WAITS int io_getevents(void *context, long least, long most, struct io_event *events,
                       struct timespec *time);
WAITS int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until);

WAIT(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))
WAIT(int, clock_nanosleep,
     (clockid_t clock, int flags, const struct timespec *time, struct timespec *left),
     (clock, flags, time, left))
WAIT(int, usleep, (useconds_t us), (us))
WAIT(unsigned, sleep, (unsigned s), (s))
WAIT(int, pause, (void), ())
WAIT(int, thrd_sleep, (const struct timespec *time, struct timespec *left), (time, left))

WAIT(int, poll, (struct pollfd * fds, nfds_t nr, int ms), (fds, nr, ms))
WAIT(int, __poll_chk, (struct pollfd * fds, nfds_t nr, int ms, size_t size), (fds, nr, ms, size))
WAIT(int, select, (int nr, fd_set *in, fd_set *out, fd_set *except, struct timeval *time),
     (nr, in, out, except, time))
WAIT(int, epoll_wait, (int fd, struct epoll_event *events, int most, int ms),
     (fd, events, most, ms))
WAIT_MASKED(ppoll,
            (struct pollfd * fds, nfds_t nr, const struct timespec *time, const sigset_t *mask),
            (fds, nr, time, with))
WAIT_MASKED(__ppoll_chk,
            (struct pollfd * fds, nfds_t nr, const struct timespec *time, const sigset_t *mask,
             size_t size),
            (fds, nr, time, with, size))
WAIT_MASKED(pselect,
            (int nr, fd_set *in, fd_set *out, fd_set *except, const struct timespec *time,
             const sigset_t *mask),
            (nr, in, out, except, time, with))
WAIT_MASKED(epoll_pwait,
            (int fd, struct epoll_event *events, int most, int ms, const sigset_t *mask),
            (fd, events, most, ms, with))
WAIT_MASKED(epoll_pwait2,
            (int fd, struct epoll_event *events, int most, const struct timespec *time,
             const sigset_t *mask),
            (fd, events, most, time, with))
WAIT_MASKED(sigsuspend, (const sigset_t *mask), (with))

WAIT(int, sigwaitinfo, (const sigset_t *set, siginfo_t *info), (set, info))
WAIT(int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *time),
     (set, info, time))

WAIT(int, sem_wait, (sem_t * sem), (sem))
WAIT(int, sem_timedwait, (sem_t * sem, const struct timespec *until), (sem, until))
WAIT(int, sem_clockwait, (sem_t * sem, clockid_t clock, const struct timespec *until),
     (sem, clock, until))
WAIT(int, semop, (int id, struct sembuf *ops, size_t nr), (id, ops, nr))
WAIT(int, semtimedop, (int id, struct sembuf *ops, size_t nr, const struct timespec *time),
     (id, ops, nr, time))
WAIT(int, msgsnd, (int id, const void *message, size_t size, int flags), (id, message, size, flags))
WAIT(ssize_t, msgrcv, (int id, void *message, size_t size, long kind, int flags),
     (id, message, size, kind, flags))

WAIT(int, aio_suspend, (const struct aiocb *const list[], int nr, const struct timespec *time),
     (list, nr, time))
/* With large files, as here, the header gives the function another name. */
WAITS int aio_suspend_plain(const struct aiocb *const list[], int nr,
                            const struct timespec *time) __asm__("aio_suspend")
    __attribute__((alias("aio_suspend64"), leaf, nothrow, nonnull(1)));
WAIT(int, io_getevents,
     (void *context, long least, long most, struct io_event *events, struct timespec *time),
     (context, least, most, events, time))

/* With a time limit of the socket these end early, too. */
WAIT(int, accept, (int fd, struct sockaddr *from, socklen_t *len), (fd, from, len))
WAIT(int, accept4, (int fd, struct sockaddr *from, socklen_t *len, int flags),
     (fd, from, len, flags))
WAIT(int, connect, (int fd, const struct sockaddr *to, socklen_t len), (fd, to, len))
WAIT(ssize_t, recv, (int fd, void *to, size_t size, int flags), (fd, to, size, flags))
WAIT(ssize_t, __recv_chk, (int fd, void *to, size_t size, size_t most, int flags),
     (fd, to, size, most, flags))
WAIT(ssize_t, recvfrom,
     (int fd, void *to, size_t size, int flags, struct sockaddr *from, socklen_t *len),
     (fd, to, size, flags, from, len))
WAIT(ssize_t, __recvfrom_chk,
     (int fd, void *to, size_t size, size_t most, int flags, struct sockaddr *from, socklen_t *len),
     (fd, to, size, most, flags, from, len))
WAIT(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
WAIT(ssize_t, send, (int fd, const void *from, size_t size, int flags), (fd, from, size, flags))
WAIT(ssize_t, sendto,
     (int fd, const void *from, size_t size, int flags, const struct sockaddr *to, socklen_t len),
     (fd, from, size, flags, to, len))
WAIT(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
WAIT(int, recvmmsg,
     (int fd, struct mmsghdr *messages, unsigned nr, int flags, struct timespec *time),
     (fd, messages, nr, flags, time))
WAIT(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned nr, int flags),
     (fd, messages, nr, flags))
WAIT_SOCKET(SO_RCVTIMEO, read, (int fd, void *to, size_t size), (fd, to, size))
WAIT_SOCKET(SO_RCVTIMEO, __read_chk, (int fd, void *to, size_t size, size_t most),
            (fd, to, size, most))
WAIT_SOCKET(SO_RCVTIMEO, readv, (int fd, const struct iovec *to, int nr), (fd, to, nr))
WAIT_SOCKET(SO_SNDTIMEO, write, (int fd, const void *from, size_t size), (fd, from, size))
WAIT_SOCKET(SO_SNDTIMEO, writev, (int fd, const struct iovec *from, int nr), (fd, from, nr))

/*
 * Handlers and forked children call these first of all functions, where dlsym() is no good: each is
 * found now.
 */
__attribute__((constructor)) static void begin(void)
{
	int error = errno;
	char byte;
	struct iovec none = {&byte, 0};

	if (read(-1, &byte, 0) < 0 && readv(-1, &none, 1) < 0 && __read_chk(-1, &byte, 0, 1) < 0 &&
	    write(-1, &byte, 0) < 0 && writev(-1, &none, 1) < 0)
		errno = error;
}
