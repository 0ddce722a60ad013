/*
 * filters HOW LIST: a program that puts a filter on its own system calls while it works, and goes
 * on with threads that end and begin. HOW: prctl (for the calling thread), syscall (for all),
 * inline (for all, by an instruction of its own). LIST: needed (all but what it needs itself ends
 * it) or unusual (what hardly any program calls ends it). Truth: about 0.6 s of CPU time in work(),
 * more than half of it under the filter. No thread begins or ends in the 0.1 s after the filter:
 * a recorder finds one that it did not see being set within 40 ms, and when it is scheduled.
 *
 * Exit status: 5, or 1 when the filter could not be set.
 */
#include "burn.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_rseq
#define SYS_rseq 334
#endif

enum { WORK_US = 50000, KILL = (int)SECCOMP_RET_KILL_PROCESS };

BURN_SINK;
BURN_FUNCTION(work, BURN_A)

#define CALL(number, action)                                                                       \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                                         \
	    BPF_STMT(BPF_RET | BPF_K, (unsigned)(action))
#define ALLOW(name) CALL(SYS_##name, SECCOMP_RET_ALLOW)
#define REFUSE(name) CALL(SYS_##name, SECCOMP_RET_KILL_PROCESS)
#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

static struct sock_filter needed[] = {
    LOAD_NUMBER,         ALLOW(read),
    ALLOW(write),        ALLOW(exit),
    ALLOW(exit_group),   ALLOW(futex),
    ALLOW(rt_sigreturn), ALLOW(rt_sigprocmask),
    ALLOW(mmap),         ALLOW(munmap),
    ALLOW(mprotect),     ALLOW(madvise),
    ALLOW(clone),        ALLOW(clone3),
    ALLOW(rseq),         ALLOW(set_robust_list),
    ALLOW(sched_yield),  ALLOW(newfstatat),
    ALLOW(ioctl),        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static struct sock_filter unusual[] = {
    LOAD_NUMBER,
    REFUSE(timer_create),
    REFUSE(timer_settime),
    REFUSE(timer_delete),
    REFUSE(gettid),
    REFUSE(getrusage),
    REFUSE(clock_gettime),
    REFUSE(ftruncate),
    REFUSE(fallocate),
    REFUSE(perf_event_open),
    REFUSE(socket),
    REFUSE(sendmsg),
    REFUSE(openat),
    REFUSE(rt_tgsigqueueinfo),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static long inline_seccomp(struct sock_fprog *program)
{
	long rc;

	__asm__ volatile("syscall"
	                 : "=a"(rc)
	                 : "0"((long)SYS_seccomp), "D"((long)SECCOMP_SET_MODE_FILTER),
	                   "S"((long)SECCOMP_FILTER_FLAG_TSYNC), "d"(program)
	                 : "rcx", "r11", "memory");
	return rc;
}

static long filter(const char *how, struct sock_fprog *program)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (!strcmp(how, "prctl"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0);
	if (!strcmp(how, "syscall"))
		return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		               program);
	return inline_seccomp(program);
}

static void *thread(void *times)
{
	for (long i = (long)times; i; i--)
		work(WORK_US);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sock_fprog program = {sizeof needed / sizeof *needed, needed};
	pthread_t threads[4];

	if (argc < 3)
		return 1;
	if (!strcmp(argv[2], "unusual"))
		program = (struct sock_fprog){sizeof unusual / sizeof *unusual, unusual};
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, thread, (void *)3);
	work(WORK_US);
	if (filter(argv[1], &program))
		return 1;
	work(2 * WORK_US);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 2; i < 4; i++)
		pthread_create(&threads[i], NULL, thread, (void *)1);
	work(WORK_US);
	for (int i = 2; i < 4; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	return 5;
}
