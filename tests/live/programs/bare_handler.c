/*
 * bare_handler [SCALE]: takes the signals of samples from whoever handles them, by the bare system
 * instruction, which nobody can stand before, then works for a second in `work`.
 *
 * Truth: used_us, the CPU time in user mode.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "burn.h"

BURN_SINK;
BURN_FUNCTION(work, BURN_A)

void bare_return(void);
__asm__(".globl bare_return\nbare_return: mov $15, %eax\n\tsyscall\n"); /* rt_sigreturn */

/* The kernel's own struct. */
struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

enum { WITH_RESTORER = 0x04000000 };

static void nothing(int signo)
{
	(void)signo;
}

static long bare_sigaction(long signo, const struct kernel_action *act)
{
	register long size __asm__("r10") = sizeof act->mask;
	long rc;

	__asm__ volatile("syscall"
	                 : "=a"(rc)
	                 : "a"((long)SYS_rt_sigaction), "D"(signo), "S"(act), "d"(0L), "r"(size)
	                 : "rcx", "r11", "memory");
	return rc;
}

int main(int argc, char **argv)
{
	static const struct kernel_action act = {nothing, WITH_RESTORER, bare_return, 0};
	struct rusage used;

	if (bare_sigaction(SIGTRAP, &act) || bare_sigaction(SIGPROF, &act))
		return 77;
	work((unsigned long)(1000000 * burn_scale(argc, argv)));
	getrusage(RUSAGE_SELF, &used);
	printf("truth user_us %ld\n", used.ru_utime.tv_sec * 1000000 + used.ru_utime.tv_usec);
	return 0;
}
