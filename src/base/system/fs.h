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
 * Opens @name for reading if it is a regular file, and never opens anything else. A name that
 * somebody else may have chosen must be opened by these three functions (tests/opens checks it).
 * @flags: O_NOFOLLOW or 0. Returns the descriptor, or -errno: -EISDIR for a directory, -ELOOP for a
 * link that must not be followed, -EINVAL for a device, a pipe or a socket. Async-signal-safe.
 */
int af_open_regular(int dirfd, const char *name, int flags);

/*
 * The same for @path below the directory @root, as if that were the root; no link leads out of it.
 */
int af_open_regular_in(int root, const char *path);

/* The same for @path as the process @pid sees it. */
int af_open_regular_of(unsigned pid, const char *path);

/*
 * A file mapped read-only. data is NULL for an empty file. If a mapped file is truncated, or the
 * disk fails, the lost part reads as zeros from then on, and af_file_cut() reports the file;
 * otherwise a SIGBUS would end the program. For that the first map installs a handler of SIGBUS,
 * which passes every other SIGBUS on. Any thread.
 */
struct af_file {
	const uint8_t *data;
	size_t size;
	struct af_file_watch *watch; /* fs_map.c's own */
};

/* Maps @path whole. Refuses everything but regular files. */
int af_file_map(struct af_file *f, const char *path, struct af_err *err);

/* The same for an open file, from its beginning whatever its offset is: 0 or -errno. */
int af_file_map_fd(struct af_file *f, int fd);

/*
 * The same for @name in the directory @dirfd, never through a symbolic link: 0 or -errno, -EISDIR
 * for a directory, -EINVAL for anything else that is not a regular file.
 */
int af_file_map_at(struct af_file *f, int dirfd, const char *name);

/* Unmap the file. A zeroed struct is fine. */
void af_file_unmap(struct af_file *f);

/*
 * Guards a shared mapping of @fd, which another process may truncate, in the same way. NULL: it
 * cannot be guarded. Call af_file_unguard() before the mapping is unmapped.
 */
struct af_file_watch *af_file_guard(void *data, size_t size, int fd);
bool af_file_guard_is_cut(const struct af_file_watch *watch);
void af_file_unguard(struct af_file_watch *watch);

/* Was the file truncated while it was mapped? Then its content must not be used. */
bool af_file_is_cut(const struct af_file *f);

/*
 * Path of a file that could not be read to its end while it was mapped, since this program began;
 * NULL if there is none. Stays valid.
 */
const char *af_file_cut(void);

/*
 * May this process make a file of @size bytes (RLIMIT_FSIZE)? Beyond the limit a write raises
 * SIGXFSZ, which ends a process that does not expect it. Async-signal-safe.
 */
bool af_file_size_allowed(uint64_t size);

/*
 * A new file for writing, mode 0600, never through a symbolic link; an existing one is replaced
 * by a fresh inode. Returns the descriptor or -errno.
 */
int af_create_private(int dirfd, const char *name);

/*
 * After mkdir, rename or link to @name in @at failed with errno, which stays: does @name exist?
 * SFTP has no number for that, so file systems by it (sshfs) report EPERM.
 */
bool af_name_is_taken(int at, const char *name);

/*
 * Opens the directory that @path lies in (O_PATH) and copies the last part of @path to @name.
 * Returns a descriptor or -errno.
 */
int af_parent_open(const char *path, char name[NAME_MAX + 1]);

/* The same; makes the directories that are missing on the way. */
int af_parent_make(const char *path, char name[NAME_MAX + 1]);

/*
 * ".BASE.0123456789abcdef", which nobody can guess; @base is cut where it is too long. 0 or -errno.
 */
int af_unique_name(char name[NAME_MAX + 1], const char *base);

/*
 * Makes a folder NAME.XXXXXX that only this user can enter: below $TMPDIR, /dev/shm (in memory),
 * /tmp or /var/tmp, the first that allows it, and code to be mapped from it where it @runs_code.
 * Its path is in @path of @size bytes, "" when there is none: 0 or the last -errno.
 */
int af_private_folder(char *path, size_t size, const char *name, bool runs_code);

/*
 * Copies up to @size bytes from @from to @to, from where their offsets are; the file systems share
 * them where they can. 0, also at the end of @from, or -errno.
 */
int af_copy_bytes(int from, int to, uint64_t size);

/* The next entry of @d but for "." and ".."; NULL at the end. */
struct dirent *af_dir_next(DIR *d);

/*
 * Lists the directory @dirfd from its first entry, whatever its offset is; end with closedir().
 * NULL and errno when it cannot be listed.
 */
DIR *af_dir_list(int dirfd);

/* rm -r of a directory tree this program made; never follows links. 0 or -errno. */
int af_remove_tree(const char *path);

/* The same of @name in the directory @dirfd. */
int af_remove_tree_at(int dirfd, const char *name);

#endif
