/*
 * sigint_wait: waits to be interrupted.
 *
 * Truth: prints "ready", waits for SIGINT without using CPU, prints "interrupted" and exits 7.
 *
 * Exit status: 7, or 1 when no SIGINT came within 3 s or something else ended the wait.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/select.h>
#include <time.h>

static volatile sig_atomic_t interrupted;

static void on_sigint(int signal_number)
{
	interrupted = signal_number;
}

int main(void)
{
	const struct sigaction action = {.sa_handler = on_sigint};
	struct timespec left = {3, 0};
	sigset_t sigint, before;
	int rc;

	/* Blocked outside the wait, so that a signal right after "ready" is not lost. */
	sigemptyset(&sigint);
	sigaddset(&sigint, SIGINT);
	sigprocmask(SIG_BLOCK, &sigint, &before);
	sigdelset(&before, SIGINT);
	sigaction(SIGINT, &action, NULL);
	puts("ready");
	fflush(stdout);
	rc = pselect(0, NULL, NULL, NULL, &left, &before);
	if (rc != -1 || errno != EINTR || !interrupted)
		return 1;
	puts("interrupted");
	return 7;
}
