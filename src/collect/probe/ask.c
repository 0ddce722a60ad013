#include "collect/probe/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/rights.h"
#include "base/write.h"
#include "trace/write/session.h"

enum { ASK_SECONDS = 10 };

static _Noreturn void ask_child(void (*ask)(void *answer), void *answer, size_t size, int out)
{
	int null = open("/dev/null", O_RDWR);

	af_rights_drop(); /* drivers load what the environment names */
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	unsetenv(AF_SESSION_ENV);
	signal(SIGALRM, SIG_DFL);
	alarm(ASK_SECONDS); /* also when our parent is gone */
	ask(answer);
	/* Not exit(): drivers and this program's own handlers have nothing to do here. */
	_exit(af_write_all(out, answer, size) ? 1 : 0);
}

int af_ask(void (*ask)(void *answer), void *answer, size_t size, const char *who, const char *see,
           struct af_err *err)
{
	int ends[2], status = 0;

	if (pipe2(ends, O_CLOEXEC))
		return af_fail(err, -errno, "cannot make a pipe");
	scope_close int from = ends[0];
	pid_t pid = fork();
	if (!pid)
		ask_child(ask, answer, size, ends[1]);
	close(ends[1]);
	if (pid < 0)
		return af_fail(err, -errno, "cannot fork");

	size_t got = 0;
	ssize_t n;
	while ((n = read(from, (char *)answer + got, size - got)) > 0 || (n < 0 && errno == EINTR))
		got += n > 0 ? (size_t)n : 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (got == size)
		return 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		return af_fail_plain(err, -ETIMEDOUT, "%s did not answer in %d s: %s", who,
		                     ASK_SECONDS, see);
	return af_fail_plain(err, -EIO, "%s crashed when asked for its devices (%s): %s", who,
	                     WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exited", see);
}
