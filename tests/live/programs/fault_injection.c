/*
 * Faults that a program injects into itself: fault_injection WORD [NUMBER]. It prints what
 * it saw, which is the same unrecorded; exit status 0 when that was what it should see, 77 when
 * this machine cannot do it. In each there is CPU time in work(), before the fault and after it.
 * One function a word.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

BURN_SINK;
BURN_FUNCTION(work, BURN_A)

enum { BEFORE_US = 80000, AFTER_US = 80000, CANNOT = 77 };

extern char **environ;

static void *thread_works(void *us)
{
	work((unsigned long)us);
	return NULL;
}

/* A thread and a child after the fault: each wants a stream of its own. */
static int after(void)
{
	pthread_t thread;
	int status;

	work(AFTER_US);
	if (pthread_create(&thread, NULL, thread_works, (void *)(unsigned long)AFTER_US))
		return 2;
	pthread_join(thread, NULL);
	pid_t pid = fork();
	if (!pid) {
		work(AFTER_US / 2);
		_exit(5);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 5)
		return 3;
	puts("after");
	return 0;
}

static int close_all(int number)
{
	(void)number;
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	int rc = after();
	return open("/dev/null", O_RDONLY) == 3 ? rc : 4;
}

static int to_root(const char *how, int (*go)(const char *))
{
	char dir[] = "/tmp/aflame-fault-XXXXXX";

	if (!mkdtemp(dir))
		return CANNOT;
	int rc = go(dir) ? CANNOT : after();
	if (rc != CANNOT && access("/proc", F_OK))
		puts(how);
	return rc;
}

static int go_chroot(const char *dir)
{
	return chroot(dir) || chdir("/");
}

static int chrooted(int number)
{
	(void)number;
	return to_root("in a chroot", go_chroot);
}

static int go_pivot(const char *dir)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, NULL) || chdir(dir) || mkdir("old", 0700) ||
	    syscall(SYS_pivot_root, ".", "old") || chdir("/"))
		return -1;
	return umount2("/old", MNT_DETACH);
}

static int pivoted(int number)
{
	(void)number;
	return to_root("another root", go_pivot);
}

/* Another /dev/shm than the recorder's. */
static int mounts(int number)
{
	(void)number;
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/dev/shm", "tmpfs", 0, NULL))
		return CANNOT;
	return after();
}

static int drops_user(int number)
{
	(void)number;
	if (setgid(65534) || setuid(65534))
		return CANNOT;
	return after();
}

static int fork_bomb(int number)
{
	for (int i = 0; number > 0 && i < 5; i++)
		if (!fork())
			_exit(fork_bomb(number - 1));
	work(300);
	int status, bad = 0;
	while (wait(&status) > 0)
		bad |= status;
	return bad != 0;
}

static int bomb(int number)
{
	return fork_bomb(number ? number : 4);
}

static pthread_barrier_t all_here;

static void *one_of_many(void *us)
{
	pthread_barrier_wait(&all_here);
	work((unsigned long)us);
	return NULL;
}

static int many_threads(int number)
{
	static pthread_t threads[4000];
	pthread_attr_t attr;
	int nr = number ? number : 2000;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	pthread_barrier_init(&all_here, NULL, (unsigned)nr + 1);
	for (int i = 0; i < nr; i++)
		if (pthread_create(&threads[i], &attr, one_of_many, (void *)500ul))
			return CANNOT;
	pthread_barrier_wait(&all_here);
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	printf("%d threads\n", nr);
	return 0;
}

static APART unsigned long deep(unsigned long left)
{
	volatile char room[200];

	room[0] = (char)left;
	if (left % 64 == 0)
		work(20);
	return left ? deep(left - 1) + (unsigned long)room[0] : 0;
}

static sigjmp_buf overflown;

static void on_overflow(int signo)
{
	(void)signo;
	siglongjmp(overflown, 1);
}

static volatile unsigned long enough = -1ul;

static APART unsigned long endless(unsigned long n)
{
	volatile char room[4096];

	room[n % sizeof room] = 1;
	return n == enough ? 0 : endless(n + 1) + (unsigned long)room[0];
}

