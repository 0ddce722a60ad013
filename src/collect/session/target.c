#include "collect/session/target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/process_group.h"
#include "base/system/program.h"
#include "collect/disk/compact.h"
#include "collect/session/control.h"
#include "collect/session/session.h"

enum {
	MOVED_MANY = 8,   /* packets in one round */
	TICK_FULL_MS = 1, /* threads fill packets as fast as we drain them */
	TICK_BUSY_MS = 10,
	TICK_IDLE_MS = 100,
	TICK_BPF_MS = 40, /* as often as client_poll.c looks; full rings wake us earlier */
	SLOW_POLL_NS = 1000000000,
	RING_ANCHOR_POLLS = 60,
};

/*
 * State of the recorder that it changes, and that the program must find as it was: a shell that
 * ignores SIGCHLD would lose the program's status; thousands of processes leave two descriptors
 * each.
 */
struct inherited {
	struct sigaction child;
	struct rlimit files;
};

static void inherited_change(struct inherited *was)
{
	struct sigaction usual = {.sa_handler = SIG_DFL};

	sigaction(SIGCHLD, &usual, &was->child);
	if (!getrlimit(RLIMIT_NOFILE, &was->files))
		setrlimit(RLIMIT_NOFILE,
		          &(struct rlimit){was->files.rlim_max, was->files.rlim_max});
}

static void inherited_restore(const struct inherited *was)
{
	sigaction(SIGCHLD, &was->child, NULL);
	setrlimit(RLIMIT_NOFILE, &was->files);
}

/* Put @path in front of a list variable that may be set already. */
static void env_prepend(const char *name, const char *path, char separator)
{
	const char *old = getenv(name);
	scope_free char *both = NULL;

	if (!old || !*old)
		setenv(name, path, 1);
	else if (asprintf(&both, "%s%c%s", path, separator, old) > 0)
		setenv(name, both, 1);
}

/* Each stands in the list before those above it, whose constructors run earlier. */
static void preload_ours(const struct af_session_options *o)
{
	/* libaflame.so stands in for zeInit as well, and is to come behind libaflame-ze.so. */
	const char *const ours[] = {o->hip_library, o->mpi_library, o->wall_library,
	                            o->library,     o->ze_library,  o->alloc_library};

	for (unsigned i = 0; i < sizeof ours / sizeof *ours; i++)
		if (ours[i])
			env_prepend("LD_PRELOAD", ours[i], ':');
}

/* A program that can only be harmed by the library: it runs without it. */
static bool program_refuses(const char *program)
{
	char path[PATH_MAX];

	return af_program_find(program, path) && af_preload_harms(af_program_preload(path));
}

/* Kokkos ends a program whose option and variable name different tools. */
static bool names_kokkos_tool(char *const *argv)
{
	for (; *argv; argv++)
		if (!strncmp(*argv, "--kokkos-tools-lib", strlen("--kokkos-tools-lib")))
			return true;
	return false;
}

/* Kokkos loads the first library of the list, and ours calls the next. */
static void kokkos_prepend(const char *library)
{
	const char *newer = getenv("KOKKOS_TOOLS_LIBS"), *older = getenv("KOKKOS_PROFILE_LIBRARY");

	if ((newer && *newer) || !older || !*older)
		env_prepend("KOKKOS_TOOLS_LIBS", library, ';');
	if (older && *older)
		env_prepend("KOKKOS_PROFILE_LIBRARY", library, ';');
}

/* A program opens one collector: ours, which calls the one that others have named. */
static void itt_name(const char *library)
{
	const char *other = getenv("INTEL_LIBITTNOTIFY64");

	if (other && *other && strcmp(other, library))
		setenv(AF_ITT_NEXT_ENV, other, 1);
	setenv("INTEL_LIBITTNOTIFY64", library, 1);
}

