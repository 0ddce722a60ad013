/*
 * nvtx_steps HOW STEPS FIRST LAST [WHERE]: NVTX ranges or marks are its steps, each of 10 ms.
 *
 * HOW: push, start (two ranges overlap a little), mark. A step is called "step 7" (from 1), and has
 * a range "inner" in it; a range "setup" is before them, of which there is one. Steps FIRST to LAST
 * burn CPU in inside(), the others in outside(), in a thread of their own where WHERE is "thread".
 * Truth: what inside() used.
 */
#include <pthread.h>
#include <string.h>

#include "burn.h"
#include "nvtx_say.h"

BURN_SINK;
BURN_FUNCTION(inside, BURN_A)
BURN_FUNCTION(outside, BURN_B)

enum { STEP_US = 10000 };

static const char *how;
static long nr, first, last;
static int64_t used_ns;

static void work(long step)
{
	int64_t begin_ns = burn_thread_ns();

	nvtx_push("inner");
	if (step >= first && step <= last)
		inside(STEP_US);
	else
		outside(STEP_US);
	nvtx_pop();
	if (step >= first && step <= last)
		used_ns += burn_thread_ns() - begin_ns;
}

static void *steps_run(void *arg)
{
	uint64_t before = 0;

	for (long i = 1; i <= nr; i++) {
		char name[32];
		snprintf(name, sizeof name, "step %ld", i);
		uint64_t range = strcmp(how, "start") ? 0 : nvtx_start(name);
		if (before)
			nvtx_end(before);
		before = range;
		if (!strcmp(how, "push"))
			nvtx_push(name);
		if (!strcmp(how, "mark"))
			nvtx_mark(name);
		work(i);
		if (!strcmp(how, "push"))
			nvtx_pop();
	}
	if (before)
		nvtx_end(before);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 5)
		return 2;
	how = argv[1];
	nr = atol(argv[2]);
	first = atol(argv[3]);
	last = atol(argv[4]);
	nvtx_push("setup");
	outside(STEP_US);
	nvtx_pop();
	if (argc > 5 && !pthread_create(&thread, NULL, steps_run, NULL))
		pthread_join(thread, NULL);
	else
		steps_run(NULL);
	truth_number("inside_ns", (long)used_ns);
	return 7;
}
