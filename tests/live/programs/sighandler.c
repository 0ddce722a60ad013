/*
 * sighandler [normal|alternate|alarm] [SCALE]: CPU time inside a signal handler.
 *
 * Truth: work has 80 % of the CPU time and handler 20 %. The handler's stack goes on, through the
 * kernel's signal frame, to what it interrupted: with normal and alternate that is raise() called
 * by work called by main, with alarm it is work called by main. alternate runs the handler on
 * another stack, and so the stack pointers of one backtrace come from two stacks. About 1 s of CPU.
 *
 * Exit status: 0, or 1 when a signal went missing or the measured shares are not these.
 */
#include "burn.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>

BURN_SINK;

static int64_t handler_ns;
static volatile sig_atomic_t nr_handled;

BURN_FUNCTION(handler_burn, BURN_B)

static void handler(int signal_number)
{
	const int64_t start = burn_thread_ns();

	/* The alarm comes every 10 ms of CPU, of which this takes its fifth. */
	handler_burn(signal_number == SIGPROF ? 2000 : 100);
	handler_ns += burn_thread_ns() - start;
	nr_handled++;
}

APART static void work(unsigned long rounds, int by_raise)
{
	while (rounds--) {
		uint64_t x = burn_sink;

		BURN(x, BURN_A, 400 * BURN_PER_US);
		burn_sink = x;
		if (by_raise)
			raise(SIGUSR1);
	}
}

static void handle(int signal_number, int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(signal_number, &action, NULL);
}

static void use_alternate_stack(void)
{
	static char memory[64 * 1024];
	const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};

	sigaltstack(&stack, NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "normal";
	const int alarm = !strcmp(mode, "alarm");
	const unsigned long rounds =
	    (unsigned long)(2000 * (argc > 2 ? burn_scale(argc - 1, argv + 1) : 1));
	const struct itimerval every = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
	int64_t all = -burn_thread_ns();

	if (!strcmp(mode, "alternate"))
		use_alternate_stack();
	handle(alarm ? SIGPROF : SIGUSR1, SA_RESTART | SA_ONSTACK);
	if (alarm)
		setitimer(ITIMER_PROF, &every, NULL);
	work(rounds, !alarm);
	setitimer(ITIMER_PROF, &never, NULL);
	all += burn_thread_ns();

	truth_share("work", all - handler_ns, all);
	truth_share("handler", handler_ns, all);
	truth_number("signals", nr_handled);
	truth_number("cpu_ms", all / 1000000);
	if (alarm) /* the timer's period is the kernel's, so its share is not exact */
		return nr_handled == 0;
	return nr_handled != (long)rounds || share_is_wrong(handler_ns, all, 0.2);
}
