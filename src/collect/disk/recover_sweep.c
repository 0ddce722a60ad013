/*
 * A recorder that was killed leaves its shared directory for who finishes the trace. Where the
 * trace is deleted instead nobody would ever come for it. What is removed here is of this user
 * alone, of a recorder that is gone (a living one holds a lock on its directory), and of a trace
 * whose place can be looked at and that is not there, nor beside it by another name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/system/fs.h"
#include "collect/disk/recover.h"
#include "trace/read/contents.h"
#include "trace/read/files.h"
#include "trace/read/state.h"
#include "trace/write/session.h"

enum { BEGINNING_S = 60 }; /* a directory without files that is older was never begun */

/* Is @name in @at a trace that its next reader finishes by the shared directory @shm? */
static bool needs(int at, const char *name, const char *shm)
{
	char text[128];
	scope_close int dir = af_trace_folder(at, name);

	if (dir < 0 || af_trace_text(dir, AF_SESSION_FILE, text, sizeof text))
		return false;
	text[strcspn(text, "\n")] = 0;
	return !strcmp(text, shm);
}

/* Has @parent the trace under whatever name? Where that cannot be known it may. */
static bool may_have(const char *parent, const char *shm)
{
	DIR *d = opendir(parent);
	bool has = !d;

	for (struct dirent *e; !has && d && (e = readdir(d));)
		has = (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN) &&
		      needs(dirfd(d), e->d_name, shm);
	if (d)
		closedir(d);
	return has;
}

/*
 * The folder that it was in, or the next above that is still there, must be of the same file
 * system: else that is not mounted, or we do not see what the recorder saw.
 */
static bool trace_is_deleted(const struct af_session *s, const char *shm)
{
	char path[sizeof s->trace_dir];
	struct stat st;

	memcpy(path, s->trace_dir, sizeof path);
	path[sizeof path - 1] = 0;
	if (path[0] != '/')
		return false;
	for (char *slash; (slash = strrchr(path, '/'));) {
		slash[slash == path] = 0;
		if (!stat(path, &st))
			return st.st_dev == s->trace_device && !may_have(path, shm);
		if (errno != ENOENT || slash == path)
			return false;
	}
	return false;
}

static bool is_left(int fd, const char *shm)
{
	struct af_session *s = af_session_map(fd, AF_SESSION_RECORDER);
	struct stat st;

	if (!s)
		return faccessat(fd, "control", F_OK, AT_SYMLINK_NOFOLLOW) && !fstat(fd, &st) &&
		       time(NULL) - st.st_mtim.tv_sec > BEGINNING_S;
	bool deleted = trace_is_deleted(s, shm);
	if (deleted)
		s->state = AF_SESSION_OVER; /* its program may be alive */
	af_session_unmap(s);
	return deleted;
}

static void sweep(const char *name)
{
	char path[sizeof "/dev/shm/" + NAME_MAX];

	snprintf(path, sizeof path, "/dev/shm/%s", name);
	scope_close int fd = af_trace_shm_open(path);
	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && is_left(fd, path))
		af_remove_tree(path);
}

void af_recover_sweep(void)
{
	DIR *d = opendir("/dev/shm");

	for (struct dirent *e; d && (e = readdir(d));)
		sweep(e->d_name);
	if (d)
		closedir(d);
}

void af_live_clear(int dir_fd)
{
	DIR *dir = af_dir_list(dir_fd);

	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));)
		if (!strncmp(e->d_name, AF_LIVE_PREFIX, strlen(AF_LIVE_PREFIX)))
			af_trace_remove(dir_fd, e->d_name);
	unlinkat(dir_fd, AF_WATCHED_FILE, 0);
	closedir(dir);
}
