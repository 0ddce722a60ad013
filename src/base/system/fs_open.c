/*
 * Files whose names came from somebody else: from a process that is recorded, a trace, an ELF file.
 * To open a device or a pipe may do something (a terminal becomes the controlling one, a tape is
 * wound back, a pipe waits for its writer), so it is looked at first, by a descriptor that opens
 * nothing (O_PATH), and that very file is opened then.
 */
#include "base/system/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/system/rights.h"

enum { INSPECT = O_PATH | O_CLOEXEC, READ = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

static int type_refused(const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return 0;
	return S_ISDIR(st->st_mode) ? -EISDIR : S_ISLNK(st->st_mode) ? -ELOOP : -EINVAL;
}

/* Without /proc the name has to do, and the file must be the one that was looked at. */
static int open_again(int looked, int dirfd, const char *name, int flags)
{
	struct stat was, is;
	char link[32];

	snprintf(link, sizeof link, "/proc/self/fd/%d", looked);
	int fd = open(link, READ);
	if (fd >= 0 || errno != ENOENT || !name)
		return fd < 0 ? -errno : fd;
	fd = openat(dirfd, name, READ | flags);
	if (fd < 0)
		return -errno;
	if (fstat(looked, &was) || fstat(fd, &is) || was.st_dev != is.st_dev ||
	    was.st_ino != is.st_ino) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

int af_open_regular(int dirfd, const char *name, int flags)
{
	struct stat st;

	scope_close int looked = openat(dirfd, name, INSPECT | flags);
	if (looked < 0 || fstat(looked, &st))
		return -errno;
	int rc = type_refused(&st);
	return rc ? rc : open_again(looked, dirfd, name, flags);
}

/* Before Linux 5.6, or where openat2(2) is forbidden: through no link at all. */
static int inspect_below(int root, const char *path)
{
	char part[NAME_MAX + 1];
	scope_close int at = fcntl(root, F_DUPFD_CLOEXEC, 0);

	for (path += strspn(path, "/"); at >= 0 && *path;) {
		size_t len = strcspn(path, "/");
		if (len > NAME_MAX || (len == 2 && !memcmp(path, "..", 2))) {
			errno = EXDEV;
			return -1;
		}
		memcpy(part, path, len);
		part[len] = 0;
		path += len + strspn(path + len, "/");
		int next = openat(at, part, INSPECT | O_NOFOLLOW | (*path ? O_DIRECTORY : 0));
		close(at);
		at = next;
	}
	return give_fd(at);
}

int af_open_regular_in(int root, const char *path)
{
	struct open_how how = {.flags = INSPECT | O_NOFOLLOW,
	                       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	struct stat st;

	scope_close int looked = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
	if (looked < 0 && (errno == ENOSYS || errno == EPERM))
		looked = inspect_below(root, path);
	if (looked < 0 || fstat(looked, &st))
		return -errno;
	int rc = type_refused(&st);
	return rc ? rc : open_again(looked, root, NULL, 0);
}

int af_open_regular_of(unsigned pid, const char *path)
{
	char link[40];

	snprintf(link, sizeof link, "/proc/%u/root", pid);
	uint64_t before = af_rights_raise(AF_RIGHTS_PROCESS);
	scope_close int root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	af_rights_restore(before);
	return root < 0 ? -errno : af_open_regular_in(root, path);
}
