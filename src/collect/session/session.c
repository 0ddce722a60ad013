#include "collect/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/clock.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "base/write.h"
#include "collect/disk/recover.h"
#include "collect/disk/unnamed.h"
#include "collect/functions/probes.h"
#include "collect/session/control.h"
#include "collect/session/target.h"
#include "trace/read/origin.h"
#include "trace/read/reader.h"
#include "trace/read/state.h"
#include "trace/write/recorder.h"

static const char shm_pattern[] = "/dev/shm/aflame.XXXXXX";

/* The .session file: where the shared directory is, and a lock that says we live. It has both from
 * its first moment on. */
static int session_file_make(struct af_recording *r, struct af_err *err)
{
	static const char fresh[] = AF_SESSION_FILE ".new";
	char boot[AF_BOOT_ID_SIZE], host[256] = "", text[512];

	af_boot_id(boot);
	gethostname(host, sizeof host - 1);
	snprintf(text, sizeof text, "%s\n%s %s\n", r->shm, boot, host);
	r->lock_fd = af_create_private(r->place.dir_fd, fresh);
	if (r->lock_fd < 0)
		return af_fail(err, r->lock_fd, "cannot write %s/" AF_SESSION_FILE, r->place.dir);
	/* Without locks (Lustre without flock) that of the shared directory tells, and heartbeats.
	 */
	if (flock(r->lock_fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return af_fail(err, -errno, "cannot lock %s/" AF_SESSION_FILE, r->place.dir);
	int rc = af_write_all(r->lock_fd, text, strlen(text));
	if (!rc && renameat(r->place.dir_fd, fresh, r->place.dir_fd, AF_SESSION_FILE))
		rc = -errno;
	if (rc)
		return af_fail(err, rc, "cannot write %s/" AF_SESSION_FILE, r->place.dir);
	af_heart_open(&r->heart, r->lock_fd);
	return 0;
}

/* Locked while we live, by which those of the dead are known. */
static int shared_make(struct af_recording *r, struct af_err *err)
{
	strcpy(r->shm, shm_pattern);
	if (!mkdtemp(r->shm)) {
		r->shm[0] = 0;
		return af_fail(err, -errno, "cannot make a directory in /dev/shm");
	}
	int shm_fd = open(r->shm, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int rc = shm_fd < 0 ? -errno : af_trace_lock(shm_fd);
	if (rc) {
		if (shm_fd >= 0)
			close(shm_fd);
		return af_fail(err, rc, "cannot open %s", r->shm);
	}
	af_drain_open(&r->drain, shm_fd, r->place.dir_fd, NULL);
	return 0;
}

void af_session_uncalled(struct af_recording *r, const struct af_probed_call *all, uint32_t nr)
{
	char words[1500];

	for (uint32_t i = 0; i < nr; i++)
		if (!all[i].called)
			af_session_note(r, "functions.uncalled", "%s of %s", all[i].function,
			                all[i].file);
	for (uint32_t first = 0, i; r->options->tell && first < nr; first = i) {
		i = first + af_uncalled_words(all + first, nr - first, words, sizeof words);
		if (*words)
			r->options->tell(words);
	}
}

static void probes_end(struct af_recording *r)
{
	const struct af_session_options *o = r->options;
	uint8_t called[AF_PROBES_MOST];
	struct af_probed_call all[AF_PROBES_MOST];

	if (!o->nr_probed || !af_probes_called(r->drain.shm_fd, called))
		return;
	for (uint32_t i = 0; i < o->nr_probed; i++)
		all[i] = (struct af_probed_call){o->probed[i].name, o->probed[i].path, called[i]};
	af_session_uncalled(r, all, o->nr_probed);
}

static int streams_make(struct af_recording *r, struct af_err *err)
{
	int fd = af_create_private(r->place.dir_fd, "recorder");
	if (fd < 0)
		return af_fail(err, fd, "cannot write to %s", r->place.dir);
	int rc = af_stream_open_file(&r->stream, fd, (uint64_t)2 << 32, 0);
	if (rc)
		return af_fail(err, rc, "cannot write to %s", r->place.dir);
	r->drain.nr_instances = &r->control->nr_instances;
	if (r->options->ring_bytes) {
		af_segments_open(&r->segments, r->place.dir_fd, r->control);
		r->drain.segments = &r->segments;
	}
	rc = af_probes_write(r->drain.shm_fd, r->options->probes, r->options->nr_probes);
	if (rc)
		return af_fail(err, rc, "cannot write to %s", r->shm);
	return af_clients_open(&r->clients, r->shm, err);
}

static void client_admit(void *arg, const struct af_client *g)
{
	af_watcher_admit(arg, g);
}

/* Where the collector bpf is not, the event does not count in the kernel. */
static void client_asks(void *arg, struct af_client *g, uint32_t ask)
{
	struct af_recording *r = arg;

	if (ask == AF_ASK_CUDA_OUTSIDE)
		af_watcher_see_calls(r, g);
	if (ask == AF_ASK_FORBIDDEN)
		af_filtered_take(r, g);
	if (ask == AF_ASK_STEPS_BEGIN || ask == AF_ASK_STEPS_END)
		af_steps_take(r, g, ask == AF_ASK_STEPS_BEGIN);
	if (!af_watcher_can_hold(r) || g->fd < 0 || g->debugged)
		return;
	if (ask == AF_ASK_EXEC_BEGINS && !g->held)
		g->held = af_watcher_hold(r, g);
	else if (ask == AF_ASK_EXEC_FAILED && g->held) {
		g->held = false;
		af_watcher_resume(r, g);
	}
}

static void tell_other_name(const struct af_recording *r)
{
	char line[sizeof r->place.dir + sizeof r->place.why + 32];

	snprintf(line, sizeof line, "%s. This trace is %s", r->place.why, r->place.dir);
	r->options->tell(line);
}

/* Says so if @rc is that the trace has no room. */
static bool lacks_room(const struct af_recording *r, int rc, const char *is, struct af_err *err)
{
	return (rc == -ENOSPC || rc == -EDQUOT) &&
	       af_fail_plain(err, rc,
	                     "the trace %s %s: %s: free some, or name another place with -o",
	                     r->place.dir, is, strerror(-rc));
}

static int trace_begin(struct af_recording *r, struct af_err *err)
{
	int rc = af_metadata_write(r->place.dir_fd, af_clock_ns(CLOCK_MONOTONIC),
	                           af_clock_ns(CLOCK_REALTIME), r->options->metadata, err);

	if (!rc)
		rc = streams_make(r, err);
	lacks_room(r, rc, "cannot be made", err);
	return rc;
}

/* Where there is no staging directory the trace is recorded in its place. */
static void stage_make(struct af_recording *r, const struct af_session_options *o)
{
	struct af_err why = {0};
	char line[sizeof why.msg + 64];

	if (!o->stage || !af_stage_begin(&r->stage, &r->place, o->stage, &why) || !o->tell)
		return;
	snprintf(line, sizeof line, "%s: the trace is recorded in its place", why.msg);
	o->tell(line);
}

static int session_make(struct af_recording *r, const struct af_session_options *o,
                        struct af_err *err)
{
	const struct af_place_asked place = {o->output, o->job, o->force};
	int rc = af_place_make(&r->place, &place, err);
	if (rc)
		return rc;
	if (*r->place.why && o->tell)
		tell_other_name(r);
	stage_make(r, o);
	af_origin_mark(r->place.dir_fd); /* without it the trace is as one from elsewhere */
	rc = shared_make(r, err);
	if (!rc)
		rc = session_file_make(r, err);
	if (!rc)
		rc = af_control_make(r, o, err);
	if (!rc)
		rc = trace_begin(r, err);
	if (!rc)
		rc = af_watcher_open(r, err);
	if (!rc)
		af_devices_open(r);
	r->clients.on_client = client_admit;
	r->clients.on_ask = client_asks;
	r->clients.arg = r;
	if (!rc && o->ctl)
		rc = af_ctl_open(&r->ctl, o->ctl, err);
	return rc;
}

int af_session_open(struct af_recording *r, const struct af_session_options *options,
                    struct af_err *err)
{
	*r = (struct af_recording){.lock_fd = -1, .heart.fd = -1, .options = options};
	r->place.dir_fd = r->place.in_fd = r->place.job_in_fd = -1;
	r->stage.target.dir_fd = -1;
	r->hurry.signals = -1;
	r->clients.fd = r->clients.ends = -1;
	r->drain.shm_fd = r->drain.dir_fd = -1;
	r->ctl.fd = r->ctl.ack_fd = r->ctl.in_fd = -1;
	r->stream.fd = -1;
	r->start_ns = af_now_ns();
	r->machine = af_used_by_machine();
	r->old_sigxfsz = signal(SIGXFSZ, SIG_IGN);

	int rc = session_make(r, options, err);
	if (rc)
		af_session_abandon(r);
	return rc;
}

void af_session_note(struct af_recording *r, const char *key, const char *fmt, ...)
{
	char value[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof value, fmt, ap);
	va_end(ap);
	af_recorder_note(&r->stream, key, value);
}

void af_usage_write(struct af_recording *r, uint32_t process, uint32_t tid, uint32_t whose,
                    uint32_t source, struct af_used used)
{
	af_stream_put(&r->stream, usage, af_now_ns(), .process = process, .tid = tid,
	              .whose = whose, .source = source, .user_ns = used.user_ns,
	              .kernel_ns = used.kernel_ns);
}

void af_session_anchor(struct af_recording *r)
{
	af_recorder_anchor(&r->stream);
}

static void session_lost(struct af_recording *r, enum af_lost reason, uint64_t count)
{
	if (count)
		af_stream_put(&r->stream, lost, af_now_ns(), .reason = reason, .count = count);
}

void af_session_lost_again(struct af_recording *r)
{
	for (uint32_t reason = 1; reason < AF_LOST_END; reason++) {
		session_lost(r, reason, r->segments.lost[reason]);
		r->segments.lost[reason] = 0;
	}
}

/* Time that the host of a virtual machine takes is in the events' timers and not in CPU times. */
static void stolen_note(struct af_recording *r)
{
	struct af_used_machine now = af_used_by_machine(), then = r->machine;
	uint64_t stolen = now.stolen - then.stolen, all = now.busy - then.busy + stolen;

	if (now.stolen > then.stolen && now.busy >= then.busy)
		af_session_note(r, "stolen.permille", "%llu",
		                (unsigned long long)(stolen * 1000 / all));
}

/* Names are looked up in the memory that they leave. */
static void watcher_close(struct af_recording *r)
{
	af_watcher_close(r);
	af_devices_close(r);
	malloc_trim(0);
}

int af_session_finish(struct af_recording *r, struct af_err *err)
{
	struct af_session *s = r->control;

	af_heart_keep(&r->heart);
	af_bounds_end(r);
	af_steps_note(r);
	af_control_poll(r);
	af_control_put_state(r, AF_SESSION_OVER);
	af_live_end(r);
	af_snapshot_wait(r);
	af_target_poll(r);
	r->still_running = r->clients.nr;
	for (uint32_t i = 0; i < r->clients.nr; i++) {
		af_debuggers_leave(r, &r->clients.list[i]);
		af_target_write_usage(r, &r->clients.list[i]);
		af_clients_end_jit(r, r->clients.list[i].process);
	}
	af_watcher_stop(r);
	probes_end(r);
	af_devices_stop(r);
	s->sampler_failed += r->clients.nr_refused;
	af_drain_finish(&r->drain, 0);
	af_session_anchor(r);
	session_lost(r, AF_LOST_NO_STREAM, s->lost_no_stream);
	session_lost(r, AF_LOST_BUSY, s->lost_busy);
	session_lost(r, AF_LOST_CAPPED, s->lost_capped);
	session_lost(r, AF_LOST_FORBIDDEN, s->lost_forbidden);
	session_lost(r, AF_LOST_MEDDLED, r->drain.nr_cut);
	session_lost(r, AF_LOST_STRANGE, r->clients.nr_strange);
	session_lost(r, AF_LOST_DISK_FULL, r->drain.lost_packets);
	session_lost(r, AF_LOST_OLDEST, s->lost_oldest);
	af_session_lost_again(r);

	struct rusage own;
	getrusage(RUSAGE_SELF, &own);
	r->recorder_cpu_ns = (uint64_t)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) * 1000000000u +
	                     (uint64_t)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) * 1000u;
	af_session_note(r, "cost.recorder_ns", "%llu", (unsigned long long)r->recorder_cpu_ns);
	af_session_note(r, "cost.handler_ns", "%llu", (unsigned long long)s->handler_ns);
	af_session_note(r, "cost.handler_calls", "%llu", (unsigned long long)s->handler_calls);
	/* Stacks of hooks that had to be walked: few where a program does the same again. */
	af_session_note(r, "replay.misses", "%llu", (unsigned long long)s->replay_misses);
	af_session_note(r, "maps.read", "%llu", (unsigned long long)s->maps_read);
	af_session_note(r, "maps.put_off", "%llu", (unsigned long long)s->maps_put_off);
	if (s->flags & AF_SESSION_VERIFY) {
		af_session_note(r, "replay.hits", "%llu", (unsigned long long)s->replay_hits);
		af_session_note(r, "replay.wrong", "%llu", (unsigned long long)s->replay_wrong);
	}
	stolen_note(r);
	r->end_ns = af_now_ns();
	af_session_note(r, "end_ns", "%llu", (unsigned long long)r->end_ns);
	r->trace_bytes = af_bounds_bytes(r);
	watcher_close(r);
	int rc = af_stream_close(&r->stream);
	if (r->drain.error)
		rc = r->drain.error;
	if (!rc || lacks_room(r, rc, "is not complete", err))
		return rc;
	return af_fail(err, rc, "the trace %s is not complete: writing failed", r->place.dir);
}

int af_session_find(struct af_recording *r, struct af_err *err)
{
	char link[32], now[sizeof r->place.dir] = "";
	struct stat was, is;

	if (fstat(r->place.dir_fd, &was) || !was.st_nlink)
		return af_fail_plain(
		    err, -ENOENT,
		    "the trace directory %s was removed while recording: the trace is lost",
		    r->place.dir);
	if (!stat(r->place.dir, &is) && is.st_dev == was.st_dev && is.st_ino == was.st_ino)
		return 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", r->place.dir_fd);
	if (readlink(link, now, sizeof now - 1) <= 0)
		return af_fail(err, -errno, "cannot find the trace directory %s again",
		               r->place.dir);
	af_fail_plain(
	    err, -ESTALE,
	    "the trace directory %.400s was renamed while it was recorded: the trace is in "
	    "%.400s, whole",
	    r->place.dir, now);
	snprintf(r->place.dir, sizeof r->place.dir, "%s", now);
	return -ESTALE;
}

static void session_release(struct af_recording *r)
{
	af_heart_close(&r->heart);
	af_live_end(r);
	watcher_close(r);
	af_clients_close(&r->clients);
	af_jit_watch_close(&r->jit);
	if (r->drain.shm_fd >= 0)
		close(r->drain.shm_fd);
	r->drain.shm_fd = -1;
	af_drain_close(&r->drain);
	af_segments_close(&r->segments);
	af_ctl_close(&r->ctl);
	if (r->control)
		af_session_unmap(r->control);
	r->control = NULL;
	if (r->shm[0])
		af_remove_tree(r->shm);
	r->shm[0] = 0;
	if (r->lock_fd >= 0)
		close(r->lock_fd);
	r->lock_fd = -1;
}

int af_session_settle(struct af_recording *r)
{
	/* Only then does the shared memory go: until now it may be needed to complete the trace. */
	int rc = af_unnamed_mark(r->place.dir_fd);

	session_release(r);
	return rc;
}

int af_session_unstage(struct af_recording *r, struct af_err *err)
{
	struct af_err why = {0};
	uint64_t bytes = 0;
	int rc = r->stage.target.dir_fd < 0 ? 0 : af_stage_end(&r->stage, &r->place, &bytes, &why);

	return rc ? af_fail_plain(err, rc,
	                          "%s: it stays in %s on this host, and `aflame gather %s` here "
	                          "moves it",
	                          why.msg, r->place.dir, r->stage.target.dir)
	          : 0;
}

void af_session_close(struct af_recording *r)
{
	session_release(r);
	af_stage_leave(&r->stage);
	af_place_leave(&r->place);
}

void af_session_abandon(struct af_recording *r)
{
	if (r->control)
		af_control_put_state(r, AF_SESSION_OVER);
	if (r->stream.fd >= 0)
		af_stream_close(&r->stream);
	af_heart_close(&r->heart);
	/* Descriptors may be what there is not enough of, and removing takes some. */
	if (r->lock_fd >= 0) {
		unlinkat(r->place.dir_fd, AF_SESSION_FILE, 0);
		close(r->lock_fd);
		r->lock_fd = -1;
	}
	session_release(r);
	af_place_unmake(&r->place);
	af_place_leave(&r->place);
	af_stage_unmake(&r->stage);
	af_stage_leave(&r->stage);
}
