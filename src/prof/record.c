/*
 * The recorder of a process that records itself: its private directory has the rings of its threads
 * and the trace. A collection writes the trace as it is now, with the names of its addresses.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/clock.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "inject/core/inject.h"
#include "inject/sampler/masks.h"
#include "inject/sampler/signals.h"
#include "prof/private.h"
#include "sym/sym.h"
#include "trace/metadata.h"
#include "trace/read/contents.h"
#include "trace/read/origin.h"
#include "trace/write/recorder.h"

static int subfolder_make(const struct af_prof *p, const char *name, struct af_err *err)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof path, "%s/%s", p->folder, name);
	if (mkdir(path, 0700))
		return af_fail(err, -errno, "cannot make %s", path);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? af_fail(err, -errno, "cannot open %s", path) : fd;
}

static void note_number(struct af_prof *p, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	af_recorder_note(&p->stream, key, text);
}

static void notes_write(struct af_prof *p)
{
	char text[2048], boot[AF_BOOT_ID_SIZE];
	struct utsname u;

	size_t len = af_proc_read(0, "cmdline", text, sizeof text);
	for (size_t i = 0; i < len; i++)
		if (!text[i])
			text[i] = i + 1 < len ? ' ' : 0;
	text[len < sizeof text ? len : sizeof text - 1] = 0;
	af_recorder_note(&p->stream, "cmd", text);
	uname(&u);
	snprintf(text, sizeof text, "%s, %s %s, %ld CPUs", u.nodename, u.sysname, u.release,
	         sysconf(_SC_NPROCESSORS_ONLN));
	af_recorder_note(&p->stream, "host", text);
	af_boot_id(boot);
	if (*boot)
		af_recorder_note(&p->stream, "boot_id", boot);
	af_recorder_note(&p->stream, "aflame", AFLAME_VERSION);
	af_recorder_note(&p->stream, "collector.cpu",
	                 p->events.timers ? "timer, of the process by itself"
	                                  : "perf events, user mode, of the process by itself");
	note_number(p, "sample.period_ns", p->control->sample_period_ns);
}

static int session_make(struct af_prof *p, struct af_session *own, struct af_err *err)
{
	*own = (struct af_session){
	    .magic = AF_SESSION_MAGIC,
	    .nonce = af_recorder_nonce(),
	    .version = AF_TRACE_VERSION,
	    .flags = AF_SESSION_OWN | AF_SESSION_PYTHON,
	    .recorder_pid = (uint32_t)getpid(),
	    .recorder_uid = (uint32_t)geteuid(),
	    .time_namespace = af_time_namespace(),
	    .time_namespace_ns = af_time_namespace_ns(),
	    .cpu_mode = p->events.timers ? AF_CPU_TIMER : AF_CPU_PERF,
	    .sample_period_ns = p->events.period_ns,
	    .samples_most = p->o.cap ? p->o.cap : UINT64_MAX,
	    .stack_depth = p->o.depth,
	    .state = AF_SESSION_PAUSED,
	};
	int rc = af_session_make(p->shm_fd, own, &p->control);
	return rc ? af_fail(err, rc, "cannot make the files of a recording in %s", p->folder) : 0;
}

static int trace_make(struct af_prof *p, struct af_err *err)
{
	int rc = af_metadata_write(p->dir_fd, af_clock_ns(CLOCK_MONOTONIC),
	                           af_clock_ns(CLOCK_REALTIME), NULL, err);

	if (rc)
		return rc;
	int fd = af_create_private(p->dir_fd, "recorder");
	if (fd < 0)
		return af_fail(err, fd, "cannot write to %s", p->folder);
	rc = af_stream_open_file(&p->stream, fd, (uint64_t)2 << 32, 0);
	if (rc)
		return af_fail(err, rc, "cannot write to %s", p->folder);
	af_drain_open(&p->drain, p->shm_fd, p->dir_fd, &p->control->nr_instances);
	notes_write(p);
	return 0;
}

int prof_record_open(struct af_prof *p, struct af_err *err)
{
	struct af_session own;
	char shm[AF_SESSION_DIR_MAX];
	int rc = af_private_folder(p->folder, AF_SESSION_DIR_MAX - 8, "aflame-prof", false);

	if (rc)
		return af_fail(err, rc,
		               "no place for samples: name a directory in $TMPDIR that can be "
		               "written");
	p->shm_fd = subfolder_make(p, "s", err);
	if (p->shm_fd < 0)
		return p->shm_fd;
	p->dir_fd = subfolder_make(p, "trace", err);
	if (p->dir_fd < 0)
		return p->dir_fd;
	af_origin_mark(p->dir_fd);
	rc = session_make(p, &own, err);
	if (!rc)
		rc = trace_make(p, err);
	if (rc)
		return rc;
	snprintf(shm, sizeof shm, "%.*s/s", AF_SESSION_DIR_MAX - 8, p->folder);
	rc = af_inject_start_own(shm, own.nonce);
	return rc ? af_fail(err, rc, "cannot record this process") : 0;
}

void prof_record_close(struct af_prof *p)
{
	if (p->control)
		p->control->state = AF_SESSION_OVER;
	prof_events_close(&p->events);
	if (p->stream.fd >= 0)
		af_stream_close(&p->stream);
	af_drain_close(&p->drain);
	if (p->control)
		af_session_unmap(p->control);
	p->control = NULL;
	if (p->shm_fd >= 0)
		close(p->shm_fd);
	if (p->dir_fd >= 0)
		close(p->dir_fd);
	p->shm_fd = p->dir_fd = -1;
	if (p->folder[0])
		af_remove_tree(p->folder);
	p->folder[0] = 0;
}

void prof_record_abandon(struct af_prof *p)
{
	prof_events_stop(&p->events);
	p->control->state = AF_SESSION_OVER;
	af_remove_tree(p->folder);
}

void prof_record_poll(struct af_prof *p)
{
	prof_events_poll(&p->events);
	af_drain_pump(&p->drain);
}

/* CPU time of the threads that are sampled so far, the worker's excepted. */
static struct af_used used_now(const struct af_prof *p)
{
	struct af_used used = {0};
	struct rusage all, own;
	uint64_t cpu_ns, all_kernel_ns, own_kernel_ns;

