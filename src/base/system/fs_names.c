/* Where a path leads, as a directory that is open and a name in it; not for targets. */
#include "base/system/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

int af_parent_open(const char *path, char name[NAME_MAX + 1])
{
	char parent[PATH_MAX] = ".";
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t len = slash && slash > path ? (size_t)(slash - path) : 1;

	if (strlen(base) > NAME_MAX || len >= sizeof parent)
		return -ENAMETOOLONG;
	strcpy(name, base);
	if (slash) {
		memcpy(parent, path, len);
		parent[len] = 0;
	}
	int fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool af_name_is_taken(int at, const char *name)
{
	int why = errno;
	struct stat st;
	bool taken = why == EEXIST || why == ENOTEMPTY ||
	             (why == EPERM && !fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW));

	errno = why;
	return taken;
}

/* @name in @at, made where it is missing. */
static int dir_step(int at, const char *name)
{
	struct stat st;
	int fd = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	bool made = !mkdirat(at, name, 0777);
	if (!made && !af_name_is_taken(at, name))
		return -errno;
	fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !made || (!fstat(fd, &st) && st.st_uid == geteuid()))
		return fd < 0 ? -errno : fd;
	close(fd);
	return -ESTALE;
}

int af_parent_make(const char *path, char name[NAME_MAX + 1])
{
	char part[NAME_MAX + 1];
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	int at = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (at < 0)
		return -errno;
	for (const char *p = path; p < base && at >= 0;) {
		size_t len = strcspn(p, "/");
		int next = len > NAME_MAX ? -ENAMETOOLONG : at;
		if (len && len <= NAME_MAX) {
			memcpy(part, p, len);
			part[len] = 0;
			next = dir_step(at, part);
		}
		if (next != at)
			close(at);
		at = next;
		p += len + 1;
	}
	if (at >= 0 && strlen(base) > NAME_MAX) {
		close(at);
		return -ENAMETOOLONG;
	}
	if (at >= 0)
		strcpy(name, base);
	return at;
}

int af_unique_name(char name[NAME_MAX + 1], const char *base)
{
	uint64_t random;

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return -EIO;
	snprintf(name, NAME_MAX + 1, ".%.*s.%016llx", NAME_MAX - 18, base,
	         (unsigned long long)random);
	return 0;
}
