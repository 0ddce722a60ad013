/*
 * witness FILE PROGRAM [ARGUMENTS]: runs a program and writes into FILE what the kernel says that
 * it and everything it started used, to be held against what a recorder saw of it. The recorder has
 * no part in these numbers: `aflame record -- witness FILE PROGRAM` has them from getrusage,
 * inside.
 *
 * FILE has "pid N" as soon as the program runs, and at the end "user_us N", "system_us N" (of the
 * program and all its descendants: those that lose their parent become the witness's children),
 * "own_us N" (the witness itself) and "status N".
 *
 * Exit status: the program's, 128 + the signal that ended it, or 127 when it could not be started.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long long micro(struct timeval time)
{
	return time.tv_sec * 1000000LL + time.tv_usec;
}

static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int await_all(pid_t program)
{
	int status, of_program = 127;
	pid_t pid;

	while ((pid = wait(&status)) > 0)
		if (pid == program)
			of_program = exit_status(status);
	return of_program;
}

static void report(int file, int status)
{
	struct rusage children, own;

	getrusage(RUSAGE_CHILDREN, &children);
	getrusage(RUSAGE_SELF, &own);
	dprintf(file, "user_us %lld\nsystem_us %lld\nown_us %lld\nstatus %d\n",
	        micro(children.ru_utime), micro(children.ru_stime),
	        micro(own.ru_utime) + micro(own.ru_stime), status);
}

int main(int argc, char **argv)
{
	const int file =
	    argc > 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
	pid_t program;
	int status;

	if (file < 0)
		return 127;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	program = fork();
	if (!program) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	dprintf(file, "pid %d\n", (int)program);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	status = await_all(program);
	report(file, status);
	return status;
}
