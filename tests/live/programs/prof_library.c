/*
 * Samples itself with libaflame-prof: prof_library WHAT [FILE]. What is true of each WHAT stands at
 * its function. Folded stacks go to FILE, and numbers are lines "truth KEY VALUE".
 */
#include <aflame/prof.h>
#include <aflame/region.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

BURN_SINK;
BURN_FUNCTION(sixty, BURN_A)
BURN_FUNCTION(thirty, BURN_B)
BURN_FUNCTION(ten, BURN_C)
BURN_FUNCTION(unseen, BURN_D)
BURN_FUNCTION(blocking, BURN_E)
BURN_FUNCTION(older, BURN_F)
BURN_FUNCTION(newer, BURN_A)

static const char *file;
static struct af_err err;
static volatile int over;
static volatile int tids[2];

static int say(const char *what, int rc)
{
	printf("truth %s %d\nsays %s %s\n", what, rc, what, rc ? err.msg : "-");
	return rc;
}

static void must(const char *what, int rc)
{
	if (!rc)
		return;
	printf("failed %s %d %s\n", what, rc, err.msg);
	exit(1);
}

static struct af_prof *begun(const struct af_prof_options *options)
{
	struct af_prof *p;

	must("open", af_prof_open(&p, options, &err));
	must("start", af_prof_start(p, &err));
	return p;
}

static int file_write(void *context, const void *data, size_t size)
{
	return fwrite(data, 1, size, context) == size ? 0 : -EIO;
}

static void written(struct af_prof *p, const struct af_prof_format *format, const char *name)
{
	FILE *out = fopen(name, "w");
	struct af_prof_sink sink = {file_write, out};

	must("write", af_prof_write(p, format, &sink, &err));
	fclose(out);
}

static void counted(struct af_prof *p)
{
	struct af_prof_counters c = {.size = sizeof c};

	af_prof_count(p, &c);
	truth_number("samples", (long)c.samples);
	truth_number("dropped", (long)c.dropped);
	truth_number("cpu_us", (long)(c.cpu_ns / 1000));
	truth_number("rate", (long)c.rate);
	truth_number("missed", (long)c.threads_missed);
	truth_number("timer", c.timer);
}

static void ended(struct af_prof *p)
{
	must("stop", af_prof_stop(p, &err));
	written(p, &af_prof_folded, file);
	counted(p);
	af_prof_close(p);
}

static long user_us(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_utime.tv_sec * 1000000 + r.ru_utime.tv_usec;
}

/* A second of CPU time: sixty, thirty and ten have that much of it in percent. */
static void shares(const struct af_prof_options *options)
{
	struct af_prof *p = begun(options);
	long before = user_us();

	for (int i = 0; i < 50; i++) {
		sixty(12000);
		thirty(6000);
		ten(2000);
	}
	truth_number("user_us", user_us() - before);
	ended(p);
}

/* Its CPU time is the truth of @name: where code is translated the first run costs more. */
static void timed(const char *name, void (*burn)(unsigned long us))
{
	const int64_t before = burn_thread_ns();

	burn(200000);
	truth_number(name, (long)((burn_thread_ns() - before) / 1000));
}

/*
 * unseen runs only while it is stopped; thirty only before a collection that FILE.part has. The
 * CPU time of each is NAME_us.
 */
static void again(void)
{
	struct af_prof *p = begun(NULL);

	timed("thirty_us", thirty);
	must("collect", af_prof_collect(p, &err));
	timed("sixty_us", sixty);
	char part[4096];
	snprintf(part, sizeof part, "%s.part", file);
	written(p, &af_prof_folded, part);
	must("stop", af_prof_stop(p, &err));
	unseen(200000);
	must("start", af_prof_start(p, &err));
	timed("ten_us", ten);
	ended(p);
}

static void *older_run(void *nr)
{
	tids[(intptr_t)nr] = (int)syscall(SYS_gettid);
	while (!over)
		older(1000);
	return NULL;
}

static void *newer_run(void *none)
{
	(void)none;
	newer(300000);
	return NULL;
}

static pthread_t thread(void *(*run)(void *), intptr_t nr)
{
	pthread_t t;

	tids[nr] = 0;
	pthread_create(&t, NULL, run, (void *)nr);
	while (run == older_run && !tids[nr])
		usleep(1000);
	return t;
}

