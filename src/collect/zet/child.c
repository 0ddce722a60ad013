/* Starts the child, reads its messages, ends it, and says what became of it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/proc.h"
#include "base/system/rights.h"
#include "collect/zet/private.h"
#include "trace/write/session.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9 */
#endif

enum {
	CHILD_OUT = 3,
	CHILD_IN = 4,
	FDS_MOST = 4096,
	PIPE_BYTES = 1 << 20,
	READ_BYTES = 64 << 10,
	GOT_MOST = 16 << 20, /* that wait to be taken */
	TICK_MS = 10,
};

static void child_descriptors(int out, int in)
{
	int null = open("/dev/null", O_RDWR);

	/* Above all that is closed or replaced below. */
	out = fcntl(out, F_DUPFD, CHILD_IN + 1);
	in = fcntl(in, F_DUPFD, CHILD_IN + 1);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	dup2(out, CHILD_OUT);
	dup2(in, CHILD_IN);
	if (syscall(SYS_close_range, CHILD_IN + 1u, ~0u, 0u))
		for (int fd = CHILD_IN + 1; fd < FDS_MOST; fd++)
			close(fd);
}

/*
 * The recorder's page and its rings are shared with other processes: a driver that writes where it
 * should not must not reach them.
 */
static void child_unshare(void)
{
	FILE *maps = af_proc_open_maps((unsigned)getpid());
	struct af_proc_mapping m;
	char *line = NULL;
	size_t cap = 0;

	while (af_proc_mapping_next(maps, &line, &cap, &m))
		if (m.shared)
			munmap((void *)(uintptr_t)m.start, m.end - m.start);
	free(line);
	if (maps)
		fclose(maps);
}

