/*
 * wrong address|leak: does what a sanitizer is there to find: reads behind what it has allocated,
 * or loses it. Compiled by tests.
 */
#include <stdlib.h>
#include <string.h>

static void *volatile kept;

int main(int argc, char **argv)
{
	volatile char *p = kept = malloc(8);
	int rc = argc > 1 && !strcmp(argv[1], "address") ? p[7 + argc - 1] & 0 : 0;

	p = NULL;
	kept = NULL;
	return rc;
}
