#include "collect/session/clients.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/system/fs.h"
#include "trace/write/session.h"

static struct {
	uint32_t process, ask;
	unsigned nr;
} query;

static void on_ask(void *arg, struct af_client *g, uint32_t ask)
{
	(void)arg;
	query.process = g->process;
	query.ask = ask;
	query.nr++;
}

static void send_registration(const char *dir, const struct af_registration *registration, int fd)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET,
	                        .cmsg_type = SCM_RIGHTS,
	                        .cmsg_len = CMSG_LEN(sizeof(int))}};
	struct iovec iov = {(void *)registration, sizeof *registration};
	struct msghdr msg = {
	    .msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &iov, .msg_iovlen = 1};

	snprintf(to.sun_path, sizeof to.sun_path, "%s/socket", dir);
	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof control.room;
	}
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(sendmsg(s, &msg, 0), sizeof *registration);
	close(s);
}

/* What is asked comes with an end of @ends; is it closed when the control socket was polled? */
static bool is_answered(struct af_clients *d, const char *dir,
                        const struct af_registration *registration)
{
	int ends[2];
	char none;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	send_registration(dir, registration, ends[1]);
	close(ends[1]);
	assert_int_equal(recv(ends[0], &none, 1, MSG_DONTWAIT), -1);
	af_clients_pump(d);
	ssize_t n = recv(ends[0], &none, 1, MSG_DONTWAIT);
	close(ends[0]);
	return !n;
}

static void what_is_asked_is_answered_by_closing(void **state)
{
	char dir[] = "/tmp/aflame-socket-XXXXXX";
	struct af_registration registration = {.process = 7, .pid = (uint32_t)getpid()};
	struct af_clients clients;
	struct af_err err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(af_clients_open(&clients, dir, &err), 0);
	clients.on_ask = on_ask;
	send_registration(dir, &registration, -1);
	af_clients_pump(&clients);
	assert_int_equal(clients.nr, 1);

	registration.has_fd = 1;
	registration.ask = AF_ASK_EXEC_BEGINS;
	assert_true(is_answered(&clients, dir, &registration));
	assert_int_equal(query.nr, 1);
	assert_int_equal(query.process, 7);
	assert_int_equal(query.ask, AF_ASK_EXEC_BEGINS);

	/* From a program that this process no longer runs. */
	registration.process = 6;
	assert_true(is_answered(&clients, dir, &registration));
	assert_int_equal(query.nr, 1);
	assert_int_equal(clients.nr, 1);
	af_clients_close(&clients);
	af_remove_tree(dir);
}

static unsigned nr_open(void)
{
	unsigned nr = 0;

	for (int fd = 0; fd < 256; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* A perf event is the only thing that is kept, and nobody is believed about another. */
static void what_nobody_would_send_is_refused_and_counted(void **state)
{
	char dir[] = "/tmp/aflame-socket-XXXXXX";
	struct af_registration registration = {
	    .process = 7, .pid = (uint32_t)getpid(), .has_fd = 1};
	struct af_clients clients;
	struct af_err err;
	int ends[2];

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(af_clients_open(&clients, dir, &err), 0);
	assert_int_equal(pipe(ends), 0);
	unsigned before = nr_open();
	send_registration(dir, &registration, ends[0]);
	af_clients_pump(&clients);
	assert_int_equal(clients.nr, 0);
	assert_int_equal(clients.nr_strange, 1);
	assert_int_equal(nr_open(), before);

	registration.has_fd = 0;
	send_registration(dir, &registration, -1);
	af_clients_pump(&clients);
	assert_int_equal(clients.nr, 1);
	pid_t pid = fork();
	if (!pid) {
		send_registration(dir, &registration, -1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	af_clients_pump(&clients);
	assert_int_equal(clients.nr, 1);
	assert_int_equal(clients.nr_strange, 2);
	close(ends[0]);
	close(ends[1]);
	af_clients_close(&clients);
	af_remove_tree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_asked_is_answered_by_closing),
	    cmocka_unit_test(what_nobody_would_send_is_refused_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
