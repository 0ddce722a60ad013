#include "collect/session/clients.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/proc.h"
#include "trace/write/session.h"

enum { SENT_MAX = 4 }; /* descriptors in a message: one more than one shows that there were more */

int af_clients_open(struct af_clients *d, const char *shm, struct af_err *err)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	*d = (struct af_clients){.fd = -1, .ends = -1};
	if ((size_t)snprintf(at.sun_path, sizeof at.sun_path, "%s/socket", shm) >=
	    sizeof at.sun_path)
		return af_fail_plain(err, -ENAMETOOLONG, "the name %s/socket is too long", shm);
	d->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0)
		return af_fail(err, -errno, "cannot make a socket");
	if (setsockopt(d->fd, SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)) ||
	    bind(d->fd, (struct sockaddr *)&at, sizeof at))
		return af_fail(err, -errno, "cannot listen at %s", at.sun_path);
	d->ends = epoll_create1(EPOLL_CLOEXEC);
	return d->ends < 0 ? af_fail(err, -errno, "cannot watch processes") : 0;
}

static void client_close(struct af_client *g)
{
	if (g->fd >= 0)
		close(g->fd);
	if (g->pidfd >= 0)
		close(g->pidfd);
	g->fd = g->pidfd = -1;
}

void af_clients_close(struct af_clients *d)
{
	for (uint32_t i = 0; i < d->nr; i++)
		client_close(&d->list[i]);
	for (uint32_t i = 0; i < d->nr; i++)
		free(d->list[i].threads.all);
	free(d->list);
	if (d->fd >= 0)
		close(d->fd);
	if (d->ends >= 0)
		close(d->ends);
	*d = (struct af_clients){.fd = -1, .ends = -1};
}

static void client_leaves(struct af_clients *d, struct af_client *g)
{
	if (g->ended)
		return;
	client_close(g);
	g->ended = true;
	d->nr_ended++;
}

static void client_watch(struct af_clients *d, struct af_client *g)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = g->process};

	g->pidfd = (int)syscall(SYS_pidfd_open, g->pid, 0);
	if (g->pidfd < 0 && errno == ESRCH)
		client_leaves(d, g); /* it was quick */
	else if (g->pidfd >= 0 && epoll_ctl(d->ends, EPOLL_CTL_ADD, g->pidfd, &ev)) {
		close(g->pidfd);
		g->pidfd = -1;
	}
}

static void clients_admit(struct af_clients *d, const struct af_registration *registration, int pid,
                          int fd)
{
	/* The same process under a new program. */
	for (uint32_t i = 0; i < d->nr; i++) {
		struct af_client *old = &d->list[i];
		if (old->pid == pid && !old->ended) {
			old->replaced = true;
			client_leaves(d, old);
		}
	}
	AF_GROW(d->list, d->nr, d->cap);
	struct af_client *g = &d->list[d->nr++];
	*g = (struct af_client){.process = registration->process,
	                        .pid = pid,
	                        .ns_pid = registration->pid,
	                        .registered_ns = registration->time_ns,
	                        .random_at = registration->random_at,
	                        .sampler_error = registration->sampler_error,
	                        .sees_kernel = registration->sees_kernel,
	                        .pidfd = -1,
	                        .fd = fd};
	if (d->on_client)
		d->on_client(d->arg, g);
	client_watch(d, g);
}

static void clients_answer(struct af_clients *d, const struct af_registration *registration,
                           int pid)
{
	for (uint32_t i = 0; d->on_ask && i < d->nr; i++) {
		struct af_client *g = &d->list[i];
		if (g->pid == pid && g->process == registration->process && !g->ended)
			d->on_ask(d->arg, g, registration->ask);
	}
}

/* All that came with a message; only the first is kept. False: there were more. */
static bool sent_take(const struct cmsghdr *c, int *fd)
{
	int sent[SENT_MAX + 1];
	size_t nr = (c->cmsg_len - CMSG_LEN(0)) / sizeof *sent, kept = *fd < 0;

	if (nr > SENT_MAX)
		nr = SENT_MAX;
	memcpy(sent, CMSG_DATA(c), nr * sizeof *sent);
	if (nr && kept)
		*fd = sent[0];
	for (size_t i = kept; i < nr; i++)
		close(sent[i]);
	return nr <= kept;
}

/* It is asked to count and to have a program, which something else may take for other words. */
static bool is_event(int fd)
{
	char link[32], is[32] = "";

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	return fd < 0 ||
	       (readlink(link, is, sizeof is - 1) > 0 && !strcmp(is, "anon_inode:[perf_event]"));
}

/* A process registers itself alone, and once by each number. */
static bool is_anothers(const struct af_clients *d, const struct af_registration *registration,
                        int pid)
{
	for (uint32_t i = 0; i < d->nr; i++)
		if (d->list[i].process == registration->process && d->list[i].pid != pid)
			return true;
	return !registration->process;
}

