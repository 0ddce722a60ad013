#include "cmd/record/library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/sha256.h"

/* From the directory of the program: as installed by meson, unpacked, built. */
static const char *const places[] = {AFLAME_LIBRARY_PLACE, "../lib/aflame/libaflame.so",
                                     "../inject/libaflame.so", NULL};

static int library_beside(char path[PATH_MAX], struct af_err *err)
{
	char exe[PATH_MAX], try[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	if (n < 0)
		return af_fail(
		    err, -errno,
		    "cannot tell where aflame lies, as /proc/self/exe cannot be read (is "
		    "/proc mounted?)");
	exe[n] = 0;
	strrchr(exe, '/')[1] = 0;
	for (int i = 0; places[i]; i++) {
		snprintf(try, sizeof try, "%s%s", *places[i] == '/' ? "" : exe, places[i]);
		if (realpath(try, path))
			return 0;
	}
	return af_fail_plain(err, -ENOENT,
	                     "libaflame.so is not beside aflame: install both, or name it in "
	                     "$AFLAME_LIBRARY");
}

/* Anybody may make a directory in /dev/shm under our name: it must be ours, and only we write. */
static int links_open(const char *dir)
{
	struct stat st;

	if (mkdir(dir, 0755) && errno != EEXIST)
		return -errno;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Programs of other users may be started by the one that is recorded. */
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 022) &&
	    ((st.st_mode & 0777) == 0755 || !fchmod(fd, 0755)))
		return fd;
	close(fd);
	return -EPERM;
}

/* The link's name tells its target, so what is there already is right or is not ours. */
static int library_link(char path[PATH_MAX], struct af_err *err)
{
	char dir[64], name[96], hex[AF_SHA256_HEX], now[PATH_MAX];

	snprintf(dir, sizeof dir, "/dev/shm/aflame-lib-%u", (unsigned)geteuid());
	af_sha256_hex(path, strlen(path), hex);
	snprintf(name, sizeof name, "%.16s-%.64s", hex, strrchr(path, '/') + 1);
	scope_close int fd = links_open(dir);
	int rc = fd < 0 ? fd : 0;
	if (!rc && symlinkat(path, fd, name))
		rc = -errno;
	if (rc == -EEXIST) {
		ssize_t n = readlinkat(fd, name, now, sizeof now);
		rc = n == (ssize_t)strlen(path) && !memcmp(now, path, (size_t)n) ? 0 : -EEXIST;
	}
	if (rc)
		return af_fail(err, rc,
		               "the path %s has a blank or a colon, which LD_PRELOAD cannot carry, "
		               "and no link to it can be made in %s: put aflame elsewhere",
		               path, dir);
	snprintf(path, PATH_MAX, "%s/%s", dir, name);
	return 0;
}

int af_library_find_other(char path[PATH_MAX], const char *library, const char *name,
                          const char *records, struct af_err *err)
{
	char file[PATH_MAX], beside[PATH_MAX + 32];

	if (!realpath(library, file))
		return af_fail(err, -errno, "cannot find %s", library);
	strrchr(file, '/')[1] = 0;
	snprintf(beside, sizeof beside, "%s%.30s", file, name);
	if (!realpath(beside, path))
		return af_fail_plain(
		    err, -ENOENT, "%s, which records %s, is not beside libaflame.so: install both",
		    name, records);
	return strpbrk(path, " :") ? library_link(path, err) : 0;
}

int af_library_find_program(char path[PATH_MAX], struct af_err *err)
{
	static const char *const beside[] = {"aflame-guest", "../guest/aflame-guest"};
	char library[PATH_MAX], try[PATH_MAX + 32];
	int rc = af_library_find(library, err);

	if (rc)
		return rc;
	/* A link to it lies elsewhere. */
	if (!realpath(library, path))
		return af_fail(err, -errno, "cannot find %s", library);
	strrchr(path, '/')[1] = 0;
	strcpy(library, path);
	for (unsigned i = 0; i < sizeof beside / sizeof *beside; i++) {
		snprintf(try, sizeof try, "%s%s", library, beside[i]);
		if (realpath(try, path))
			return 0;
	}
	return af_fail_plain(err, -ENOENT,
	                     "aflame-guest, which runs what `aflame prof` compiles, is not beside "
	                     "libaflame.so: install both");
}

int af_library_find(char path[PATH_MAX], struct af_err *err)
{
	const char *named = getenv("AFLAME_LIBRARY");
	int rc = 0;

	if (!named || !*named)
		rc = library_beside(path, err);
	else if (!realpath(named, path))
		rc = af_fail(err, -errno, "$AFLAME_LIBRARY: cannot find %s", named);
	if (!rc && strpbrk(path, " :"))
		rc = library_link(path, err);
	return rc;
}
