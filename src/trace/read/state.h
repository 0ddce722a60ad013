/*
 * Is a trace complete, or is its recorder at work? On the host that records it the recorder's lock
 * tells. Another host may not see that lock (NFS without locks, Lustre without flock), so there the
 * age of the recorder's last heartbeat tells: it sets the time of AF_SESSION_FILE every
 * AF_HEARTBEAT_NS. Clocks of hosts differ, so that time is compared with the time of a file freshly
 * made on the same file system.
 */
#ifndef AF_TRACE_READ_STATE_H
#define AF_TRACE_READ_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AF_HEARTBEAT_NS 5000000000ull
/* Twice what an NFS client may show an old time for. */
#define AF_DEAD_AFTER_NS 120000000000ull

enum af_trace_state {
	AF_TRACE_COMPLETE,
	AF_TRACE_RECOVERED, /* its recorder was killed, and a later command finished it */
	AF_TRACE_LIVE,      /* a recorder is at work on it, here or on another host */
	AF_TRACE_DEAD,      /* of another host, and its recorder has been silent for long */
	AF_TRACE_UNFINISHED /* of this host, and its recorder is gone: a command can finish it */
};

struct af_trace_status {
	enum af_trace_state state;
	bool locked;     /* the recorder's lock was seen */
	bool has_age;    /* of another host */
	uint64_t age_ns; /* since the recorder's last heartbeat */
	char why[320];   /* the state's reason in words; "" for none */
};

/*
 * The state of the trace in the directory @dir_fd; a directory without AF_SESSION_FILE counts as
 * complete. *@now_ns: the time on the clock of the file system, 0 where the caller does not know it
 * yet; it is found out at most once and only if it is needed, in which case a file without a name
 * is made in @dir_fd for a moment, if that is this user's.
 */
void af_trace_status(int dir_fd, uint64_t *now_ns, struct af_trace_status *status);

/*
 * Is the session whose AF_SESSION_FILE has @text (its two lines) of another host? The boot id tells
 * hosts of one name apart; the same host has another one after it was started again.
 */
bool af_trace_is_elsewhere(const char *text);

/* Is @fd locked by another process? False too where the file system has no locks. */
bool af_trace_is_locked(int fd);

/*
 * Opens @path if it is a shared directory of a recorder's and belongs to this user alone: a
 * descriptor, else negative.
 */
int af_trace_shm_open(const char *path);

#endif
