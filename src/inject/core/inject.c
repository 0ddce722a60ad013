#include "inject/core/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/pages.h"
#include "base/system/proc.h"
#include "inject/arch/arch.h"
#include "inject/core/libc_calls.h"
#include "inject/core/moments.h"
#include "inject/core/thread.h"
#include "inject/core/translator.h"
#include "inject/python/python.h"
#include "inject/walk/modules.h"
#include "trace/write/rank.h"

static struct {
	struct af_session *forbidden; /* what it was, when nothing but memory may be touched */
	bool filters_known;           /* there are filters of system calls, and they allow ours */
	char dir[AF_SESSION_DIR_MAX];
	bool gone;                     /* the recording was over before we began */
	struct af_session_place place; /* which directory that was when we began */
	_Atomic uint32_t process;
	uint32_t parent; /* process ordinal we were forked from */
	pid_t pid;       /* of the process that the page above is alive in */
} inject;

struct af_inject_now af_inject_now;

__thread uint32_t af_inject_in_opencl;

uint32_t af_inject_process(void)
{
	return atomic_load_explicit(&inject.process, memory_order_relaxed);
}

int af_inject_dir_open(void)
{
	return af_session_dir_open(inject.dir, &inject.place);
}

uint32_t af_inject_next_id(_Atomic uint32_t *counter)
{
	return atomic_fetch_add(counter, 1) + 1;
}

uint32_t af_inject_new_id(enum af_inject_id what)
{
	static _Atomic uint32_t last[AF_IDS];

	return af_inject_next_id(&last[what]);
}

static bool clients_send(const struct af_registration *registration, int fd)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET,
	                        .cmsg_type = SCM_RIGHTS,
	                        .cmsg_len = CMSG_LEN(sizeof(int))}};
	struct iovec iov = {(void *)registration, sizeof *registration};
	struct msghdr msg = {
	    .msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof control.room;
	}
	int dir = af_inject_dir_open(), recorder = -1;
	if (dir >= 0)
		recorder = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (recorder < 0) {
		if (dir >= 0)
			close(dir);
		return false;
	}
	/* By the directory that was looked at, whatever bears its name by now. */
	if (!access("/proc/self/fd", F_OK))
		snprintf(to.sun_path, sizeof to.sun_path, "/proc/self/fd/%d/socket", dir);
	else
		snprintf(to.sun_path, sizeof to.sun_path, "%.90s/socket", inject.dir);
	/* Bounded: a recorder that is stuck must not hold the program. */
	struct timeval patience = {.tv_sec = 1};
	setsockopt(recorder, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	ssize_t n = sendmsg(recorder, &msg, MSG_NOSIGNAL);
	close(recorder);
	close(dir);
	return n == (ssize_t)sizeof *registration;
}

bool af_inject_register(int fd, int sampler_error, bool sees_kernel)
{
	struct af_registration registration = {
	    .process = af_inject_process(),
	    .pid = (uint32_t)getpid(),
	    .has_fd = fd >= 0,
	    .sampler_error = sampler_error,
	    .sees_kernel = sees_kernel,
	    .time_ns = af_now_ns(),
	    .random_at = getauxval(AT_RANDOM),
	};

	return clients_send(&registration, fd);
}

void af_inject_ask(enum af_ask ask)
{
	struct af_registration registration = {
	    .process = af_inject_process(), .pid = (uint32_t)getpid(), .has_fd = 1, .ask = ask};
	struct timeval patience = {.tv_usec = 100000};
	int ends[2];
	char none;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return;
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	bool sent = clients_send(&registration, ends[1]);
	close(ends[1]);
	while (sent && read(ends[0], &none, 1) < 0 && errno == EINTR)
		;
	close(ends[0]);
}

static void write_note(struct af_thread_context *t, const char *key, const char *value)
{
	struct af_tail tail[] = {
	    {key, (uint32_t)strlen(key), 0},
	    {value, (uint32_t)strlen(value), 0},
	};

	af_stream_put_tail(&t->stream, AF_KIND_NOTE, af_now_ns(), "", 0, tail, 2);
}

static void write_process(void)
{
	struct af_thread_context *t = af_thread_enter();
	if (!t)
		return;

	char exe[1024], cmdline[2048];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe);
	size_t len = af_proc_read(0, "cmdline", cmdline, sizeof cmdline);

	while (len && !cmdline[len - 1])
		len--;
	for (size_t i = 0; i < len; i++)
		if (!cmdline[i])
			cmdline[i] = ' ';

	struct af_ev_process ev = {
	    .pid = (uint32_t)getpid(),
	    .ppid = (uint32_t)getppid(),
	    .parent = inject.parent,
	};
	struct af_tail tail[] = {
	    {exe, n > 0 ? (uint32_t)n : 0, 0},
	    {cmdline, (uint32_t)len, 0},
	};
	af_stream_put_tail(&t->stream, AF_KIND_PROCESS, af_now_ns(), &ev, sizeof ev, tail, 2);
	af_thread_leave(t);
}

