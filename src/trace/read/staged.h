/*
 * Traces that are recorded into a directory of one host and moved to their place at the end. Until
 * then the place holds the file AF_STAGED_FILE, which says where the trace is, whatever else is
 * there already; when that file goes, the trace is whole.
 */
#ifndef AF_TRACE_READ_STAGED_H
#define AF_TRACE_READ_STAGED_H

#include <stdbool.h>

#define AF_STAGED_FILE ".staged"
/* In the staging directory: the absolute path of the trace's place. */
#define AF_STAGING_FILE ".staging"
/* In it, too: all is in its place, and safe there. */
#define AF_MOVED_FILE ".moved"

struct af_staged {
	char host[128], boot_id[64];
	char path[1024]; /* of the staging directory there */
};

/*
 * Is the trace of the place @dirfd still staged? Its file may be anybody's: the strings are
 * printable, the path is absolute. If the file says nothing of use, they are "?".
 */
bool af_staged_read(int dirfd, struct af_staged *s);

#endif
