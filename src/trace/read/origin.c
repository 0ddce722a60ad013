#include "trace/read/origin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/sha256.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "base/write.h"
#include "trace/read/files.h"

/* machine-id(5): a digest of it may be handed on, the id itself may not. */
static int origin_digest(int dirfd, char hex[AF_SHA256_HEX])
{
	char machine[AF_BOOT_ID_SIZE] = "", text[256];
	struct statx st;

	if (!af_read_text("/etc/machine-id", machine, sizeof machine))
		af_boot_id(machine); /* of a container without one */
	if (!*machine)
		return -ENODATA;
	if (statx(dirfd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st))
		return -errno;
	bool born = st.stx_mask & STATX_BTIME;
	int len = snprintf(text, sizeof text, "aflame origin\n%s\n%s %llu.%u", machine,
	                   born ? "born" : "inode",
	                   born ? (unsigned long long)st.stx_btime.tv_sec : st.stx_ino,
	                   born ? st.stx_btime.tv_nsec : 0);
	af_sha256_hex(text, (size_t)len, hex);
	return 0;
}

int af_origin_mark(int dirfd)
{
	char hex[AF_SHA256_HEX];
	int rc = origin_digest(dirfd, hex);
	scope_close int fd = rc ? rc : af_create_private(dirfd, AF_ORIGIN_FILE);

	return fd < 0 ? fd : af_write_all(fd, hex, sizeof hex - 1);
}

bool af_origin_is_here(int dirfd)
{
	char hex[AF_SHA256_HEX], reported[AF_SHA256_HEX] = "";
	struct stat st;
	scope_close int fd = af_trace_file(dirfd, AF_ORIGIN_FILE);

	if (fd < 0 || fstat(dirfd, &st) || st.st_uid != geteuid() || fstat(fd, &st) ||
	    st.st_uid != geteuid() || st.st_nlink != 1)
		return false;
	ssize_t n = read(fd, reported, sizeof reported);
	return n == sizeof reported - 1 && !origin_digest(dirfd, hex) &&
	       !memcmp(reported, hex, (size_t)n);
}
