/*
 * A neighbour who wins every race, for LD_PRELOAD: when the program makes the directory $SWAP_NAME
 * ($SWAP_AT is mkdirat), or looks whether it is still there (fstatat), another directory,
 * $SWAP_OTHER, has that name as soon as the call returns, and it is called $SWAP_NAME.gone. Once.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void swap(const char *at, int dirfd, const char *name)
{
	const char *when = getenv("SWAP_AT"), *is = getenv("SWAP_NAME"),
		   *other = getenv("SWAP_OTHER");
	char gone[256];
	static int done;

	if (done || !when || !is || !other || strcmp(when, at) != 0 || strcmp(name, is) != 0)
		return;
	done = 1;
	snprintf(gone, sizeof gone, "%s.gone", is);
	if (renameat(dirfd, name, dirfd, gone) || renameat(dirfd, other, dirfd, name))
		perror("swaps");
	else
		fprintf(stderr, "swapped\n");
}

EXPORT int mkdirat(int dirfd, const char *name, mode_t mode)
{
	int rc = (int)syscall(SYS_mkdirat, dirfd, name, mode);

	if (!rc)
		swap("mkdirat", dirfd, name);
	return rc;
}

EXPORT int fstatat64(int dirfd, const char *restrict name, struct stat64 *restrict st, int flags)
{
	int rc = (int)syscall(SYS_newfstatat, dirfd, name, st, flags);

	if (!rc)
		swap("fstatat", dirfd, name);
	return rc;
}

/* The same before glibc 2.33. */
EXPORT int __fxstatat64(int version, int dirfd, const char *restrict name,
                        struct stat64 *restrict st, int flags);
int __fxstatat64(int version, int dirfd, const char *restrict name, struct stat64 *restrict st,
                 int flags)
{
	(void)version;
	return fstatat64(dirfd, name, st, flags);
}
