#include "collect/session/live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/clock.h"
#include "base/system/fs.h"
#include "collect/disk/recover.h"
#include "collect/session/control.h"
#include "collect/session/session.h"
#include "trace/read/contents.h"
#include "trace/read/files.h"

enum {
	LIVE_WATCHED_S = 5,  /* since the file was touched */
	LIVE_REST = 4,       /* times the CPU time of a copy, nothing is done */
	LIVE_ROOM_TIMES = 4, /* as much as the trace has must be free, */
	LIVE_ROOM_MB = 64,   /* and so much: the recording comes first */
	LIVE_POLL_NS = 1000000000,
};

static bool is_watched(const struct af_recording *r)
{
	struct stat st;

	if (fstatat(r->place.dir_fd, AF_WATCHED_FILE, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return false;
	int64_t now_s = (int64_t)(af_clock_ns(CLOCK_REALTIME) / 1000000000);
	return llabs(now_s - st.st_mtim.tv_sec) <= LIVE_WATCHED_S;
}

static bool has_room(const struct af_recording *r)
{
	struct statvfs v;

	if (fstatvfs(r->place.dir_fd, &v))
		return false;
	return (uint64_t)v.f_bavail * v.f_frsize >
	       LIVE_ROOM_TIMES * af_bounds_bytes(r) + ((uint64_t)LIVE_ROOM_MB << 20);
}

static int live_make(const struct af_recording *r, const struct af_drain_rest *rests, uint32_t nr,
                     struct af_err *err)
{
	static const char temporary[] = AF_LIVE_PREFIX "tmp";
	char name[64], before[64];
	int in_fd = r->place.dir_fd;

	snprintf(name, sizeof name, AF_LIVE_PREFIX "%u", r->live.last);
	snprintf(before, sizeof before, AF_LIVE_PREFIX "%u", r->live.last - 1);
	af_trace_remove(in_fd, temporary);
	scope_close int fd = af_trace_make(in_fd, temporary);
	int rc = fd < 0 ? fd : af_snapshot_copy(r, fd, name, rests, nr, err);
	if (!rc && r->options->finish_copy)
		rc = r->options->finish_copy(fd, name, err);
	if (!rc && renameat(in_fd, temporary, in_fd, name))
		rc = -errno;
	af_trace_remove(in_fd, rc ? temporary : before);
	return rc;
}

/* The child's whole life. It ends with the recorder, and asks nobody outside for symbols. */
_Noreturn static void live_child(struct af_recording *r, const struct af_drain_rest *rests,
                                 uint32_t nr, int recorder)
{
	struct af_err err = {0};

	prctl(PR_SET_NAME, "aflame-live");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != recorder)
		_exit(1);
	setpriority(PRIO_PROCESS, 0, 19);
	unsetenv("DEBUGINFOD_URLS");
	close(r->lock_fd); /* or the trace would be held when the recorder is killed */
	af_clients_close(&r->clients);
	_exit(live_make(r, rests, nr, &err) ? 1 : 0);
}

static void live_start(struct af_recording *r)
{
	struct af_drain_rest *rests;
	int recorder = getpid();

	af_drain_poll(&r->drain);
	af_drain_pump(&r->drain);
	af_stream_flush(&r->stream);
	uint32_t nr = af_drain_rests(&r->drain, &rests);
	r->live.last++;
	r->live.begin_ns = af_now_ns();
	int pid = fork();
	if (!pid)
		live_child(r, rests, nr, recorder);
	r->live.pid = pid > 0 ? pid : 0;
	af_drain_rests_free(rests, nr);
}

static uint64_t cpu_ns(const struct rusage *used)
{
	return (uint64_t)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) * 1000u;
}

void af_live_view_poll(struct af_recording *r)
{
	struct af_live *l = &r->live;
	uint64_t now = af_now_ns();
	struct rusage used;

	if (l->pid && wait4(l->pid, NULL, WNOHANG, &used) == l->pid) {
		uint64_t rested_ns = now + LIVE_REST * cpu_ns(&used);
		l->pid = 0;
		l->next_ns = l->begin_ns + LIVE_POLL_NS;
		if (l->next_ns < rested_ns)
			l->next_ns = rested_ns;
	}
	if (l->pid || now < l->next_ns)
		return;
	l->next_ns = now + LIVE_POLL_NS;
	if (af_control_state(r) != AF_SESSION_OVER && is_watched(r) && has_room(r))
		live_start(r);
}

void af_live_end(struct af_recording *r)
{
	if (r->live.pid) {
		kill(r->live.pid, SIGKILL);
		waitpid(r->live.pid, NULL, 0);
	}
	r->live.pid = 0;
	if (r->live.last && r->place.dir_fd >= 0)
		af_live_clear(r->place.dir_fd);
}
