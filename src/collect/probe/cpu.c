#include "collect/probe/cpu.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/clock.h"
#include "base/system/proc.h"
#include "trace/write/cpu_event.h"

enum {
	PROBE_PERIOD_NS = 500000,
	PROBE_SPIN_NS = 50000000,
	PROBE_BLOCKED_NS = 2 * PROBE_PERIOD_NS,
	PROBE_SPINS = 20, /* at most, where others leave no tick of the clock to the probe */
};

/* Exit codes of the child that tries. */
enum {
	PROBE_WORKS = 0,
	PROBE_NO_SIGNAL = 1,
	PROBE_ERRNO = 2, /* and up: 2 + errno */
};

static volatile sig_atomic_t probe_signals;

static void probe_handler(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	probe_signals++;
}

/* Until @signals came, or for @most_ns of CPU time since the process began. */
static void probe_spin(uint64_t most_ns, int signals)
{
	do {
		for (volatile int i = 0; i < 5000; i++)
			;
	} while (af_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < most_ns && probe_signals < signals);
}

static void probe_listen(int signo)
{
	struct sigaction act = {.sa_sigaction = probe_handler, .sa_flags = SA_SIGINFO};

	sigaction(signo, &act, NULL);
}

/*
 * Besides a plain try: with the signal blocked. Before Linux 5.18 an event that hits a thread
 * which blocks SIGTRAP ends the program, and then perf must not be used at all.
 */
static int perf_try(void)
{
	sigset_t trap;

	probe_listen(SIGTRAP);
	int fd = af_cpu_event_open(PROBE_PERIOD_NS, false, true, AF_PROBE_COOKIE);
	if (fd < 0)
		return PROBE_ERRNO - fd;
	probe_spin(PROBE_SPIN_NS, 2);
	if (!probe_signals)
		return PROBE_NO_SIGNAL;
	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	sigprocmask(SIG_BLOCK, &trap, NULL);
	probe_spin(af_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + PROBE_BLOCKED_NS, INT_MAX);
	return PROBE_WORKS;
}

static int timer_try(void)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	struct itimerspec when = {{0, PROBE_PERIOD_NS}, {0, PROBE_PERIOD_NS}};
	int timer;

	probe_listen(SIGPROF);
	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &ev, &timer) ||
	    syscall(SYS_timer_settime, timer, 0, &when, NULL))
		return PROBE_ERRNO + errno;
	for (int i = 1; i <= PROBE_SPINS && !probe_signals; i++) {
		probe_spin((uint64_t)i * PROBE_SPIN_NS, 1);
		if (!af_cpu_timer_is_overdue(timer))
			break;
	}
	return probe_signals ? PROBE_WORKS : PROBE_NO_SIGNAL;
}

/* Run @try in a child; PROBE_… or -signal it died of. */
static int probe_in_child(int (*try)(void))
{
	struct sigaction usual = {.sa_handler = SIG_DFL}, before;
	int status;

	/* Ignored, as a shell may have left it, there is no status to wait for. */
	sigaction(SIGCHLD, &usual, &before);
	pid_t pid = fork();
	if (pid < 0)
		return PROBE_ERRNO + errno;
	if (!pid) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		_exit(try());
	}
	pid_t waited = waitpid(pid, &status, 0);
	sigaction(SIGCHLD, &before, NULL);
	if (waited != pid)
		return PROBE_ERRNO + ECHILD;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int paranoid_level(void)
{
	char text[16];

	if (!af_read_text("/proc/sys/kernel/perf_event_paranoid", text, sizeof text))
		return 99;
	return atoi(text);
}

int af_cpu_perf_probe(char *words, size_t size, struct af_err *err)
{
	int rc = probe_in_child(perf_try);

	if (rc == PROBE_WORKS) {
		snprintf(words, size, "task-clock events with sigtrap, user mode");
		return 0;
	}
	if (rc < 0)
		return af_fail_plain(
		    err, -EOPNOTSUPP,
		    "a thread that blocks SIGTRAP would be killed by it: Linux 5.18 "
		    "or later is needed");
	if (rc == PROBE_NO_SIGNAL)
		return af_fail_plain(err, -EIO, "perf events open but deliver no signal");

	int code = rc - PROBE_ERRNO;
	if ((code == EACCES || code == EPERM) && paranoid_level() > 2)
		return af_fail_plain(err, -code,
		                     "perf events are closed to users: run `sysctl "
		                     "kernel.perf_event_paranoid=2` as root");
	if (code == EACCES || code == EPERM)
		return af_fail_plain(err, -code,
		                     "perf_event_open is refused, as in a container: run it with "
		                     "--cap-add PERFMON");
	if (code == ENOSYS)
		return af_fail_plain(err, -code, "this kernel has no perf events");
	if (code == EINVAL || code == E2BIG)
		return af_fail_plain(
		    err, -code,
		    "this kernel's perf events have no sigtrap: Linux 5.13 or later "
		    "is needed");
	return af_fail(err, -code, "perf_event_open");
}

int af_cpu_timer_probe(char *words, size_t size, struct af_err *err)
{
	struct timespec tick;
	int rc = probe_in_child(timer_try);

	if (rc == PROBE_WORKS) {
		/* CPU timers run out at the scheduler's tick. */
		clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
		snprintf(words, size, "per-thread CPU timers, at most %ld signals a second",
		         tick.tv_nsec ? 1000000000L / tick.tv_nsec : 250L);
		return 0;
	}
	if (rc < 0 || rc == PROBE_NO_SIGNAL)
		return af_fail_plain(err, -EIO, "CPU timers can be made but deliver no signal");
	return af_fail(err, -(rc - PROBE_ERRNO), "timer_create");
}