static void write_rank(void)
{
	const char *rank = af_rank_own();
	struct af_thread_context *t = rank ? af_thread_enter() : NULL;

	if (!t)
		return;
	struct af_ev_process_note ev = {.process = af_inject_process()};
	struct af_tail tail[] = {{"rank", 4, 0}, {rank, (uint32_t)strlen(rank), 0}};
	af_stream_put_tail(&t->stream, AF_KIND_PROCESS_NOTE, af_now_ns(), &ev, sizeof ev, tail, 2);
	af_thread_leave(t);
}

/* A child may be born into another time namespace than its parent's, and a program too. */
static void join_clock(void)
{
	const struct af_session *s = af_inject_now.session;
	uint64_t own = af_time_namespace();
	bool differs = own && s->time_namespace && own != s->time_namespace;

	af_now_ahead(differs ? af_time_namespace_now_ns() - s->time_namespace_ns : 0);
}

/* Become a process of the trace: at the start and in every forked child. */
static void begin_process(void)
{
	join_clock();
	atomic_store(&inject.process,
	             atomic_fetch_add(&af_inject_now.session->nr_processes, 1) + 1);
	inject.pid = getpid();
	*af_inject_now.alive = 1;
	AF_MOMENT(process_begins, (void)0, !inject.parent);
	write_process();
	write_rank();
	AF_MOMENT(process_begun, (void)0);
}

static void after_fork(void)
{
	atomic_fetch_add(&af_inject_now.epoch, 1);
	inject.parent = af_inject_process();
	af_thread_after_fork();
	AF_MOMENT(forked, (void)0);
	af_callpath_after_fork();
	af_python_after_fork();
	begin_process();
}

/* The child of a process that records itself is not recorded. */
static void be_silent(void)
{
	af_inject_now.session = NULL;
	atomic_fetch_add(&af_inject_now.epoch, 1);
	af_thread_after_fork();
	AF_MOMENT(forked, (void)0);
}

void af_inject_forked(void)
{
	const struct af_session *session = af_inject_now.session;

	inject.pid = getpid();
	*af_inject_now.alive = 1;
	if (session && session->flags & AF_SESSION_OWN)
		be_silent();
	else if (session)
		after_fork();
}

bool af_inject_in_vfork_child(void)
{
	return af_inject_now.alive && *af_inject_now.alive && inject.pid != getpid();
}

void af_inject_note(const char *key, const char *value)
{
	struct af_thread_context *t = af_thread_enter();

	if (t) {
		write_note(t, key, value);
		af_thread_leave(t);
	}
}

void af_inject_lost(enum af_lost reason, uint64_t count)
{
	struct af_thread_context *t = count ? af_thread_enter() : NULL;

	if (!t)
		return;
	af_stream_put(&t->stream, lost, af_now_ns(), .reason = reason, .count = count);
	af_thread_leave(t);
}

static void silence(void)
{
	struct af_session *session = af_inject_now.session;
	uint32_t own = af_inject_process();

	if (!session)
		return;
	atomic_store(&session->forbidden[own % AF_FILTERED_SLOTS], own);
	inject.forbidden = session;
	af_inject_now.session = NULL;
}

void af_inject_forbidden(void)
{
	af_inject_note("silent", "a program forbade itself (seccomp) what recording needs");
	if (af_inject_now.session)
		af_inject_ask(AF_ASK_FORBIDDEN);
	AF_MOMENT(forbidden, (void)0);
	silence();
}

void af_inject_filtered(void)
{
	inject.filters_known = true;
}

/* prctl(2): 0 without filters. Before that, what the recorder has seen: it may be what kills. */
bool af_inject_may_call(void)
{
	struct af_session *session = af_inject_now.session;
	uint32_t own = af_inject_process();

	if (!session)
		return false;
	if (inject.filters_known)
		return true;
	if (atomic_load(&session->filtered[own % AF_FILTERED_SLOTS]) != own) {
		long mode = af_arch_syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0);
		if (!mode || mode == -EINVAL)
			return true;
	}
	silence();
	return false;
}

/* Such a process needs its memory for stacks of threads; ours would be noticed. */
#define MEMORY_SHORT_BYTES (1ull << 30)

static bool is_short_of_memory(void)
{
	static const int limits[] = {RLIMIT_AS, RLIMIT_DATA};
	struct rlimit r = {.rlim_cur = RLIM_INFINITY};

	for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++)
		if (!af_arch_syscall(SYS_prlimit64, 0, limits[i], 0, (long)&r) &&
		    r.rlim_cur < MEMORY_SHORT_BYTES)
			return true;
	return false;
}

