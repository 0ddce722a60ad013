/*
 * crash [abort|segv|kill] [SCALE]: death by signal after known work.
 *
 * Truth: 500 ms of CPU in before_crash, called by main, then the process dies of SIGABRT, of
 * SIGSEGV by a write to address 8, or of SIGKILL, which nobody can catch. Prints "about to die" and
 * flushes it first. No core file.
 *
 * Exit status: none, a signal.
 */
#include "burn.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>

BURN_SINK;

BURN_FUNCTION(before_crash, BURN_A)

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "abort";
	volatile uintptr_t nowhere = 8;

	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	before_crash((unsigned long)(500000 * (argc > 2 ? burn_scale(argc - 1, argv + 1) : 1)));
	puts("about to die");
	fflush(stdout);
	if (!strcmp(how, "segv"))
		*(volatile int *)nowhere = 1;
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	abort();
}
