#include "trace/read/contents.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/system/fs.h"
#include "trace/metadata.h"
#include "trace/read/files.h"
#include "trace/read/staged.h"
#include "trace/write/objects.h"
#include "trace/write/session.h"

/* The kind of a directory. */
enum contents { NOT_OURS, FILE_OF_TRACE, TRACE, OBJECTS, JOB };

/* @s, less @prefix and the digits that have to follow; NULL: it does not begin so. */
static const char *past_number(const char *s, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(s, prefix, len) != 0 || !isdigit((unsigned char)s[len]))
		return NULL;
	return s + len + strspn(s + len, "0123456789");
}

bool af_trace_is_stream(const char *name)
{
	static const char *const imported[] = {"defs-",    "gpu-",  "memory-", "names-", "run-",
	                                       "samples-", "sums-", "stalls-", "thread-"};
	const char *rest = past_number(name, "s");

	for (size_t i = 0; !rest && i < sizeof imported / sizeof *imported; i++) {
		const char *end = past_number(name, imported[i]);
		if (end && !*end)
			return true;
	}
	if (rest && *rest == '-')
		rest = past_number(rest, "-");
	if (rest && *rest == '.')
		rest = past_number(rest, ".");
	return rest && !*rest;
}

static enum contents kind_in_trace(const char *name)
{
	static const char *const files[] = {
	    "metadata",     ".metadata.new", "recorder",      AF_RECOVERED_STREAM, "snapshot",
	    "symbols",      ".symbols.tmp",  ".segment",      ".origin",           AF_SESSION_FILE,
	    ".session.new", AF_WATCHED_FILE, AF_UNNAMED_FILE, AF_NAMING_FILE,      AF_NAMING_NEW,
	    AF_STAGED_FILE, AF_STAGING_FILE, AF_MOVED_FILE,
	};
	const char *rest = past_number(name, AF_LIVE_PREFIX);

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (!strcmp(name, files[i]))
			return FILE_OF_TRACE;
	if (!strcmp(name, AF_OBJECTS_DIR))
		return OBJECTS;
	if ((rest && !*rest) || !strcmp(name, AF_LIVE_PREFIX "tmp"))
		return TRACE;
	rest = past_number(name, ".clock-"); /* of trace/read/state.c, for a moment */
	if (rest && !*rest)
		return FILE_OF_TRACE;
	return af_trace_is_stream(name) ? FILE_OF_TRACE : NOT_OURS;
}

static enum contents kind_in_objects(const char *name)
{
	const char *rest = past_number(name, "."); /* one that was being written */

	if (rest && *rest == '-')
		rest = past_number(rest, "-");
	return (rest && !*rest) || af_object_name_ok(name) ? FILE_OF_TRACE : NOT_OURS;
}

/*
 * "rank-0017"; "rank-0017b" of a second recorder of the rank, "rank-0017.restart-2" of a rank that
 * begins anew; of each "….old", and the snapshots "….1" and, not finished, "….1.tmp".
 */
static enum contents kind_in_job(const char *name)
{
	const char *rest = past_number(name, "rank-");

	if (rest && past_number(rest, ".restart-"))
		rest = past_number(rest, ".restart-");
	if (rest && *rest >= 'b' && *rest <= 'z')
		rest++;
	if (!strcmp(name, AF_JOB_FILE))
		return FILE_OF_TRACE;
	if (!strcmp(name, AF_OBJECTS_DIR))
		return OBJECTS;
	if (rest && past_number(rest, ".")) {
		rest = past_number(rest, ".");
		if (!strcmp(rest, ".tmp"))
			return TRACE;
	}
	return rest && (!*rest || !strcmp(rest, ".old")) ? TRACE : NOT_OURS;
}

/* The kind of @name in @dirfd, a directory of @kind. */
static enum contents kind_of(int dirfd, enum contents kind, const char *name)
{
	struct stat st;
	enum contents is = kind == TRACE     ? kind_in_trace(name)
	                   : kind == OBJECTS ? kind_in_objects(name)
	                                     : kind_in_job(name);

