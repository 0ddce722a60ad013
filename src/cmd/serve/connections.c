/*
 * Connections: one loop over all of them, each with a bound on its bytes and its time. A
 * connection reads a request, waits for its report, writes the answer, and lingers until the other
 * side has it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/clock.h"
#include "cmd/serve/private.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
	READ_S = 10,    /* for a whole request */
	STALLED_S = 30, /* without a byte taken of an answer */
	LINGER_S = 1,
	PATIENT_MS = 2500, /* a report is waited for; then a page tells how far it is */
	SIGNALS = SERVE_CONNECTIONS,
	LISTENER,
	POLLED,
};

enum connection_state { FREE, READS, WAITS, WRITES, LINGERS };

struct connection {
	enum connection_state state;
	int fd;
	uint64_t until_ns; /* then the state is at its end */
	char *in;
	size_t nr_in;
	struct af_request request;
	struct af_buf out;
	size_t nr_out;
	int report; /* what comes after it, or -1 */
	off_t report_at, report_size;
};

struct loop {
	struct server *server;
	int listener, signals;
	struct connection all[SERVE_CONNECTIONS];
	bool ended;
};

static uint64_t now_ns(void)
{
	return af_clock_ns(CLOCK_MONOTONIC);
}

static void connection_close(struct connection *c)
{
	if (c->state == FREE)
		return;
	close(c->fd);
	if (c->report >= 0)
		close(c->report);
	free(c->in);
	af_buf_free(&c->out);
	*c = (struct connection){.report = -1};
}

/* Closing at once could take the answer back, where the other side still sends. */
static void connection_linger(struct connection *c)
{
	shutdown(c->fd, SHUT_WR);
	c->state = LINGERS;
	c->until_ns = now_ns() + LINGER_S * SECOND_NS;
}

