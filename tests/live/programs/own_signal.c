/*
 * own_sigtrap, own_sigprof [SCALE]: the program uses a signal that profilers like, and counts.
 *
 * Truth: its handler for OWN_SIGNAL gets exactly the signals that the program sends: 200 by raise
 * and 200 by sigqueue, each with the si_code, sender and value it was sent with, spread over 600 ms
 * of CPU in work; own_sigtrap meets 200 breakpoint instructions as well (x86-64). Asked at the end,
 * the kernel names this program's handler and flags. own_sigprof then has a profiling timer of its
 * own at 100 per CPU second and wants between half and twice the signals that it is due (the kernel
 * counts in ticks).
 *
 * Exit status: 0, or 1 when a count, a field or the handler is not as sent.
 */
#include "burn.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { NR_ROUNDS = 200 };

BURN_SINK;

/* Signals by where they came from. */
static volatile sig_atomic_t nr_raised, nr_queued, nr_breakpoints, nr_timer, nr_strange;

BURN_FUNCTION(work, BURN_A)

static void handler(int signal_number, siginfo_t *info, void *context)
{
	if (signal_number != OWN_SIGNAL || info->si_signo != OWN_SIGNAL || !context)
		nr_strange++;
	else if (info->si_code == SI_TKILL && info->si_pid == getpid())
		nr_raised++;
	else if (info->si_code == SI_QUEUE && info->si_pid == getpid() &&
	         info->si_value.sival_int == nr_queued)
		nr_queued++;
	else if (info->si_code == SI_KERNEL && signal_number == SIGTRAP)
		nr_breakpoints++;
	else if (info->si_code == SI_KERNEL && signal_number == SIGPROF)
		nr_timer++;
	else
		nr_strange++;
}

static void breakpoint(void)
{
#ifdef __x86_64__
	if (OWN_SIGNAL == SIGTRAP)
		__asm__ volatile("int3");
#endif
}

static int handler_changed(void)
{
	struct sigaction now;

	return sigaction(OWN_SIGNAL, NULL, &now) || now.sa_sigaction != handler ||
	       (now.sa_flags & (SA_SIGINFO | SA_RESTART)) != (SA_SIGINFO | SA_RESTART);
}

/* 1 when the program's own profiling timer does not tick as it should. */
static int timer_is_wrong(void)
{
	const struct itimerval every = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
	int64_t ns = -burn_thread_ns();
	long due;

	setitimer(ITIMER_PROF, &every, NULL);
	work(300000);
	setitimer(ITIMER_PROF, &never, NULL);
	ns += burn_thread_ns();
	due = (long)(ns / 10000000);
	truth_number("timer_signals", nr_timer);
	return nr_timer < due / 2 || nr_timer > due * 2;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
	const unsigned long us = (unsigned long)(3000 * burn_scale(argc, argv));
	int wrong;

	sigaction(OWN_SIGNAL, &action, NULL);
	for (int i = 0; i < NR_ROUNDS; i++) {
		work(us);
		raise(OWN_SIGNAL);
		sigqueue(getpid(), OWN_SIGNAL, (union sigval){.sival_int = i});
		breakpoint();
	}
	truth_number("raised", nr_raised);
	truth_number("queued", nr_queued);
	truth_number("breakpoints", nr_breakpoints);
	truth_number("strange", nr_strange);
	wrong = nr_raised != NR_ROUNDS || nr_queued != NR_ROUNDS || handler_changed();
#ifdef __x86_64__
	wrong |= nr_breakpoints != (OWN_SIGNAL == SIGTRAP ? NR_ROUNDS : 0);
#endif
	if (OWN_SIGNAL == SIGPROF)
		wrong |= timer_is_wrong();
	return wrong || nr_strange;
}
