/*
 * serves MODE [SCALE]: what servers do: a little work, then wait for somebody else, all the time.
 *
 *	turns      two processes in turn, joined by a pair of sockets
 *	far        the same, each on a CPU of its own, so that another CPU wakes it
 *	switches   four threads, each of which wakes the next one
 *	requests   a thread for each request, of which many end at any moment
 *	moments    the same, of less than a tick of 1000 Hz each
 *	mixed      thread after thread as in moments, beside one that computes and never waits
 *
 * Truth: some 0.6 s of CPU time in all, most of it in work(); cpu_ms by getrusage, of the children
 * too.
 *
 * Exit status: 0, or 1 when something cannot be done.
 */
#include "burn.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NR_RING = 4, ROUND_US = 20 };

BURN_SINK;
BURN_FUNCTION(work, BURN_A)
BURN_FUNCTION(steady, BURN_B)

static double scale = 1;

static int take_turns(int fd, int first)
{
	char c = 0;

	if (first && send(fd, &c, 1, MSG_NOSIGNAL) != 1)
		return 1;
	for (int i = 0; i < (int)(8000 * scale); i++) {
		if (read(fd, &c, 1) != 1)
			return 0; /* the other one was done first */
		work(ROUND_US);
		if (send(fd, &c, 1, MSG_NOSIGNAL) != 1)
			return 0;
	}
	return 0;
}

/* On the first or the second of the CPUs that we may have, if there are two. */
static void pin(int which)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof all, &all) || CPU_COUNT(&all) < 2)
		return;
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && !which--)
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof one, &one);
}

static int turns(bool far)
{
	int fds[2], status;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		return 1;
	pid_t pid = fork();
	if (pid < 0)
		return 1;
	close(fds[!pid]);
	if (far)
		pin(!pid);
	int rc = take_turns(fds[!!pid], !!pid);
	if (!pid)
		_exit(rc);
	close(fds[1]);
	return waitpid(pid, &status, 0) != pid || status || rc;
}

static sem_t ring[NR_RING];

static void *ring_thread(void *at)
{
	const int own = (int)(intptr_t)at;

	for (int i = 0; i < (int)(5000 * scale); i++) {
		sem_wait(&ring[own]);
		work(ROUND_US);
		sem_post(&ring[(own + 1) % NR_RING]);
	}
	return NULL;
}

static int switches(void)
{
	pthread_t threads[NR_RING];

	for (int i = 0; i < NR_RING; i++)
		sem_init(&ring[i], 0, i == 0 || i == NR_RING / 2);
	for (int i = 0; i < NR_RING; i++)
		if (pthread_create(&threads[i], NULL, ring_thread, (void *)(intptr_t)i))
			return 1;
	for (int i = 0; i < NR_RING; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* Its frame is larger than the piece of a stack that is copied for each block. */
APART static void request(unsigned long us)
{
	volatile char page[2000];

	page[0] = 1;
	work(us);
	page[1] = page[0];
}

static void *request_thread(void *us)
{
	request((unsigned long)(uintptr_t)us);
	return NULL;
}

/* Two at a time, so that a thread that ends is followed by one of its kind. */
static int requests(int nr, unsigned long us)
{
	pthread_t threads[2];

	for (int i = 0; i < (int)(nr * scale); i += 2) {
		for (int j = 0; j < 2; j++)
			if (pthread_create(&threads[j], NULL, request_thread,
			                   (void *)(uintptr_t)us))
				return 1;
		for (int j = 0; j < 2; j++)
			pthread_join(threads[j], NULL);
	}
	return 0;
}

static atomic_bool steady_ends;

static void *steady_thread(void *unused)
{
	while (!atomic_load(&steady_ends))
		steady(100);
	return unused;
}

static int mixed(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, steady_thread, NULL))
		return 1;
	int rc = requests(800, 700);
	atomic_store(&steady_ends, true);
	pthread_join(thread, NULL);
	return rc;
}

static int64_t used_ns(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000000) +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * INT64_C(1000);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int rc = 1;

	scale = burn_scale(argc - 1, argv + 1);
	if (!strcmp(mode, "turns"))
		rc = turns(false);
	else if (!strcmp(mode, "far"))
		rc = turns(true);
	else if (!strcmp(mode, "switches"))
		rc = switches();
	else if (!strcmp(mode, "requests"))
		rc = requests(200, 3000);
	else if (!strcmp(mode, "moments"))
		rc = requests(900, 700);
	else if (!strcmp(mode, "mixed"))
		rc = mixed();
	int64_t ns = used_ns(RUSAGE_SELF) + used_ns(RUSAGE_CHILDREN);
	truth_number("cpu_ms", ns / 1000000);
	return rc;
}