static void child_exec(struct af_recording *r, char **argv, const sigset_t *mask,
                       const struct inherited *was, int report, int go)
{
	char none, session[AF_SESSION_ENV_MAX];

	inherited_restore(was);
	if (!program_refuses(argv[0]))
		preload_ours(r->options);
	if (r->options->flags & AF_SESSION_OPENCL)
		env_prepend("OPENCL_LAYERS", r->options->library, ':');
	/* The driver takes one library only: another tool's gives way, and the summary says so. */
	if (r->options->flags & AF_SESSION_CUDA)
		setenv("CUDA_INJECTION64_PATH", r->options->library, 1);
	if (r->options->flags & AF_SESSION_CUDA || r->options->steps.first)
		setenv("NVTX_INJECTION64_PATH", r->options->library, 1);
	if (r->options->flags & AF_SESSION_KOKKOS && r->options->library &&
	    !names_kokkos_tool(argv))
		kokkos_prepend(r->options->library);
	if (r->options->flags & AF_SESSION_ITT && r->options->library)
		itt_name(r->options->library);
	/* Loaders before 1.15.7 read it when they are initialized; a user's value stays. */
	if (r->options->flags & AF_SESSION_ZE)
		setenv("ZE_ENABLE_TRACING_LAYER", "1", 0);
	if (*r->options->launch_metrics)
		setenv("ZET_ENABLE_METRICS", "1", 0);
	af_session_env_write(session, sizeof session, r->shm, r->own.nonce);
	setenv(AF_SESSION_ENV, session, 1);
	signal(SIGXFSZ, r->old_sigxfsz);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (go >= 0 && read(go, &none, 1) > 0)
		_exit(126);
	execvp(argv[0], argv);

	int rc = errno;
	ssize_t n = write(report, &rc, sizeof rc);
	_exit(n == sizeof rc ? 127 : 126);
}

/* Fork and exec; learns through a pipe whether the exec worked. */
static int child_start(struct af_recording *r, char **argv, const sigset_t *mask,
                       const struct inherited *was, struct af_err *err)
{
	int ends[2], go[2] = {-1, -1};

	/* A program that only the recorder can sample waits for it, at the end of a pipe. */
	if (pipe2(ends, O_CLOEXEC) || (af_watcher_wanted(r, argv[0]) && pipe2(go, O_CLOEXEC)))
		return af_fail(err, -errno, "cannot make a pipe");
	af_watcher_adopt(r, true);
	r->child = fork();
	if (r->child < 0) {
		int rc = -errno;
		close(ends[0]);
		close(ends[1]);
		return af_fail(err, rc, "cannot start a process");
	}
	if (!r->child) {
		if (go[1] >= 0)
			close(go[1]);
		child_exec(r, argv, mask, was, ends[1], go[0]);
	}
	if (go[0] >= 0) {
		af_watcher_run(r, r->child);
		close(go[0]);
		close(go[1]);
	}
	af_watcher_adopt(r, false);
	af_watcher_drop_rights(r);
	close(ends[1]);

	int rc = 0;
	ssize_t n = read(ends[0], &rc, sizeof rc);
	close(ends[0]);
	if (n != sizeof rc) {
		af_session_note(r, "pid", "%d", r->child);
		af_stream_flush(&r->stream);
		return 0;
	}
	waitpid(r->child, NULL, 0);
	if (rc == ENOENT && !strchr(argv[0], '/'))
		return af_fail_plain(err, -rc, "no program %s in $PATH", argv[0]);
	return af_fail(err, -rc, "cannot run %s", argv[0]);
}

/* "NANOSECONDS POLLS": docs/format.md */
static void disk_note(struct af_recording *r, const struct af_client *g)
{
	struct af_ev_process_note ev = {.process = g->process};
	char value[64];

	if (!g->disk_polls)
		return;
	snprintf(value, sizeof value, "%llu %u", (unsigned long long)g->disk_ns, g->disk_polls);
	struct af_tail tail[] = {{"disk.waits", 10, 0}, {value, (uint32_t)strlen(value), 0}};
	af_stream_put_tail(&r->stream, AF_KIND_PROCESS_NOTE, af_now_ns(), &ev, sizeof ev, tail, 2);
}

void af_target_write_usage(struct af_recording *r, const struct af_client *g)
{
	uint32_t source = g->used_is_all ? AF_USAGE_ENDED : AF_USAGE_LAST_SEEN;

	disk_note(r, g);
	af_stream_put(&r->stream, process_end, af_now_ns(), .process = g->process, .status = -1,
	              .user_ns = g->user_ns, .kernel_ns = g->kernel_ns,
	              .max_rss_bytes = g->max_rss_bytes, .source = source);
	if (g->children.user_ns + g->children.kernel_ns)
		af_usage_write(r, g->process, 0, AF_USAGE_CHILDREN, AF_USAGE_LAST_SEEN,
		               g->children);
	for (uint32_t i = 0; i < g->threads.nr; i++)
		af_usage_write(r, g->process, g->threads.all[i].tid, AF_USAGE_OWN,
		               AF_USAGE_LAST_SEEN, g->threads.all[i].used);
}

