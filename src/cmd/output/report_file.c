#include "cmd/output/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/rights.h"
#include "cmd/output/picture.h"

enum {
	NAMES_TRIED = 1000,
	BROWSER_WAIT_MS = 3000, /* one that takes longer is a browser itself, and stays */
};

/* Is the file made by aflame? Its pages say so in their first lines. */
static bool report_is_ours(const char *file)
{
	char head[1024];
	scope_close int fd = af_open_regular(AT_FDCWD, file, O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head - 1);

	head[n > 0 ? n : 0] = 0;
	return strstr(head, "<meta name=\"generator\" content=\"aflame ");
}

/* "report.html", "report-rank-0017.html", "report-rank-0017-2.html" */
static void report_number(char *file, size_t size, const char *stem, const char *dot, int number)
{
	if (number > 1)
		snprintf(file, size, "%s-%d%s", stem, number, dot);
	else
		snprintf(file, size, "%s%s", stem, dot);
}

void af_report_name(char *file, size_t size, const char *stem, const char *dot, bool named,
                    const char *who)
{
	struct stat st;

	report_number(file, size, stem, dot, 1);
	for (int i = 2; !named && i < NAMES_TRIED && !lstat(file, &st) && !report_is_ours(file);
	     i++) {
		if (i == 2)
			fprintf(stderr, "aflame %s: %s is not a report of aflame's and is kept\n",
			        who, file);
		report_number(file, size, stem, dot, i);
	}
}

int af_report_write(const char *dir, struct af_output to, const struct af_results *r,
                    const char *title, struct af_err *err)
{
	struct af_picture picture = {.title = title};
	struct af_picture_request request = {
	    .format = af_format_for("html"),
	    .to = to,
	    .picture = &picture,
	    .results = r,
	    .dir = dir,
	};

	return af_picture_write(&request, err);
}

/* Starts @argv in a session of its own, so that a Ctrl-C here does not close the browser. */
static int browser_spawn(const char *const *argv, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
	for (int fd = 0; fd <= 2; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null",
		                                 fd ? O_WRONLY : O_RDONLY, 0);
	int rc = posix_spawnp(pid, argv[0], &actions, &attr, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

/* Its exit status; 0 also for one that still runs after a while. */
static int browser_wait(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	int status = 0;

	for (int ms = 0; ms < BROWSER_WAIT_MS; ms += 10) {
		pid_t done = waitpid(pid, &status, WNOHANG);
		if (done == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
		if (done < 0)
			return 0;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* Why no browser of the user's can be reached from here; NULL when one may be. */
static const char *browser_refusal(const char *chosen)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
	uid_t uid;
	gid_t gid;

	if (af_sudo_user(&uid, &gid))
		return "a browser is not started under sudo: `aflame open` without it";
	if (!chosen && !(x && *x) && !(wayland && *wayland))
		return "there is no display here: copy the file to where your browser is, or name "
		       "one in $BROWSER";
	return NULL;
}

int af_report_open(const char *file, struct af_err *err)
{
	const char *set = getenv("BROWSER"), *chosen = set && *set ? set : NULL;
	const char *refusal = browser_refusal(chosen);
	char path[PATH_MAX];
	pid_t pid;

	if (!realpath(file, path))
		return af_fail(err, -errno, "%s", file);
	if (refusal)
		return af_fail_plain(err, -ENOTSUP, "%s is not shown: %s", path, refusal);
	const char *const argv[] = {chosen ? chosen : "xdg-open", path, NULL};
	int rc = browser_spawn(argv, &pid);
	if (rc)
		return af_fail(err, rc, "%s is not shown: cannot start %s (set $BROWSER)", path,
		               argv[0]);
	rc = browser_wait(pid);
	return rc ? af_fail_plain(err, -EIO, "%s is not shown: %s ended with status %d", path,
	                          argv[0], rc)
	          : 0;
}
