#include "collect/session/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/fs.h"
#include "collect/session/control.h"
#include "collect/session/session.h"

/* Open for both directions: neither opening nor reading waits for somebody at the other end. */
static int fifo_open(int in_fd, const char *name, const char *path, bool *made, struct af_err *err)
{
	struct stat st;

	*made = !mkfifoat(in_fd, name, 0600);
	if (!*made && errno != EEXIST)
		return af_fail(err, -errno, "--ctl: cannot make the FIFO %s", path);
	int fd = openat(in_fd, name, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return af_fail(err, -errno, "--ctl: cannot open %s", path);
	if (fstat(fd, &st) || !S_ISFIFO(st.st_mode)) {
		close(fd);
		return af_fail_plain(err, -EINVAL,
		                     "--ctl: %s is not a FIFO: remove it, or choose another path",
		                     path);
	}
	if (st.st_uid != geteuid()) {
		close(fd);
		return af_fail_plain(
		    err, -EPERM, "--ctl: the FIFO %s is somebody else's: name another path", path);
	}
	return fd;
}

int af_ctl_open(struct af_ctl *c, const char *path, struct af_err *err)
{
	*c = (struct af_ctl){.fd = -1, .ack_fd = -1};
	c->in_fd = af_parent_open(path, c->name);
	if (c->in_fd < 0)
		return af_fail(err, c->in_fd, "--ctl: cannot make the FIFO %s", path);
	if ((size_t)snprintf(c->ack_name, sizeof c->ack_name, "%s.ack", c->name) >=
	    sizeof c->ack_name)
		return af_fail_plain(err, -ENAMETOOLONG, "--ctl: the name is too long");
	c->fd = fifo_open(c->in_fd, c->name, path, &c->made, err);
	if (c->fd < 0)
		return c->fd;
	c->ack_fd = fifo_open(c->in_fd, c->ack_name, c->ack_name, &c->ack_made, err);
	if (c->ack_fd < 0) {
		int rc = c->ack_fd;
		af_ctl_close(c);
		return rc;
	}
	return 0;
}

void af_ctl_close(struct af_ctl *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->ack_fd >= 0)
		close(c->ack_fd);
	if (c->made)
		unlinkat(c->in_fd, c->name, 0);
	if (c->ack_made)
		unlinkat(c->in_fd, c->ack_name, 0);
	if (c->in_fd >= 0)
		close(c->in_fd);
	*c = (struct af_ctl){.fd = -1, .ack_fd = -1, .in_fd = -1};
}

void af_ctl_answer(struct af_ctl *c, bool ok, const char *text)
{
	char line[2048], old[4096];
	int len = snprintf(line, sizeof line - 1, "%s %s", ok ? "ok" : "error", text);

	if (c->ack_fd < 0)
		return;
	if (len >= (int)sizeof line - 1)
		len = (int)sizeof line - 2;
	line[len++] = '\n';
	if (write(c->ack_fd, line, (size_t)len) >= 0 || errno != EAGAIN)
		return;
	/* Nobody has read for long: the newest is worth more. */
	while (read(c->ack_fd, old, sizeof old) > 0)
		;
	if (write(c->ack_fd, line, (size_t)len) < 0)
		return;
}

static void answer_state(struct af_recording *r, int rc, const char *done)
{
	if (rc)
		af_ctl_answer(&r->ctl, false, "recording has stopped for good");
	else
		af_ctl_answer(&r->ctl, true, done);
}

static void answer_status(struct af_recording *r)
{
	static const char *const words[] = {"on", "stopped", "off"};
	uint64_t now = af_now_ns();
	char text[256];

	snprintf(text, sizeof text,
	         "status %s, %.1f s since the start, %llu bytes, %u processes, %u snapshots",
	         words[af_control_state(r) % 3], (double)(now - r->bounds.begin_ns) / 1e9,
	         (unsigned long long)af_bounds_bytes(r), r->control->nr_processes,
	         r->snapshots.nr_made);
	af_ctl_answer(&r->ctl, true, text);
}

static void ctl_snapshot(struct af_recording *r, const char *dir)
{
	struct af_err err = {0};

	if (af_snapshot_start(r, *dir ? dir : NULL, true, &err))
		af_ctl_answer(&r->ctl, false, err.msg);
}

static void ctl_do(struct af_recording *r, const char *line)
{
	size_t word = strcspn(line, " \t");
	const char *rest = line + word + strspn(line + word, " \t");

	if (!word)
		return; /* an empty line */
	if (word == 8 && !memcmp(line, "snapshot", 8)) {
		ctl_snapshot(r, rest);
	} else if (!strcmp(line, "on")) {
		answer_state(r, af_bounds_resume(r), "on");
	} else if (!strcmp(line, "off")) {
		answer_state(r, af_bounds_pause(r), "off");
	} else if (!strcmp(line, "stop")) {
		af_bounds_stop(r, "by --ctl");
		af_ctl_answer(&r->ctl, true, "stop");
	} else if (!strcmp(line, "status")) {
		answer_status(r);
	} else if (word == 3 && !memcmp(line, "api", 3) && r->options->switch_calls) {
		char text[256];
		bool ok = r->options->switch_calls(r, rest, text, sizeof text);
		af_ctl_answer(&r->ctl, ok, text);
	} else {
		af_ctl_answer(&r->ctl, false,
		              "no such word: on, off, snapshot [DIR], api on|off PATTERN, stop "
		              "and status are known");
	}
}

/* Lines are text: what a terminal would act on is no part of any word. */
static void ctl_byte(struct af_recording *r, char byte)
{
	struct af_ctl *c = &r->ctl;

	if (byte == '\n') {
		while (c->used && strchr(" \t\r", c->line[c->used - 1]))
			c->used--;
		c->line[c->used] = 0;
		if (c->too_long)
			af_ctl_answer(c, false, "the line is too long");
		else
			ctl_do(r, c->line);
		c->used = 0;
		c->too_long = false;
	} else if (c->used + 1 >= sizeof c->line) {
		c->too_long = true;
	} else {
		bool plain = (unsigned char)byte >= 0x20 && byte != 0x7f;
		c->line[c->used++] = plain || byte == '\t' || byte == '\r' ? byte : '?';
	}
}

void af_ctl_pump(struct af_recording *r)
{
	char bytes[4096];

	if (r->ctl.fd < 0)
		return;
	/* Once: somebody who writes without end must not keep us from the rings. */
	ssize_t n = read(r->ctl.fd, bytes, sizeof bytes);
	for (ssize_t i = 0; i < n; i++)
		ctl_byte(r, bytes[i]);
}