/* Those that have ended leave nothing in shared memory. */
static void clients_leave(struct af_recording *r)
{
	if (!r->clients.nr_ended)
		return;
	af_drain_poll(&r->drain);
	for (uint32_t i = 0; i < r->clients.nr; i++) {
		struct af_client *g = &r->clients.list[i];
		if (!g->ended)
			continue;
		af_debuggers_leave(r, g);
		af_steps_take(r, g, false);
		af_drain_finish(&r->drain, g->process);
		af_clients_end_jit(r, g->process);
		if (g->pid == r->child)
			r->child_process = g->process;
		/* Only the kernel knows what a process used under its earlier programs. */
		if (!g->replaced)
			af_target_write_usage(r, g);
	}
	af_clients_sweep(&r->clients);
}

void af_target_poll(struct af_recording *r)
{
	af_clients_pump(&r->clients);
	af_clients_poll(&r->clients);
	clients_leave(r);
}

/* Once a second. */
static void poll_slowly(struct af_recording *r)
{
	af_control_poll_ticks(r);
	af_heart_poll(&r->heart);
	/* In a ring our own stream is to grow slowly. */
	if (!r->options->ring_bytes || r->nr_polls++ % RING_ANCHOR_POLLS == 0)
		af_session_anchor(r);
	af_stream_flush(&r->stream); /* what is written survives us */
	if (r->options->ring_bytes)
		af_compact_poll(&r->segments, &r->stream, "recorder");
	af_drain_poll(&r->drain);
	af_target_poll(r);
	af_session_lost_again(r);
}

static uint64_t less(uint64_t ns, uint64_t part_ns)
{
	return ns > part_ns ? ns - part_ns : 0;
}

/*
 * wait4 counts for the child everything that it waited for, too; until then its clocks give its own
 * part. The peak of its memory may be that of its children: then the process's own figure is
 * better.
 */
static void child_write_usage(struct af_recording *r, uint32_t process, struct af_used own,
                              const struct rusage *used)
{
	struct af_used tree = af_used_of(used), children = {less(tree.user_ns, own.user_ns),
	                                                    less(tree.kernel_ns, own.kernel_ns)};
	/* Both round: a process takes more than that to start. */
	bool waited = tree.user_ns + tree.kernel_ns > own.user_ns + own.kernel_ns + 50000;

	af_stream_put(&r->stream, process_end, af_now_ns(), .process = process, .status = r->status,
	              .user_ns = own.user_ns, .kernel_ns = own.kernel_ns,
	              .max_rss_bytes = waited ? 0 : (uint64_t)used->ru_maxrss * 1024,
	              .source = AF_USAGE_ENDED);
	af_usage_write(r, process, 0, AF_USAGE_CHILDREN, AF_USAGE_ENDED, children);
	af_usage_write(r, 0, 0, AF_USAGE_CHILDREN, AF_USAGE_WAIT, tree);
}

/* True when the child has ended, or what else was recorded. */
static bool child_reap(struct af_recording *r)
{
	siginfo_t ended = {0};
	struct rusage used;
	struct af_used own = {0};

	if (!r->child)
		return r->asked_to_end || af_control_state(r) == AF_SESSION_OVER ||
		       (r->options->watch.nr_pids && !af_watcher_nr_alive(r));
	if (waitid(P_PID, (id_t)r->child, &ended, WEXITED | WNOHANG | WNOWAIT) || !ended.si_pid)
		return false;
	af_used_read(r->child, &own);
	if (wait4(r->child, &r->status, WNOHANG, &used) != r->child)
		return false;
	uint32_t process = r->child_process;
	for (uint32_t i = 0; i < r->clients.nr; i++)
		if (r->clients.list[i].pid == r->child)
			process = r->clients.list[i].process;
	if (!process)
		process = af_watcher_process_of(r, r->child);
	child_write_usage(r, process, own, &used);
	return true;
}

/*
 * A signal from the terminal, or sent to the group, has reached the program too, because it is in
 * the same foreground group; a signal sent to us alone is passed on.
 */
static bool signal_has_reached(const struct af_recording *r, struct af_group *group,
                               const struct signalfd_siginfo *s)
{
	if (s->ssi_code > 0)
		return true;
	return getpgid(r->child) == getpgrp() &&
	       af_group_got(group, (int)s->ssi_signo, (int)s->ssi_pid);
}

static void snapshot_by_signal(struct af_recording *r)
{
	struct af_err err = {0};

	if (af_snapshot_start(r, NULL, false, &err) && r->options->tell)
		r->options->tell(err.msg);
}

