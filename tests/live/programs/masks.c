/*
 * masks [SCALE [raw|only-raw|raw-first]]: works with every signal blocked, in every way there is to
 * ask for that; each way works for 100 ms in a function of its own. With `raw`, one more thread
 * asks by the bare system instruction, which nobody can stand before; with `only-raw` it alone
 * works, for a second, and with `raw-first` it then takes that back and works for another in
 * `by_syscall`.
 *
 * Truth: the ways have equal shares of user_us, which getrusage() says; the masks that the program
 * reads back, in each way, are what it asked for; a SIGTRAP and a SIGPROF that come while they are
 * blocked wait in the kernel, are seen by sigpending(), taken by sigwait() and sigtimedwait(), and
 * handled once unblocked.
 *
 * Exit status: 0, or 1 with a line on standard error for each thing that is not so.
 */
#include "burn.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

BURN_SINK;

static unsigned long burn_us;
static int failed;

#define WAYS(W)                                                                                    \
	W(by_pthread_sigmask, 3)                                                                   \
	W(by_sigprocmask, 5)                                                                       \
	W(by_syscall, 7)                                                                           \
	W(by_inheritance, 9)                                                                       \
	W(by_attribute, 11)                                                                        \
	W(by_handler, 13)                                                                          \
	W(by_sigsuspend, 15)                                                                       \
	W(by_ppoll, 17)                                                                            \
	W(by_pselect, 19)                                                                          \
	W(by_epoll_pwait, 21)                                                                      \
	W(by_fork, 23)                                                                             \
	W(by_exec, 25)                                                                             \
	W(by_spawn, 27)                                                                            \
	W(by_raw_syscall, 29)

#define DEFINE(name, factor) BURN_FUNCTION(name, UINT64_C(0x9e3779b97f4a7c15) * factor)
WAYS(DEFINE)

static void check(int right, const char *what)
{
	if (!right) {
		fprintf(stderr, "masks: %s\n", what);
		failed = 1;
	}
}

static sigset_t all_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	return all;
}

/* Every signal that can be blocked is, or none is; 32 and 33 belong to the C library. */
static int mask_is(int blocked)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	for (int i = 1; i < NSIG; i++)
		if (i != SIGKILL && i != SIGSTOP && i != 32 && i != 33 &&
		    sigismember(&now, i) != blocked)
			return 0;
	return 1;
}

static void unblock(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void pthread_way(void)
{
	sigset_t all = all_signals(), before;

	pthread_sigmask(SIG_BLOCK, &all, &before);
	by_pthread_sigmask(burn_us);
	check(mask_is(1), "pthread_sigmask: not what was set");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	check(mask_is(0), "pthread_sigmask: not what it was before");
}

static void process_way(void)
{
	sigset_t all = all_signals();

	sigprocmask(SIG_SETMASK, &all, NULL);
	by_sigprocmask(burn_us);
	check(mask_is(1), "sigprocmask: not what was set");
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	check(mask_is(0), "sigprocmask: not what was unblocked");
}

static void syscall_way(void)
{
	uint64_t all = ~0ull, before;

	check(!syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all),
	      "syscall: failed");
	by_syscall(burn_us);
	check(mask_is(1), "syscall: not what was set");
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
	check(mask_is(0), "syscall: not what it was before");
	check(syscall(SYS_rt_sigprocmask, SIG_BLOCK, (void *)8, NULL, sizeof all) == -1,
	      "syscall: a bad address is none");
}

static void *inheriting_thread(void *none)
{
	by_inheritance(burn_us);
	check(mask_is(1), "inheritance: a thread has not its maker's mask");
	return none;
}

static void *attribute_thread(void *none)
{
	by_attribute(burn_us);
	check(mask_is(1), "attribute: a thread has not the mask of its attributes");
	return none;
}

