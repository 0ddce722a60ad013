#include "cmd/output/atomic_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/rights.h"

#define PIPEFS_MAGIC 0x50495045 /* linux/magic.h: no name leads to these but /proc/self/fd/N */

static int atomic_in_place(const char *file, af_atomic_write_all *write, void *arg,
                           struct af_err *err)
{
	struct statfs fs;
	struct stat st;
	scope_close int fd = open(file, O_WRONLY | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) || fstatfs(fd, &fs))
		return af_fail(err, -errno, "cannot write %s", file);
	if (S_ISREG(st.st_mode))
		return af_fail_plain(err, -EEXIST, "%s is another file now", file);
	if (S_ISFIFO(st.st_mode) && fs.f_type != PIPEFS_MAGIC && st.st_uid != geteuid())
		return af_fail_plain(err, -EPERM, "%s is a pipe of another user", file);
	return write(fd, arg, err);
}

static mode_t atomic_mode(const struct af_output *to, const struct stat *old)
{
	mode_t mask;

	if (old && S_ISREG(old->st_mode) && old->st_uid == geteuid() && old->st_gid == getegid())
		return old->st_mode & 0666;
	if (!to->public)
		return 0600;
	mask = umask(077);
	umask(mask);
	return 0666 & ~mask;
}

static int atomic_replace(const struct af_output *to, af_atomic_write_all *write, void *arg,
                          struct af_err *err)
{
	char name[NAME_MAX + 1], temporary[NAME_MAX + 1];
	struct stat st;
	scope_close int dirfd = af_parent_open(to->file, name);
	int rc = dirfd < 0 ? dirfd : af_unique_name(temporary, name);

	if (rc)
		return af_fail(err, rc, "cannot write %s", to->file);
	bool old = !fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW);
	scope_close int fd =
	    openat(dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return af_fail(err, -errno, "cannot write %s", to->file);
	rc = write(fd, arg, err);
	uid_t uid;
	gid_t gid;
	if (af_sudo_user(&uid, &gid))
		(void)!fchown(fd, uid, gid); /* else the user could not read it */
	mode_t mode = atomic_mode(to, old ? &st : NULL);
	if (mode != 0600)
		fchmod(fd, mode); /* or it stays private: some file systems have no modes */
	if (!rc && renameat(dirfd, temporary, dirfd, name))
		rc = af_fail(err, -errno, "cannot write %s", to->file);
	if (rc)
		unlinkat(dirfd, temporary, 0);
	return rc;
}

int af_atomic_write(const struct af_output *to, af_atomic_write_all *write, void *arg,
                    struct af_err *err)
{
	const char *file = to->file;
	struct stat st, out;
	bool is = strcmp(file, "-") != 0 && !stat(file, &st);

	/* /dev/stdout is a link, which is not to be replaced where it leads to a file. */
	if (!strcmp(file, "-") || (is && !fstat(STDOUT_FILENO, &out) && st.st_dev == out.st_dev &&
	                           st.st_ino == out.st_ino))
		return write(STDOUT_FILENO, arg, err);
	bool in_place = is && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
	int rc =
	    in_place ? atomic_in_place(file, write, arg, err) : atomic_replace(to, write, arg, err);
	return rc ? af_while(err, rc, "while writing %s", file) : 0;
}

int af_output_refuse(const struct af_output *to, const char *format, struct af_err *err)
{
	static const char *const binary[] = {"pprof", "perfetto", "png"};
	bool is_terminal = isatty(STDOUT_FILENO) && (!to->file || !strcmp(to->file, "-") ||
	                                             !strcmp(to->file, "/dev/stdout"));

	for (size_t i = 0; is_terminal && i < sizeof binary / sizeof *binary; i++)
		if (!strcmp(format, binary[i]))
			return af_fail_plain(err, -EINVAL,
			                     "%s is not text for a terminal: name a file with -o",
			                     format);
	return 0;
}

void af_output_tell(const struct af_output *to, const char *who, const char *what)
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB"};
	struct stat st, out;
	int unit = 0;

	if (!isatty(STDERR_FILENO) || !to->file || !strcmp(to->file, "-") || stat(to->file, &st) ||
	    !S_ISREG(st.st_mode))
		return;
	if (!fstat(STDOUT_FILENO, &out) && st.st_dev == out.st_dev && st.st_ino == out.st_ino)
		return;
	double size = (double)st.st_size;
	for (; size >= 1000 && unit < 3; unit++)
		size /= 1000;
	fprintf(stderr, "aflame %s: wrote %s (%.*f %s): %s\n", who, to->file, unit ? 1 : 0, size,
	        units[unit], what);
}
