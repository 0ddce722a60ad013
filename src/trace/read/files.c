#include "trace/read/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/system/fs.h"

int af_trace_dir_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int af_trace_folder(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* 0, -ESTALE or -errno */
static int check_empty(int dirfd)
{
	DIR *d = af_dir_list(dirfd);

	if (!d)
		return -errno;
	bool empty = !af_dir_next(d);
	closedir(d);
	return empty ? 0 : -ESTALE;
}

int af_trace_make(int at, const char *name)
{
	struct stat st;

	if (mkdirat(at, name, 0700))
		return af_name_is_taken(at, name) ? -EEXIST : -errno;
	int fd = af_trace_folder(at, name);
	if (fd < 0)
		return fd;
	int rc = fstat(fd, &st) || st.st_uid != geteuid() ? -ESTALE : check_empty(fd);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int af_trace_file(int dirfd, const char *name)
{
	return af_open_regular(dirfd, name, O_NOFOLLOW);
}

int af_trace_text(int dirfd, const char *name, char *text, size_t size)
{
	scope_close int fd = af_trace_file(dirfd, name);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	int rc = fd < 0 ? fd : n < 0 ? -errno : 0;

	text[n > 0 ? n : 0] = 0;
	return rc;
}

int af_trace_file_change(int dirfd, const char *name)
{
	struct stat st;

	/* A device is not even opened. */
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISLNK(st.st_mode) ? -ELOOP : -EINVAL;
	int fd = openat(dirfd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1)
		return fd;
	close(fd);
	return -EPERM;
}

bool af_trace_has(int dirfd, const char *name)
{
	return !faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}
