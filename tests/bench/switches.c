/*
 * switches PER_SECOND ROUNDS: two threads hand a byte to and fro, for tests/bench/bpf.
 *
 * Each round is two switches to a blocked thread and back, and as much computing between them as
 * makes PER_SECOND switches in a second of CPU time (0: none at all). Prints the CPU time of the
 * process in microseconds, and the switches that the kernel counted.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static int there[2], back[2];
static volatile uint64_t sink;

static void burn(unsigned long us)
{
	uint64_t x = sink;

	for (unsigned long i = us * 1050; i; i--) {
		x = x * 0x9e3779b97f4a7c15u + i;
		__asm__ volatile("" : "+r"(x));
	}
	sink = x;
}

static void *echo(void *unused)
{
	char byte;

	while (read(there[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			exit(1);
	return unused;
}

static long micros(struct timeval t)
{
	return t.tv_sec * 1000000 + t.tv_usec;
}

int main(int argc, char **argv)
{
	const long per_second = argc > 1 ? atol(argv[1]) : 0;
	const long rounds = argc > 2 ? atol(argv[2]) : 1000;
	pthread_t thread;
	struct rusage r;
	char byte = 0;

	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, echo, NULL))
		return 1;
	for (long i = 0; i < rounds; i++) {
		if (per_second)
			burn(2000000ul / (unsigned long)per_second);
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
	}
	close(there[1]);
	pthread_join(thread, NULL);
	getrusage(RUSAGE_SELF, &r);
	printf("%ld %ld\n", micros(r.ru_utime) + micros(r.ru_stime), r.ru_nvcsw + r.ru_nivcsw);
	return 0;
}