/* How much was sent; 0: no more for now; -1: the other side is gone. */
static ssize_t connection_send(struct connection *c)
{
	ssize_t n;

	if (c->nr_out < c->out.len) {
		n = send(c->fd, c->out.data + c->nr_out, c->out.len - c->nr_out, MSG_NOSIGNAL);
		c->nr_out += n > 0 ? (size_t)n : 0;
	} else {
		n = sendfile(c->fd, c->report, &c->report_at,
		             (size_t)(c->report_size - c->report_at));
	}
	return n > 0 ? n : n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static void connection_write(struct connection *c)
{
	while (c->nr_out < c->out.len || c->report_at < c->report_size) {
		ssize_t n = connection_send(c);
		if (n < 0)
			connection_close(c);
		if (n <= 0)
			return;
		c->until_ns = now_ns() + STALLED_S * SECOND_NS;
	}
	connection_linger(c);
}

static void connection_answer(struct connection *c, struct answer *a)
{
	struct stat st;

	c->out = a->bytes;
	if (a->report && !c->request.head && !fstat(a->report->fd, &st)) {
		c->report = dup(a->report->fd);
		c->report_size = c->report < 0 ? 0 : st.st_size;
	}
	if (c->request.head) {
		char *end = memmem(c->out.data, c->out.len, "\r\n\r\n", 4);
		c->out.len = end ? (size_t)(end + 4 - c->out.data) : c->out.len;
	}
	c->state = WRITES;
	c->until_ns = now_ns() + STALLED_S * SECOND_NS;
	connection_write(c);
}

static void connection_try(struct loop *l, struct connection *c, bool patient)
{
	struct answer a;

	answer_request(l->server, &c->request, patient, &a);
	if (!a.wait) {
		connection_answer(c, &a);
	} else if (c->state != WAITS) {
		c->state = WAITS;
		c->until_ns = now_ns() + PATIENT_MS * (SECOND_NS / 1000);
	}
}

static void connection_refuse(struct connection *c, int status)
{
	struct answer a = {0};

	c->request = (struct af_request){0};
	answer_status(status, &a);
	connection_answer(c, &a);
}

static void connection_read(struct loop *l, struct connection *c)
{
	ssize_t n = recv(c->fd, c->in + c->nr_in, AF_REQUEST_BYTES - c->nr_in, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		connection_close(c);
		return;
	}
	c->nr_in += (size_t)n;
	int rc = af_request_read(&c->request, c->in, c->nr_in);
	if (rc == 1)
		connection_try(l, c, true);
	else if (rc)
		connection_refuse(c, rc);
}

/* It may send on, to nobody. */
static void connection_drain(struct connection *c)
{
	char bytes[4096];
	ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		connection_close(c);
}

static void connection_late(struct loop *l, struct connection *c)
{
	if (c->state == READS && c->nr_in)
		connection_refuse(c, 408);
	else if (c->state == WAITS)
		connection_try(l, c, false);
	else
		connection_close(c);
}

/* A place for one more. A silent one gives way. */
static struct connection *loop_place(struct loop *l)
{
	struct connection *oldest = NULL;

	for (int i = 0; i < SERVE_CONNECTIONS; i++) {
		struct connection *c = &l->all[i];
		if (c->state == FREE)
			return c;
		bool idle = c->state == READS || c->state == LINGERS;
		if (idle && (!oldest || c->until_ns < oldest->until_ns))
			oldest = c;
	}
	if (oldest)
		connection_close(oldest);
	return oldest;
}

static void loop_accept(struct loop *l)
{
	int fd = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *c = fd < 0 ? NULL : loop_place(l);

	if (!c) {
		if (fd >= 0)
			close(fd);
		return;
	}
	*c = (struct connection){.state = READS,
	                         .fd = fd,
	                         .report = -1,
	                         .until_ns = now_ns() + READ_S * SECOND_NS,
	                         .in = af_xcalloc(1, AF_REQUEST_BYTES + 1)};
}

/* A child has ended, or we are to. */
static void loop_signal(struct loop *l)
{
	struct signalfd_siginfo info;
	bool child = false;

	while (read(l->signals, &info, sizeof info) == sizeof info) {
		child |= info.ssi_signo == SIGCHLD;
		l->ended |= info.ssi_signo != SIGCHLD;
	}
	if (!child)
		return;
	jobs_reap(&l->server->jobs);
	for (int i = 0; i < SERVE_CONNECTIONS; i++)
		if (l->all[i].state == WAITS)
			connection_try(l, &l->all[i], true);
}

static void loop_ready(struct loop *l, struct connection *c)
{
	switch (c->state) {
	case READS:
		connection_read(l, c);
		break;
	case WRITES:
		connection_write(c);
		break;
	case LINGERS:
		connection_drain(c);
		break;
	default:
		break;
	}
}

/* Fills in all that may happen next; returns how long to wait for it. */
static int loop_polled(struct loop *l, struct pollfd polled[POLLED])
{
	uint64_t now = now_ns(), first_ns = UINT64_MAX;

	for (int i = 0; i < SERVE_CONNECTIONS; i++) {
		const struct connection *c = &l->all[i];
		bool waits = c->state == FREE || c->state == WAITS;
		polled[i] = (struct pollfd){.fd = waits ? -1 : c->fd,
		                            .events = c->state == WRITES ? POLLOUT : POLLIN};
		if (c->state != FREE && c->until_ns < first_ns)
			first_ns = c->until_ns;
	}
	polled[SIGNALS] = (struct pollfd){.fd = l->signals, .events = POLLIN};
	polled[LISTENER] = (struct pollfd){.fd = l->listener, .events = POLLIN};
	if (first_ns == UINT64_MAX)
		return -1;
	return first_ns <= now ? 0 : (int)((first_ns - now) / 1000000) + 1;
}

static void loop_turn(struct loop *l)
{
	struct pollfd polled[POLLED];
	int ms = loop_polled(l, polled);

	if (poll(polled, POLLED, ms) < 0)
		return;
	for (int i = 0; i < SERVE_CONNECTIONS; i++) {
		struct connection *c = &l->all[i];
		if (polled[i].fd >= 0 && polled[i].revents)
			loop_ready(l, c);
		if (c->state != FREE && c->until_ns <= now_ns())
			connection_late(l, c);
	}
	if (polled[SIGNALS].revents)
		loop_signal(l);
	if (polled[LISTENER].revents)
		loop_accept(l);
}

int connections_serve(struct server *s, int listener, struct af_err *err)
{
	struct loop l = {.server = s, .listener = listener};
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ours, NULL);
	l.signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l.signals < 0)
		return af_fail(err, -errno, "cannot wait for signals");
	answer_prepare(s);
	while (!l.ended)
		loop_turn(&l);
	for (int i = 0; i < SERVE_CONNECTIONS; i++)
		connection_close(&l.all[i]);
	jobs_clear(&s->jobs);
	close(l.signals);
	return 0;
}
