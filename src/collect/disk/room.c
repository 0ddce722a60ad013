#include "collect/disk/room.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "collect/disk/place.h"
#include "collect/disk/recover.h"
#include "trace/metadata.h"
#include "trace/read/contents.h"
#include "trace/read/files.h"
#include "trace/read/state.h"
#include "trace/write/session.h"

static const char job_head[] = AF_JOB_HEAD;

bool af_room_job(int dir_fd, char key[AF_JOB_KEY_SIZE])
{
	char text[512];

	af_trace_text(dir_fd, AF_JOB_FILE, text, sizeof text);
	if (strncmp(text, job_head, sizeof job_head - 1) != 0)
		return false;
	text[strcspn(text, "\n")] = 0;
	text[sizeof job_head - 1 + AF_JOB_KEY_SIZE - 1] = 0;
	strcpy(key, text + sizeof job_head - 1);
	return true;
}

static bool is_job(int dir_fd)
{
	char key[AF_JOB_KEY_SIZE];

	return af_room_job(dir_fd, key);
}

int af_room_is_trace(int dir_fd)
{
	char head[8192];

	if (af_trace_has(dir_fd, AF_SESSION_FILE) || is_job(dir_fd))
		return true;
	int rc = af_trace_text(dir_fd, AF_METADATA_FILE, head, sizeof head);
	if (rc == -ENOENT || rc == -EISDIR || rc == -ELOOP || rc == -EINVAL)
		return 0;
	return rc ? rc : strstr(head, "aflame") != NULL;
}

/*
 * A job that was killed as a whole is often started again at once. Its folder is only renamed, so
 * here a recorder of another host counts as gone sooner than for readers.
 */
enum { HEARTBEATS_MISSED = 4 };

bool af_room_is_live(int dir_fd)
{
	struct af_trace_status is;
	uint64_t now_ns = 0;
	scope_close int naming = af_trace_file(dir_fd, AF_NAMING_FILE);

	if (naming >= 0 && af_trace_is_locked(naming))
		return true;
	af_trace_status(dir_fd, &now_ns, &is);
	return is.state == AF_TRACE_LIVE &&
	       (is.locked || !is.has_age || is.age_ns < HEARTBEATS_MISSED * AF_HEARTBEAT_NS);
}

int af_room_each(int dir_fd, int (*each)(void *arg, int dir_fd, const char *name), void *arg)
{
	DIR *dir = af_dir_list(dir_fd);
	int rc = 0;

	if (!dir)
		return 0;
	for (struct dirent *e; !rc && (e = af_dir_next(dir));)
		if (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN)
			rc = each(arg, dir_fd, e->d_name);
	closedir(dir);
	return rc;
}

static int rank_is_recorded(void *arg, int dir_fd, const char *name)
{
	(void)arg;
	scope_close int fd = af_trace_folder(dir_fd, name);
	return fd >= 0 && af_room_is_live(fd);
}

bool af_place_is_recorded(int dir_fd)
{
	return af_room_is_live(dir_fd) ||
	       (is_job(dir_fd) && af_room_each(dir_fd, rank_is_recorded, NULL));
}

/* The shared memory of a killed recorder is found through its trace only. */
static int rank_recover(void *arg, int dir_fd, const char *name)
{
	(void)arg;
	scope_close int fd = af_trace_folder(dir_fd, name);
	if (fd >= 0)
		af_recover(fd, name, NULL);
	return 0;
}

int af_room_discard(int at, const char *name)
{
	char stray[AF_STRAY_SIZE];
	scope_close int fd = af_trace_folder(at, name);
	int rc = fd < 0 ? fd : af_trace_stray(fd, stray);

	if (rc)
		return rc < 0 ? rc : -ENOTEMPTY;
	if (is_job(fd))
		af_room_each(fd, rank_recover, NULL);
	else
		af_recover(fd, name, NULL);
	return af_trace_remove(at, name);
}

