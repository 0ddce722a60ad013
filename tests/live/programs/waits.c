/*
 * Waits in many functions, each for a known time, beside some work. A signal handler of its own
 * ends one of the waits early, as it must; nothing else may end any. Prints what each took.
 */
#include <aio.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "burn.h"

BURN_SINK;

enum { ROUNDS = 5 };

static int early; /* waits that ended before their time */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void ended(const char *name, double began, double wanted, int error)
{
	double took = now() - began;

	printf("truth %s %f\n", name, took);
	if (error || took < wanted) {
		fprintf(stderr, "%s: %s after %f s of %f\n", name, strerror(error), took, wanted);
		early++;
	}
}

#define WAIT_IN(name, ms, call)                                                                    \
	APART static void name(void)                                                               \
	{                                                                                          \
		double began = now();                                                              \
                                                                                                   \
		errno = 0;                                                                         \
		int rc = call;                                                                     \
		ended(#name, began, ms / 1e3, rc < 0 ? errno : rc);                                \
	}

#define TIME(ms) (&(struct timespec){.tv_nsec = (ms)*1000000L})

static int sem_wait_for(int ms)
{
	struct timespec until;
	sem_t sem;

	sem_init(&sem, 0, 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return sem_timedwait(&sem, &until) && errno == ETIMEDOUT ? 0 : -1;
}

static int epoll_for(int ms)
{
	struct epoll_event event;
	int fd = epoll_create1(0), rc = epoll_wait(fd, &event, 1, ms);

	close(fd);
	return rc;
}

/* A socket on which nothing comes, with a time limit for those who read it. */
static int silent_socket(int ms)
{
	const struct timeval limit = {.tv_usec = ms * 1000};
	static int pair[2];

	if (!pair[0] && socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return -1;
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	return pair[0];
}

static int at_limit(ssize_t rc)
{
	return rc < 0 && errno == EAGAIN ? 0 : -1;
}

static int read_for(int ms)
{
	char byte;

	return at_limit(read(silent_socket(ms), &byte, 1));
}

static int recvmmsg_for(int ms)
{
	char byte;
	struct iovec part = {&byte, 1};
	struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};

	return at_limit(recvmmsg(silent_socket(ms), &message, 1, 0, NULL));
}

/* A request that never ends: nothing comes out of the pipe. */
static int aio_for(int ms)
{
	static char byte;
	static struct aiocb request = {.aio_buf = &byte, .aio_nbytes = 1};
	const struct aiocb *const list[] = {&request};
	int ends[2];

	if (!request.aio_fildes) {
		if (pipe(ends))
			return -1;
		request.aio_fildes = ends[0];
		aio_read(&request);
	}
	return at_limit(aio_suspend(list, 1, &(struct timespec){.tv_nsec = ms * 1000000L}));
}

WAIT_IN(by_nanosleep, 120, nanosleep(TIME(120), NULL))
WAIT_IN(by_clock_nanosleep, 60, clock_nanosleep(CLOCK_MONOTONIC, 0, TIME(60), NULL))
WAIT_IN(by_usleep, 90, usleep(90000))
WAIT_IN(by_poll, 40, poll(NULL, 0, 40))
WAIT_IN(by_select, 50, select(0, NULL, NULL, NULL, &(struct timeval){.tv_usec = 50000}))
WAIT_IN(by_ppoll, 70, ppoll(NULL, 0, TIME(70), &(sigset_t){0}))
WAIT_IN(by_epoll, 30, epoll_for(30))
WAIT_IN(by_semaphore, 80, sem_wait_for(80))
WAIT_IN(by_thrd_sleep, 40, thrd_sleep(TIME(40), NULL))
WAIT_IN(by_read, 40, read_for(40))
WAIT_IN(by_recvmmsg, 40, recvmmsg_for(40))
WAIT_IN(by_aio, 40, aio_for(40))

static void on_alarm(int signo)
{
	(void)signo;
}

/* The program's own handler ends this one after 100 ms of a second. */
APART static void by_alarm(void)
{
	const struct itimerval when = {.it_value.tv_usec = 100000};
	struct sigaction act = {.sa_handler = on_alarm};
	double began = now();

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &when, NULL);
	int rc = nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
	ended("by_alarm", began, 0.1, rc && errno == EINTR ? 0 : ECANCELED);
}

static jmp_buf where;

static void on_jump(int signo)
{
	(void)signo;
	_longjmp(where, 1);
}

/* The handler leaves the wait by a jump that restores no mask: by_work() comes next. */
APART static void by_jump(void)
{
	const struct itimerval when = {.it_value.tv_usec = 60000};
	struct sigaction act = {.sa_handler = on_jump, .sa_flags = SA_NODEFER};
	volatile double began = now();

	sigaction(SIGALRM, &act, NULL);
	if (!_setjmp(where)) {
		setitimer(ITIMER_REAL, &when, NULL);
		pause();
	}
	ended("by_jump", began, 0.06, 0);
}

APART static void by_work(void)
{
	double began = now();
	uint64_t x = 1;

	while (now() < began + 0.1)
		BURN(x, 3, 100 * BURN_PER_US);
	burn_sink = x;
	ended("by_work", began, 0.1, 0);
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		by_nanosleep();
		by_clock_nanosleep();
		by_usleep();
		by_poll();
		by_select();
		by_ppoll();
		by_epoll();
		by_semaphore();
		by_thrd_sleep();
		by_read();
		by_recvmmsg();
		by_aio();
		by_alarm();
		by_jump();
		by_work();
	}
	return early != 0;
}
