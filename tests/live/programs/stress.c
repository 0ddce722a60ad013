/*
 * Things that few programs do and every program may: stress WORD [NUMBER]. Exit status 0 when the
 * program saw what it would see unrecorded; 77 when this machine cannot do it. One function a word.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "burn.h"

BURN_SINK;
BURN_FUNCTION(work, BURN_A)

static volatile sig_atomic_t seen;

static void count(int signo)
{
	(void)signo;
	seen++;
}

/* @number children that run this program anew, as `make` does. */
static int forks(int number)
{
	for (int i = 0; i < number; i++) {
		pid_t pid = fork();
		if (!pid) {
			execl("/proc/self/exe", "stress", "nothing", (char *)NULL);
			_exit(9);
		}
		int status;
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return 0;
}

/* @number processes at once. */
static int crowd(int number)
{
	int ends[2];

	if (pipe(ends))
		return 1;
	for (int i = 0; i < number; i++) {
		if (!fork()) {
			char c;
			close(ends[1]);
			work(12000); /* enough for a sample */
			_exit(read(ends[0], &c, 1) != 0);
		}
	}
	close(ends[1]);
	int status, bad = 0;
	while (wait(&status) > 0)
		bad |= status;
	return bad != 0;
}

static void *short_thread(void *arg)
{
	work((unsigned long)(uintptr_t)arg);
	return arg;
}

/* @number threads, one after another. */
static int short_threads(int number)
{
	for (int i = 0; i < number; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, short_thread, (void *)(uintptr_t)50) ||
		    pthread_join(t, NULL))
			return 1;
	}
	return 0;
}

static pthread_barrier_t all_here;

static void *parked_thread(void *arg)
{
	work(5000);
	pthread_barrier_wait(&all_here);
	pthread_barrier_wait(&all_here);
	return arg;
}

static long resident_kb(void)
{
	char line[256];
	long kb = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "VmRSS:", 6))
			kb = atol(line + 6);
	if (f)
		fclose(f);
	return kb;
}

/* @number threads at once. */
static int threads_at_once(int number)
{
	pthread_t *t = calloc((size_t)number, sizeof *t);
	pthread_attr_t attr;

	pthread_barrier_init(&all_here, NULL, (unsigned)number + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < number; i++)
		if (pthread_create(&t[i], &attr, parked_thread, NULL))
			return 77;
	pthread_barrier_wait(&all_here);
	truth_number("rss_kb", resident_kb());
	pthread_barrier_wait(&all_here);
	for (int i = 0; i < number; i++)
		pthread_join(t[i], NULL);
	free(t);
	return 0;
}

static void *outlives_main(void *arg)
{
	(void)arg;
	for (int i = 0; i < 150; i++)
		work(10000);
	truth_number("thread_ms", (long)(burn_thread_ns() / 1000000));
	exit(0);
}

/* The first thread ends, another goes on. */
static int leader_exits(int number)
{
	pthread_t t;

	(void)number;
	if (pthread_create(&t, NULL, outlives_main, NULL))
		return 1;
	pthread_exit(NULL);
}

