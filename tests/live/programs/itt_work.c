/*
 * itt_work HOW: a program that uses ITT (itt_say.h). It prints "KIND NAME COUNT" for what it did,
 * and "done" last. Exit status 0.
 *
 * all: domains "app" and "io". 5 tasks "step", each with 2 tasks "solve" inside of it, of which one
 * ends by a domain "app" that was made before ITT began, and, over its end, a task "write" of io; a
 * task that is named after a function; tasks "left" and "right" that overlap, of which the right
 * one ends in another thread; a region "phase"; 3 frames of "app", one of them begun twice, and 4
 * that are reported after they took 2 ms each; 4 markers "here"; metadata "sizes" and "file"; an
 * event "tick" 3 times; a thread "itt-worker" with a task "work"; 6 tasks "hidden" while ITT is
 * paused and a task "seen" after it; a task "cut" that is open when ITT is paused and ends
 * meanwhile.
 * counters: "queue" of "app" is set to 1, 2, 3, is incremented to 4 and 5 and decremented by 3 to
 * 2; "load", a double, is set to 0.25 and -1; "early", made before ITT began, is 7; "hits" of the
 * domain app by string is incremented 3 times.
 * hostile: ends without beginnings, an end in another thread, 100 tasks within one another, names
 * with escapes, no names, no domains, events that nobody made, ranges that are open at the exit.
 * forks: a child that ends what its parent began, and has a task "child" and a counter "queue".
 * stress: 4 threads, each 20000 times a task, an overlapped task and a value of a counter.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "itt_say.h"

static const struct id none;
static struct domain *app, *io;
static struct domain *app_early; /* the same name, made before ITT began */
static int hides;

static struct string *named(const char *text)
{
	return itt_string_handle_create(text);
}

static void task(const struct domain *d, const char *name)
{
	ITT(task_begin, d, none, none, named(name));
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

__attribute__((visibility("default"))) void itt_work_runs(void);
void itt_work_runs(void)
{
	hides++;
}

static void steps(void)
{
	for (int i = 0; i < 5; i++) {
		task(app, "step");
		for (int k = 0; k < 2; k++) {
			task(app, "solve");
			ITT(task_end, k ? app : app_early);
		}
		task(io, "write");
		ITT(task_end, app);
		ITT(task_end, io);
	}
	ITT(task_begin_fn, app, none, none, (void *)itt_work_runs);
	itt_work_runs();
	ITT(task_end, app);
	printf("task step 5\ntask solve 10\ntask write 5\ntask itt_work_runs 1\n");
}

static void *end_right(void *id)
{
	ITT(task_end_overlapped, app, *(struct id *)id);
	return NULL;
}

static void in_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, arg);
	pthread_join(thread, NULL);
}

static void overlaps(void)
{
	struct id left = {.d1 = 1, .d2 = 7}, right = {.d1 = 2, .d2 = 7}, phase = {.d1 = 1, .d2 = 7};

	ITT(task_begin_overlapped, app, left, none, named("left"));
	ITT(task_begin_overlapped, app, right, none, named("right"));
	ITT(region_begin, app, phase, none, named("phase"));
	ITT(task_end_overlapped, app, left);
	in_thread(end_right, &right);
	ITT(region_end, app, phase);
	printf("overlapped left 1\noverlapped right 1\nregion phase 1\n");
}

static void frames(void)
{
	struct id id = {.d1 = 5};

	ITT(frame_begin_v3, app, NULL);
	ITT(frame_begin_v3, app, NULL);
	ITT(frame_begin_v3, app, &id);
	ITT(frame_end_v3, app, NULL);
	ITT(frame_end_v3, app, &id);
	ITT(frame_begin_v3, app, NULL);
	ITT(frame_end_v3, app, NULL);
	for (int i = 0; i < 4; i++) {
		unsigned long long begin = ITT(get_timestamp);
		sleep_ms(2);
		ITT(frame_submit_v3, app, NULL, begin, ITT(get_timestamp));
	}
	printf("frame app 3\nsubmit app 4\n");
}

static void marks(void)
{
	unsigned long long sizes[] = {1, 22, 333};
	int event = ITT(event_create, "tick-tock", 4);

	for (int i = 0; i < 4; i++)
		ITT(marker, app, none, named("here"), 3);
	ITT(metadata_add, app, none, named("sizes"), U64, 3, sizes);
	ITT(metadata_str_add, app, none, named("file"), "data.bin", (size_t)-1);
	for (int i = 0; i < 3; i++) {
		ITT(event_start, event);
		ITT(event_end, event);
	}
	printf("marker here 4\nmetadata sizes 1\nmetadata file 1\nevent tick 3\n");
}

static void *work(void *arg)
{
	(void)arg;
	ITT(thread_set_name, "itt-worker");
	task(app, "work");
	ITT(task_end, app);
	return NULL;
}