/* Drivers load what the environment names, crash, and start threads. */
static void child_surroundings(pid_t parent, unsigned seconds)
{
	const struct rlimit none = {0, 0};
	sigset_t all;

	af_rights_drop();
	prctl(PR_SET_NAME, "aflame-zet");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	setrlimit(RLIMIT_CORE, &none);
	for (int signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	signal(SIGINT, SIG_IGN); /* it is for the program; our parent ends us */
	signal(SIGQUIT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	alarm(seconds);
	unsetenv(AF_SESSION_ENV);
	setenv("ZET_ENABLE_METRICS", "1", 1);
}

static _Noreturn void child_run(void (*run)(struct zet_api *z, void *arg), void *arg)
{
	static struct zet_api z;

	z.out = CHILD_OUT;
	z.in = CHILD_IN;
	run(&z, arg);
	/* Not exit(): drivers and this program's own handlers have nothing to do here. */
	_exit(0);
}

int zet_child_start(struct zet_child *c, void (*run)(struct zet_api *z, void *arg), void *arg,
                    unsigned seconds, struct af_err *err)
{
	pid_t parent = getpid();
	int up[2], down[2];

	*c = (struct zet_child){.from = -1, .to = -1};
	if (pipe2(up, O_CLOEXEC))
		return af_fail(err, -errno, "cannot make a pipe");
	if (pipe2(down, O_CLOEXEC)) {
		int rc = -errno;
		close(up[0]);
		close(up[1]);
		return af_fail(err, rc, "cannot make a pipe");
	}
	fcntl(up[0], F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(up[0], F_SETFL, O_NONBLOCK);
	c->pid = fork();
	if (!c->pid) {
		child_descriptors(up[1], down[0]);
		child_surroundings(parent, seconds);
		child_unshare();
		child_run(run, arg);
	}
	int rc = c->pid < 0 ? -errno : 0;
	close(up[1]);
	close(down[0]);
	c->from = up[0];
	c->to = down[1];
	if (rc) {
		c->pid = 0;
		zet_child_end(c, 0);
		return af_fail(err, rc, "cannot start a process for the driver of Level Zero");
	}
	return 0;
}

bool zet_child_read(struct zet_child *c, int wait_ms)
{
	struct pollfd ready = {.fd = c->from, .events = POLLIN};

	if (c->ended || c->from < 0)
		return false;
	if (c->at)
		memmove(c->got.data, c->got.data + c->at, c->got.len - c->at);
	c->got.len -= c->at;
	c->at = 0;
	if (poll(&ready, 1, wait_ms) <= 0)
		return true;
	while (c->got.len < GOT_MOST) {
		char *to = af_buf_room(&c->got, READ_BYTES);
		ssize_t n = read(c->from, to, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		af_buf_took(&c->got, to + (n > 0 ? n : 0));
		if (n <= 0) {
			c->ended = n == 0 || errno != EAGAIN;
			break;
		}
	}
	/* Messages that were read before the end are still to be taken. */
	return !c->ended || c->got.len;
}

static size_t payload_size(uint32_t kind)
{
	switch (kind) {
#define M(number, NAME, name)                                                                      \
	case number:                                                                               \
		return sizeof(struct zet_##name);
		ZET_MESSAGES(M)
#undef M
	}
	return 0;
}

#define ENDS(text) ((text)[sizeof(text) - 1] = 0)

/* Texts come from a driver. */
static void texts_end(const struct zet_head *head, void *payload)
{
	if (head->kind == ZET_DEVICE) {
		struct zet_device *d = payload;
		ENDS(d->pci);
		ENDS(d->name);
	} else if (head->kind == ZET_GROUP) {
		struct zet_group *g = payload;
		ENDS(g->name);
		ENDS(g->description);
	} else if (head->kind == ZET_METRIC) {
		struct zet_metric *m = payload;
		ENDS(m->name);
		ENDS(m->description);
		ENDS(m->component);
		ENDS(m->units);
	}
}

const struct zet_head *zet_child_next(struct zet_child *c)
{
	struct zet_head head;

	if (c->broken || c->got.len - c->at < sizeof head)
		return NULL;
	memcpy(&head, c->got.data + c->at, sizeof head);
	if (!payload_size(head.kind) || head.size != payload_size(head.kind)) {
		c->broken = c->ended = true;
		return NULL;
	}
	if (c->got.len - c->at - sizeof head < head.size)
		return NULL;
	memcpy(c->message, c->got.data + c->at, sizeof head + head.size);
	c->at += sizeof head + head.size;
	texts_end(&head, c->message + sizeof head);
	if (head.kind == ZET_CALL)
		c->call = ((const struct zet_call *)(c->message + sizeof head))->call;
	c->ended |= head.kind == ZET_DONE;
	c->done |= head.kind == ZET_DONE;
	return (const struct zet_head *)c->message;
}

void zet_child_end(struct zet_child *c, int grace_ms)
{
	if (c->to >= 0)
		close(c->to);
	if (c->pid > 0) {
		pid_t got;
		while (!(got = waitpid(c->pid, &c->status, WNOHANG)) && grace_ms > 0) {
			poll(NULL, 0, TICK_MS);
			grace_ms -= TICK_MS;
		}
		if (!got) {
			c->timed_out = !c->done;
			kill(c->pid, SIGKILL);
			waitpid(c->pid, &c->status, 0);
		}
	}
	if (c->from >= 0)
		close(c->from);
	c->pid = 0;
	c->from = c->to = -1;
	c->ended = true;
	af_buf_free(&c->got);
	c->at = 0;
}

void zet_child_why(const struct zet_child *c, char *why, size_t size)
{
	const char *call = zet_call_name(c->call);
	const char *in = *call ? " in " : "";
	bool is_late = c->timed_out || (WIFSIGNALED(c->status) && WTERMSIG(c->status) == SIGALRM);

	*why = 0;
	if (c->done)
		return;
	if (is_late)
		snprintf(why, size,
		         "the driver of Level Zero did not answer%s%s and was killed: see dmesg",
		         in, call);
	else if (WIFSIGNALED(c->status))
		snprintf(why, size,
		         "the driver of Level Zero crashed%s%s (%s), with ZET_ENABLE_METRICS=1 set",
		         in, call, strsignal(WTERMSIG(c->status)));
	else
		snprintf(why, size, "the driver of Level Zero ended its process%s%s", in, call);
}