static void thread_ways(void)
{
	sigset_t all = all_signals();
	pthread_attr_t attr;
	pthread_t thread;

	sigprocmask(SIG_BLOCK, &all, NULL);
	check(!pthread_create(&thread, NULL, inheriting_thread, NULL), "no thread");
	pthread_join(thread, NULL);
	unblock();

	pthread_attr_init(&attr);
#if __GLIBC_PREREQ(2, 32)
	pthread_attr_setsigmask_np(&attr, &all);
	check(!pthread_create(&thread, &attr, attribute_thread, NULL), "no thread");
	pthread_join(thread, NULL);
#else
	by_attribute(burn_us);
	(void)attribute_thread;
#endif
	check(mask_is(0), "threads: their masks have become ours");
}

/* The next handler's work. */
static void (*volatile work)(unsigned long);
static volatile int handled;

static void handler(int signo)
{
	(void)signo;
	handled++;
	if (work)
		work(burn_us);
}

static void handler_checks(int signo)
{
	check(mask_is(1), "handler: runs with another mask than sa_mask");
	handler(signo);
}

static sigjmp_buf out;

static void handler_jumps(int signo)
{
	(void)signo;
	siglongjmp(out, 1);
}

static void handle(int signo, void (*how)(int), int full)
{
	struct sigaction act = {.sa_handler = how}, now;

	if (full)
		sigfillset(&act.sa_mask);
	sigaction(signo, &act, NULL);
	sigaction(signo, NULL, &now);
	check(now.sa_handler == how, "sigaction: another handler than was set");
	for (int i = 1; i < 32; i++)
		check(i == SIGKILL || i == SIGSTOP || sigismember(&now.sa_mask, i) == full,
		      "sigaction: another mask than was set");
}

static void handler_way(void)
{
	work = by_handler;
	handle(SIGUSR1, handler_checks, 1);
	raise(SIGUSR1);
	check(mask_is(0), "handler: the mask afterwards is not that of before");
	handle(SIGUSR1, handler_jumps, 1);
	if (!sigsetjmp(out, 1))
		raise(SIGUSR1);
	check(mask_is(0), "handler: jumped out, and the mask is not that of before");
	check(signal(SIGUSR1, SIG_DFL) == handler_jumps, "signal: another handler than was set");
}

/* All but SIGUSR1 blocked: its handler runs so. */
static sigset_t all_but_usr1(void)
{
	sigset_t set = all_signals();

	sigdelset(&set, SIGUSR1);
	return set;
}

static void wait_ways(void)
{
	sigset_t usr1, but = all_but_usr1();
	struct timespec long_time = {.tv_sec = 30};
	struct epoll_event event;
	int fd = epoll_create1(0);

	handle(SIGUSR1, handler, 0);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	work = by_sigsuspend;
	raise(SIGUSR1);
	sigsuspend(&but);
	work = by_ppoll;
	raise(SIGUSR1);
	check(ppoll(NULL, 0, &long_time, &but) == -1, "ppoll: not interrupted");
	work = by_pselect;
	raise(SIGUSR1);
	check(pselect(0, NULL, NULL, NULL, &long_time, &but) == -1, "pselect: not interrupted");
	work = by_epoll_pwait;
	raise(SIGUSR1);
	check(epoll_pwait(fd, &event, 1, 30000, &but) == -1, "epoll_pwait: not interrupted");
	sigprocmask(SIG_UNBLOCK, &usr1, NULL);
	check(mask_is(0), "waits: the mask afterwards is not that of before");
	close(fd);
}

static void wait_for(pid_t pid, const char *what)
{
	int status;

	check(pid > 0 && waitpid(pid, &status, 0) == pid && !status, what);
}

