/*
 * Was a trace recorded here? Source files are named by traces and read where they are said to be,
 * and what was left unfinished is finished, for the user's own traces of this machine alone.
 *
 * The recorder leaves a digest in the trace, of this machine's id and of when the directory was
 * made, to the nanosecond: it is another one in each copy and on each machine, and it cannot be
 * made by who does not know both. A directory that is renamed keeps it.
 */
#ifndef AF_TRACE_READ_ORIGIN_H
#define AF_TRACE_READ_ORIGIN_H

#include <stdbool.h>

#define AF_ORIGIN_FILE ".origin"

/* Leave the mark in the directory of a new trace; 0 or -errno. */
int af_origin_mark(int dirfd);

/* Is @dirfd a directory of this user's with the mark of this machine and of this directory? */
bool af_origin_is_here(int dirfd);

#endif
