/*
 * A trace that is complete but for its names: the recorder had no room or no time for them. The
 * file AF_UNNAMED_FILE marks it. A process that writes the names renames that file to
 * AF_NAMING_FILE, which only one of several on any hosts can do, and removes it at the end.
 *
 *	af_unnamed_begin → { symbolize, af_unnamed_renew now and then } → af_unnamed_end
 *
 * A claim whose process was killed is taken over: on its own host at once, by the lock that ended
 * with the process; on other hosts when nobody renewed it for AF_UNNAMED_STALE_S.
 */
#ifndef AF_COLLECT_DISK_UNNAMED_H
#define AF_COLLECT_DISK_UNNAMED_H

#include <stdbool.h>
#include <stdint.h>

enum { AF_UNNAMED_STALE_S = 300 };

struct af_naming {
	int fd; /* of AF_NAMING_FILE, locked; -1: none */
	uint64_t renewed_ns;
};

/* The trace in @dir_fd is complete but for its names: its AF_SESSION_FILE says so from now on. */
int af_unnamed_mark(int dir_fd);

/*
 * Claim the trace in @dir_fd. 0: it is claimed, until af_unnamed_end(). -ENOENT: it does not lack
 * names. -EBUSY: another process is writing them. -EPERM: it is not this user's. Or -errno.
 */
int af_unnamed_begin(int dir_fd, struct af_naming *n);

/* Tell other hosts that we live. Call it often: it does something every 10 s. */
void af_unnamed_renew(struct af_naming *n);

/* Not @named: the next command, or `aflame finish`, tries again. */
void af_unnamed_end(int dir_fd, struct af_naming *n, bool named);

#endif
