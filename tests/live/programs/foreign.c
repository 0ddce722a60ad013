/*
 * foreign [MS]: what libaflame.so cannot be loaded into: foreign_musl is linked against musl,
 * foreign_32 is a 32-bit program; foreign_64 is as all others, for comparison.
 *
 * Truth: burns MS (100) of CPU time in work, prints "worked" and nothing else, exits with 7.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static long cpu_ms(void)
{
	return (long)(clock() / (CLOCKS_PER_SEC / 1000));
}

__attribute__((noinline)) static void work(long ms)
{
	while (cpu_ms() < ms)
		for (int i = 0; i < 10000; i++)
			sink += (unsigned long)i;
}

int main(int argc, char **argv)
{
	work(argc > 1 ? atol(argv[1]) : 100);
	puts("worked");
	return 7;
}