void af_target_signals(struct af_recording *r, struct af_group *group, int fd)
{
	struct signalfd_siginfo s;

	while (read(fd, &s, sizeof s) == (ssize_t)sizeof s) {
		if (s.ssi_signo == SIGTERM)
			af_hurry_begin(r);
		if (s.ssi_signo == SIGUSR2 && !r->hurry.left)
			snapshot_by_signal(r);
		else if (!r->child && s.ssi_signo != SIGCHLD)
			r->asked_to_end = true;
		else if (s.ssi_signo != SIGCHLD && !signal_has_reached(r, group, &s))
			kill(r->child, (int)s.ssi_signo);
	}
}

/* A signal at the program's end was meant for the program: now it would end the recorder. */
static void signals_drop(struct af_recording *r, int fd)
{
	struct signalfd_siginfo s;

	while (read(fd, &s, sizeof s) == (ssize_t)sizeof s)
		if (s.ssi_signo == SIGTERM)
			af_hurry_begin(r);
}

/* How long to sleep when @moved packets were drained. */
static int tick_after(struct af_recording *r, uint64_t moved)
{
	if (moved >= MOVED_MANY)
		return TICK_FULL_MS;
	if (moved || r->options->max_bytes || af_watcher_is_busy(r))
		return TICK_BUSY_MS;
	return r->watching ? TICK_BPF_MS : TICK_IDLE_MS;
}

static void target_loop(struct af_recording *r, struct af_group *group, int signals)
{
	struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
	                       {.fd = r->clients.fd, .events = POLLIN},
	                       {.fd = r->clients.ends, .events = POLLIN},
	                       {.fd = r->ctl.fd, .events = POLLIN},
	                       {.fd = af_watcher_fd(r), .events = POLLIN}};
	uint64_t begin_ns = af_now_ns(), polled_ns = begin_ns, pumped_ns = begin_ns;
	int tick = TICK_BUSY_MS;

	for (;;) {
		poll(fds, 5, tick);
		af_control_poll(r);
		if (!r->control->tsc_mult)
			af_control_poll_ticks(r);
		af_target_signals(r, group, signals);
		af_ctl_pump(r);
		af_snapshot_reap(r);
		af_live_view_poll(r);
		af_clients_pump(&r->clients);
		af_clients_poll_some(r);
		af_clients_poll_jit(r);
		af_filtered_poll(r);
		af_watcher_pump(r);
		af_devices_pump(r);
		clients_leave(r);
		af_bounds_poll(r);
		if (child_reap(r) || af_hurry_is_over(r))
			return;

		/* Processes may come and go far more often than rings need us. */
		uint64_t now = af_now_ns();
		if (now - pumped_ns >= (tick < TICK_BUSY_MS ? tick : TICK_BUSY_MS) * 1000000ull) {
			pumped_ns = now;
			af_clients_poll_clocks(&r->clients);
			tick = tick_after(r, af_drain_pump(&r->drain));
		}
		if (now - polled_ns >= SLOW_POLL_NS) {
			polled_ns = now;
			poll_slowly(r);
		}
	}
}

int af_target_run(struct af_recording *r, char **argv, struct af_err *err)
{
	struct inherited was;
	struct af_group group;
	sigset_t ours, before, snapshot;

	inherited_change(&was);
	sigemptyset(&ours);
	sigaddset(&ours, SIGCHLD);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGQUIT);
	sigaddset(&ours, SIGUSR2);
	sigprocmask(SIG_BLOCK, &ours, &before);
	sigemptyset(&snapshot);
	sigaddset(&snapshot, SIGUSR2);
	scope_close int signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	int rc = signals < 0 ? af_fail(err, -errno, "cannot wait for signals") : 0;

	af_session_anchor(r);
	af_stream_flush(&r->stream);
	af_bounds_begin(r);
	af_devices_begin(r);
	af_group_watch(&group, &ours);
	if (!rc && argv)
		rc = child_start(r, argv, &before, &was, err);
	else
		af_watcher_drop_rights(r);
	if (!rc)
		target_loop(r, &group, signals);
	if (r->hurry.left) {
		af_hurry_leave(r, &group, give_fd(signals), &before);
		return rc;
	}
	af_group_leave(&group);
	if (signals >= 0)
		signals_drop(r, signals);
	/* The rest of the work is ours: a second Ctrl-C may end it. A snapshot comes too late. */
	sigprocmask(SIG_SETMASK, &before, NULL);
	sigprocmask(SIG_BLOCK, &snapshot, NULL);
	return rc;
}
