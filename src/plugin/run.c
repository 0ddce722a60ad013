/* Our side of a plug-in's process: takes its results, watches its time, reports how it ended. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/scope.h"
#include "base/system/clock.h"
#include "plugin/private.h"

enum { RUN_READ = 64 << 10, RUN_POLL_MS = 50, RUN_MB = 1 << 20 };
enum { RUN_MOST = 256 * RUN_MB /* bytes of results */ };

struct run {
	const struct af_plugin_request *q;
	struct plugin_page *page;
	pid_t pid;
	int fd;
	bool open; /* somebody may still write to the pipe */
	struct af_buf bytes;
	uint64_t calls, stuck_ns, last_ns; /* the callback that is watched, and for how long */
};

/* Read what is in the pipe. */
static int take(struct run *r)
{
	char data[RUN_READ];

	while (r->open) {
		ssize_t n = read(r->fd, data, sizeof data);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0) {
			r->open = false;
			return 0;
		}
		if (r->bytes.len + (size_t)n > RUN_MOST)
			return -EFBIG;
		af_buf_add(&r->bytes, data, (size_t)n);
	}
	return 0;
}

/*
 * How long the same callback has run. A step of ours counts for no more than it should take: while
 * the user has stopped both of us, none of the plug-in's time is over.
 */
static bool is_stuck(struct run *r)
{
	const uint64_t most_ns = 4000000ull * RUN_POLL_MS;
	uint64_t now_ns = af_clock_ns(CLOCK_MONOTONIC), step_ns = now_ns - r->last_ns;
	uint64_t calls = __atomic_load_n(&r->page->calls, __ATOMIC_RELAXED);
	uint32_t call = __atomic_load_n(&r->page->call, __ATOMIC_RELAXED);

	r->last_ns = now_ns;
	if (calls != r->calls || call == PLUGIN_NONE || call == PLUGIN_END) {
		r->calls = calls;
		r->stuck_ns = 0;
		return false;
	}
	r->stuck_ns += step_ns < most_ns ? step_ns : most_ns;
	return r->stuck_ns > r->q->call_ns;
}

static bool has_ended(const struct run *r)
{
	siginfo_t info = {.si_pid = 0};

	return !waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == r->pid;
}

/* Until it has ended; or why it is to be ended. */
static int watch(struct run *r)
{
	r->last_ns = af_clock_ns(CLOCK_MONOTONIC);
	for (;;) {
		struct pollfd p = {.fd = r->open ? r->fd : -1, .events = POLLIN};
		bool ended = has_ended(r);
		int rc = take(r);
		if (rc || ended)
			return rc;
		if (is_stuck(r))
			return -ETIMEDOUT;
		if (r->q->progress)
			r->q->progress(r->q->arg,
			               __atomic_load_n(&r->page->position, __ATOMIC_RELAXED),
			               __atomic_load_n(&r->page->size, __ATOMIC_RELAXED));
		poll(&p, 1, RUN_POLL_MS);
	}
}

/* With all that it forked, unless that left its group. Its status. */
static int end(struct run *r)
{
	int status = 0;

	kill(-r->pid, SIGKILL);
	kill(r->pid, SIGKILL);
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* "; no memory was left of the 4096 MB that --plugin-memory allows" */
static void memory_text(const struct run *r, char *to, size_t size)
{
	*to = 0;
	if (__atomic_load_n(&r->page->no_memory, __ATOMIC_RELAXED))
		snprintf(to, size,
		         ": more than half of the %llu MB that --plugin-memory allows was in use",
		         (unsigned long long)(r->q->memory / RUN_MB));
}

static int how_it_ended(const struct run *r, int rc, int status, struct af_err *err)
{
	const char *where = plugin_call_text(__atomic_load_n(&r->page->call, __ATOMIC_RELAXED));
	unsigned long long calls = __atomic_load_n(&r->page->calls, __ATOMIC_RELAXED);
	char memory[128];

	memory_text(r, memory, sizeof memory);
	if (rc == -ETIMEDOUT)
		return af_fail_plain(err, rc,
		                     "ended, because it was %s for longer than the %.4g s that "
		                     "--plugin-time allows (callback %llu)",
		                     where, (double)r->q->call_ns / 1e9, calls);
	if (rc == -EFBIG)
		return af_fail_plain(err, rc, "its results are more than %d MB", RUN_MOST / RUN_MB);
	if (rc)
		return af_fail(err, rc, "cannot take its results");
	if (WIFEXITED(status) && WEXITSTATUS(status) == PLUGIN_EXIT_MEMORY)
		return af_fail_plain(err, -ENOMEM,
		                     "out of memory %s: --plugin-memory allows %llu MB", where,
		                     (unsigned long long)(r->q->memory / RUN_MB));
	if (WIFSIGNALED(status))
		return af_fail_plain(err, -EIO, "crashed %s: %s (callback %llu)%s", where,
		                     strsignal(WTERMSIG(status)), calls, memory);
	if (WEXITSTATUS(status) == PLUGIN_EXIT_PIPE)
		return af_fail_plain(err, -EIO,
		                     "its results could not be written: it closed their "
		                     "pipe, or left its process");
	if (WEXITSTATUS(status) || !r->bytes.len)
		return af_fail_plain(err, -EIO, "it ended its process %s, with status %d", where,
		                     WEXITSTATUS(status));
	return 0;
}

static int start(struct run *r, struct af_err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return af_fail(err, -errno, "cannot make a pipe");
	fflush(NULL);
	pid_t parent = getpid();
	r->pid = fork();
	if (!r->pid) {
		close(ends[0]);
		plugin_child(r->q, r->page, ends[1], parent);
	}
	int rc = r->pid < 0 ? -errno : 0;
	close(ends[1]);
	r->fd = ends[0];
	r->open = true;
	if (rc) {
		close(r->fd);
		return af_fail(err, rc, "cannot make a process");
	}
	fcntl(r->fd, F_SETFL, O_NONBLOCK);
	return 0;
}

static int run(struct run *r, struct af_plugin_results *to, struct af_err *err)
{
	int rc = start(r, err);

	if (rc)
		return rc;
	rc = watch(r);
	rc = how_it_ended(r, rc, end(r), err);
	if (!rc) {
		struct af_cursor c = af_buf_cursor(&r->bytes);
		rc = af_plugin_results_read(to, &c, err);
	}
	af_buf_free(&r->bytes);
	close(r->fd);
	return rc;
}

int af_plugin_run(const struct af_plugin_request *q, struct af_plugin_results *to,
                  struct af_err *err)
{
	struct run r = {.q = q};
	struct af_trace *trace;

	*to = (struct af_plugin_results){0};
	/* That the trace cannot be read is not for the plug-in to report. */
	int rc = af_trace_open(&trace, q->dir, AF_WANTED(AF_KIND_NOTE), err);
	if (rc)
		return rc;
	af_trace_close(trace);
	r.page =
	    mmap(NULL, sizeof *r.page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r.page == MAP_FAILED)
		return af_fail(err, -errno, "cannot map a page for %s", q->path);
	rc = run(&r, to, err);
	munmap(r.page, sizeof *r.page);
	return rc ? af_while(err, rc, "the plug-in %s", q->path) : 0;
}
