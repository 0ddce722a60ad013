#include "collect/stage/move.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/write.h"
#include "trace/metadata.h"
#include "trace/read/contents.h"
#include "trace/read/files.h"
#include "trace/read/origin.h"
#include "trace/read/staged.h"
#include "trace/write/objects.h"
#include "trace/write/session.h"

enum { COPY_BYTES = 1 << 20 };

/* Files that are about the staging directory itself, or about a recorder that has ended. */
static bool stays(const char *name)
{
	static const char *const own[] = {
	    AF_STAGING_FILE, AF_MOVED_FILE,   AF_ORIGIN_FILE, AF_SESSION_FILE, ".session.new",
	    AF_STAGED_FILE,  AF_WATCHED_FILE, ".symbols.tmp", ".segment",      AF_METADATA_FILE,
	};

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (!strcmp(name, own[i]))
			return true;
	return false;
}

static int bytes_copy(int in, int out, uint64_t *bytes)
{
	scope_free char *data = malloc(COPY_BYTES);
	ssize_t n = 0;
	int rc = data ? 0 : -ENOMEM;

	while (!rc && (n = read(in, data, COPY_BYTES)) > 0) {
		rc = af_write_all(out, data, (size_t)n);
		*bytes += rc ? 0 : (uint64_t)n;
	}
	if (!rc && n < 0)
		rc = -errno;
	/* Some file systems tell of a full quota no earlier. */
	return !rc && fsync(out) ? -errno : rc;
}

static int file_copy(int from, int to, const char *name, uint64_t *bytes)
{
	scope_close int in = af_trace_file(from, name);
	scope_close int out = in < 0 ? in : af_create_private(to, name);
	int rc = in < 0 ? in : out < 0 ? out : bytes_copy(in, out, bytes);

	if (!rc && close(give_fd(out)))
		rc = -errno;
	return rc;
}

/* An object that the set has already is a second name of it there. */
static int object_copy(int from, int to, int place, const char *name, uint64_t *bytes)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!af_object_link(place, name, (uint64_t)st.st_size))
		return 0;
	int rc = file_copy(from, to, name, bytes);
	if (!rc)
		af_object_share(place, name);
	return rc;
}

static int sync_dir(int fd)
{
	/* Not every file system syncs directories. */
	return fsync(fd) && errno != EINVAL && errno != EBADF ? -errno : 0;
}

static int objects_copy(int from, int to, uint64_t *bytes)
{
	scope_close int in = af_trace_folder(from, AF_OBJECTS_DIR);
	if (in < 0)
		return in == -ENOENT ? 0 : in;
	if (mkdirat(to, AF_OBJECTS_DIR, 0700) && !af_name_is_taken(to, AF_OBJECTS_DIR))
		return -errno;
	scope_close int out = af_trace_folder(to, AF_OBJECTS_DIR);
	DIR *d = out < 0 ? NULL : af_dir_list(in);
	int rc = out < 0 ? out : d ? 0 : -errno;

	for (struct dirent *e; !rc && (e = af_dir_next(d));)
		if (af_object_name_ok(e->d_name))
			rc = object_copy(in, out, to, e->d_name, bytes);
	if (d)
		closedir(d);
	return rc ? rc : sync_dir(out);
}

static int streams_copy(int from, int to, uint64_t *bytes)
{
	struct stat st;
	DIR *d = af_dir_list(from);
	int rc = d ? 0 : -errno;

	for (struct dirent *e; !rc && (e = af_dir_next(d));)
		if (!stays(e->d_name) && !fstatat(from, e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			rc = file_copy(from, to, e->d_name, bytes);
	if (d)
		closedir(d);
	return rc;
}

/* Remove what was copied, and keep the stub. */
static void copies_remove(int from, int to)
{
	DIR *d = af_dir_list(from);

	for (struct dirent *e; d && (e = af_dir_next(d));)
		if (!stays(e->d_name) || !strcmp(e->d_name, AF_METADATA_FILE))
			unlinkat(to, e->d_name, 0);
	if (d)
		closedir(d);
	scope_close int objects = af_trace_folder(to, AF_OBJECTS_DIR);
	DIR *o = objects < 0 ? NULL : af_dir_list(objects);
	for (struct dirent *e; o && (e = af_dir_next(o));)
		if (af_object_name_ok(e->d_name))
			unlinkat(objects, e->d_name, 0);
	if (o)
		closedir(o);
}

int af_stage_move(int from, int to, const char *shown, uint64_t *bytes, struct af_err *err)
{
	char stray[AF_STRAY_SIZE];
	int rc = 0;

	if (!af_trace_has(from, AF_MOVED_FILE)) {
		if (af_trace_stray(from, stray) || af_trace_stray(to, stray))
			return af_fail_plain(err, -EEXIST,
			                     "cannot move the trace to %s: there is %s, which is "
			                     "not part of a trace: move it away",
			                     shown, stray);
		rc = streams_copy(from, to, bytes);
		rc = rc ? rc : objects_copy(from, to, bytes);
		/* Without it no other reader takes the directory for a trace. */
		rc = rc ? rc : file_copy(from, to, AF_METADATA_FILE, bytes);
		rc = rc ? rc : sync_dir(to);
		/* On a full disk, too. */
		if (!rc && renameat(from, AF_STAGING_FILE, from, AF_MOVED_FILE))
			rc = -errno;
		rc = rc ? rc : sync_dir(from);
		if (rc) {
			renameat(from, AF_MOVED_FILE, from, AF_STAGING_FILE);
			copies_remove(from, to);
			return af_fail(err, rc, "cannot move the trace to %s", shown);
		}
	}
	af_origin_mark(to); /* without it the trace is as one from elsewhere */
	if (unlinkat(to, AF_STAGED_FILE, 0) && errno != ENOENT)
		return af_fail(err, -errno, "cannot remove %s/" AF_STAGED_FILE, shown);
	sync_dir(to);
	return 0;
}
