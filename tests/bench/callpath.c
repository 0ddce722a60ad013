/*
 * A whole call path as a hook takes it: 40 native frames without frame pointers under the frames
 * of the Python functions that called here. Loaded by tests/bench/callpath.py, which runs under
 * `aflame record`; this library carries a second copy of the code that records, so that it can time
 * it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "inject/core/inject.h"
#include "inject/core/thread.h"
#include "inject/python/python.h"
#include "inject/walk/modules.h"
#include "stacks_chain.h"

enum { CAPTURES = 4000, FRAMES = 40 };

static uint64_t taken[CAPTURES];
static uint32_t nr_taken;
static unsigned nr_native, nr_python; /* of the first stack taken */
static bool warm_walk;                /* walk each time instead of replaying */

static uint64_t tsc(void)
{
	unsigned core;

	return __rdtscp(&core);
}

/* The work of af_thread_callpath() when there is nothing to replay. */
static void walk_callpath(struct af_thread_context *t, const struct af_regs *regs)
{
	struct af_capture *c = &t->hook;

	c->epoch = af_modules_epoch();
	c->nr = af_unwind_record(t->unwinder, regs, c->pcs, AF_STACK_MAX, &c->stop);
	uint32_t stack = af_callpath_stack(&t->callpaths, &t->stream, c);
	af_unwind_remember(t->unwinder, stack);
	c->nr_py = af_python_frames(c->py, AF_STACK_MAX, &c->py_stop);
	af_callpath_path(&t->callpaths, &t->stream, stack, c);
}

__attribute__((noinline)) static void hook(struct chain *chain)
{
	struct af_regs regs = {0};

	AF_REGS_CALLER(&regs);
	uint64_t begin = tsc();
	struct af_thread_context *t = af_thread_enter();
	if (!t)
		return;
	if (warm_walk)
		walk_callpath(t, &regs);
	else
		af_thread_callpath(t, &regs);
	af_thread_leave(t);
	uint64_t end = tsc(), empty = tsc() - end;
	uint64_t ticks = end - begin;
	taken[nr_taken++ % CAPTURES] = ticks > empty ? ticks - empty : 0;
	if (!nr_native) {
		struct af_unwinder *u = t->unwinder;
		enum af_stop stop;
		nr_native = af_unwind_walk(u, &regs, false, t->hook.pcs, AF_STACK_MAX, &stop);
		nr_python = af_python_frames(t->hook.py, AF_STACK_MAX, &stop);
		for (unsigned i = nr_python; i-- > 0;)
			nr_python -= t->hook.py[i] == AF_PY_BORDER;
	}
	chain->sum++;
}

static int order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

__attribute__((visibility("default"))) int callpath_take(unsigned long path);
__attribute__((visibility("default"))) int callpath_report(const char *what, double ghz);
__attribute__((visibility("default"))) void callpath_walk(int walk);

/*
 * One capture, so many functions below the caller that with the interpreter's own it is FRAMES;
 * @path picks one of many stacks of that shape.
 */
int callpath_take(unsigned long path)
{
	static int depth = -1;
	struct chain chain = {.path = path, .probe = hook};

	if (depth < 0) {
		chain_without_fp(&chain);
		depth = nr_native < FRAMES ? (int)(FRAMES - nr_native) : 0;
		nr_native = 0;
	}
	chain.depth = depth;
	chain_without_fp(&chain);
	return chain.sum;
}

void callpath_walk(int walk)
{
	warm_walk = walk;
	nr_taken = 0;
}

int callpath_report(const char *what, double ghz)
{
	uint32_t nr = nr_taken < CAPTURES ? nr_taken : CAPTURES;

	if (!nr || !af_inject_session())
		return 1;
	qsort(taken, nr, sizeof *taken, order);
	printf("%-34s %2u + %u %8.0f %9.0f\n", what, nr_native, nr_python,
	       (double)taken[nr / 2] / ghz, (double)taken[nr * 95 / 100] / ghz);
	nr_taken = 0;
	return 0;
}
