/*
 * What the directory of a trace, or a folder of ranks, may hold: what aflame puts there. One that
 * holds anything else is somebody's, and is never replaced or removed, whatever is called .session
 * or metadata in it. All is done by names in open directories, which are this user's.
 */
#ifndef AF_TRACE_READ_CONTENTS_H
#define AF_TRACE_READ_CONTENTS_H

#include <limits.h>
#include <stdbool.h>

/* In a folder of ranks: "aflame job KEY" */
#define AF_JOB_FILE ".job"

/* "objects/NAME", ".live.7/objects/NAME" */
enum { AF_STRAY_SIZE = 3 * (NAME_MAX + 1) };

/*
 * "s0", "s1-0", "s1-0.7" (a segment), "thread-3" (of an import): may a stream be called @name?
 * Besides there are those of one name, as "recorder".
 */
bool af_trace_is_stream(const char *name);

/*
 * The first thing in @dirfd that is no part of a trace, or, where AF_JOB_FILE is in it, of a folder
 * of ranks: 1 and its name in @stray. 0: there is none. -EACCES: not this user's. Or -errno.
 */
int af_trace_stray(int dirfd, char stray[AF_STRAY_SIZE]);

/*
 * Remove the trace, or the folder of ranks, @name in @at; -ENOTEMPTY, and nothing is removed, where
 * there is anything else in it.
 */
int af_trace_remove(int at, const char *name);

/* The same of what is in the directory @dirfd, wherever that lies by now. */
int af_trace_clear(int dirfd);

#endif
