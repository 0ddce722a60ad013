#include "collect/stage/gather.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "collect/disk/recover.h"
#include "collect/disk/unnamed.h"
#include "collect/stage/move.h"
#include "collect/stage/stage.h"
#include "trace/read/contents.h"
#include "trace/read/files.h"
#include "trace/write/session.h"

/* ".aflame-stage.0123456789abcdef" */
static bool stage_name_ok(const char *name)
{
	static const char prefix[] = "." AF_STAGE_NAME ".";
	const char *digits = name + sizeof prefix - 1;

	return !strncmp(name, prefix, sizeof prefix - 1) && strlen(digits) == 16 &&
	       strspn(digits, "0123456789abcdef") == 16;
}

/* The directory @name in @at, if it is a staging directory of this user alone. */
static int stage_open(int at, const char *name)
{
	struct stat st;

	if (!stage_name_ok(name))
		return -EINVAL;
	scope_close int fd = af_trace_folder(at, name);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 077) ||
	    (!af_trace_has(fd, AF_STAGING_FILE) && !af_trace_has(fd, AF_MOVED_FILE)))
		return -EPERM;
	return give_fd(fd);
}

static bool is_this_host(const struct af_staged *s)
{
	char boot[AF_BOOT_ID_SIZE], host[sizeof s->host] = "";

	af_boot_id(boot);
	gethostname(host, sizeof host - 1);
	return (*boot && !strcmp(boot, s->boot_id)) || !strcmp(host, s->host);
}

/* Its recorder has ended: whatever it left, the trace is settled afterwards. */
static int stage_settle(int stage, const char *path, struct af_err *err)
{
	int rc = af_recover(stage, path, err);

	if (rc == 1)
		rc = af_unnamed_mark(stage);
	else if (rc == 2)
		rc = af_fail_plain(err, -ENODATA,
		                   "the trace in %s is unfinished, and was recorded elsewhere",
		                   path);
	return rc;
}

/* @at and @name are those of the locked directory @stage. */
static enum af_gather_state stage_move(struct af_gathered *g, int at, const char *name, int stage,
                                       int dir_fd, const char *shown, struct af_err *err)
{
	int rc = af_trace_has(stage, AF_MOVED_FILE) ? 0 : stage_settle(stage, g->staged.path, err);

	if (!rc)
		rc = af_stage_move(stage, dir_fd, shown, &g->bytes, err);
	if (rc)
		return rc == -EBUSY ? AF_GATHER_RECORDED : AF_GATHER_FAILED;
	af_trace_remove(at, name); /* what stays of it is found by its AF_MOVED_FILE */
	return AF_GATHER_MOVED;
}

void af_gather(struct af_gathered *g, int dir_fd, const char *shown, struct af_err *err)
{
	char name[NAME_MAX + 1];

	*g = (struct af_gathered){.state = AF_GATHER_HERE};
	if (!af_staged_read(dir_fd, &g->staged))
		return;
	scope_close int at = af_parent_open(g->staged.path, name);
	scope_close int stage = at < 0 ? at : stage_open(at, name);
	if (stage < 0) {
		g->state = is_this_host(&g->staged) ? AF_GATHER_GONE : AF_GATHER_ELSEWHERE;
		return;
	}
	if (flock(stage, LOCK_EX | LOCK_NB)) {
		g->state = AF_GATHER_RECORDED;
		return;
	}
	/* Another gather may have been faster. */
	struct af_staged now;
	if (!af_staged_read(dir_fd, &now))
		return;
	g->state = stage_move(g, at, name, stage, dir_fd, shown, err);
}

/* The place that the stage is for; false: the file is of no use. */
static bool place_read(int stage, char place[PATH_MAX])
{
	const char *file = af_trace_has(stage, AF_MOVED_FILE) ? AF_MOVED_FILE : AF_STAGING_FILE;

	if (af_trace_text(stage, file, place, PATH_MAX))
		return false;
	size_t len = strcspn(place, "\n");
	bool fine = len > 1 && place[0] == '/' && place[len] == '\n';
	for (size_t i = 0; i < len; i++)
		fine &= !iscntrl((unsigned char)place[i]);
	place[len] = 0;
	return fine;
}

static bool is_below(const char *place, const char *set)
{
	size_t len = strlen(set);

	return !set[0] || !strcmp(place, set) || (!strncmp(place, set, len) && place[len] == '/');
}

/* The place is gone, or empty: it is made again. */
static int place_make(const char *place, const char *path)
{
	char name[NAME_MAX + 1];
	scope_close int at = af_parent_open(place, name);
	if (at < 0)
		return at;
	scope_close int fd = af_trace_make(at, name);
	int rc = fd < 0 ? fd : af_stage_stub(fd, path);
	return rc ? rc : give_fd(fd);
}

static void stage_gather(struct af_gathered *g, int at, const char *name, int stage,
                         const char *place, struct af_err *err)
{
	char link[32];
	scope_close int dir_fd = af_trace_dir_open(place);
	struct af_staged stub;

	*g = (struct af_gathered){.state = AF_GATHER_FAILED};
	snprintf(link, sizeof link, "/proc/self/fd/%d", stage);
	ssize_t n = readlink(link, g->staged.path, sizeof g->staged.path - 1);
	g->staged.path[n > 0 ? n : 0] = 0;
	if (flock(stage, LOCK_EX | LOCK_NB)) {
		g->state = AF_GATHER_RECORDED;
		return;
	}
	bool moved = af_trace_has(stage, AF_MOVED_FILE);
	if (dir_fd == -ENOENT && !moved)
		dir_fd = place_make(place, g->staged.path);
	if (dir_fd >= 0 && af_staged_read(dir_fd, &stub) && !strcmp(stub.path, g->staged.path)) {
		g->state = stage_move(g, at, name, stage, dir_fd, place, err);
	} else if (moved) {
		af_trace_remove(at, name);
		g->state = AF_GATHER_HERE;
	} else if (dir_fd < 0) {
		af_fail(err, dir_fd, "cannot open %s, the place of the trace in %s", place,
		        g->staged.path);
	} else {
		af_fail_plain(err, -EEXIST,
		              "another trace is at %s, the place of the trace in %s: rename it, "
		              "and gather again",
		              place, g->staged.path);
	}
}

int af_gather_stages(const char *stage_dir, const char *set,
                     void (*each)(void *arg, const char *place, const struct af_gathered *g,
                                  const struct af_err *why),
                     void *arg, struct af_err *err)
{
	char full[PATH_MAX] = "", place[PATH_MAX];
	scope_close int at = af_trace_dir_open(stage_dir);
	DIR *d = at < 0 ? NULL : af_dir_list(at);
	int nr = 0;

	if (!d)
		return af_fail(err, at < 0 ? at : -errno, "cannot read --stage %s", stage_dir);
	if (set && !realpath(set, full))
		full[0] = 0;
	for (struct dirent *e; (e = af_dir_next(d));) {
		scope_close int stage = stage_open(at, e->d_name);
		struct af_gathered g;
		struct af_err why = {0};
		if (stage < 0 || !place_read(stage, place) || !is_below(place, full))
			continue;
		stage_gather(&g, at, e->d_name, stage, place, &why);
		each(arg, place, &g, &why);
		nr++;
	}
	closedir(d);
	return nr;
}
