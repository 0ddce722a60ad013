/*
 * The shared directory, as it is to be before anything in it is believed. Its name outlives the
 * recording, in the environments of daemons, and anybody may make a directory of that name then.
 */
#include "trace/write/session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Before anything is called that a filter of system calls may look at: fstat is enough. */
static bool is_private(const struct stat *st, mode_t type)
{
	return (st->st_mode & S_IFMT) == type && st->st_uid == geteuid() && !(st->st_mode & 077);
}

static bool is_ours(int fd, mode_t type, struct stat *st)
{
	return !fstat(fd, st) && is_private(st, type);
}

int af_session_dir_open(const char *path, struct af_session_place *place)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (is_ours(fd, S_IFDIR, &st) &&
	    (!place->inode || (place->inode == st.st_ino && place->device == st.st_dev))) {
		if (!place->inode)
			*place = (struct af_session_place){st.st_dev, st.st_ino};
		return fd;
	}
	close(fd);
	return -EPERM;
}

static bool page_map(int dir_fd, const char *name, bool writes, void *at, off_t size)
{
	struct stat st;
	int fd = openat(dir_fd, name,
	                (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return false;
	/* One that is shorter than what is mapped would be a SIGBUS. */
	bool good = is_ours(fd, S_IFREG, &st) && st.st_nlink == 1 && st.st_size == size &&
	            mmap(at, (size_t)size, writes ? PROT_READ | PROT_WRITE : PROT_READ,
	                 MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
	close(fd);
	return good;
}

static struct af_session *pages_map(int dir_fd, const char *control, const char *counts,
                                    enum af_session_role role)
{
	char *at =
	    mmap(NULL, sizeof(struct af_session), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct af_session *s = (struct af_session *)at;

	if (at == MAP_FAILED)
		return NULL;
	if (page_map(dir_fd, control, role == AF_SESSION_RECORDER, at, AF_SESSION_CONTROL) &&
	    page_map(dir_fd, counts, true, at + AF_SESSION_CONTROL, AF_SESSION_PAGE) &&
	    s->magic == AF_SESSION_MAGIC && s->version == AF_TRACE_VERSION)
		return s;
	af_session_unmap(s);
	return NULL;
}

struct af_session *af_session_map(int dir_fd, enum af_session_role role)
{
	return pages_map(dir_fd, "control", "counts", role);
}

struct af_session *af_session_map_by_path(const char *path)
{
	char control[PATH_MAX], counts[PATH_MAX];
	struct stat st;

	/* In a place where nobody can remove or rename what is ours: /dev/shm is sticky. */
	if (lstat(path, &st) || !is_private(&st, S_IFDIR) ||
	    snprintf(control, sizeof control, "%s/control", path) >= (int)sizeof control ||
	    snprintf(counts, sizeof counts, "%s/counts", path) >= (int)sizeof counts)
		return NULL;
	return pages_map(AT_FDCWD, control, counts, AF_SESSION_TARGET);
}

void af_session_unmap(struct af_session *s)
{
	munmap(s, sizeof *s);
}

static int page_make(int dir_fd, const char *name, off_t size)
{
	int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	int rc = fallocate(fd, 0, 0, size) ? -errno : 0;
	close(fd);
	return rc;
}

int af_session_make(int dir_fd, const struct af_session *made, struct af_session **mapped)
{
	int rc = page_make(dir_fd, "control", AF_SESSION_CONTROL);

	if (!rc)
		rc = page_make(dir_fd, "counts", AF_SESSION_PAGE);
	if (rc)
		return rc;
	/* Nobody maps it before it says what it is. */
	int fd = openat(dir_fd, "control", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	ssize_t n = pwrite(fd, made, AF_SESSION_CONTROL, 0);
	close(fd);
	if (n != AF_SESSION_CONTROL)
		return -EIO;
	*mapped = af_session_map(dir_fd, AF_SESSION_RECORDER);
	return *mapped ? 0 : -EIO;
}

void af_session_env_write(char *text, size_t size, const char *dir, uint64_t nonce)
{
	snprintf(text, size, "%s:%016llx", dir, (unsigned long long)nonce);
}

bool af_session_env_read(const char *text, char *dir, size_t size, uint64_t *nonce)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	char *end;

	if (!len || len >= size || strlen(colon + 1) != 16)
		return false;
	memcpy(dir, text, len);
	dir[len] = 0;
	*nonce = strtoull(colon + 1, &end, 16);
	return !*end;
}
