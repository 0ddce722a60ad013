/*
 * Was a trace recorded here? Only for the user's own traces of this machine does aflame read the
 * source files that the trace names, and finish what was left unfinished.
 *
 * The recorder leaves a digest in the trace, of this machine's id and of the time at which the
 * directory was made, in nanoseconds. It differs in each copy and on each machine, and nobody can
 * make it without knowing both. A directory that is renamed keeps it.
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