	if (p->o.tid) {
		used.user_ns = af_clock_ns(af_clock_of_thread((uint32_t)p->o.tid, AF_CLOCK_SCHED));
		return used;
	}
	/* The kernel splits by ticks: the parts of a thread may exceed those of its process. */
	getrusage(RUSAGE_SELF, &all);
	getrusage(RUSAGE_THREAD, &own);
	all_kernel_ns = af_timeval_ns(&all.ru_stime);
	own_kernel_ns = af_timeval_ns(&own.ru_stime);
	cpu_ns = af_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - af_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	used.kernel_ns = all_kernel_ns > own_kernel_ns ? all_kernel_ns - own_kernel_ns : 0;
	if (used.kernel_ns > cpu_ns)
		used.kernel_ns = cpu_ns;
	used.user_ns = cpu_ns - used.kernel_ns;
	return used;
}

static void used_add(struct af_prof *p)
{
	struct af_used now = used_now(p);

	if (now.user_ns > p->since.user_ns)
		p->used.user_ns += now.user_ns - p->since.user_ns;
	if (now.kernel_ns > p->since.kernel_ns)
		p->used.kernel_ns += now.kernel_ns - p->since.kernel_ns;
	p->since = now;
}

int prof_record_start(struct af_prof *p, struct af_err *err)
{
	p->control->state = AF_SESSION_ON;
	p->since = used_now(p);
	int rc = prof_events_start(&p->events);
	if (rc) {
		p->control->state = AF_SESSION_PAUSED;
		return rc == -ESRCH ? af_fail_plain(err, rc, "the thread %d has ended", p->o.tid)
		                    : af_fail(err, rc, "cannot sample the threads of this process");
	}
	if (p->paused_ns)
		af_stream_put(&p->stream, lost, af_now_ns(), .reason = AF_LOST_PAUSED,
		              .count = af_now_ns() - p->paused_ns);
	p->paused_ns = 0;
	p->started = p->worker.polls = true;
	return 0;
}

void prof_record_stop(struct af_prof *p)
{
	prof_events_stop(&p->events);
	p->control->state = AF_SESSION_PAUSED;
	p->started = p->worker.polls = false;
	p->paused_ns = af_now_ns();
	used_add(p);
}

