#include "collect/session/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/write.h"
#include "collect/session/session.h"
#include "trace/read/contents.h"
#include "trace/read/files.h"
#include "trace/read/origin.h"
#include "trace/write/objects.h"

enum {
	SNAPSHOTS_AT_ONCE = 4,
	NAMES_TRIED = 10000,
};

struct copying {
	int from, to; /* directories */
	const struct af_drain_rest *rests;
	uint32_t nr;
};

/*
 * A stream's file, as it was when the snapshot was asked for; one that gave way since is left out.
 */
static int copy_stream(const struct copying *c, const char *name)
{
	const struct af_drain_rest *rest = NULL;
	struct stat st;

	scope_close int from = af_trace_file(c->from, name);
	if (from < 0 || fstat(from, &st))
		return 0;
	for (uint32_t i = 0; i < c->nr && !rest; i++)
		if (!strcmp(c->rests[i].name, name))
			rest = &c->rests[i];
	scope_close int to = openat(c->to, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	int rc = af_copy_bytes(from, to, rest ? rest->file_bytes : (uint64_t)st.st_size);
	if (!rc && strcmp(name, "metadata"))
		af_drain_file_resume(to, NULL); /* the last packet may be half written */
	if (!rc && rest && rest->packet && lseek(to, 0, SEEK_END) >= 0)
		rc = af_write_all(to, rest->packet, rest->size);
	return rc;
}

/* Packets of a stream that has no file yet. */
static int copy_rest(const struct copying *c, const struct af_drain_rest *rest)
{
	scope_close int to =
	    openat(c->to, rest->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (to < 0)
		return errno == EEXIST ? 0 : -errno;
	return af_write_all(to, rest->packet, rest->size);
}

static int each_name(int dir_fd, int (*each)(const struct copying *, const char *),
                     const struct copying *c)
{
	DIR *dir = af_dir_list(dir_fd);
	int rc = 0;

	if (!dir)
		return -errno;
	for (struct dirent *e; !rc && (e = readdir(dir));)
		if (e->d_name[0] != '.')
			rc = each(c, e->d_name);
	closedir(dir);
	return rc;
}

/* An object never changes: a second name of it will do. */
static int copy_object(const struct copying *c, const char *name)
{
	if (!linkat(c->from, name, c->to, name, 0))
		return 0;
	return copy_stream(c, name);
}

static int copy_objects(const struct copying *c)
{
	if (mkdirat(c->to, AF_OBJECTS_DIR, 0700))
		return -errno;
	scope_close int from = af_trace_folder(c->from, AF_OBJECTS_DIR);
	scope_close int to = af_trace_folder(c->to, AF_OBJECTS_DIR);
	struct copying objects = {.from = from, .to = to};
	return from < 0 ? from : to < 0 ? to : each_name(from, copy_object, &objects);
}

/* The facts that only the recorder knows, as at the end of a recording. */
static int snapshot_note(const struct af_recording *r, int to)
{
	static const char key[] = "snapshot", value[] = "taken while recording went on";
	const struct {
		enum af_lost reason;
		uint64_t count;
	} lost[] = {
	    {AF_LOST_NO_STREAM, r->control->lost_no_stream},
	    {AF_LOST_BUSY, r->control->lost_busy},
	    {AF_LOST_CAPPED, r->control->lost_capped},
	    {AF_LOST_OLDEST, r->control->lost_oldest},
	    {AF_LOST_PAUSED, r->bounds.off_since_ns ? af_now_ns() - r->bounds.off_since_ns : 0},
	};
	struct af_tail tail[] = {{key, sizeof key - 1, 0}, {value, sizeof value - 1, 0}};
	struct af_stream s;
	int fd = af_create_private(to, "snapshot");

	if (fd < 0)
		return fd;
	int rc = af_stream_open_file(&s, fd, ((uint64_t)3 << 32) + 1, 0);
	if (rc)
		return rc;
	af_stream_put_tail(&s, AF_KIND_NOTE, af_now_ns(), "", 0, tail, 2);
	for (unsigned i = 0; i < sizeof lost / sizeof *lost; i++)
		if (lost[i].count)
			af_stream_put(&s, lost, af_now_ns(), .reason = lost[i].reason,
			              .count = lost[i].count);
	return af_stream_close(&s);
}

int af_snapshot_copy(const struct af_recording *r, int to, const char *dir,
                     const struct af_drain_rest *rests, uint32_t nr, struct af_err *err)
{
	struct copying c = {.from = r->place.dir_fd, .to = to, .rests = rests, .nr = nr};
	int rc = each_name(r->place.dir_fd, copy_stream, &c);
	for (uint32_t i = 0; i < nr && !rc; i++)
		if (rests[i].packet)
			rc = copy_rest(&c, &rests[i]);
	if (!rc)
		rc = copy_objects(&c);
	if (!rc)
		rc = snapshot_note(r, to);
	af_origin_mark(to);
	return rc ? af_fail(err, rc, "cannot copy the trace to %s", dir) : 0;
}

/* A directory that a snapshot is made in, until it is whole and has its name. */
struct unfinished {
	int in_fd, fd; /* where it lies; itself */
	char name[NAME_MAX + 1], made_as[NAME_MAX + 1];
};

static void unfinished_close(struct unfinished *d)
{
	if (d->fd >= 0)
		close(d->fd);
	if (d->in_fd >= 0)
		close(d->in_fd);
	d->fd = d->in_fd = -1;
}

/* Only the empty directory goes by its name, which others may have given to another one. */
static void unfinished_remove(const struct unfinished *d)
{
	af_trace_clear(d->fd);
	unlinkat(d->in_fd, d->made_as, AT_REMOVEDIR);
}

/* The child's whole life: only the program and the recorder may outlive either. */
_Noreturn static void snapshot_child(struct af_recording *r, const struct unfinished *d,
                                     const char *dir, const struct af_drain_rest *rests,
                                     uint32_t nr, int report)
{
	struct af_err err = {0};

	prctl(PR_SET_NAME, "aflame-snapshot");
	close(r->lock_fd); /* or the trace would be held when the recorder is killed */
	af_clients_close(&r->clients);
	int rc = af_snapshot_copy(r, d->fd, dir, rests, nr, &err);
	if (!rc && r->options->finish_copy)
		rc = r->options->finish_copy(d->fd, dir, &err);
	if (!rc && renameat(d->in_fd, d->made_as, d->in_fd, d->name))
		rc = af_fail(&err, -errno, "cannot name the snapshot %s", dir);
	if (rc) {
		unfinished_remove(d);
		af_write_all(report, err.msg, strlen(err.msg));
	}
	_exit(rc ? 1 : 0);
}

/* Its final name is free when this is. */
static int unfinished_make(struct unfinished *d)
{
	if ((size_t)snprintf(d->made_as, sizeof d->made_as, "%s.tmp", d->name) >= sizeof d->made_as)
		return -ENAMETOOLONG;
	if (af_trace_has(d->in_fd, d->name))
		return -EEXIST;
	d->fd = af_trace_make(d->in_fd, d->made_as);
	return d->fd < 0 ? d->fd : 0;
}

/* Beside the trace, or the place of a staged one: DIR.1, DIR.2 and so on. */
static int unfinished_beside(struct af_recording *r, struct unfinished *d, char dir[1024])
{
	const struct af_place *p = r->stage.target.dir_fd >= 0 ? &r->stage.target : &r->place;
	int rc = -EEXIST;

	d->in_fd = fcntl(p->in_fd, F_DUPFD_CLOEXEC, 0);
	if (d->in_fd < 0)
		return -errno;
	for (int tries = 0; rc == -EEXIST && tries < NAMES_TRIED; tries++) {
		uint32_t number = ++r->snapshots.last;
		if ((size_t)snprintf(dir, 1024, "%.1000s.%u", p->dir, number) >= 1024 ||
		    (size_t)snprintf(d->name, sizeof d->name, "%s.%u", p->name, number) >=
		        sizeof d->name)
			return -ENAMETOOLONG;
		rc = unfinished_make(d);
	}
	return rc;
}

static int unfinished_open(struct af_recording *r, struct unfinished *d, const char *asked,
                           char dir[1024], struct af_err *err)
{
	int rc;

	*d = (struct unfinished){.in_fd = -1, .fd = -1};
	if (!asked) {
		rc = unfinished_beside(r, d, dir);
	} else if ((size_t)snprintf(dir, 1024, "%s", asked) >= 1024) {
		return af_fail_plain(err, -ENAMETOOLONG, "the name is too long");
	} else {
		d->in_fd = af_parent_open(asked, d->name);
		rc = d->in_fd < 0 ? d->in_fd : unfinished_make(d);
	}
	if (!rc)
		return 0;
	unfinished_close(d);
	return af_fail(err, rc, "cannot make the snapshot %s", dir);
}

static int child_start(struct af_recording *r, const struct unfinished *d, const char *dir,
                       int report)
{
	struct af_drain_rest *rests;

	af_drain_poll(&r->drain);
	af_drain_pump(&r->drain);
	af_stream_flush(&r->stream);
	uint32_t nr = af_drain_rests(&r->drain, &rests);
	int pid = fork();
	if (!pid)
		snapshot_child(r, d, dir, rests, nr, report);
	int rc = pid < 0 ? -errno : pid;
	af_drain_rests_free(rests, nr);
	return rc;
}

int af_snapshot_start(struct af_recording *r, const char *dir, bool asked, struct af_err *err)
{
	struct af_snapshots *s = &r->snapshots;
	struct af_snapshot new = {.asked = asked};
	struct unfinished d;
	int report[2] = {-1, -1};

	if (s->nr >= SNAPSHOTS_AT_ONCE)
		return af_fail_plain(err, -EBUSY,
		                     "%u snapshots are being made: wait for one of them", s->nr);
	int rc = unfinished_open(r, &d, dir, new.dir, err);
	if (rc)
		return rc;
	if (pipe2(report, O_CLOEXEC))
		rc = af_fail(err, -errno, "cannot make a pipe");
	new.pid = rc ? rc : child_start(r, &d, new.dir, report[1]);
	if (!rc && new.pid < 0)
		rc = af_fail(err, new.pid, "cannot start a process");
	if (rc)
		unfinished_remove(&d);
	unfinished_close(&d);
	if (report[1] >= 0)
		close(report[1]);
	if (rc) {
		if (report[0] >= 0)
			close(report[0]);
		return rc;
	}
	new.fd = report[0];
	AF_GROW(s->items, s->nr, s->cap);
	s->items[s->nr++] = new;
	return 0;
}

static void snapshot_reported(struct af_recording *r, const struct af_snapshot *s, int status)
{
	char why[512] = "";
	char line[1600];
	ssize_t n = read(s->fd, why, sizeof why - 1);

	close(s->fd);
	why[n > 0 ? n : 0] = 0;
	bool made = WIFEXITED(status) && !WEXITSTATUS(status);
	if (made)
		snprintf(line, sizeof line, "snapshot %s", s->dir);
	else
		snprintf(line, sizeof line, "no snapshot: %s",
		         *why ? why : "the process that made it was killed");
	r->snapshots.nr_made += made;
	if (made)
		af_session_note(r, "snapshot", "%s", s->dir);
	if (s->asked)
		af_ctl_answer(&r->ctl, made, line);
	else if (r->options->tell)
		r->options->tell(line);
}

static void snapshots_reap(struct af_recording *r, int how)
{
	struct af_snapshots *s = &r->snapshots;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->nr; i++) {
		int status;
		if (waitpid(s->items[i].pid, &status, how) == s->items[i].pid)
			snapshot_reported(r, &s->items[i], status);
		else
			s->items[kept++] = s->items[i];
	}
	s->nr = kept;
}

void af_snapshot_reap(struct af_recording *r)
{
	snapshots_reap(r, WNOHANG);
}

void af_snapshot_wait(struct af_recording *r)
{
	snapshots_reap(r, 0);
	free(r->snapshots.items);
	r->snapshots.items = NULL;
	r->snapshots.nr = r->snapshots.cap = 0;
}