	if (is == NOT_OURS || fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return NOT_OURS;
	return (is == FILE_OF_TRACE ? S_ISREG(st.st_mode) : S_ISDIR(st.st_mode)) ? is : NOT_OURS;
}

static int is_own(int dirfd)
{
	struct stat st;

	if (fstat(dirfd, &st))
		return -errno;
	return st.st_uid == geteuid() ? 0 : -EACCES;
}

static int stray_find(int dirfd, enum contents kind, bool deep, const char *path,
                      char stray[AF_STRAY_SIZE])
{
	int rc = is_own(dirfd);
	DIR *d = rc ? NULL : af_dir_list(dirfd);

	if (!d)
		return rc ? rc : -errno;
	for (struct dirent *e; !rc && (e = af_dir_next(d));) {
		char below[AF_STRAY_SIZE];
		enum contents is = kind_of(dirfd, kind, e->d_name);

		snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", e->d_name);
		if (is == NOT_OURS) {
			memcpy(stray, below, sizeof below);
			rc = 1;
		} else if (is != FILE_OF_TRACE && deep) {
			scope_close int fd = af_trace_folder(dirfd, e->d_name);
			rc = fd < 0 ? fd : stray_find(fd, is, deep, below, stray);
		}
	}
	closedir(d);
	return rc;
}

static enum contents kind_of_dir(int dirfd)
{
	return af_trace_has(dirfd, AF_JOB_FILE) ? JOB : TRACE;
}

int af_trace_stray(int dirfd, char stray[AF_STRAY_SIZE])
{
	return stray_find(dirfd, kind_of_dir(dirfd), true, "", stray);
}

int af_trace_stray_here(int dirfd, char stray[AF_STRAY_SIZE])
{
	return stray_find(dirfd, kind_of_dir(dirfd), false, "", stray);
}

static int clear(int dirfd, enum contents kind)
{
	DIR *d = af_dir_list(dirfd);
	int rc = d ? 0 : -errno;

	for (struct dirent *e; d && (e = af_dir_next(d));) {
		enum contents is = kind_of(dirfd, kind, e->d_name);
		int one = is == NOT_OURS ? -ENOTEMPTY : 0;

		if (is > FILE_OF_TRACE) {
			scope_close int fd = af_trace_folder(dirfd, e->d_name);
			one = fd < 0 ? fd : clear(fd, is);
		}
		if (!one && unlinkat(dirfd, e->d_name, is == FILE_OF_TRACE ? 0 : AT_REMOVEDIR))
			one = -errno;
		rc = rc ? rc : one;
	}
	if (d)
		closedir(d);
	return rc;
}

int af_trace_clear(int dirfd)
{
	char stray[AF_STRAY_SIZE];
	enum contents kind = kind_of_dir(dirfd);
	int rc = stray_find(dirfd, kind, true, "", stray);

	return rc > 0 ? -ENOTEMPTY : rc ? rc : clear(dirfd, kind);
}

int af_trace_remove(int at, const char *name)
{
	scope_close int fd = af_trace_folder(at, name);
	int rc = fd < 0 ? fd : af_trace_clear(fd);

	return !rc && unlinkat(at, name, AT_REMOVEDIR) ? -errno : rc;
}

bool af_trace_is_one(int dirfd)
{
	return af_trace_has(dirfd, AF_METADATA_FILE) || af_trace_has(dirfd, AF_SESSION_FILE);
}

bool af_trace_is_placed(int dirfd)
{
	return af_trace_is_one(dirfd) || af_trace_has(dirfd, AF_STAGED_FILE);
}

int af_trace_each(int dirfd, void (*each)(void *arg, const char *name, int fd), void *arg)
{
	DIR *d = af_dir_list(dirfd);

	if (!d)
		return -errno;
	for (struct dirent *e; (e = af_dir_next(d));) {
		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) ||
		    !strcmp(e->d_name, AF_OBJECTS_DIR))
			continue;
		scope_close int fd = af_trace_folder(dirfd, e->d_name);
		if (fd >= 0)
			each(arg, e->d_name, fd);
	}
	closedir(d);
	return 0;
}