/* Down to the end of the stack, caught on an alternate one, again and again. */
static int deep_recursion(int number)
{
	static char room[64 << 10];
	stack_t alternate = {.ss_sp = room, .ss_size = sizeof room};
	struct sigaction act = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
	volatile int caught = 0;

	(void)number;
	if (sigaltstack(&alternate, NULL) || sigaction(SIGSEGV, &act, NULL))
		return 1;
	for (volatile int i = 0; i < 5; i++) {
		if (sigsetjmp(overflown, 1))
			caught++;
		else
			endless(0);
		deep(10000);
	}
	printf("%d overflows caught\n", caught);
	return caught != 5;
}

static int spawns(int number)
{
	char *const args[] = {"fault_injection", "nothing", NULL};

	for (volatile int i = 0; i < (number ? number : 40); i++) {
		pid_t pid;
		int status;
		if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ) ||
		    waitpid(pid, &status, 0) != pid || status)
			return 1;
		pid = vfork();
		if (!pid) {
			execl("/proc/self/exe", "fault_injection", "nothing", (char *)NULL);
			_exit(9);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 2;
	}
	return after();
}

/* Twice forked, as daemons are; its parent is over before it works. */
static int daemonise(int number)
{
	char name[] = "/tmp/aflame-fault-XXXXXX";
	int fd = mkstemp(name), ends[2];
	char byte;

	(void)number;
	if (fd < 0 || pipe(ends))
		return CANNOT;
	unlink(name);
	if (!fork()) {
		setsid();
		if (fork())
			_exit(0);
		close(ends[0]);
		if (chdir("/"))
			_exit(1);
		work(AFTER_US);
		_exit(write(ends[1], "d", 1) != 1);
	}
	close(ends[1]);
	wait(NULL);
	if (read(ends[0], &byte, 1) != 1 || byte != 'd')
		return 1;
	puts("the daemon worked");
	return 0;
}

static volatile sig_atomic_t handled;

static void on_fault(int signo)
{
	(void)signo;
	handled++;
	siglongjmp(overflown, 1);
}

static void on_signal(int signo)
{
	(void)signo;
	handled++;
}

/* Its own faults, profiling signals and traps, all handled by itself. */
static int own_handlers(int number)
{
	struct sigaction fault = {.sa_handler = on_fault}, other = {.sa_handler = on_signal};

	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
	sigaction(SIGPROF, &other, NULL);
	sigaction(SIGTRAP, &other, NULL);
	volatile int nr = number ? number : 300;
	char *volatile nowhere = (char *)8;
	for (volatile int i = 0; i < nr; i++) {
		work(100);
		if (!sigsetjmp(overflown, 1))
			*(volatile char *)nowhere = 1;
		raise(SIGPROF);
		raise(SIGTRAP);
		__asm__ volatile("int3");
	}
	printf("%d handled\n", (int)handled);
	return handled != 4 * nr;
}

/* Threads on the smallest stacks there are. */
static int small_stacks(int number)
{
	pthread_t threads[8];
	pthread_attr_t attr;

	(void)number;
	setrlimit(RLIMIT_STACK, &(struct rlimit){256 << 10, RLIM_INFINITY});
	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN)))
		return 1;
	for (int i = 0; i < 8; i++)
		if (pthread_create(&threads[i], &attr, thread_works,
		                   (void *)(unsigned long)AFTER_US))
			return 2;
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	return after();
}

#define ALLOW(call)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),                                           \
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* A filter that ends the program for every call it does not need itself. */
static int seccomp_kills(int number)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    ALLOW(SYS_read),
	    ALLOW(SYS_write),
	    ALLOW(SYS_exit_group),
	    ALLOW(SYS_rt_sigreturn),
	    ALLOW(SYS_newfstatat),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};

	puts("before");
	fflush(stdout);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return CANNOT;
	if (number ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
	           : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		return CANNOT;
	work(5 * AFTER_US);
	puts("after the filter");
	return 0;
}

/* The same with errors in place of death, which is what containers have. */
static int seccomp_refuses(int number)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};

	(void)number;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		return CANNOT;
	return after();
}

/* Signals that a shell's child finds ignored, and prints: SIGTRAP, SIGPROF, SIGUSR1. */
static int ignores_in_shells(void)
{
	char path[512] = "", command[600], line[64];

	if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
		return 1;
	snprintf(command, sizeof command, "'%s' ignores 2", path);
	if (system(command))
		return 2;
	FILE *f = popen(command, "r");
	while (f && fgets(line, sizeof line, f))
		fputs(line, stdout);
	return f ? pclose(f) : 3;
}

