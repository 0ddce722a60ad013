/*
 * Copies and private folders: libaflame.so does without them,
 * and without copy_file_range() of glibc 2.27.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/system/fs.h"

int af_copy_bytes(int from, int to, uint64_t size)
{
	while (size) {
		size_t part = size < 1u << 30 ? (size_t)size : 1u << 30;
		ssize_t n = copy_file_range(from, NULL, to, NULL, part, 0);
		if (n < 0 &&
		    (errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP))
			n = sendfile(to, from, NULL, part);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return 0; /* it is shorter */
		size -= (uint64_t)n;
	}
	return 0;
}

/* Not every file system lets code be mapped from it. */
static bool runs_code_from(const char *folder)
{
	struct statvfs st;

	return !statvfs(folder, &st) && !(st.f_flag & ST_NOEXEC);
}

int af_private_folder(char *path, size_t size, const char *name, bool runs_code)
{
	const char *const places[] = {getenv("TMPDIR"), "/dev/shm", "/tmp", "/var/tmp"};
	int rc = -EACCES;

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const char *place = places[i];
		if (!place || *place != '/' || (runs_code && !runs_code_from(place)) ||
		    snprintf(path, size, "%s/%s.XXXXXX", place, name) >= (int)size)
			continue;
		if (mkdtemp(path))
			return 0;
		rc = -errno;
	}
	*path = 0;
	return rc;
}