/* A thread that was there before the start runs older, and one that comes later newer. */
static void threads(void)
{
	pthread_t first = thread(older_run, 0);
	struct af_prof *p = begun(NULL);
	pthread_t second = thread(newer_run, 1);

	sixty(300000);
	pthread_join(second, NULL);
	over = 1;
	pthread_join(first, NULL);
	ended(p);
}

/*
 * The profile is of the thread that runs older, alone, for 0.4 s of its CPU time; of its samples
 * the first 50 are kept.
 */
static void one(void)
{
	pthread_t first = thread(older_run, 0);
	struct af_prof_options options = {.size = sizeof options, .tid = tids[0], .cap = 50};
	struct af_prof *p = begun(&options);
	clockid_t clock;

	pthread_getcpuclockid(first, &clock);
	for (const int64_t end = burn_clock_ns(clock) + 400000000; burn_clock_ns(clock) < end;)
		sixty(1000);
	ended(p);
	over = 1;
	pthread_join(first, NULL);
}

static volatile int traps, profs;

static void handle(int signo)
{
	if (signo == SIGTRAP)
		traps++;
	else
		profs++;
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigaddset(&set, SIGPROF);
	pthread_sigmask(how, &set, NULL);
}

static void *blocker_run(void *nr)
{
	block(SIG_BLOCK);
	tids[(intptr_t)nr] = 1;
	while (!over)
		unseen(1000);
	return NULL;
}

/*
 * Handlers of the program's own, one from before the start, get their own signals and no others. A
 * thread that blocked signals before the start runs unseen and is counted; blocking runs in a
 * thread that blocks them later.
 */
static void signals(void)
{
	signal(SIGTRAP, handle);
	pthread_t blocker = thread(blocker_run, 0);
	while (!tids[0])
		usleep(1000);
	struct af_prof *p = begun(NULL);
	signal(SIGPROF, handle);
	sixty(200000);
	raise(SIGTRAP);
	raise(SIGPROF);
	block(SIG_BLOCK);
	blocking(200000);
	raise(SIGTRAP);
	sigset_t pending;
	sigpending(&pending);
	truth_number("pending", sigismember(&pending, SIGTRAP));
	truth_number("traps_blocked", traps);
	block(SIG_UNBLOCK);
	truth_number("traps", traps);
	truth_number("profs", profs);
	thirty(200000);
	over = 1;
	pthread_join(blocker, NULL);
	ended(p);
}

static int nothing_taken(void *context, const void *data, size_t size)
{
	(void)context, (void)data, (void)size;
	return -ENOSPC;
}

static int other_format(const struct af_prof_data *data, const struct af_prof_sink *to,
                        struct af_err *e)
{
	(void)data, (void)to, (void)e;
	return -ERANGE;
}

/* Each answers with an error. */
static void errors(void)
{
	struct af_prof_options options = {.size = sizeof options, .period_us = 49};
	const struct af_prof_sink full = {nothing_taken, NULL};
	const struct af_prof_format other = {"other", other_format};
	struct af_prof *p, *second;

	say("rate", af_prof_open(&p, &options, &err));
	options = (struct af_prof_options){.size = sizeof options, .depth = 7};
	say("depth", af_prof_open(&p, &options, &err));
	options = (struct af_prof_options){.size = sizeof options, .tid = 1 << 30};
	say("tid", af_prof_open(&p, &options, &err));
	options = (struct af_prof_options){0};
	say("size", af_prof_open(&p, &options, &err));
	must("open", af_prof_open(&p, NULL, &err));
	say("second", af_prof_open(&second, NULL, &err));
	say("stop", af_prof_stop(p, &err));
	say("empty", af_prof_write(p, &af_prof_folded, &full, &err));
	must("start", af_prof_start(p, &err));
	say("start", af_prof_start(p, &err));
	sixty(100000);
	must("stop", af_prof_stop(p, &err));
	say("sink", af_prof_write(p, &af_prof_folded, &full, &err));
	say("format", af_prof_write(p, &other, &full, &err));
	say("save", af_prof_save(p, "/dev", &err));
	say("symbol", af_prof_symbol(p, &(struct af_prof_symbol){.start = 1, .size = 1}, &err));
	af_prof_close(p);
	af_prof_close(NULL);
}

