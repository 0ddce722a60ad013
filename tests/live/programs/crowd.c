/*
 * crowd MILLIONS: what runs in unusual surroundings. Two threads, a child and main each run so many
 * millions of iterations in work(); one SIGUSR1 is handled. It prints $HOME as its constructor and
 * main have it, their sums and how the child ended, and exits with status 5. Needs nothing but
 * libc: it is also compiled by tests, with other compilers and options.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long iterations;
static volatile sig_atomic_t handled;

__attribute__((noinline)) static uint64_t work(uint64_t x)
{
	for (unsigned long n = iterations; n; n--) {
		x = x * UINT64_C(6364136223846793005) + n;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static void *run(void *sum)
{
	*(uint64_t *)sum = work(*(uint64_t *)sum);
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	printf("constructor: %s\n", getenv("HOME"));
}

static void handle(int signo)
{
	handled = signo;
}

static int child_status(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		printf("child %llx\n", (unsigned long long)work(4));
		exit(3);
	}
	waitpid(child, &status, 0);
	return status;
}

int main(int argc, char **argv)
{
	uint64_t *sums = malloc(3 * sizeof *sums);
	pthread_t threads[2];

	printf("main: %s\n", getenv("HOME"));
	iterations = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1) * 1000000;
	for (int i = 0; i < 3; i++)
		sums[i] = (uint64_t)i;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, &sums[i]);
	run(&sums[2]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++)
		printf("sum %llx\n", (unsigned long long)sums[i]);
	free(sums);
	signal(SIGUSR1, handle);
	raise(SIGUSR1);
	printf("signal %d\n", (int)handled);
	fflush(stdout);
	printf("child's status %x\n", (unsigned)child_status());
	return 5;
}
