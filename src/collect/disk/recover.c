#include "collect/disk/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "collect/disk/drain.h"
#include "trace/metadata.h"
#include "trace/read/files.h"
#include "trace/read/origin.h"
#include "trace/read/reader.h"
#include "trace/read/state.h"
#include "trace/write/session.h"
#include "trace/write/stream.h"

static const char still_recorded[] = "%s is still being recorded: wait for the program to end";

/* A trace may have been renamed since; inodes of directories do not last on every file system. */
static bool control_names(const struct af_session *s, int dir_fd, const char *dir)
{
	char full[PATH_MAX];
	struct stat st;

	if (!fstat(dir_fd, &st) && s->trace_device == st.st_dev && s->trace_inode == st.st_ino)
		return true;
	return realpath(dir, full) && !strncmp(s->trace_dir, full, sizeof s->trace_dir);
}

/* The session, when it belongs to the trace in @dir. */
static struct af_session *control_map(int shm_fd, int dir_fd, const char *dir)
{
	struct af_session *s = af_session_map(shm_fd, AF_SESSION_RECORDER);

	if (s && !control_names(s, dir_fd, dir)) {
		af_session_unmap(s);
		return NULL;
	}
	return s;
}

/* Losses while nobody drained. */
struct recovered {
	uint64_t lost_packets, no_stream, busy, capped, oldest;
	uint64_t lost[AF_LOST_END]; /* reported by what gave way */
};

static void recover_lost(struct af_stream *s, enum af_lost reason, uint64_t count)
{
	if (count)
		af_stream_put(s, lost, af_now_ns(), .reason = reason, .count = count);
}

/* The recorder's own stream ends where it was killed; say so in a stream of its own. */
static void recover_note(int dir_fd, const struct recovered *was)
{
	static const char key[] = "recovered";
	static const char value[] = "the recorder was killed: clock pairs and CPU time of the last "
				    "second may be missing";
	struct af_stream s;
	int fd = af_create_private(dir_fd, AF_RECOVERED_STREAM);

	if (fd < 0 || af_stream_open_file(&s, fd, (uint64_t)3 << 32, 0))
		return;
	struct af_tail tail[] = {{key, sizeof key - 1, 0}, {value, sizeof value - 1, 0}};
	af_stream_put_tail(&s, AF_KIND_NOTE, af_now_ns(), "", 0, tail, 2);
	recover_lost(&s, AF_LOST_DISK_FULL, was->lost_packets);
	recover_lost(&s, AF_LOST_NO_STREAM, was->no_stream);
	recover_lost(&s, AF_LOST_BUSY, was->busy);
	recover_lost(&s, AF_LOST_CAPPED, was->capped);
	recover_lost(&s, AF_LOST_OLDEST, was->oldest);
	for (uint32_t reason = 1; reason < AF_LOST_END; reason++)
		recover_lost(&s, reason, was->lost[reason]);
	af_stream_close(&s);
}

/* Cut a torn packet off the recorder's stream. */
static void recover_trim(int dir_fd, const char *name)
{
	scope_close int fd = af_trace_file_change(dir_fd, name);

	if (fd >= 0)
		af_drain_file_resume(fd, NULL);
}

/* False: there is no shared memory of this trace. */
static bool recover_shm(const char *dir, int dir_fd, const char *shm, struct recovered *was)
{
	scope_close int shm_fd = af_trace_shm_open(shm);
	if (shm_fd < 0)
		return false;
	struct af_session *control = control_map(shm_fd, dir_fd, dir);
	if (!control)
		return false;

	struct af_drain drain;
	struct af_segments segments;
	control->state = AF_SESSION_OVER; /* the program may be alive */
	af_drain_open(&drain, shm_fd, dir_fd, NULL);
	af_segments_open(&segments, dir_fd, control);
	if (control->ring_bytes) {
		af_segments_load(&segments);
		drain.segments = &segments;
	}
	af_drain_poll(&drain);
	af_drain_finish(&drain, 0);
	was->lost_packets = drain.lost_packets;
	was->no_stream = control->lost_no_stream;
	was->busy = control->lost_busy;
	was->capped = control->lost_capped;
	was->oldest = control->lost_oldest;
	memcpy(was->lost, segments.lost, sizeof was->lost);
	af_drain_close(&drain);
	af_segments_close(&segments);
	af_session_unmap(control);
	af_remove_tree(shm);
	return true;
}