/* Losses and the used time, as they are now: sums grow by what is new. */
static void sums_write(struct af_prof *p)
{
	const struct af_session *s = p->control;
	const struct {
		enum af_lost reason;
		uint64_t sum;
	} sums[] = {{AF_LOST_NO_STREAM, s->lost_no_stream},
	            {AF_LOST_BUSY, s->lost_busy},
	            {AF_LOST_CAPPED, s->lost_capped}};

	for (unsigned i = 0; i < sizeof sums / sizeof *sums; i++) {
		if (sums[i].sum > p->lost[i])
			af_stream_put(&p->stream, lost, af_now_ns(), .reason = sums[i].reason,
			              .count = sums[i].sum - p->lost[i]);
		p->lost[i] = sums[i].sum;
	}
	if (p->started)
		used_add(p);
	af_stream_put(&p->stream, usage, af_now_ns(), .process = 1, .whose = AF_USAGE_OWN,
	              .source = AF_USAGE_WATCHED, .user_ns = p->used.user_ns,
	              .kernel_ns = p->used.kernel_ns);
}

int prof_record_collect(struct af_prof *p, struct af_err *err)
{
	af_drain_poll(&p->drain);
	af_drain_pump(&p->drain);
	int rc = af_drain_put_rests(&p->drain);
	if (!rc)
		rc = p->drain.error;
	sums_write(p);
	af_recorder_anchor(&p->stream);
	note_number(p, "end_ns", af_now_ns());
	af_stream_flush(&p->stream);
	if (!rc)
		rc = p->stream.error;
	if (rc)
		return af_fail(err, rc, "cannot write what was sampled to %s", p->folder);
	rc = prof_symbols_write(&p->symbols, p, err);
	return rc ? rc : af_symbolize(p->dir_fd, p->folder, NULL, NULL, NULL, err);
}

void prof_record_count(struct af_prof *p, struct af_prof_counters *c)
{
	const struct af_session *s = p->control;
	uint64_t came = s->samples_came, behind = s->lost_capped, lost = s->lost_no_stream;

	if (p->started)
		used_add(p);
	c->dropped = behind + lost;
	c->samples = came > c->dropped ? came - c->dropped : 0;
	c->cpu_ns = p->used.user_ns + p->used.kernel_ns;
	c->rate = c->cpu_ns ? (double)came * 1e9 / (double)c->cpu_ns : 0;
	c->threads_missed = prof_events_missed(&p->events);
	c->timer = p->events.timers;
}

static int copy_file(int from, int to, const char *name)
{
	scope_close int in = af_open_regular(from, name, O_NOFOLLOW);
	scope_close int out = in < 0 ? -1 : af_create_private(to, name);

	if (in < 0 || out < 0)
		return in < 0 ? in : out;
	return af_copy_bytes(in, out, UINT64_MAX);
}

/* All files of @from; folders are those of objects, which have files alone. */
static int copy_folder(int from, int to, unsigned depth)
{
	DIR *d = af_dir_list(from);
	int rc = d ? 0 : -errno;

	for (struct dirent *e; !rc && d && (e = af_dir_next(d));) {
		struct stat st;
		if (!strcmp(e->d_name, AF_ORIGIN_FILE) ||
		    fstatat(from, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (!S_ISDIR(st.st_mode)) {
			rc = copy_file(from, to, e->d_name);
			continue;
		}
		scope_close int sub = openat(from, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (depth || sub < 0 || mkdirat(to, e->d_name, 0700))
			rc = -EIO;
		scope_close int into = openat(to, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (!rc)
			rc = into < 0 ? -errno : copy_folder(sub, into, depth + 1);
	}
	if (d)
		closedir(d);
	return rc;
}

int prof_record_save(struct af_prof *p, const char *dir, struct af_err *err)
{
	if (mkdir(dir, 0700))
		return af_fail(err, -errno, "cannot make the trace %s", dir);
	scope_close int to = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return af_fail(err, -errno, "cannot open the trace %s", dir);
	af_origin_mark(to);
	int rc = copy_folder(p->dir_fd, to, 0);
	if (!rc)
		return 0;
	af_trace_remove(AT_FDCWD, dir);
	return af_fail(err, rc, "cannot write the trace %s", dir);
}
