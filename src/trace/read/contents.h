/*
 * The entries that aflame puts into the directory of a trace, or into a folder of ranks. A
 * directory that holds anything else belongs to somebody else and is never replaced or removed,
 * even if it has a file called .session or metadata. All functions work by names in open
 * directories, which belong to this user.
 */
#ifndef AF_TRACE_READ_CONTENTS_H
#define AF_TRACE_READ_CONTENTS_H

#include <limits.h>
#include <stdbool.h>

#include "trace/write/objects.h"

/* "objects/NAME", ".live.7/objects/NAME" */
enum { AF_STRAY_SIZE = 3 * (NAME_MAX + 1) };

/*
 * Can a stream be called @name: "s0", "s1-0", "s1-0.7" (a segment), "thread-3" (of an import)?
 * Streams with a fixed name, such as "recorder", do not count.
 */
bool af_trace_is_stream(const char *name);

/* Is the directory @dirfd a trace, be it unfinished? */
bool af_trace_is_one(int dirfd);

/* The same, or the place of one that is still staged (staged.h)? */
bool af_trace_is_placed(int dirfd);

/*
 * Call @each for the directories in the folder @dirfd, in no order, but for hidden ones and the
 * code objects of a set: with the name and a descriptor, which is closed afterwards. Files and
 * links are left out. 0 or -errno.
 */
int af_trace_each(int dirfd, void (*each)(void *arg, const char *name, int fd), void *arg);

/*
 * Finds the first entry of @dirfd that is no part of a trace or, where AF_JOB_FILE is in it, of a
 * folder of ranks: 1, and its name in @stray. 0: there is none. -EACCES: the directory is not this
 * user's. Or -errno.
 */
int af_trace_stray(int dirfd, char stray[AF_STRAY_SIZE]);

/* The same without a look into its directories, which takes long where there are thousands. */
int af_trace_stray_here(int dirfd, char stray[AF_STRAY_SIZE]);

/*
 * Remove the trace, or the folder of ranks, @name in @at. -ENOTEMPTY when it holds anything else;
 * nothing is removed then.
 */
int af_trace_remove(int at, const char *name);

/* The same for the contents of the directory @dirfd, whatever its path is by now. */
int af_trace_clear(int dirfd);

#endif
