#include "base/system/process_group.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/clock.h"

enum {
	WAIT_MS = 50,          /* the kernel signals a whole group under one lock */
	FRESH_NS = 1000000000, /* older news is of another signal */
};

struct group_news {
	int signo, sender;
	uint64_t time_ns;
};

/* Nothing of the recorder's may be held open here, standard output least of all. */
_Noreturn static void group_child(int fd, int parent, const sigset_t *set)
{
	siginfo_t info;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	prctl(PR_SET_NAME, "aflame-group");
	dup2(fd, 0);
	if (syscall(SYS_close_range, 1u, ~0u, 0u))
		for (int i = 1; i < 1024; i++) /* before Linux 5.9 */
			close(i);
	for (;;) {
		int signo = sigwaitinfo(set, &info);
		struct group_news news = {signo, info.si_pid, af_clock_ns(CLOCK_MONOTONIC)};
		if (signo > 0 && write(0, &news, sizeof news) < 0 && errno == EPIPE)
			_exit(0);
	}
}

void af_group_watch(struct af_group *g, const sigset_t *set)
{
	int ends[2];

	*g = (struct af_group){.fd = -1};
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return;
	int parent = getpid();
	g->pid = fork();
	if (!g->pid)
		group_child(ends[1], parent, set);
	close(ends[1]);
	if (g->pid < 0) {
		g->pid = 0;
		close(ends[0]);
		return;
	}
	g->fd = ends[0];
}

void af_group_leave(struct af_group *g)
{
	if (g->pid > 0) {
		kill(g->pid, SIGKILL);
		waitpid(g->pid, NULL, 0);
		close(g->fd);
	}
	*g = (struct af_group){.fd = -1};
}

bool af_group_got(struct af_group *g, int signo, int sender)
{
	struct group_news news;
	struct pollfd fd = {.fd = g->fd, .events = POLLIN};

	if (!g->pid)
		return false;
	while (poll(&fd, 1, WAIT_MS) > 0 && read(g->fd, &news, sizeof news) == (ssize_t)sizeof news)
		if (news.signo == signo && news.sender == sender &&
		    af_clock_ns(CLOCK_MONOTONIC) - news.time_ns < FRESH_NS)
			return true;
	return false;
}
