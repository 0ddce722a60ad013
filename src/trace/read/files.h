/*
 * The files in the directory of a trace. Whoever sent the trace, or may write to the folder that it
 * lies in, chose what they are: they are opened here alone (tests/opens), by their name in a
 * directory that is open, never by a path and never through a link.
 */
#ifndef AF_TRACE_READ_FILES_H
#define AF_TRACE_READ_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* The trace that the user named; links lead to it. For reading, or -errno. */
int af_trace_dir_open(const char *path);

/* A directory in the directory @dirfd: -ENOTDIR for a link or anything else, or -errno. */
int af_trace_folder(int dirfd, const char *name);

/*
 * Make the directory @name in @at and open it: for reading, or -errno. -ESTALE: who may write to
 * @at has put another in its place.
 */
int af_trace_make(int at, const char *name);

/* A file in it, for reading: -EISDIR, -ELOOP or -EINVAL for what is no regular file, or -errno. */
int af_trace_file(int dirfd, const char *name);

/* Up to @size - 1 bytes of it as a string, "" where there are none. 0 or -errno. */
int af_trace_text(int dirfd, const char *name, char *text, size_t size);

/*
 * The same for reading and writing what is there already: only a file of this user's that has no
 * other name, which would be a file from elsewhere; -EPERM.
 */
int af_trace_file_change(int dirfd, const char *name);

/* Does the directory have an entry @name? Does not follow links. */
bool af_trace_has(int dirfd, const char *name);

#endif