bool af_inject_may_take_memory(void)
{
	if (!is_short_of_memory())
		return true;
	silence();
	return false;
}

bool af_inject_is_forbidden(void)
{
	return inject.forbidden != NULL;
}

void af_inject_forbidden_sample(void)
{
	struct af_session *session = inject.forbidden;
	uint32_t own = af_inject_process();

	if (session && atomic_load(&session->forbidden[own % AF_FILTERED_SLOTS]) == own)
		atomic_fetch_add_explicit(&session->lost_forbidden, 1, memory_order_relaxed);
}

static void fork_child(void)
{
	int saved = errno;

	/* qemu-user does not do MADV_WIPEONFORK. */
	if (af_inject_now.alive && inject.pid != getpid())
		*af_inject_now.alive = 0;
	if (af_inject_session())
		af_inject_check_fork();
	errno = saved;
}

/* Nothing is believed but what only we and the recorder can have made. */
static struct af_session *session_map(const char *named)
{
	uint64_t nonce;

	if (!af_session_env_read(named, inject.dir, sizeof inject.dir, &nonce))
		return NULL;
	int dir = af_inject_dir_open();
	struct af_session *s = dir < 0 ? NULL : af_session_map(dir, AF_SESSION_TARGET);
	bool is_short_of_files = dir >= 0 && !s && errno == EMFILE;
	if (dir >= 0)
		close(dir);
	if (is_short_of_files)
		s = af_session_map_by_path(inject.dir);
	inject.gone =
	    dir == -ENOENT || (s && s->nonce != nonce) || (s && s->state == AF_SESSION_OVER);
	if (s && inject.gone) {
		af_session_unmap(s);
		return NULL;
	}
	return s;
}

bool af_inject_is_over(void)
{
	return inject.gone || (af_inject_now.session && !af_inject_session());
}

static void maps_looked(bool put_off)
{
	struct af_session *s = af_inject_session();

	if (s)
		atomic_fetch_add(put_off ? &s->maps_put_off : &s->maps_read, 1);
}

/* Once: what is the same for all sessions of this process. */
static bool prepare_process(void)
{
	af_libc_calls_bind();
	void *alive = af_pages(4096, 0);
	if (!alive || madvise(alive, 4096, MADV_WIPEONFORK))
		return false;
	af_inject_now.alive = alive;
	atomic_store(&af_inject_now.epoch, 1);
	if (af_thread_init())
		return false;
	af_modules_watch(af_python_meet);
	af_modules_count(maps_looked);
	af_modules_init();
	pthread_atfork(NULL, NULL, fork_child);
	AF_MOMENT(starts, (void)0);
	inject.filters_known = af_arch_syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0) > 0;
	return true;
}

bool af_inject_start(void)
{
	static _Atomic uint32_t started;
	uint32_t first = 0;

	if (!atomic_compare_exchange_strong(&started, &first, 1))
		return af_inject_session() != NULL;

	const char *dir = getenv(AF_SESSION_ENV);
	if (!dir || !*dir || is_short_of_memory())
		return false;
	struct af_session *s = session_map(dir);
	/* The program of `aflame prof` is sampled from within, on translated machines too. */
	if (s && !(s->flags & AF_SESSION_HELD) && af_translator_runs_us()) {
		af_session_unmap(s);
		s = NULL;
	}
	if (!s)
		return false;
	if (!prepare_process())
		return false;
	af_inject_now.session = s;
	begin_process();
	return true;
}

/*
 * The session that a process made before this one may still be looked at by a thread that was
 * interrupted long ago, so its memory lives until the next one.
 */
static void session_replace(struct af_session *s)
{
	static struct af_session *before;

	if (before)
		af_session_unmap(before);
	before = af_inject_now.session;
	af_inject_now.session = s;
}

int af_inject_start_own(const char *dir, uint64_t nonce)
{
	static bool prepared;
	char named[AF_SESSION_ENV_MAX];

	if (is_short_of_memory())
		return -ENOMEM;
	af_session_env_write(named, sizeof named, dir, nonce);
	inject.place = (struct af_session_place){0};
	struct af_session *s = session_map(named);
	if (!s)
		return -EIO;
	if (!prepared && !prepare_process())
		return -ENOMEM;
	*af_inject_now.alive = 1;
	if (prepared) {
		atomic_fetch_add(&af_inject_now.epoch, 1);
		af_thread_retire();
		af_callpath_after_fork();
		af_python_after_fork();
	}
	prepared = true;
	inject.parent = 0;
	inject.pid = getpid();
	inject.forbidden = NULL;
	session_replace(s);
	begin_process();
	return 0;
}
