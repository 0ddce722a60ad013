/*
 * crowd64 MILLISECONDS: libaflame, linked in as a whole so that ThreadSanitizer sees all of it, in
 * a program of 64 threads that do at once what it shares between threads: samples at many depths,
 * masks of signals, short threads, libraries that come and go, children, handlers that are set
 * anew. Samples are taken by calls: a signal would find the sanitizer in the midst of its own work.
 *
 * Exit status: 0; 1 when something could not be done; 66 when ThreadSanitizer found something.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject/arch/arch.h"
#include "inject/core/thread.h"

enum { NR_THREADS = 64 };

static int64_t end_ns;
static _Atomic int failed;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

__attribute__((noinline)) static void sample(void)
{
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	af_thread_sample(&regs, 1000, 0);
}

__attribute__((noinline)) static uint64_t work(unsigned depth, uint64_t x)
{
	if (depth)
		return work(depth - 1, x) + 1;
	for (unsigned i = 0; i < 3000; i++)
		x = x * UINT64_C(6364136223846793005) + i;
	sample();
	return x;
}

static void *short_thread(void *x)
{
	return (void *)(uintptr_t)work(3, (uintptr_t)x);
}

static void make_threads(uint64_t x)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, short_thread, (void *)(uintptr_t)(x + (uint64_t)i)))
			atomic_store(&failed, 1);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void block_signals(uint64_t x)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	work(5, x);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void load_library(uint64_t x)
{
	void *library = dlopen("libutil.so.1", RTLD_NOW);

	work(4, x);
	if (library)
		dlclose(library);
}

static void make_child(uint64_t x)
{
	int status = 1;
	pid_t child = fork();

	if (!child) {
		work(20, x);
		_exit(7);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
		atomic_store(&failed, 1);
}

static void handle(int signo)
{
	(void)signo;
}

static void set_handler(uint64_t x)
{
	struct sigaction act = {.sa_handler = handle};

	sigaction(x % 2 ? SIGUSR1 : SIGPROF, &act, NULL);
	raise(SIGUSR1);
	work(2, x);
}

static void *thread(void *number)
{
	static void (*const others[])(uint64_t) = {make_threads, block_signals, load_library,
	                                           make_child, set_handler};
	uintptr_t own = (uintptr_t)number;

	for (uint64_t x = own; now_ns() < end_ns; x++) {
		work((unsigned)(x * 7 % 40), x);
		if (own < 10)
			others[own % 5](x);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[NR_THREADS];

	end_ns = now_ns() + (argc > 1 ? atoll(argv[1]) : 2000) * INT64_C(1000000);
	signal(SIGUSR1, handle);
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)i))
			return 1;
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	return atomic_load(&failed);
}
