/*
 * cuda_exits HOW: a process with CUDA work that ends in some way.
 *
 * Truth: 20 times k1 of 20 us, waited for; then 5 times k2 of 2 ms, not waited for; then the end:
 *	return, exit, _exit, quick_exit, abort, or a signal's number, raised
 *	exec		executes /bin/true
 *	handler		SIGTERM, raised, with a handler of the program's that calls _exit
 *	crash		writes to where nothing is
 *	wait SECONDS	sleeps, for whoever sends a signal; "ready" is on standard output before
 *	thread		a thread launches for ever while main returns
 *	destroy		main destroys the context with k2 in flight
 * The exit status is 9 where the program chooses it.
 */
#include "cuda_setup.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS = 9, SETTLE_MS = 50 };

static struct cuda cuda;

static void *launch_for_ever(void *arg)
{
	(void)arg;
	cuCtxSetCurrent(cuda.context);
	for (;;) {
		uint64_t ns = 1000;
		void *params[] = {&ns};

		cuLaunchKernel(cuda.k[2], 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
		usleep(100);
	}
	return NULL;
}

static void on_signal(int signal)
{
	(void)signal;
	_exit(STATUS);
}

static void end_otherwise(const char *how)
{
	volatile uintptr_t nowhere = 8;

	if (!strcmp(how, "quick_exit"))
		quick_exit(STATUS);
	if (!strcmp(how, "exec"))
		execl("/bin/true", "true", NULL);
	if (!strcmp(how, "crash"))
		*(volatile int *)nowhere = 1;
	if (!strcmp(how, "handler")) {
		signal(SIGTERM, on_signal);
		raise(SIGTERM);
	}
}

__attribute__((noinline)) static void end(const char *how)
{
	pthread_t thread;

	if (!strcmp(how, "_exit"))
		_exit(STATUS);
	if (!strcmp(how, "exit"))
		exit(STATUS);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "destroy"))
		cuda_close(&cuda);
	if (!strcmp(how, "thread")) {
		pthread_create(&thread, NULL, launch_for_ever, NULL);
		usleep(1000 * SETTLE_MS);
	}
	if (atoi(how))
		raise(atoi(how));
	end_otherwise(how);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";

	cuda_open(&cuda, 0);
	for (int i = 0; i < 20; i++)
		cuda_launch(cuda.k[0], NULL, 20000);
	CUDA_CHECK(cuCtxSynchronize());
	for (int i = 0; i < 5; i++)
		cuda_launch(cuda.k[1], NULL, 2000000);
	cuda_truth("k1", 20);
	cuda_truth("k2", 5);
	cuda_truth_print();
	if (!strcmp(how, "wait")) {
		puts("ready");
		fflush(stdout);
		sleep((unsigned)cuda_number(argc, argv, 2, 10));
		return STATUS;
	}
	end(how);
	return STATUS;
}
