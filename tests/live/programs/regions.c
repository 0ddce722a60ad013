/*
 * regions HOW [N]: regions and marks of aflame/region.h.
 *
 * times: some regions and marks, each with the program's own clock before and after it, as lines
 * "at EDGE NAME BEFORE AFTER" (CLOCK_MONOTONIC, ns), in the order of the calls.
 * many: N regions "r" within N regions "step K", and N marks "m".
 * names: N regions with different names.
 * shares: 20 steps of the region "a" with 10 ms of CPU time and of "b" with 30 ms, in one function.
 * hostile: names that are NULL, empty, of 1 MB, and no UTF-8; more ends than begins; 300 regions
 * within each other; a thread that ends inside two regions, and the next thread; a fork inside a
 * region; a signal handler with a region, inside a region.
 * handlers: regions "main" one after the other, while a timer's handler has 100 regions "handler",
 * some of them in the middle of one of the others. Truth: how many of "handler" there were.
 * Each prints "done" last. Exit status 0.
 */
#include <aflame/region.h>

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

BURN_SINK;
BURN_FUNCTION(work, BURN_A)

static int64_t now_ns(void)
{
	return burn_clock_ns(CLOCK_MONOTONIC);
}

#define TIMED(edge, name, call)                                                                    \
	do {                                                                                       \
		int64_t before_ns = now_ns();                                                      \
		call;                                                                              \
		printf("at %s %s %lld %lld\n", edge, name, (long long)before_ns,                   \
		       (long long)now_ns());                                                       \
	} while (0)

static void times(void)
{
	uint64_t first = 0, second = 0;

	for (int i = 0; i < 5; i++) {
		TIMED("PUSH", "outer", aflame_region_begin("outer"));
		work(2000);
		TIMED("PUSH", "inner", aflame_region_begin("inner"));
		TIMED("MARK", "mark", aflame_mark("mark"));
		work(3000);
		TIMED("POP", "-", aflame_region_end());
		TIMED("POP", "-", aflame_region_end());
	}
	TIMED("START", "first", first = aflame_region_start("first"));
	TIMED("START", "second", second = aflame_region_start("second"));
	TIMED("END", "-", aflame_region_stop(first));
	TIMED("END", "-", aflame_region_stop(second));
}

static void many(long nr)
{
	for (long i = 0; i < nr; i++) {
		char name[32];
		snprintf(name, sizeof name, "step %ld", i);
		aflame_region_begin(name);
		aflame_region_begin("r");
		aflame_mark("m");
		aflame_region_end();
		aflame_region_end();
	}
}

static void names(long nr)
{
	for (long i = 0; i < nr; i++) {
		char name[32];
		snprintf(name, sizeof name, "%lx", (unsigned long)i * 2654435761ul);
		aflame_region_begin(name);
		aflame_region_end();
	}
}

static void until(int64_t ns)
{
	for (const int64_t end = burn_thread_ns() + ns; burn_thread_ns() < end;)
		work(100);
}

static void shares(void)
{
	for (int i = 0; i < 20; i++) {
		aflame_region_begin("a");
		until(10000000);
		aflame_region_end();
		aflame_region_begin("b");
		until(30000000);
		aflame_region_end();
	}
}

static void *leaves_open(void *arg)
{
	aflame_region_begin("left");
	aflame_region_begin("left inside");
	return arg;
}

static void *next_thread(void *arg)
{
	aflame_region_begin("next");
	aflame_region_end();
	aflame_region_end();
	return arg;
}

static void run_thread(void *(*run)(void *))
{
	pthread_t t;

	if (!pthread_create(&t, NULL, run, NULL))
		pthread_join(t, NULL);
}

static void on_signal(int signo)
{
	(void)signo;
	aflame_region_begin("handler");
	aflame_region_end();
}

static void forks(void)
{
	aflame_region_begin("parent");
	pid_t child = fork();
	if (!child) {
		aflame_region_end(); /* of the parent: none here */
		aflame_region_begin("child");
		aflame_region_end();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	aflame_region_end();
}

static void hostile(void)
{
	static char large[(1 << 20) + 1];

	memset(large, 'x', sizeof large - 1);
	aflame_region_end();
	aflame_region_begin(NULL);
	aflame_region_end();
	aflame_region_end();
	aflame_mark("");
	aflame_mark("not \xff UTF-8");
	aflame_mark(large);
	/* The cut lies in the middle of a character of two bytes. */
	for (size_t i = 2; i + 1 < sizeof large; i += 2)
		memcpy(large + i, "\u00fc", 2);
	aflame_mark(large);
	for (int i = 0; i < 300; i++)
		aflame_region_begin("deep");
	for (int i = 0; i < 301; i++)
		aflame_region_end();
	run_thread(leaves_open);
	run_thread(next_thread);
	forks();
	signal(SIGUSR1, on_signal);
	aflame_region_begin("interrupted");
	raise(SIGUSR1);
	aflame_region_end();
	aflame_region_stop(0);
}

static volatile long handled;

static void on_timer(int signo)
{
	on_signal(signo);
	handled++;
}

static void handlers(void)
{
	struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

	signal(SIGALRM, on_timer);
	setitimer(ITIMER_REAL, &often, NULL);
	for (long i = 1; handled < 100; i++) {
		aflame_region_begin("main");
		aflame_region_end();
		if (i % 200 == 0)
			work(100);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	aflame_mark("over");
	truth_number("handled", handled);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	long nr = argc > 2 ? atol(argv[2]) : 0;

	if (!strcmp(how, "times"))
		times();
	if (!strcmp(how, "many"))
		many(nr);
	if (!strcmp(how, "names"))
		names(nr);
	if (!strcmp(how, "shares"))
		shares();
	if (!strcmp(how, "hostile"))
		hostile();
	if (!strcmp(how, "handlers"))
		handlers();
	puts("done");
	return 0;
}
