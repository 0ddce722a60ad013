#include "cmd/record/unrecorded.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"

static const int crashes[] = {SIGABRT, SIGSEGV, SIGFPE, SIGILL};

/* Attributes that execve() keeps and the recorder changes. */
static struct {
	char **words;
	const int *child;
	pid_t pid;
	sigset_t mask;
	struct sigaction file_size, child_ended, crash[sizeof crashes / sizeof *crashes];
	struct rlimit files, locked;
} was;

static void restore(void)
{
	sigaction(SIGXFSZ, &was.file_size, NULL);
	sigaction(SIGCHLD, &was.child_ended, NULL);
	setrlimit(RLIMIT_NOFILE, &was.files);
	setrlimit(RLIMIT_MEMLOCK, &was.locked);
	sigprocmask(SIG_SETMASK, &was.mask, NULL);
}

/* Out of memory, or a bug of ours. */
static void crashed(int signo)
{
	static const char line[] = "aflame: the recorder failed: the program runs unrecorded\n";

	af_unrecorded_disarm();
	if (getpid() != was.pid || *was.child) {
		raise(signo);
		return;
	}
	if (write(STDERR_FILENO, line, sizeof line - 1) >= 0)
		restore();
	execvp(was.words[0], was.words);
	_exit(127);
}

void af_unrecorded_arm(char **words, const int *child)
{
	struct sigaction act = {.sa_handler = crashed};

	was.words = words;
	was.child = child;
	was.pid = getpid();
	sigprocmask(SIG_BLOCK, NULL, &was.mask);
	sigaction(SIGXFSZ, NULL, &was.file_size);
	sigaction(SIGCHLD, NULL, &was.child_ended);
	getrlimit(RLIMIT_NOFILE, &was.files);
	getrlimit(RLIMIT_MEMLOCK, &was.locked);
	for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
		sigaction(crashes[i], &act, &was.crash[i]);
}

void af_unrecorded_disarm(void)
{
	for (size_t i = 0; was.pid && i < sizeof crashes / sizeof *crashes; i++)
		sigaction(crashes[i], &was.crash[i], NULL);
}

int af_unrecorded_run(const char *who, char **words, struct af_err *err)
{
	fprintf(stderr, "aflame %s: the program runs unrecorded: %s\n", who, err->msg);
	return af_unrecorded_become(words, err);
}

int af_unrecorded_become(char **words, struct af_err *err)
{
	fflush(stdout);
	af_unrecorded_disarm();
	restore();
	execvp(words[0], words);
	return af_fail(err, -errno, "cannot run %s", words[0]);
}
