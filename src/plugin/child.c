/* The plug-in's process: limits, the reading, and the results on a pipe. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/pages.h"
#include "plugin/private.h"

enum { CHILD_STACK = 64 << 10, STATM = 128 };

/* For handlers: they have no argument. */
static struct plugin_page *child_page;
static uint64_t child_memory;

/*
 * Where the plug-in broke as it had no more memory, a part of what it may have cannot be had now.
 * Async-signal-safe.
 */
static void broken(int signal_number)
{
	if (!af_pages(child_memory / 2, 0))
		child_page->no_memory = 1;
	raise(signal_number); /* SA_RESETHAND: it ends the process once this returns */
}

static void no_memory(void)
{
	child_page->no_memory = 1;
	_exit(PLUGIN_EXIT_MEMORY);
}

static void signals_set(void)
{
	static const int ends[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
	static char room[CHILD_STACK];
	const stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
	struct sigaction act = {.sa_handler = broken, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND};
	sigset_t none;

	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		sigaction(ends[i], &act, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Bytes of private memory that can be written, as RLIMIT_DATA counts them, and some more. */
static uint64_t data_used(void)
{
	char text[STATM];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	char *at = text;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	for (int i = 0; i < 5; i++) /* size resident shared text lib data */
		strtoull(at, &at, 10);
	return strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void limit(struct plugin_host *h)
{
	uint64_t used = data_used(), most;

	if (__builtin_add_overflow(used, h->request->memory, &most))
		return;
	const struct rlimit data = {most, most};
	setrlimit(RLIMIT_DATA, &data);
}

/* Descriptors of ours: what a plug-in prints must not stand among results. */
static void descriptors_set(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, 0);
		close(null);
	}
	dup2(2, 1);
}

static void process_set(pid_t parent)
{
	const struct rlimit no_core = {0, 0};

	setpgid(0, 0);
	setrlimit(RLIMIT_CORE, &no_core);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(PLUGIN_EXIT_PIPE);
	/* A descendant that returns into our code has no page, and ends there. */
	madvise(child_page, sizeof *child_page, MADV_DONTFORK);
}

static void results_make(struct plugin_host *h, int rc, const struct af_err *err, struct af_buf *b)
{
	if (rc)
		af_plugin_failure_write(err->msg, b);
	else if (h->err.code)
		af_plugin_failure_write(h->err.msg, b);
	else
		af_plugin_results_write(&h->results, b);
}

static _Noreturn void end(struct plugin_host *h, int fd, struct af_buf *b)
{
	plugin_enter(h, PLUGIN_END);
	fflush(stdout);
	for (size_t at = 0; at < b->len;) {
		ssize_t n = write(fd, b->data + at, b->len - at);
		if (n < 0 && errno != EINTR)
			_exit(PLUGIN_EXIT_PIPE);
		at += n > 0 ? (size_t)n : 0;
	}
	_exit(0);
}

_Noreturn void plugin_child(const struct af_plugin_request *q, struct plugin_page *page, int fd,
                            pid_t parent)
{
	struct plugin_host *h;
	struct af_err err = {0};
	struct af_buf b = {0};

	child_page = page;
	child_memory = q->memory;
	process_set(parent);
	descriptors_set();
	signals_set();
	af_out_of_memory(no_memory);
	h = af_xcalloc(1, sizeof *h);
	h->request = q;
	h->page = page;
	plugin_ask_open(h);
	plugin_arguments_open(h);
	plugin_emit_open(h);
	int rc = plugin_read(h, limit, &err);
	results_make(h, rc, &err, &b);
	end(h, fd, &b);
}
