/*
 * limits as|data SELF: eight threads of 8 MiB each, and no room for much more: with SELF it sets
 * the limit itself, when it has begun; without, it prints the limit in KiB that it needs (ulimit
 * -v, -d). Each thread works some 90 ms.
 *
 * Exit status: 0, or 1 when a thread could not be made.
 */
#include "burn.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NR_THREADS = 8, STACK_KIB = 8 << 10, SLACK_KIB = 512 };

BURN_SINK;
BURN_FUNCTION(work, BURN_A)

static pthread_barrier_t all;

static void *thread(void *arg)
{
	pthread_barrier_wait(&all);
	work(90000);
	return arg;
}

/* VmSize or VmData of /proc/self/status, without stdio, which allocates. */
static long in_use_kib(const char *key)
{
	static char text[8192];
	FILE *f = fopen("/proc/self/status", "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = 0;
	const char *line = strstr(text, key);
	return line ? atol(line + strlen(key) + 1) : 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[NR_THREADS];
	pthread_attr_t attr;
	int data = argc > 1 && !strcmp(argv[1], "data");
	long kib =
	    in_use_kib(data ? "VmData" : "VmSize") + NR_THREADS * (STACK_KIB + 4) + SLACK_KIB;

	if (argc > 2 && !strcmp(argv[2], "self"))
		setrlimit(data ? RLIMIT_DATA : RLIMIT_AS,
		          &(struct rlimit){(rlim_t)kib << 10, (rlim_t)kib << 10});
	else if (argc <= 2)
		printf("%ld\n", kib);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_KIB << 10);
	pthread_barrier_init(&all, NULL, NR_THREADS);
	for (int i = 0; i < NR_THREADS; i++) {
		if (pthread_create(&threads[i], &attr, thread, NULL)) {
			printf("no thread %d\n", i);
			return 1;
		}
		work(10000);
	}
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