static void process_ways(const char *self)
{
	sigset_t all = all_signals();
	char us[32];
	pid_t pid;

	snprintf(us, sizeof us, "%lu", burn_us);
	char *spawned[] = {(char *)self, us, (char *)"spawned", NULL};
	sigprocmask(SIG_BLOCK, &all, NULL);
	pid = fork();
	if (!pid) {
		by_fork(burn_us);
		check(mask_is(1), "fork: the mask is not the parent's");
		execl(self, self, us, "execed", (char *)NULL);
		_exit(1);
	}
	wait_for(pid, "the child failed");
	check(!posix_spawn(&pid, self, NULL, NULL, spawned, environ), "spawn: failed");
	wait_for(pid, "the spawned failed");
	/* A child of vfork() that unblocks what its parent blocks. */
	pid = vfork();
	if (!pid) {
		unblock();
		execl(self, self, us, "unblocked", (char *)NULL);
		_exit(1);
	}
	wait_for(pid, "the child of vfork failed");
	check(mask_is(1), "a child's mask has become ours");
	unblock();
}

static int is_pending(int signo)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, signo);
}

static void signal_checks(int signo)
{
	sigset_t all = all_signals(), one;
	struct timespec no_time = {0};
	int got = 0;

	work = NULL;
	handled = 0;
	handle(signo, handler, 0);
	sigemptyset(&one);
	sigaddset(&one, signo);
	sigprocmask(SIG_BLOCK, &all, NULL);
	kill(getpid(), signo);
	by_pthread_sigmask(2000);
	check(!handled && is_pending(signo), "a blocked signal is not pending");
	check(!sigwait(&one, &got) && got == signo, "sigwait took another signal");
	check(!is_pending(signo), "what sigwait took is still pending");
	raise(signo);
	check(sigtimedwait(&one, NULL, &no_time) == signo, "sigtimedwait took another signal");
	raise(signo);
	check(!handled, "a blocked signal was handled");
	unblock();
	check(handled == 1, "an unblocked signal was not handled once");
	signal(signo, SIG_DFL);
}

static void raw_mask(uint64_t mask)
{
	long rc;

	__asm__ volatile("mov $8, %%r10d; syscall"
	                 : "=a"(rc)
	                 : "0"(SYS_rt_sigprocmask), "D"(SIG_SETMASK), "S"(&mask), "d"(0)
	                 : "rcx", "r10", "r11", "memory");
}

static void *raw_thread(void *first)
{
	raw_mask(~0ull);
	by_raw_syscall(burn_us);
	if (first) {
		raw_mask(0);
		by_syscall(burn_us);
	}
	return NULL;
}

static int began(const char *how)
{
	check(mask_is(strcmp(how, "unblocked") != 0), "exec: the mask is not what it was");
	if (!strcmp(how, "execed"))
		by_exec(burn_us);
	else if (!strcmp(how, "spawned"))
		by_spawn(burn_us);
	return failed;
}

static void print_user_time(void)
{
	struct rusage own, children;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	truth_number("user_us", (own.ru_utime.tv_sec + children.ru_utime.tv_sec) * 1000000 +
	                            own.ru_utime.tv_usec + children.ru_utime.tv_usec);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	int first = argc > 2 && !strcmp(argv[2], "raw-first");
	if (first || (argc > 2 && !strcmp(argv[2], "only-raw"))) {
		burn_us = (unsigned long)(1000000 * burn_scale(argc, argv));
		pthread_create(&thread, NULL, raw_thread, first ? &first : NULL);
		pthread_join(thread, NULL);
		print_user_time();
		return 0;
	}
	if (argc > 2 && strcmp(argv[2], "raw")) {
		burn_us = strtoul(argv[1], NULL, 10);
		return began(argv[2]);
	}
	burn_us = (unsigned long)(100000 * burn_scale(argc, argv));
	unblock();
	signal_checks(SIGTRAP);
	signal_checks(SIGPROF);
	pthread_way();
	process_way();
	syscall_way();
	thread_ways();
	handler_way();
	wait_ways();
	process_ways(argv[0]);
	if (argc > 2 && !pthread_create(&thread, NULL, raw_thread, NULL))
		pthread_join(thread, NULL);
	print_user_time();
#define SHARE(name, factor)                                                                        \
	if (argc > 2 || strcmp(#name, "by_raw_syscall"))                                           \
		printf("truth share." #name " %f\n", 1.0 / (argc > 2 ? 14 : 13));
	WAYS(SHARE)
	return failed;
}
