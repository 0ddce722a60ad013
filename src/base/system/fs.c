#include "base/system/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

bool af_file_size_allowed(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	       limit.rlim_cur >= size;
}

int af_create_private(int dirfd, const char *name)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dirfd, name, flags, 0600);

	if (fd < 0 && errno == EEXIST) {
		if (unlinkat(dirfd, name, 0))
			return -errno;
		fd = openat(dirfd, name, flags, 0600);
	}
	return fd < 0 ? -errno : fd;
}

/* For an open directory; @fd is closed if this fails. */
static DIR *list_of(int fd)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0) {
		int failed = errno;
		close(fd);
		errno = failed;
	}
	return d;
}

DIR *af_dir_list(int dirfd)
{
	return list_of(openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

struct dirent *af_dir_next(DIR *d)
{
	struct dirent *e = readdir(d);

	while (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")))
		e = readdir(d);
	return e;
}

static int remove_at(int dirfd, const char *name)
{
	if (!unlinkat(dirfd, name, 0))
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	/* An empty one takes no descriptor. */
	if (!unlinkat(dirfd, name, AT_REMOVEDIR))
		return 0;

	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = list_of(fd);
	if (!d)
		return -errno;

	int rc = 0;
	for (struct dirent *e; (e = af_dir_next(d));) {
		int one = remove_at(fd, e->d_name);
		if (one && !rc)
			rc = one;
	}
	closedir(d);
	if (unlinkat(dirfd, name, AT_REMOVEDIR) && !rc)
		rc = -errno;
	return rc;
}

int af_remove_tree_at(int dirfd, const char *name)
{
	return remove_at(dirfd, name);
}

int af_remove_tree(const char *path)
{
	return remove_at(AT_FDCWD, path);
}
