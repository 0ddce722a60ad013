/* aflame serve: shows a trace's report to a browser here, or on another machine through ssh. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "cmd/output/browser.h"
#include "cmd/serve/private.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/names.h"

/*
 * One that stays the same, so that the line for ssh and the forwarded port of yesterday fit today;
 * it is in no list of services.
 */
enum { PORT_USUAL = 8417, PORT_MOST = 65535, BACKLOG = 64 };

struct serve_options {
	uint64_t port, memory;
	bool open;
	const char *sources;
};

/* Listen on that port of 127.0.0.1; 0: any that is free. A descriptor, or -errno. */
static int listen_on(unsigned port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	                         .sin_port = htons((uint16_t)port),
	                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	scope_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0)
		return -errno;
	/* A port that was left a moment ago is free; one that another listens on is not. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (const struct sockaddr *)&at, sizeof at) || listen(fd, BACKLOG))
		return -errno;
	return give_fd(fd);
}

static int serve_listen(const struct serve_options *o, unsigned *port, struct af_err *err)
{
	struct sockaddr_in at = {0};
	socklen_t size = sizeof at;

	if (o->port > PORT_MOST)
		return af_fail_plain(err, -EINVAL, "--port %llu: ports end at %d",
		                     (unsigned long long)o->port, PORT_MOST);
	int fd = listen_on(o->port ? (unsigned)o->port : PORT_USUAL);
	if (fd < 0 && !o->port)
		fd = listen_on(0);
	if (fd == -EADDRINUSE)
		return af_fail_plain(
		    err, fd,
		    "port %llu of 127.0.0.1 is taken by another program: name another "
		    "port, or leave --port out, and a free one is taken",
		    (unsigned long long)o->port);
	if (fd == -EACCES)
		return af_fail_plain(err, fd,
		                     "port %llu is for root alone: name one from 1024 on, or leave "
		                     "--port out",
		                     (unsigned long long)o->port);
	if (fd < 0)
		return af_fail(err, fd, "cannot listen on 127.0.0.1");
	if (getsockname(fd, (struct sockaddr *)&at, &size)) {
		int rc = -errno;
		close(fd);
		return af_fail(err, rc, "cannot listen on 127.0.0.1");
	}
	*port = ntohs(at.sin_port);
	return fd;
}

/*
 * The browser gets a private file that leads to the link: all users of the machine can read its
 * command line.
 */
struct serve_link {
	char dir[64], file[80];
};

static int link_write(struct serve_link *l, const char *url, struct af_err *err)
{
	struct af_buf page = {0};

	snprintf(l->dir, sizeof l->dir, "/tmp/aflame.XXXXXX");
	if (!mkdtemp(l->dir)) {
		l->dir[0] = 0;
		return af_fail(err, -errno, "cannot make a file in /tmp for the browser");
	}
	snprintf(l->file, sizeof l->file, "%s/serve.html", l->dir);
	page_sentence(&page, "One moment", "The report comes next.", url, 0);
	scope_close int fd = open(l->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : af_buf_flush(&page, fd);
	af_buf_free(&page);
	return rc ? af_fail(err, rc, "cannot write %s", l->file) : 0;
}

static void link_remove(const struct serve_link *l)
{
	if (!*l->dir)
		return;
	unlink(l->file);
	rmdir(l->dir);
}

/* In a child: the browser waits for the server, which is not to wait for the browser. */
static void serve_open(const struct serve_link *l)
{
	struct af_err err = {0};

	fflush(NULL);
	if (fork())
		return;
	if (af_browser_open(l->file, &err))
		fprintf(stderr, "aflame serve: %s\n", err.msg);
	_exit(0);
}

static void serve_print(const struct server *s, const char *url)
{
	char host[256] = "";

	gethostname(host, sizeof host - 1);
	printf("%s\n", url);
	fflush(stdout);
	fprintf(stderr,
	        "aflame serve: open that link here, or on another machine after\n"
	        "    ssh -N -L %u:127.0.0.1:%u %s\nCtrl-C ends it.\n",
	        s->port, s->port, *host ? host : "HOST");
}

/* A trace that is not there, or is none, is an error now; later it is one on the page. */
static int serve_look(struct server *s, struct af_err *err)
{
	int rc = af_trace_prepare(s->served.dir, err);

	if (rc && rc != -EBUSY)
		return rc;
	served_look(&s->served);
	return s->served.now == SERVE_GONE ? af_fail_plain(err, -ENOENT, "%s", s->served.why) : 0;
}

static int serve_begin(const struct serve_options *o, struct server *s, int listener,
                       struct af_err *err)
{
	struct serve_link link = {0};
	char url[160];
	int rc = af_gate_make(&s->gate);

	if (rc)
		return af_fail(err, rc, "the system has no random bytes");
	snprintf(url, sizeof url, "http://127.0.0.1:%u%s?token=%s", s->port, s->gate.path,
	         s->gate.token);
	rc = o->open ? link_write(&link, url, err) : 0;
	if (!rc) {
		serve_print(s, url);
		if (o->open)
			serve_open(&link);
		rc = connections_serve(s, listener, err);
	}
	link_remove(&link);
	return rc;
}

static int serve_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct serve_options *o = state;
	struct server s = {.served.dir = af_trace_dir(nr_words, words),
	                   .served.now = SERVE_GONE,
	                   .jobs = {.memory = o->memory, .sources = o->sources}};

	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "one trace, not %s too", words[nr_words - 1]);
	int rc = serve_look(&s, err);
	if (rc)
		return rc;
	scope_close int fd = serve_listen(o, &s.port, err);
	return fd < 0 ? fd : serve_begin(o, &s, fd, err);
}

#define AT(field) offsetof(struct serve_options, field)

static const struct af_option serve_options[] = {
    {AF_OPT_U64, "port", 0, "N", "the port on 127.0.0.1 (8417, or a free one)", AT(port)},
    {AF_OPT_FLAG, "open", 0, NULL, "show it in the browser of this machine", AT(open)},
    {AF_OPT_SIZE, "memory", 0, "SIZE", "the most that making a report may take (1G)", AT(memory)},
    AF_SOURCES_OPTION(struct serve_options, 0),
    {AF_OPT_END},
};

const struct af_command af_command_serve = {
    .name = "serve",
    .usage = "[OPTIONS] [DIR]",
    .summary = "Show a trace's report to a browser, here or through ssh",
    .details =
	"Serves the report of the trace DIR (aflame.data) on 127.0.0.1 and prints its link, with\n"
	"a token that only you have, until it is interrupted. It is the page that `aflame open`\n"
	"shows. Of a large trace the first part comes at once, and the rest while you look at it;\n"
	"a time range that is chosen on the page is loaded by itself. Where the trace is on "
	"another\n"
	"machine, run `aflame serve` there, forward the port by the line that it prints (ssh -L),\n"
	"and open the link here.",
    .examples = "aflame serve\tthe last recording\n"
		"aflame serve --port 9000 run1\tanother one, on a port of your choice\n",
    .options = serve_options,
    .state_size = sizeof(struct serve_options),
    .defaults = &(const struct serve_options){.memory = 1ull << 30},
    .run = serve_run,
};
