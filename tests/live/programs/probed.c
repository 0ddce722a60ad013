/*
 * probed THREADS N: calls functions a known number of times, which it prints. Each thread calls
 * odd_step, a static function, N times and one more for each thread before it, and even_step twice
 * as often from a caller of its own; then a child does as the first thread did; then libz.so.1 is
 * loaded, and its crc32 called N times. With a third argument it waits for a line first.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

enum { THREADS_MOST = 64 };

static long nr;

/* Its code has room for two jumps, without which it could not be timed without root. */
static APART int odd_step(int x)
{
	int y = x + 1;

#ifdef __x86_64__
	__asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0, 0, 0x0f, 0x1f, 0x44, 0, 0" : "+r"(y));
#endif
	return y;
}

APART int even_step(int x); /* exported */
APART int even_step(int x)
{
	__asm__ volatile("" ::: "memory");
	return x + 2;
}

static APART int calls_odd(long n)
{
	int sum = 0;

	for (long i = 0; i < n; i++)
		sum += odd_step((int)i);
	return sum + 1;
}

static APART int calls_even(long n)
{
	int sum = 0;

	for (long i = 0; i < n; i++)
		sum += even_step((int)i);
	return sum + 1;
}

static volatile int kept;

static void *thread_run(void *number)
{
	long n = nr + (long)number;

	kept = calls_odd(n);
	kept = calls_even(2 * n);
	return NULL;
}

static APART void calls_late(void)
{
	void *libz = dlopen("libz.so.1", RTLD_NOW);
	unsigned long (*crc32)(unsigned long, const unsigned char *, unsigned);

	if (!libz)
		return;
	*(void **)&crc32 = dlsym(libz, "crc32");
	for (long i = 0; i < nr; i++)
		kept = (int)crc32(0, (const unsigned char *)"probed", 6);
	printf("truth crc32 %ld\n", nr);
}

int main(int argc, char **argv)
{
	long nr_threads = argc > 2 ? atol(argv[1]) : 0, odd = 0;
	pthread_t threads[THREADS_MOST];

	if (nr_threads < 1 || nr_threads > THREADS_MOST)
		return 2;
	nr = atol(argv[2]);
	if (argc > 3 && getchar() == EOF)
		return 2;
	for (long i = 0; i < nr_threads; i++) {
		odd += nr + i;
		if (pthread_create(&threads[i], NULL, thread_run, (void *)i))
			return 1;
	}
	for (long i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	pid_t child = fork();
	if (!child) {
		thread_run(NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	printf("truth odd_step %ld\n", odd + nr);
	printf("truth even_step %ld\n", 2 * (odd + nr));
	calls_late();
	return 0;
}
