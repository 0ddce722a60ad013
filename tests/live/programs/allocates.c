/*
 * Allocates known sizes from known functions in several threads, and frees some. Prints for each
 * function the bytes it allocated, the bytes in use at the end and its allocations. With "fork" a
 * child of it allocates, too; with "killed" it kills itself; with "plain" no allocation fails
 * and there is one thread.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 5000, KEPT = 100 };

static void *handed[THREADS][ROUNDS];

#define APART __attribute__((noinline, noclone))

static APART void *leaks(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

static APART void frees_its_own(size_t size)
{
	char *p = calloc(size, 3);

	__asm__ volatile("" : : "r"(p) : "memory");
	free(p);
}

static APART void *others_free(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("# no other function is the same" : : "r"(p) : "memory");
	return p;
}

/* 10, 20, 40, … 640 bytes, of which the last stay. */
static APART void *grows(void)
{
	char *p = NULL;

	for (size_t size = 10; size <= 640; size *= 2)
		p = realloc(p, size);
	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

static APART void aligned(void)
{
	void *p = NULL, *a = aligned_alloc(64, 640), *m = memalign(128, 300);

	if (posix_memalign(&p, 256, 1000))
		abort();
	__asm__ volatile("" : : "r"(p), "r"(a), "r"(m) : "memory");
	free(p);
	free(a);
	/* memalign's stays */
}

static APART void *copies(void)
{
	char *p = strdup("a text of 28 bytes with NUL");

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

static APART void fails(void)
{
	void *p = malloc(100), *q;
	volatile size_t most = (size_t)1 << 62;

	__asm__ volatile("" : : "r"(p) : "memory");
	q = realloc(p, most);
	if (q || calloc(most, 8) || malloc(most))
		abort();
	free(p);
}

static void *thread(void *arg)
{
	size_t n = (size_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		frees_its_own(7 + n);
		handed[n][i] = others_free(33);
		if (i % (ROUNDS / KEPT) == 0)
			leaks(1000 + n);
	}
	return NULL;
}

static void child(void)
{
	free(handed[0][0]); /* its parent's: no counter of the child changes */
	leaks(11);
	frees_its_own(5);
	exit(0);
}

/* Goes on for a while, as a server does, before it is killed. */
static void is_killed(void)
{
	for (int i = 0; i < 1000; i++) {
		frees_its_own(1);
		usleep(500);
	}
	kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t threads[THREADS];
	size_t leaked = 0, freed = 0, rounds = THREADS * ROUNDS;

	bool plain = !strcmp(how, "plain");

	for (size_t i = 0; i < THREADS; i++)
		if (plain ? thread((void *)i) != NULL
		          : pthread_create(&threads[i], NULL, thread, (void *)i))
			return 1;
	for (size_t i = 0; i < THREADS; i++) {
		if (!plain)
			pthread_join(threads[i], NULL);
		leaked += KEPT * (1000 + i);
		freed += ROUNDS * (7 + i) * 3;
	}
	if (!strcmp(how, "fork")) {
		fflush(stdout);
		if (!fork())
			child();
		wait(NULL);
	}
	for (size_t i = 0; i < THREADS; i++)
		for (size_t k = 0; k < ROUNDS / 2; k++)
			free(handed[i][k]);
	for (int i = 0; i < 10; i++) {
		grows();
		aligned();
		copies();
		if (!plain)
			fails();
	}
	printf("leaks %zu %zu %d\n", leaked, leaked, THREADS * KEPT);
	printf("frees_its_own %zu 0 %zu\n", freed, rounds);
	printf("others_free %zu %zu %zu\n", rounds * 33, rounds * 33 / 2, rounds);
	printf("grows 12700 6400 70\n");
	printf("aligned 19400 3000 30\n");
	printf("copies 280 280 10\n");
	if (!plain)
		printf("fails 1000 0 10\n");
	fflush(stdout);
	if (!strcmp(how, "killed"))
		is_killed();
	return 0;
}