static int nr_descriptors(void)
{
	int nr = 0;

	for (int fd = 0; fd < 256; fd++)
		nr += dup2(fd, fd) == fd;
	return nr;
}

/* Profile after profile: each has its own time, and no descriptor is left open. */
static void many(void)
{
	pthread_t first = thread(older_run, 0);
	int before = nr_descriptors();

	for (int i = 0; i < 10; i++) {
		struct af_prof *p = begun(NULL);
		if (i == 9)
			sixty(300000);
		else
			thirty(20000);
		if (i < 9)
			af_prof_close(p);
		else
			ended(p);
	}
	truth_number("descriptors", nr_descriptors() - before);
	over = 1;
	pthread_join(first, NULL);
}

/* A forked child is not sampled and cannot use the profile, but its own, in FILE.child. */
static void forks(void)
{
	struct af_prof *p = begun(NULL);
	int status;

	sixty(200000);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		unseen(200000);
		say("parents", af_prof_stop(p, &err));
		af_prof_close(p);
		p = begun(NULL);
		thirty(200000);
		must("stop", af_prof_stop(p, &err));
		char name[4096];
		snprintf(name, sizeof name, "%s.child", file);
		written(p, &af_prof_folded, name);
		exit(0);
	}
	waitpid(child, &status, 0);
	truth_number("status", status);
	truth_number("environment", getenv("AFLAME_SESSION") != NULL);
	ended(p);
}

/* The program ends with a profile that is open and started, in another thread than its first. */
static void *exits_run(void *none)
{
	(void)none;
	begun(NULL);
	sixty(50000);
	exit(3);
}

static void exits(void)
{
	pthread_t t = thread(exits_run, 1);

	pthread_join(t, NULL);
}

/* All formats of one profile: FILE, FILE.flat, FILE.pprof, and the trace FILE.trace. */
static void formats(void)
{
	struct af_prof *p = begun(NULL);
	char name[4096];

	sixty(600000);
	thirty(300000);
	ten(100000);
	must("stop", af_prof_stop(p, &err));
	snprintf(name, sizeof name, "%s.flat", file);
	written(p, &af_prof_flat, name);
	snprintf(name, sizeof name, "%s.pprof", file);
	written(p, &af_prof_pprof, name);
	snprintf(name, sizeof name, "%s.trace", file);
	must("save", af_prof_save(p, name, &err));
	written(p, &af_prof_folded, file);
	counted(p);
	af_prof_close(p);
}

/*
 * sixty runs in the region "large", ten in "small" inside of it, thirty in none; a thread runs
 * newer in the region "other" and ends in it. The trace is FILE.trace.
 */
static void *region_run(void *none)
{
	aflame_region_begin("other");
	return newer_run(none);
}

static void regions(void)
{
	const struct af_prof_options options = {.size = sizeof options, .regions = true};
	struct af_prof *p = begun(&options);
	pthread_t t = thread(region_run, 1);
	char name[4096];

	aflame_region_begin("large");
	sixty(200000);
	aflame_region_begin("small");
	ten(200000);
	aflame_region_end();
	aflame_region_end();
	thirty(200000);
	aflame_mark("over");
	pthread_join(t, NULL);
	must("stop", af_prof_stop(p, &err));
	snprintf(name, sizeof name, "%s.trace", file);
	must("save", af_prof_save(p, name, &err));
	written(p, &af_prof_folded, file);
	af_prof_close(p);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {{"again", again},     {"threads", threads}, {"one", one},
	           {"signals", signals}, {"errors", errors},   {"many", many},
	           {"forks", forks},     {"exits", exits},     {"formats", formats},
	           {"regions", regions}};
	const struct af_prof_options fine = {.size = sizeof fine, .period_us = 250};

	file = argc > 2 ? argv[2] : "/dev/null";
	if (argc > 1 && !strcmp(argv[1], "shares"))
		shares(NULL);
	if (argc > 1 && !strcmp(argv[1], "fine"))
		shares(&fine);
	for (unsigned i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
		if (!strcmp(argv[1], all[i].name))
			all[i].run();
	return 0;
}