int af_room_taken(const char *shown, int why, struct af_err *err)
{
	if (why) {
		af_fail(err, why, "%s exists, and whether it is an aflame trace cannot be seen",
		        shown);
		return -EEXIST;
	}
	return af_fail_plain(err, -EEXIST,
	                     "%s exists and is not an aflame trace: choose another name with -o",
	                     shown);
}

static int room_check(int dir_fd, const char *shown, bool deep, struct af_err *err)
{
	char stray[AF_STRAY_SIZE];
	int is = af_room_is_trace(dir_fd);

	if (is <= 0)
		return af_room_taken(shown, is, err);
	int rc = deep ? af_trace_stray(dir_fd, stray) : af_trace_stray_here(dir_fd, stray);
	if (rc == -EACCES)
		return af_fail_plain(
		    err, -EEXIST, "%s belongs to another user: choose another name with -o", shown);
	if (rc > 0)
		return af_fail_plain(err, -EEXIST,
		                     "%s contains %s, which is not part of a trace: move it, or "
		                     "choose another name with -o",
		                     shown, stray);
	return rc ? af_room_taken(shown, rc, err) : 0;
}

int af_room_check(int dir_fd, const char *shown, struct af_err *err)
{
	return room_check(dir_fd, shown, true, err);
}

int af_room_check_here(int dir_fd, const char *shown, struct af_err *err)
{
	return room_check(dir_fd, shown, false, err);
}

static int keep_as_old(int at, const char *name, const char *shown, struct af_err *err)
{
	char old[NAME_MAX + 1], old_shown[PATH_MAX + 8];

	if ((size_t)snprintf(old, sizeof old, "%s.old", name) >= sizeof old)
		return af_fail_plain(err, -ENAMETOOLONG, "the name %s is too long", shown);
	snprintf(old_shown, sizeof old_shown, "%s.old", shown);
	scope_close int fd = af_trace_folder(at, old);
	int rc = fd < 0 ? 0 : af_room_check(fd, old_shown, err);
	if (rc)
		return rc;
	rc = fd < 0 ? 0 : af_room_discard(at, old);
	if (rc)
		return af_fail(err, rc, "cannot remove %s", old_shown);
	if (renameat(at, name, at, old))
		return af_fail(err, -errno,
		               "cannot keep the old trace as %s: make the folder writable, or "
		               "choose another name with -o",
		               old_shown);
	return 0;
}

/* An old trace, which is to give way. */
static int old_away(int fd, int at, const char *name, const char *shown, enum af_room how,
                    struct af_err *err)
{
	int rc = af_room_check(fd, shown, err);

	if (rc)
		return rc;
	if (af_place_is_recorded(fd))
		return af_fail_plain(err, -EBUSY,
		                     "%s is still being recorded: wait for the program to end, or "
		                     "choose another name with -o",
		                     shown);
	rc = is_job(fd) ? 0 : af_recover(fd, shown, err);
	if (rc == 1)
		af_recovered(fd);
	if (rc < 0 || how == AF_ROOM_KEEP)
		return rc < 0 ? rc : keep_as_old(at, name, shown, err);
	rc = af_room_discard(at, name);
	return rc ? af_fail(err, rc, "cannot remove the old trace %s", shown) : 0;
}

int af_room_make(int at, const char *name, const char *shown, enum af_room how, struct af_err *err)
{
	scope_close int fd = af_trace_folder(at, name);

	if (fd == -ENOENT)
		return 0;
	if (fd == -ENOTDIR || fd == -ELOOP)
		return af_fail_plain(
		    err, -EEXIST, "%s exists and is not a directory: choose another name with -o",
		    shown);
	if (fd < 0)
		return af_room_taken(shown, fd, err);
	if (!unlinkat(at, name, AT_REMOVEDIR))
		return 0; /* it was empty */
	if (how == AF_ROOM_REFUSE)
		return af_fail_plain(
		    err, -EEXIST,
		    "%s exists: choose another name with -o, or replace a trace with --force",
		    shown);
	return old_away(fd, at, name, shown, how, err);
}