/*
 * Finishing a trace cuts and writes files, so never in a directory where others may have put links
 * to files of ours.
 */
static bool dir_is_ours(int dir_fd)
{
	struct stat st;

	return !fstat(dir_fd, &st) && st.st_uid == geteuid();
}

/* On a read-only disk what is there is all there can be. */
static int recover_nothing(const char *dir, int dir_fd, struct af_err *err)
{
	scope_close int fd = af_trace_file(dir_fd, AF_SESSION_FILE);

	if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK)
		return af_fail_plain(err, -EBUSY, still_recorded, dir);
	return 2;
}

/*
 * Only the host that recorded a trace has its shared memory. That host may have been started again
 * since; heartbeats tell two hosts of one name apart.
 */
static bool is_elsewhere(int dir_fd, const char *text)
{
	char host[256] = "";
	struct af_trace_status is;
	uint64_t now_ns = 0;

	if (!af_trace_is_elsewhere(text))
		return false;
	gethostname(host, sizeof host - 1);
	const char *name = strchr(text, '\n');
	name = name ? strchr(name, ' ') : NULL;
	if (!name || strcspn(name + 1, "\n") != strlen(host) ||
	    strncmp(name + 1, host, strlen(host)) != 0)
		return true;
	af_trace_status(dir_fd, &now_ns, &is);
	return is.state == AF_TRACE_LIVE;
}

/* Where the disk has no locks, that of the shared directory tells. */
static bool lock_take(int fd, const char *shm)
{
	int rc = af_trace_lock(fd);
	if (!rc || rc == -EWOULDBLOCK)
		return !rc;
	scope_close int shm_fd = af_trace_shm_open(shm);
	return shm_fd < 0 || !af_trace_is_locked(shm_fd);
}

int af_recover(int dir_fd, const char *dir, struct af_err *err)
{
	char text[512];

	scope_close int fd = af_trace_file_change(dir_fd, AF_SESSION_FILE);
	if (fd == -ENOENT)
		return 0;
	if (fd == -EROFS)
		return recover_nothing(dir, dir_fd, err);
	if (fd < 0 && fd != -EPERM)
		return af_fail(err, fd, "the trace %s is unfinished and cannot be finished here",
		               dir);
	if (fd < 0 || !dir_is_ours(dir_fd))
		return af_fail_plain(err, -EPERM,
		                     "the trace %s is unfinished and not yours: let its owner read "
		                     "it once, which finishes it",
		                     dir);
	ssize_t n = read(fd, text, sizeof text - 1);
	text[n > 0 ? n : 0] = 0;
	bool elsewhere = is_elsewhere(dir_fd, text);
	text[strcspn(text, "\n")] = 0;
	if (!lock_take(fd, text))
		return af_fail_plain(err, -EBUSY, still_recorded, dir);
	if (elsewhere)
		return 2;

	struct recovered was = {0};
	/* Somebody may have sent it: finishing it reads the files that it names. */
	bool shm = recover_shm(dir, dir_fd, text, &was);
	if (!shm && !af_origin_is_here(dir_fd))
		return 2;
	recover_trim(dir_fd, "recorder");
	af_live_clear(dir_fd);
	/* An earlier recovery may have lacked room for the names alone. */
	if (shm || !af_trace_has(dir_fd, AF_RECOVERED_STREAM))
		recover_note(dir_fd, &was);
	if (!af_trace_has(dir_fd, AF_METADATA_FILE))
		af_metadata_write(dir_fd, 0, 0, NULL, NULL);
	return 1;
}

void af_recovered(int dir_fd)
{
	unlinkat(dir_fd, AF_SESSION_FILE, 0);
}
