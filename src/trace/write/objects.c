#include "trace/write/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/system/fs.h"
#include "base/write.h"

static int open_objects(int trace_dirfd)
{
	int fd =
	    openat(trace_dirfd, AF_OBJECTS_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_or_make_objects(int trace_dirfd)
{
	int fd = open_objects(trace_dirfd);

	if (fd != -ENOENT)
		return fd;
	if (mkdirat(trace_dirfd, AF_OBJECTS_DIR, 0700) &&
	    !af_name_is_taken(trace_dirfd, AF_OBJECTS_DIR))
		return -errno;
	return open_objects(trace_dirfd);
}

/* Pid namespaces and the leavings of killed writers make the first name no sure thing. */
static int create_temporary(int dirfd, char *name, size_t size)
{
	static _Atomic unsigned nr_made;

	for (int i = 0; i < 1000; i++) {
		snprintf(name, size, ".%ld-%u", (long)getpid(), atomic_fetch_add(&nr_made, 1));
		int fd =
		    openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* The store of the trace's job, if it is a rank's; else negative. With @make it is made. */
static int open_shared(int trace_dirfd, bool make)
{
	struct stat st;

	/* Any other folder called objects beside a trace is none of our business. */
	if (faccessat(trace_dirfd, "../" AF_JOB_FILE, F_OK, AT_SYMLINK_NOFOLLOW))
		return -ENOENT;
	scope_close int above =
	    openat(trace_dirfd, "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	scope_close int fd = above < 0 ? above
	                     : make    ? open_or_make_objects(above)
	                               : open_objects(above);
	if (fd < 0 || fstat(fd, &st) || st.st_uid != geteuid())
		return -ENOENT;
	return give_fd(fd);
}

int af_object_link(int trace_dirfd, const char *name, uint64_t size)
{
	struct stat st;
	scope_close int shared = open_shared(trace_dirfd, false);
	scope_close int own = shared < 0 ? shared : open_or_make_objects(trace_dirfd);

	if (own < 0)
		return own;
	if (linkat(shared, name, own, name, 0) && errno != EEXIST)
		return -errno;
	/* A disk that filled up, or a host that crashed, may have left a part. */
	if (!fstatat(own, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	    (uint64_t)st.st_size == size)
		return 0;
	unlinkat(own, name, 0);
	return -EBADMSG;
}

void af_object_share(int trace_dirfd, const char *name)
{
	scope_close int shared = open_shared(trace_dirfd, true);
	scope_close int own = shared < 0 ? shared : open_objects(trace_dirfd);

	if (own >= 0 && linkat(own, name, shared, name, 0))
		return; /* it is there already, or there are no links */
}

int af_object_put(int trace_dirfd, const void *data, size_t size, char name[AF_SHA256_HEX])
{
	char temporary[64];

	af_sha256_hex(data, size, name);
	if (!af_file_size_allowed(size))
		return -EFBIG;

	scope_close int dirfd = open_or_make_objects(trace_dirfd);
	if (dirfd < 0)
		return dirfd;
	if (!faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (!af_object_link(trace_dirfd, name, size))
		return 0;

	scope_close int fd = create_temporary(dirfd, temporary, sizeof temporary);
	if (fd < 0)
		return fd;
	int rc = af_write_all(fd, data, size);
	if (!rc && renameat(dirfd, temporary, dirfd, name))
		rc = -errno;
	if (rc)
		unlinkat(dirfd, temporary, 0);
	else
		af_object_share(trace_dirfd, name);
	return rc;
}
