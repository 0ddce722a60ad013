/*
 * A program that looks like Go's: it has the note of Go's linker and sets its signals by the bare
 * system call, so that ours are gone without a word. A sample would end it. About 0.3 s of CPU.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

BURN_SINK;
BURN_FUNCTION(work, BURN_A)

__asm__(".pushsection .note.go.buildid, \"a\", @note\n"
        ".balign 4\n"
        ".long 4, 4, 4\n"
        ".ascii \"Go\\0\\0abcd\"\n"
        ".popsection\n");

int main(void)
{
	static const int ours[] = {SIGTRAP, SIGPROF};
	const unsigned long by_default[4] = {0}; /* the kernel's struct sigaction */

	for (int i = 0; i < 2; i++)
		if (syscall(SYS_rt_sigaction, ours[i], by_default, NULL, 8))
			return 77;
	work(300000);
	return 0;
}