/* An ignored signal stays ignored over exec; the next image prints it. */
static int ignores(int number)
{
	static const int signals[] = {SIGTRAP, SIGPROF, SIGSEGV, SIGBUS, SIGUSR1};

	if (number) {
		for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
			struct sigaction act;
			if (number > 1 && (signals[i] == SIGSEGV || signals[i] == SIGBUS))
				continue; /* a shell finds them as by default */
			sigaction(signals[i], NULL, &act);
			printf("%d%s", act.sa_handler == SIG_IGN, i < 4 ? " " : "\n");
		}
		return number > 1 ? 0 : after();
	}
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], SIG_IGN);
	work(BEFORE_US);
	if (ignores_in_shells())
		return 1;
	pid_t pid = fork();
	if (!pid) {
		execlp("/proc/self/exe", "fault_injection", "ignores", "1", (char *)NULL);
		_exit(9);
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 1;
	execl("/proc/self/exe", "fault_injection", "ignores", "1", (char *)NULL);
	return 9;
}

static void *thread_execs_next(void *left)
{
	char number[16];

	snprintf(number, sizeof number, "%d", *(int *)left - 1);
	execl("/proc/self/exe", "fault_injection", "thread_execs", number, (char *)NULL);
	return left;
}

/* NUMBER programs, each run by a thread of the one before that is not its first. */
static int thread_execs(int number)
{
	pthread_t thread;

	if (number > 0) {
		if (!pthread_create(&thread, NULL, thread_execs_next, &number))
			pthread_join(thread, NULL);
		return 1;
	}
	return after();
}

static int limits(int number)
{
	static const int which[] = {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_NPROC};
	static const rlim_t least[] = {4, 0, 1 << 20, 1};

	if (number < 0 || number > 3)
		return 99;
	struct rlimit limit = {least[number], least[number]};
	if (setrlimit(which[number], &limit))
		return CANNOT;
	work(AFTER_US);
	pthread_t thread;
	if (!pthread_create(&thread, NULL, thread_works, (void *)(unsigned long)AFTER_US))
		pthread_join(thread, NULL);
	puts("after");
	return 0;
}

static int nothing(int number)
{
	(void)number;
	return 0;
}

/*
 * The CPU time that getrusage reports, in the file that FAULTS_USED names, as witness.c writes it.
 */
static int say_used(void)
{
	const char *path = getenv("FAULTS_USED");
	FILE *file = path ? fopen(path, "w") : NULL;
	struct rusage u;

	if (!file)
		return !!path;
	getrusage(RUSAGE_SELF, &u);
	fprintf(file, "user_us %lld\nsystem_us %lld\nstatus 0\n",
	        u.ru_utime.tv_sec * 1000000LL + u.ru_utime.tv_usec,
	        u.ru_stime.tv_sec * 1000000LL + u.ru_stime.tv_usec);
	return fclose(file) != 0;
}

/* NUMBER milliseconds of work in two threads. */
static int works(int number)
{
	unsigned long us = 1000ul * (unsigned long)(number ? number : 500);
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_works, (void *)us))
		return 1;
	work(us);
	pthread_join(thread, NULL);
	puts("worked");
	return say_used();
}

static const struct {
	const char *word;
	int (*run)(int);
} words[] = {
    {"close_all", close_all},
    {"chrooted", chrooted},
    {"pivoted", pivoted},
    {"mounts", mounts},
    {"drops_user", drops_user},
    {"bomb", bomb},
    {"many_threads", many_threads},
    {"deep_recursion", deep_recursion},
    {"spawns", spawns},
    {"daemonise", daemonise},
    {"own_handlers", own_handlers},
    {"small_stacks", small_stacks},
    {"seccomp_kills", seccomp_kills},
    {"seccomp_refuses", seccomp_refuses},
    {"ignores", ignores},
    {"thread_execs", thread_execs},
    {"limits", limits},
    {"works", works},
    {"nothing", nothing},
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; argc > 1 && i < sizeof words / sizeof *words; i++) {
		if (strcmp(words[i].word, argv[1]))
			continue;
		int number = argc > 2 ? atoi(argv[2]) : 0;
		if (words[i].run != nothing && words[i].run != bomb && words[i].run != thread_execs)
			work(BEFORE_US);
		return words[i].run(number);
	}
	return 99;
}