static bool clients_receive(struct af_clients *d)
{
	struct af_registration registration;
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(SENT_MAX * sizeof(int))];
	} control;
	struct iovec iov = {&registration, sizeof registration};
	struct msghdr msg = {.msg_iov = &iov,
	                     .msg_iovlen = 1,
	                     .msg_control = control.room,
	                     .msg_controllen = sizeof control.room};
	struct ucred who = {.pid = 0};
	int fd = -1;

	ssize_t n = recvmsg(d->fd, &msg, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return false;
	bool strange = false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
			memcpy(&who, CMSG_DATA(c), sizeof who);
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			strange |= !sent_take(c, &fd);
	}
	strange |= n != (ssize_t)sizeof registration || who.pid <= 0 || who.uid != geteuid();
	bool asks = !strange && registration.ask != AF_ASK_ADMIT;
	strange = strange || (!asks && (!is_event(fd) || is_anothers(d, &registration, who.pid)));
	bool welcome = !strange;
	d->nr_strange += strange;
	if (welcome && !asks && registration.has_fd && fd < 0)
		d->nr_refused++;
	if (asks)
		clients_answer(d, &registration, who.pid);
	else if (welcome)
		clients_admit(d, &registration, who.pid, fd);
	if ((asks || !welcome) && fd >= 0)
		close(fd);
	return true;
}

/* utime and stime are fields 14 and 15 of /proc/PID/stat, rss (pages) 24: proc(5). */
bool af_client_poll(struct af_client *g)
{
	char line[1024];
	unsigned long user = 0, kernel = 0;
	long rss = 0;

	if (!af_proc_read(g->pid, "stat", line, sizeof line))
		return false;
	const char *rest = strrchr(line, ')'); /* the name may hold anything */
	char state = 0;
	if (!rest || sscanf(rest + 1,
	                    " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d "
	                    "%*d %*d %*u %*u %ld",
	                    &state, &user, &kernel, &rss) != 4)
		return false;
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	struct af_used used = {user * tick_ns, kernel * tick_ns};
	af_used_read(g->pid, &used); /* the same, exact */
	g->user_ns = used.user_ns;
	g->kernel_ns = used.kernel_ns;
	af_used_children(g->pid, &g->children);
	uint64_t bytes = rss > 0 ? (uint64_t)rss * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
	if (bytes > g->max_rss_bytes)
		g->max_rss_bytes = bytes;
	return state != 'Z' && state != 'X';
}

/*
 * /proc shows a process as a zombie when its first thread has ended and others go on, so it is
 * asked only where there is no pidfd, which knows.
 */
static void client_poll(struct af_clients *d, struct af_client *g)
{
	bool alive = af_client_poll(g);

	if (alive && g->ns_pid == (uint32_t)g->pid)
		af_used_threads_poll(&g->threads, g->pid, g->user_ns + g->kernel_ns);
	if (g->pidfd < 0 && !alive)
		client_leaves(d, g);
}

/* It can be queried until whoever waits for it has its status. */
static void client_poll_last(struct af_clients *d, struct af_client *g)
{
	struct af_used used;

	af_client_poll(g);
	if (af_used_read(g->pid, &used)) {
		g->user_ns = used.user_ns;
		g->kernel_ns = used.kernel_ns;
		g->used_is_all = true;
	}
	client_leaves(d, g);
}

static void clients_watch(struct af_clients *d)
{
	struct epoll_event ends[64];
	int n;

	do {
		n = epoll_wait(d->ends, ends, 64, 0);
		for (int k = 0; k < n; k++)
			for (uint32_t i = 0; i < d->nr; i++)
				if (d->list[i].process == ends[k].data.u32 && !d->list[i].ended)
					client_poll_last(d, &d->list[i]);
	} while (n == 64);
}

void af_clients_pump(struct af_clients *d)
{
	while (clients_receive(d))
		;
	clients_watch(d);
}

void af_clients_poll(struct af_clients *d)
{
	for (uint32_t i = 0; i < d->nr; i++)
		if (!d->list[i].ended)
			client_poll(d, &d->list[i]);
}

void af_clients_poll_clocks(struct af_clients *d)
{
	struct af_used used;

	for (uint32_t i = 0; i < d->nr; i++) {
		struct af_client *g = &d->list[i];
		if (g->ended || !af_used_read(g->pid, &used))
			continue;
		g->user_ns = used.user_ns;
		g->kernel_ns = used.kernel_ns;
	}
}

void af_clients_release(struct af_clients *d)
{
	for (uint32_t i = 0; i < d->nr; i++) {
		if (d->list[i].fd >= 0)
			close(d->list[i].fd);
		d->list[i].fd = -1;
	}
}

void af_clients_sweep(struct af_clients *d)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < d->nr; i++)
		if (d->list[i].ended)
			free(d->list[i].threads.all);
		else
			d->list[kept++] = d->list[i];
	d->nr = kept;
	d->nr_ended = 0;
}
