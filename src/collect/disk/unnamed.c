#include "collect/disk/unnamed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/system/clock.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "trace/read/files.h"
#include "trace/read/state.h"
#include "trace/write/session.h"

#define RENEW_NS UINT64_C(10000000000)

int af_unnamed_mark(int dir_fd)
{
	return renameat(dir_fd, AF_SESSION_FILE, dir_fd, AF_UNNAMED_FILE) ? -errno : 0;
}

/* The second line has the boot and the host, as in AF_SESSION_FILE. */
static void owner_write(int fd)
{
	char boot[AF_BOOT_ID_SIZE], host[256] = "", text[512];

	af_boot_id(boot);
	gethostname(host, sizeof host - 1);
	int len = snprintf(text, sizeof text, "-\n%s %s\n", boot, host);
	if (pwrite(fd, text, (size_t)len, 0) != len || ftruncate(fd, len))
		return;
	futimens(fd, NULL);
}

static int unnamed_claim(int dir_fd, struct af_naming *n)
{
	scope_close int fd = af_trace_file_change(dir_fd, AF_UNNAMED_FILE);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return -EBUSY;
	/* Each host may have a lock of its own; only one process can rename the file. */
	if (renameat(dir_fd, AF_UNNAMED_FILE, dir_fd, AF_NAMING_FILE))
		return errno == ENOENT ? -EBUSY : -errno;
	owner_write(fd);
	n->fd = give_fd(fd);
	n->renewed_ns = af_clock_ns(CLOCK_MONOTONIC);
	return 0;
}

/* How long nobody renewed the claim, by the clock of the file system that holds it. */
static int64_t claim_age_s(int dir_fd, int fd)
{
	struct stat was, now;
	scope_close int fresh = af_create_private(dir_fd, AF_NAMING_NEW);

	if (fresh < 0 || fstat(fresh, &now) || fstat(fd, &was))
		now.st_mtime = was.st_mtime = 0;
	if (fresh >= 0)
		unlinkat(dir_fd, AF_NAMING_NEW, 0);
	return now.st_mtime - was.st_mtime;
}

/* Give the claim of a dead process back. */
static int claim_release(int dir_fd)
{
	char text[512];
	scope_close int fd = af_trace_file_change(dir_fd, AF_NAMING_FILE);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return -EBUSY;
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = 0;
	if (af_trace_is_elsewhere(text) && claim_age_s(dir_fd, fd) < AF_UNNAMED_STALE_S)
		return -EBUSY;
	return renameat(dir_fd, AF_NAMING_FILE, dir_fd, AF_UNNAMED_FILE) ? -errno : 0;
}

int af_unnamed_begin(int dir_fd, struct af_naming *n)
{
	struct stat st;

	*n = (struct af_naming){.fd = -1};
	/* Naming writes files: never where others may have put links to ours. */
	if (fstat(dir_fd, &st) || st.st_uid != geteuid())
		return -EPERM;
	int rc = unnamed_claim(dir_fd, n);
	if (rc != -ENOENT)
		return rc;
	rc = claim_release(dir_fd);
	if (rc)
		return rc;
	rc = unnamed_claim(dir_fd, n);
	return rc == -ENOENT ? -EBUSY : rc; /* another process was faster */
}

void af_unnamed_renew(struct af_naming *n)
{
	uint64_t now = af_clock_ns(CLOCK_MONOTONIC);

	if (n->fd < 0 || now - n->renewed_ns < RENEW_NS)
		return;
	n->renewed_ns = now;
	futimens(n->fd, NULL);
}

void af_unnamed_end(int dir_fd, struct af_naming *n, bool named)
{
	struct stat own, is;

	/* A host that was stopped for long may have lost its claim. */
	bool ours = n->fd >= 0 && !fstat(n->fd, &own) &&
	            !fstatat(dir_fd, AF_NAMING_FILE, &is, AT_SYMLINK_NOFOLLOW) &&
	            own.st_dev == is.st_dev && own.st_ino == is.st_ino;
	if (ours && named)
		unlinkat(dir_fd, AF_NAMING_FILE, 0);
	else if (ours)
		renameat(dir_fd, AF_NAMING_FILE, dir_fd, AF_UNNAMED_FILE);
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}
