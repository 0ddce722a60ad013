#include "inject/sampler/usage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/system/program.h"
#include "inject/alloc/alloc.h"
#include "inject/arch/arch.h"
#include "inject/core/inject.h"
#include "inject/core/moments.h"
#include "inject/core/thread.h"
#include "inject/sampler/rest.h"
#include "inject/sampler/signals.h"
#include "trace/write/stream.h"

static void usage_write(struct af_thread_context *t, uint32_t tid, uint32_t whose, uint64_t user_ns,
                        uint64_t kernel_ns)
{
	af_stream_put(&t->stream, usage, af_now_ns(), .process = af_inject_process(), .tid = tid,
	              .whose = whose, .source = AF_USAGE_SELF, .user_ns = user_ns,
	              .kernel_ns = kernel_ns);
}

void af_usage_thread_ends(struct af_thread_context *t)
{
	struct rusage r;

	if (!getrusage(RUSAGE_THREAD, &r))
		usage_write(t, (uint32_t)syscall(SYS_gettid), AF_USAGE_OWN,
		            af_timeval_ns(&r.ru_utime), af_timeval_ns(&r.ru_stime));
}

/* For a thread that goes on: the exact sum, divided by ticks. */
static void living_thread_write(void *arg, uint32_t tid)
{
	uint64_t all = af_clock_ns(af_clock_of_thread(tid, AF_CLOCK_SCHED)),
		 ticks = af_clock_ns(af_clock_of_thread(tid, AF_CLOCK_PROF)),
		 user = af_clock_ns(af_clock_of_thread(tid, AF_CLOCK_VIRT)), user_ns = all;

	if (ticks && user < ticks)
		user_ns = (uint64_t)((double)all * (double)user / (double)ticks);
	if (all)
		usage_write(arg, tid, AF_USAGE_OWN, user_ns, all - user_ns);
}

static void unsampled_write(struct af_thread_context *t, enum af_unsampled cause, uint64_t count,
                            uint64_t cpu_ns)
{
	af_stream_put(&t->stream, unsampled, af_now_ns(), .process = af_inject_process(),
	              .cause = cause, .count = count, .cpu_ns = cpu_ns);
}

/* The peak of memory that getrusage() has when the process begins, in kB. */
static long peak_before;

void af_usage_process_begins(void)
{
	struct rusage own;

	if (!getrusage(RUSAGE_SELF, &own))
		peak_before = own.ru_maxrss;
}

/* The peak of its memory in kB, as proc(5) has it; 0: not known. */
static unsigned long peak_read(void)
{
	char status[2048];
	int fd = (int)af_arch_syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/status",
	                              O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? 0 : af_arch_syscall(SYS_read, fd, (long)status, sizeof status - 1, 0);

	if (fd >= 0)
		af_arch_syscall(SYS_close, fd, 0, 0, 0);
	status[n < 0 ? 0 : n] = 0;
	const char *line = strstr(status, "\nVmHWM:");
	return line ? strtoul(line + 7, NULL, 10) : 0;
}

/* getrusage(2) keeps the peak over an exec: it may be that of the program that started this one. */
static uint64_t peak_bytes(const struct rusage *own)
{
	if (own->ru_maxrss > peak_before)
		return (uint64_t)own->ru_maxrss * 1024;
	return (uint64_t)peak_read() * 1024;
}

void af_usage_process_ends(void)
{
	struct rusage own, children;

	af_alloc_process_ends();
	AF_MOMENT(flush, (void)0);
	struct af_thread_context *t = af_thread_enter();
	if (!t)
		return;
	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	af_stream_put(&t->stream, process_end, af_now_ns(), .process = af_inject_process(),
	              .status = -1, .user_ns = af_timeval_ns(&own.ru_utime),
	              .kernel_ns = af_timeval_ns(&own.ru_stime), .max_rss_bytes = peak_bytes(&own),
	              .source = AF_USAGE_SELF);
	uint64_t user_ns = af_timeval_ns(&children.ru_utime),
		 kernel_ns = af_timeval_ns(&children.ru_stime);
	if (user_ns + kernel_ns)
		usage_write(t, 0, AF_USAGE_CHILDREN, user_ns, kernel_ns);
	af_threads_each(living_thread_write, t);
	af_rest_write(t, NULL);
	if (af_signals_sampling_is_replaced())
		unsampled_write(t, AF_UNSAMPLED_HANDLER_REPLACED, 1, 0);
	af_thread_leave(t);
}

void af_usage_unsampled(enum af_unsampled cause, uint64_t count, uint64_t cpu_ns)
{
	/* A child of vfork() is the thread that made it, as long as that has a context. */
	if (af_inject_in_vfork_child() && !af_thread_has_context())
		return;
	struct af_thread_context *t = af_thread_enter();
	if (t) {
		unsampled_write(t, cause, count, cpu_ns);
		af_thread_leave(t);
	}
}

/* Secure execution (ld.so): libraries that the environment names are not loaded. */
static bool is_set_user_id(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != getuid()) ||
	       (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getgid());
}

void af_usage_before_exec(const char *path)
{
	const struct af_session *session = af_inject_session();

	if (!session)
		return;
	af_alloc_flush();
	AF_MOMENT(flush, (void)0);
	enum af_preload preload = af_program_preload(path);
	enum af_unsampled cause = preload == AF_PRELOAD_STATIC         ? AF_UNSAMPLED_STATIC
	                          : af_preload_harms(preload)          ? AF_UNSAMPLED_OTHER_LIBC
	                          : geteuid() != session->recorder_uid ? AF_UNSAMPLED_OTHER_USER
	                          : is_set_user_id(path)               ? AF_UNSAMPLED_SET_USER_ID
	                                                               : 0;
	if (cause)
		af_usage_unsampled(cause, 1, 0);
}
