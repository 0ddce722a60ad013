/*
 * maps_endlessly NUMBER: code is mapped NUMBER times, a piece at a place of its own each time, and
 * unmapped a thousand pieces later; 200 at once, and then nothing for 10 ms.
 *
 * Truth: then 0.3 s of CPU time in last(), below main.
 *
 * Exit status: 0, or 1 when it cannot.
 */
#include "burn.h"

#include <sys/mman.h>

BURN_SINK;

enum { PIECE = 4096, FAR = 8192, MAPPED = 1000, AT_ONCE = 200, LAST_US = 300000 };

BURN_FUNCTION(last, BURN_A)

static int map_all(long nr)
{
	const struct timespec pause = {0, 10000000};
	char *base = mmap(NULL, (size_t)nr * FAR, PROT_NONE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	/* A place that is free. */
	if (base == MAP_FAILED || munmap(base, (size_t)nr * FAR))
		return 1;
	for (long i = 0; i < nr; i++) {
		if (mmap(base + i * FAR, PIECE, PROT_READ | PROT_EXEC,
		         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return 1;
		if (i >= MAPPED)
			munmap(base + (i - MAPPED) * FAR, PIECE);
		if (i % AT_ONCE == 0)
			nanosleep(&pause, NULL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (map_all(argc > 1 ? atol(argv[1]) : MAPPED))
		return 1;
	last(LAST_US);
	return 0;
}