/* A child that shares our memory sets its signals back, as many do before exec. */
static int vfork_signals(int number)
{
	static const int all[] = {SIGTRAP, SIGPROF, SIGSEGV, SIGBUS};

	(void)number;
	for (int i = 0; i < 4; i++)
		signal(all[i], count);
	pid_t pid = vfork();
	if (!pid) {
		for (int i = 0; i < 4; i++)
			signal(all[i], SIG_DFL);
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	work(100000);
	for (int i = 0; i < 4; i++)
		raise(all[i]);
	return seen != 4;
}

/* All signals blocked, work, then wait for them: none but the alarm may come. */
static int waits(int number)
{
	sigset_t all;
	int signo = 0;

	(void)number;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	work(300000);
	if (sigtimedwait(&all, &(siginfo_t){0}, &(struct timespec){.tv_nsec = 1000}) != -1)
		return 2;
	alarm(1);
	return sigwait(&all, &signo) || signo != SIGALRM;
}

/* Every other way to ask for a handler. */
static int old_signals(int number)
{
	static const int both[] = {SIGTRAP, SIGPROF};

	(void)number;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	for (int i = 0; i < 2; i++) {
		int s = both[i];
		sysv_signal(s, count);
		work(60000);
		if (seen)
			return 2; /* a sample was given to the program */
		raise(s);
		if (seen != 1)
			return 3;
		work(60000); /* the handler is gone now: a sample would kill us */
		sigset(s, count);
		siginterrupt(s, 1);
		work(60000);
		raise(s);
		if (seen != 2 || sigset(s, SIG_HOLD) != count)
			return 4;
		raise(s);
		if (seen != 2)
			return 5;
		sigrelse(s);
		if (seen != 3)
			return 6;
		sigignore(s);
		raise(s);
		work(60000);
		struct sigaction act;
		if (sigaction(s, NULL, &act) || act.sa_handler != SIG_IGN)
			return 7;
		seen = 0;
	}
#pragma GCC diagnostic pop
	return 0;
}

static char *alternate;
static size_t alternate_size;

static void on_alternate(int signo)
{
	(void)signo;
	work(50000);
	seen++;
}

/* Samples that hit a handler on the smallest legal stack leave what lies below it alone. */
static int small_stack(int number)
{
	size_t least = (size_t)sysconf(_SC_MINSIGSTKSZ);

	(void)number;
	alternate_size = (least > 2048 ? least : 2048) + 512;
	alternate =
	    mmap(NULL, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(alternate, 0x5a, 32 << 10);
	stack_t st = {.ss_sp = alternate + (32 << 10), .ss_size = alternate_size};
	struct sigaction act = {.sa_handler = on_alternate, .sa_flags = SA_ONSTACK};
	if (sigaltstack(&st, NULL) || sigaction(SIGUSR1, &act, NULL))
		return 77;
	for (int i = 0; i < 5; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 32 << 10; i++)
		if (alternate[i] != 0x5a)
			return 1;
	return seen != 5;
}

static void *steals_descriptors(void *arg)
{
	(void)arg;
	work(30000); /* its stream is made with its first sample, by a descriptor that it closes */
	pthread_barrier_wait(&all_here);
	work(2000000);
	return NULL;
}

/* A descriptor that was closed is the next one opened, whatever threads there are. */
static int lowest_descriptor(int number)
{
	pthread_t t;

	pthread_barrier_init(&all_here, NULL, 2);
	if (pthread_create(&t, NULL, steals_descriptors, NULL))
		return 1;
	pthread_barrier_wait(&all_here);
	for (int i = 0; i < number; i++) {
		close(0);
		if (open("/dev/null", O_RDONLY))
			return 1;
	}
	_exit(0);
}

/* Only read, write, _exit and sigreturn are left. */
static int strict(int number)
{
	(void)number;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0))
		return 77;
	work(300000);
	syscall(SYS_exit, 0);
	return 1;
}

static sigjmp_buf start;

static void jump(int signo)
{
	(void)signo;
	siglongjmp(start, 1);
}

/* A timer that jumps out of whatever runs, ours too; and work that must still be seen. */
static int jumps(int number)
{
	struct itimerval often = {{0, 500}, {0, 500}};
	volatile int left = number;

	signal(SIGPROF, count);
	signal(SIGTRAP, count);
	signal(SIGALRM, jump);
	setitimer(ITIMER_REAL, &often, NULL);
	sigsetjmp(start, 1);
	while (left-- > 0)
		work(20000);
	setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
	int64_t before = burn_thread_ns();
	short_thread((void *)(uintptr_t)300000);
	truth_number("late_ms", (long)((burn_thread_ns() - before) / 1000000));
	return 0;
}

static int c11_run(void *arg)
{
	work(300000);
	return (int)(intptr_t)arg;
}

/* Threads of C11. */
static int c11_threads(int number)
{
	thrd_t t;
	int result = 0;

	(void)number;
	if (thrd_create(&t, c11_run, (void *)7) != thrd_success ||
	    thrd_join(t, &result) != thrd_success)
		return 1;
	return result != 7;
}

static int nothing(int number)
{
	(void)number;
	return 0;
}

/* Prints how SIGCHLD, SIGXFSZ and the descriptor limit were inherited. */
static int inherited(int number)
{
	struct rlimit files;
	struct sigaction chld, xfsz;

	(void)number;
	getrlimit(RLIMIT_NOFILE, &files);
	sigaction(SIGCHLD, NULL, &chld);
	sigaction(SIGXFSZ, NULL, &xfsz);
	printf("%d %d %lu %lu\n", chld.sa_handler == SIG_IGN, xfsz.sa_handler == SIG_IGN,
	       (unsigned long)files.rlim_cur, (unsigned long)files.rlim_max);
	return 0;
}

static const struct {
	const char *word;
	int (*run)(int);
} words[] = {
    {"forks", forks},
    {"crowd", crowd},
    {"short_threads", short_threads},
    {"threads", threads_at_once},
    {"leader_exits", leader_exits},
    {"vfork_signals", vfork_signals},
    {"waits", waits},
    {"old_signals", old_signals},
    {"small_stack", small_stack},
    {"lowest_descriptor", lowest_descriptor},
    {"strict", strict},
    {"jumps", jumps},
    {"c11_threads", c11_threads},
    {"inherited", inherited},
    {"nothing", nothing},
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; argc > 1 && i < sizeof words / sizeof *words; i++)
		if (!strcmp(words[i].word, argv[1]))
			return words[i].run(argc > 2 ? atoi(argv[2]) : 0);
	return 99;
}
