/*
 * The files in the directory of a trace. The sender of the trace, or anybody who may write to its
 * folder, chose what they are. So only these functions open them (tests/opens): by name in an open
 * directory, never by a path and never through a link.
 */
#ifndef AF_TRACE_READ_FILES_H
#define AF_TRACE_READ_FILES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Open the trace directory that the user named, following links. A descriptor for reading, or
 * -errno.
 */
int af_trace_dir_open(const char *path);

/* Open the directory @name in @dirfd: -ENOTDIR for a link or anything else, or -errno. */
int af_trace_folder(int dirfd, const char *name);

/*
 * Make the directory @name in @at and open it: a descriptor for reading, or -errno. -ESTALE:
 * another user who may write to @at has replaced it.
 */
int af_trace_make(int at, const char *name);

/*
 * Open the file @name for reading: -EISDIR, -ELOOP or -EINVAL when it is not a regular file, or
 * -errno.
 */
int af_trace_file(int dirfd, const char *name);

/* Up to @size - 1 bytes of it as a string, "" where there are none. 0 or -errno. */
int af_trace_text(int dirfd, const char *name, char *text, size_t size);

/*
 * Open an existing file for reading and writing: only a file of this user's with no second name (a
 * hard link would be a file from elsewhere); otherwise -EPERM.
 */
int af_trace_file_change(int dirfd, const char *name);

/* Does the directory have an entry @name? Does not follow links. */
bool af_trace_has(int dirfd, const char *name);

#endif
