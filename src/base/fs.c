#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"

int af_file_map_fd(struct af_file *f, int fd)
{
	struct stat st;

	*f = (struct af_file){0};
	if (fstat(fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (!st.st_size)
		return 0;

	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	f->data = p;
	f->size = (size_t)st.st_size;
	return 0;
}

static int file_map(struct af_file *f, int dirfd, const char *name, int flags)
{
	scope_close int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);

	*f = (struct af_file){0};
	return fd < 0 ? -errno : af_file_map_fd(f, fd);
}

int af_file_map(struct af_file *f, const char *path, struct af_err *err)
{
	int rc = file_map(f, AT_FDCWD, path, 0);

	if (rc == -EISDIR)
		return af_fail_plain(err, rc, "%s is a directory, not a file", path);
	if (rc == -EINVAL)
		return af_fail_plain(err, rc, "%s is not a regular file", path);
	return rc ? af_fail(err, rc, "cannot read %s", path) : 0;
}

int af_file_map_at(struct af_file *f, int dirfd, const char *name)
{
	return file_map(f, dirfd, name, O_NOFOLLOW);
}

void af_file_unmap(struct af_file *f)
{
	if (f->data)
		munmap((void *)f->data, f->size);
	*f = (struct af_file){0};
}

bool af_file_size_allowed(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	       limit.rlim_cur >= size;
}

int af_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
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

static int remove_at(int dirfd, const char *name)
{
	if (!unlinkat(dirfd, name, 0))
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;

	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	DIR *d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}

	int rc = 0;
	for (struct dirent *e; (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		int one = remove_at(fd, e->d_name);
		if (one && !rc)
			rc = one;
	}
	closedir(d);
	if (unlinkat(dirfd, name, AT_REMOVEDIR) && !rc)
		rc = -errno;
	return rc;
}

int af_remove_tree(const char *path)
{
	return remove_at(AT_FDCWD, path);
}
