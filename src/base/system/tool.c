#include "base/system/tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/clock.h"

enum {
	TOOL_READ = 64 << 10,
	TOOL_WORDS = 300, /* bytes of what it says on standard error that are kept */
};

struct tool_words {
	char text[TOOL_WORDS + 1];
	size_t len;
};

static int64_t tool_now_ms(void)
{
	return (int64_t)(af_clock_ns(CLOCK_MONOTONIC) / 1000000);
}

/* Descriptors that it is not to have: ours are closed by exec, others' may not be. */
static void tool_close(posix_spawn_file_actions_t *actions)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		int fd = atoi(d->d_name);

		if (fd > AF_TOOL_INPUT_FD && fd != dirfd(dir))
			posix_spawn_file_actions_addclose(actions, fd);
	}
	if (dir)
		closedir(dir);
}

/* Signals as a new program expects them, whatever ours are; @flags: of posix_spawn(), besides. */
static void tool_signals(posix_spawnattr_t *attr, short flags)
{
	sigset_t none, common;

	sigemptyset(&none);
	sigemptyset(&common);
	sigaddset(&common, SIGPIPE);
	sigaddset(&common, SIGINT);
	sigaddset(&common, SIGTERM);
	posix_spawnattr_init(attr);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | flags);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &common);
}

static int tool_spawn(const struct af_tool *t, int out, int err, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;

	posix_spawn_file_actions_init(&actions);
	tool_signals(&attr, 0);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawn_file_actions_adddup2(&actions, err, 2);
	if (t->input >= 0)
		posix_spawn_file_actions_adddup2(&actions, t->input, AF_TOOL_INPUT_FD);
	else
		posix_spawn_file_actions_addclose(&actions, AF_TOOL_INPUT_FD);
	tool_close(&actions);
	int rc = posix_spawn(pid, t->path, &actions, &attr, (char *const *)t->argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

/* A child that calls a function: one that breaks leaves no core, and no handler of ours runs. */
static int tool_fork(const struct af_tool *t, int out, int err, pid_t *pid)
{
	static const int broken[] = {SIGSEGV, SIGBUS, SIGILL,  SIGFPE, SIGABRT,
	                             SIGPIPE, SIGINT, SIGTERM, SIGPROF};
	const struct rlimit no_core = {0, 0};

	*pid = fork();
	if (*pid < 0)
		return -errno;
	if (*pid)
		return 0;
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
		signal(broken[i], SIG_DFL);
	setrlimit(RLIMIT_CORE, &no_core);
	_exit(dup2(out, 1) < 0 || dup2(err, 2) < 0 || t->call(t->arg));
}

/* The beginning of what it says, on one line. */
static void tool_hear(struct tool_words *w, const char *data, size_t len)
{
	for (size_t i = 0; i < len && w->len < TOOL_WORDS; i++)
		if ((unsigned char)data[i] >= ' ' && data[i] != 0x7f)
			w->text[w->len++] = data[i];
		else if (w->len && w->text[w->len - 1] != ' ')
			w->text[w->len++] = ' ';
	while (w->len && w->text[w->len - 1] == ' ' && w->len == TOOL_WORDS)
		w->len--;
	w->text[w->len] = 0;
}

/* Read both until it has closed them: 0, or why it is to be killed. */
static int tool_read(const struct af_tool *t, int out_fd, int err_fd, struct af_buf *out,
                     struct tool_words *words)
{
	struct pollfd fds[2] = {{.fd = out_fd, .events = POLLIN}, {.fd = err_fd, .events = POLLIN}};
	int64_t end_ms = tool_now_ms() + (int64_t)t->seconds * 1000;
	size_t before = out->len;
	char data[TOOL_READ];

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		int64_t left_ms = end_ms - tool_now_ms();

		if (left_ms <= 0)
			return -ETIMEDOUT;
		if (poll(fds, 2, (int)left_ms) < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < 2; i++) {
			if (fds[i].fd < 0 || !fds[i].revents)
				continue;
			ssize_t n = read(fds[i].fd, data, sizeof data);
			if (n <= 0) {
				fds[i].fd = n < 0 && errno == EINTR ? fds[i].fd : -1;
				continue;
			}
			if (i)
				tool_hear(words, data, (size_t)n);
			else if (out->len - before + (size_t)n > t->most)
				return -EFBIG;
			else
				af_buf_add(out, data, (size_t)n);
		}
	}
	return 0;
}

/* Waits for it, @ms at most: its status is in *@status; -ETIMEDOUT where it still runs. */
static int tool_wait(pid_t pid, unsigned ms, int *status)
{
	for (unsigned i = 0; i < ms; i++) {
		pid_t got = waitpid(pid, status, WNOHANG);

		if (got == pid)
			return 0;
		if (got < 0 && errno != EINTR)
			return -errno;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return -ETIMEDOUT;
}

/* Its status, once it has ended: by itself, but not for longer than it has left. */
static int tool_end(pid_t pid, int rc, int *status)
{
	if (!rc) {
		rc = tool_wait(pid, 1000, status); /* it closed its output, so it is ending */
		if (rc != -ETIMEDOUT)
			return rc;
	}
	kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return rc;
}

int af_tool_run(const struct af_tool *t, struct af_buf *out, struct af_err *err)
{
	struct tool_words words = {.len = 0};
	int out_ends[2], err_ends[2], status = 0;
	pid_t pid;

	if (pipe2(out_ends, O_CLOEXEC))
		return af_fail(err, -errno, "cannot make a pipe");
	scope_close int out_fd = out_ends[0], out_end = out_ends[1];
	if (pipe2(err_ends, O_CLOEXEC))
		return af_fail(err, -errno, "cannot make a pipe");
	scope_close int err_fd = err_ends[0], err_end = err_ends[1];
	int rc =
	    t->call ? tool_fork(t, out_end, err_end, &pid) : tool_spawn(t, out_end, err_end, &pid);
	if (rc)
		return af_fail(err, rc, "cannot run %s", t->path);
	close(out_end);
	close(err_end);
	out_end = err_end = -1;
	rc = tool_end(pid, tool_read(t, out_fd, err_fd, out, &words), &status);
	if (rc == -ETIMEDOUT)
		return af_fail_plain(err, rc, "%s took longer than %u seconds", t->path,
		                     t->seconds);
	if (rc == -EFBIG)
		return af_fail_plain(err, rc, "%s printed more than %zu MB", t->path,
		                     t->most >> 20);
	if (rc)
		return af_fail(err, rc, "cannot hear what %s says", t->path);
	if (WIFSIGNALED(status) && !words.len)
		return af_fail_plain(err, -EIO, "%s: it did not say why (%s)", t->path,
		                     strsignal(WTERMSIG(status)));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return af_fail_plain(err, -EIO, "%s: %s", t->path,
		                     words.len ? words.text : "it failed and did not say why");
	return 0;
}

int af_tool_start(const char *const *argv, unsigned ms)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int status = 0;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	for (int fd = 0; fd <= 2; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null",
		                                 fd ? O_WRONLY : O_RDONLY, 0);
	tool_close(&actions);
	tool_signals(&attr, POSIX_SPAWN_SETSID);
	int rc = posix_spawnp(&pid, argv[0], &actions, &attr, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (rc)
		return -rc;
	if (tool_wait(pid, ms, &status))
		return 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