static void pauses(void)
{
	task(app, "cut");
	for (int i = 0; i < 2; i++) {
		ITT(pause);
		for (int k = 0; k < 3; k++) {
			task(app, "hidden");
			ITT(marker, app, none, named("hidden mark"), 3);
			ITT(task_end, app);
		}
		if (!i)
			ITT(task_end, app);
		ITT(resume);
	}
	task(app, "seen");
	ITT(task_end, app);
	printf("task cut 1\ntask seen 1\n");
}

static void all(void)
{
	steps();
	overlaps();
	frames();
	marks();
	ITT(thread_set_name, "itt-main");
	in_thread(work, NULL);
	printf("task work 1\nthread itt-worker 1\n");
	pauses();
}

static void counters(void *early)
{
	void *queue = ITT(counter_create, "queue", "app");
	void *load = ITT(counter_create_typed, "load", "app", DOUBLE);

	for (unsigned long long v = 1; v <= 3; v++)
		ITT(counter_set_value, queue, &v);
	ITT(counter_inc, queue);
	ITT(counter_inc, queue);
	ITT(counter_dec_delta, queue, 3);
	ITT(counter_set_value, load, &(double){0.25});
	ITT(counter_set_value, load, &(double){-1});
	ITT(counter_set_value, early, &(unsigned long long){7});
	for (int i = 0; i < 3; i++)
		ITT(counter_inc_v3, app, named("hits"));
}

static void *end_elsewhere(void *arg)
{
	(void)arg;
	ITT(task_end, app);
	return NULL;
}

static void hostile(void)
{
	struct id never = {.d1 = 9}, again = {.d1 = 10};

	ITT(task_end, app);
	ITT(task_end_overlapped, app, never);
	ITT(frame_end_v3, app, NULL);
	ITT(region_end, NULL, never);
	ITT(event_end, 77);
	ITT(event_start, -5);
	ITT(counter_set_value, NULL, NULL);
	ITT(metadata_add, app, none, NULL, 99, 3, &never);
	ITT(metadata_add, NULL, none, NULL, U64, 1000, NULL);
	ITT(frame_submit_v3, app, NULL, ~0ull, 5);
	ITT(frame_submit_v3, app, NULL, 0, ~0ull - 1);
	task(app, "here");
	in_thread(end_elsewhere, NULL);
	ITT(task_end, app);
	ITT(task_begin, NULL, none, none, NULL);
	ITT(task_end, NULL);
	task(app, "\033[31mred\033]0;title\007");
	ITT(task_end, app);
	for (int i = 0; i < 100; i++)
		task(io, "deep");
	for (int i = 0; i < 100; i++)
		ITT(task_end, io);
	ITT(task_begin_overlapped, app, again, none, named("twice"));
	ITT(task_begin_overlapped, app, again, none, named("twice"));
	ITT(task_end_overlapped, app, again);
	ITT(task_end_overlapped, app, again);
	ITT(task_begin_overlapped, app, never, none, named("never"));
	task(app, "open");
	ITT(detach);
	itt_end();
	ITT(task_end, app);
}

static void forks(void)
{
	struct id id = {.d1 = 3};
	void *queue = ITT(counter_create, "queue", "app");

	ITT(counter_set_value, queue, &(unsigned long long){1});
	task(app, "parent");
	ITT(task_begin_overlapped, app, id, none, named("both"));
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		ITT(task_end_overlapped, app, id);
		ITT(task_end, app);
		task(app, "child");
		ITT(task_end, app);
		ITT(counter_set_value, queue, &(unsigned long long){2});
		_exit(0);
	}
	waitpid(child, NULL, 0);
	ITT(task_end_overlapped, app, id);
	ITT(task_end, app);
}

static void *stress_thread(void *number)
{
	struct id id = {.d1 = (size_t)number, .d2 = 1};
	void *queue = ITT(counter_create, "stress", "app");

	for (int i = 0; i < 20000; i++) {
		id.d3 = (unsigned)i;
		task(app, "busy");
		ITT(task_begin_overlapped, app, id, none, named("lap"));
		ITT(counter_inc, queue);
		ITT(task_end_overlapped, app, id);
		ITT(task_end, app);
	}
	return NULL;
}

static void stress(void)
{
	pthread_t threads[4];

	named("busy"), named("lap");
	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, stress_thread, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("task busy 80000\noverlapped lap 80000\n");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	void *early = itt_counter_create("early", "app");

	app_early = itt_domain_create("app");
	itt_begin();
	app = itt_domain_create("app");
	io = itt_domain_create("io");
	if (!strcmp(how, "all"))
		all();
	else if (!strcmp(how, "counters"))
		counters(early);
	else if (!strcmp(how, "hostile"))
		hostile();
	else if (!strcmp(how, "forks"))
		forks();
	else if (!strcmp(how, "stress"))
		stress();
	itt_end();
	puts("done");
	return 0;
}
