#include "cmd/piped/piped.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "trace/read/contents.h"

#define PIPED_NAME "aflame.data"

/* Not in memory, as libaflame's rings are: a trace may be large. */
static int folder_make(struct af_piped *p, const char *place, struct af_err *err)
{
	const char *temporary = getenv("TMPDIR");

	if (!place)
		place = temporary && *temporary ? temporary : "/var/tmp";
	if (snprintf(p->folder, sizeof p->folder, "%s/aflame-piped.XXXXXX", place) >=
	    (int)sizeof p->folder)
		return af_fail_plain(err, -ENAMETOOLONG, "the path %s is too long", place);
	if (!mkdtemp(p->folder))
		return af_fail(err, -errno,
		               "no place for the trace in %s: name a directory by --stage or "
		               "$TMPDIR",
		               place);
	snprintf(p->dir, sizeof p->dir, "%s/" PIPED_NAME, p->folder);
	return 0;
}

int af_piped_begin(struct af_piped *p, const char *format, const char *place, struct af_err *err)
{
	bool is_text = format && strcmp(format, "tar") != 0;

	*p = (struct af_piped){.format = format ? format : "tar", .fd = -1};
	if (!is_text && isatty(STDOUT_FILENO))
		return af_fail_plain(err, -EINVAL,
		                     "-o - writes the trace as a tar, which would garble the "
		                     "terminal: aflame record -o - … | tar x");
	int rc = folder_make(p, place, err);
	if (rc)
		return rc;
	fflush(stdout);
	p->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (p->fd >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO)
		return 0;
	rc = af_fail(err, -errno, "cannot keep standard output for the trace");
	rmdir(p->folder);
	return rc;
}

static int tar_write(const struct af_piped *p, struct af_err *err)
{
	static const char *const names[] = {"/usr/bin/tar", "/bin/tar"};
	const char *argv[] = {"tar", "-C", p->folder, "-cf", "-", PIPED_NAME, NULL};
	const char *path = access(names[0], X_OK) ? names[1] : names[0];
	posix_spawn_file_actions_t actions;
	int status = 0;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, p->fd, STDOUT_FILENO);
	int rc = posix_spawn(&pid, path, &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		return af_fail(err, -rc, "cannot run tar, which writes the trace");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return af_fail(err, -errno, "tar was lost");
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
		return -EPIPE;
	return status ? af_fail_plain(err, -EIO, "tar could not write the trace") : 0;
}

static int piped_write(const struct af_piped *p, struct af_err *err)
{
	const struct af_export_format *format = af_export_formats;
	struct af_export_count count = {0};
	const struct af_export_request request = {.dir = p->dir, .fd = p->fd};

	while (format->name && strcmp(format->name, p->format) != 0)
		format++;
	if (!format->name)
		return tar_write(p, err);
	int rc = format->write(&request, &count, err);
	if (!rc && !count.written)
		fprintf(stderr, "aflame record: the recording has no %s\n", format->unit);
	return rc;
}

int af_piped_end(struct af_piped *p, bool failed, struct af_err *err)
{
	int rc = failed ? 0 : piped_write(p, err);

	close(p->fd);
	if (rc && rc != -EPIPE)
		return af_while(err, rc, "the trace is in %s", p->dir);
	af_trace_remove(AT_FDCWD, p->dir);
	rmdir(p->folder);
	return rc;
}
