/* Files: whole-file reads and maps with checked sizes, complete writes, private directories. */
#ifndef AF_BASE_SYSTEM_FS_H
#define AF_BASE_SYSTEM_FS_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_err;

/*
 * Opens @name for reading where it is a regular file, and never opens anything else: whoever else
 * may have chosen a name is opened by these three (tests/opens). @flags: O_NOFOLLOW or 0. The
 * descriptor, or -errno: -EISDIR for a directory, -ELOOP for a link that is not to be followed,
 * -EINVAL for a device, a pipe or a socket. Async-signal-safe.
 */
int af_open_regular(int dirfd, const char *name, int flags);

/* The same of @path below the directory @root as if that were the root; no link leads out of it. */
int af_open_regular_in(int root, const char *path);

/* The same of @path as the process @pid sees it. */
int af_open_regular_of(unsigned pid, const char *path);

/*
 * A file mapped read-only. data is NULL for an empty file. What somebody cuts off while it is
 * mapped, or what the disk fails to give, reads as zeros from then on and af_file_cut() tells; it
 * would end the program by a SIGBUS otherwise. For that the first map installs a handler of SIGBUS,
 * which hands on what is none of these. Any thread.
 */
struct af_file {
	const uint8_t *data;
	size_t size;
	struct af_file_watch *watch; /* fs_map.c's own */
};

/* Maps @path whole. Refuses what is not a regular file. */
int af_file_map(struct af_file *f, const char *path, struct af_err *err);

/* The same for an open file, from its beginning wherever it was read to: 0 or -errno. */
int af_file_map_fd(struct af_file *f, int fd);

/*
 * The same for @name in the directory @dirfd, never through a symbolic link: 0 or -errno, -EISDIR
 * for a directory, -EINVAL for what is neither that nor a regular file.
 */
int af_file_map_at(struct af_file *f, int dirfd, const char *name);

/* Unmap the file. A zeroed struct is fine. */
void af_file_unmap(struct af_file *f);

/*
 * Guards a shared mapping of @fd's that somebody else may cut, in the same way; NULL: it cannot be.
 * Let it go before it is unmapped.
 */
struct af_file_watch *af_file_guard(void *data, size_t size, int fd);
bool af_file_guard_is_cut(const struct af_file_watch *watch);
void af_file_unguard(struct af_file_watch *watch);

/* Has anything of it been cut off while it was mapped? It is of no use from then on. */
bool af_file_is_cut(const struct af_file *f);

/*
 * Path of a file that could not be read to its end while it was mapped, since this program began;
 * NULL: there is none. Stays valid.
 */
const char *af_file_cut(void);

/*
 * May this process make a file of @size bytes (RLIMIT_FSIZE)? Where it may not, trying is more than
 * an error: SIGXFSZ ends a process that does not expect it. Async-signal-safe.
 */
bool af_file_size_allowed(uint64_t size);

/*
 * A new file for writing, mode 0600, never through a symbolic link; an existing one is replaced
 * by a fresh inode. Returns the descriptor or -errno.
 */
int af_create_private(int dirfd, const char *name);

/*
 * The directory that @path lies in, as a place to make and find names in (O_PATH), and its name
 * there; a descriptor or -errno.
 */
int af_parent_open(const char *path, char name[NAME_MAX + 1]);

/* The same, and the directories that are missing on the way are made. */
int af_parent_make(const char *path, char name[NAME_MAX + 1]);

/* ".BASE.0123456789abcdef" that nobody can guess, @base cut where that is too long: 0 or -errno. */
int af_unique_name(char name[NAME_MAX + 1], const char *base);

/* The next of @d but for the directory itself and its parent; NULL: there is no more. */
struct dirent *af_dir_next(DIR *d);

/*
 * The names in the directory @dirfd, from the first one, wherever it was read to: for closedir().
 * NULL and errno where it cannot be listed.
 */
DIR *af_dir_list(int dirfd);

/* rm -r of a directory tree this program made; never follows links. 0 or -errno. */
int af_remove_tree(const char *path);

/* The same of @name in the directory @dirfd. */
int af_remove_tree_at(int dirfd, const char *name);

#endif
