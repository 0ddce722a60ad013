/*
 * forks [SCALE]: a process tree made in every way.
 *
 * Truth: six processes with 200 ms of CPU each, all of it in one function: the first in
 * parent_work, its fork without exec in child_work, that one's own fork in grandchild_work, and, of
 * the same executable, a vfork with exec in vforked_work, a posix_spawn in spawned_work and a fork
 * with exec in executed_work. Only the first prints. All are waited for; every one exits 0.
 *
 * Exit status: 0, or 1 when one of them failed.
 */
#include "burn.h"

#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

BURN_SINK;

extern char **environ;

static unsigned long burn_us;

BURN_FUNCTION(parent_work, BURN_A)
BURN_FUNCTION(child_work, BURN_B)
BURN_FUNCTION(grandchild_work, BURN_C)
BURN_FUNCTION(vforked_work, BURN_D)
BURN_FUNCTION(spawned_work, BURN_E)
BURN_FUNCTION(executed_work, BURN_F)

/* 1 when the process could not be made, failed, or was killed. */
static int reap(pid_t pid)
{
	int status;

	return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

static void child(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		grandchild_work(burn_us);
		_exit(0);
	}
	child_work(burn_us);
	_exit(reap(pid));
}

/* The second life: this executable again, with the name of its work as first argument. */
static int run_as(const char *what)
{
	if (!strcmp(what, "vforked"))
		vforked_work(burn_us);
	else if (!strcmp(what, "spawned"))
		spawned_work(burn_us);
	else if (!strcmp(what, "executed"))
		executed_work(burn_us);
	else
		return 1;
	return 0;
}

int main(int argc, char **argv)
{
	static char self[] = "/proc/self/exe";
	char scale[32];
	char *arguments[] = {argv[0], NULL, scale, NULL};
	pid_t forked, vforked, executed, spawned;
	int failed;

	burn_us = (unsigned long)(200000 * (argc > 2 ? burn_scale(argc - 1, argv + 1)
	                                             : burn_scale(argc, argv)));
	if (argc > 2)
		return run_as(argv[1]);
	snprintf(scale, sizeof scale, "%g", burn_scale(argc, argv));

	forked = fork();
	if (forked == 0)
		child();
	arguments[1] = "vforked";
	vforked = vfork();
	if (vforked == 0) {
		execv(self, arguments);
		_exit(127);
	}
	arguments[1] = "executed";
	executed = fork();
	if (executed == 0) {
		execv(self, arguments);
		_exit(127);
	}
	arguments[1] = "spawned";
	if (posix_spawn(&spawned, self, NULL, NULL, arguments, environ))
		spawned = -1;
	parent_work(burn_us);
	failed = reap(forked) | reap(vforked) | reap(executed) | reap(spawned);
	truth_number("processes", 6);
	truth_number("cpu_ms_each", (long)(burn_us / 1000));
	return failed;
}
