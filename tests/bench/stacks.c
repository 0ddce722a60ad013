/*
 * The cost of a stack, by ways of getting it, in one run: 40 native frames without frame pointers.
 * All ways must agree frame by frame, or the program fails. Medians and 95th percentiles of single
 * captures, by the time stamp counter.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

#if __has_include(<libunwind.h>)
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#define HAVE_LIBUNWIND 1
#endif

#include "inject/core/thread.h"
#include "inject/walk/modules.h"
#include "inject/walk/unwind.h"
#include "stacks_chain.h"

enum {
	FRAMES = 40,
	BELOW_MAIN = 3, /* two functions of libc and _start */
	RUNS = 4000,
	MANY = 96,  /* stacks taken in turn: eight paths at each of twelve depths */
	DEEP = 384, /* the same of 32 paths, of about 100 frames: a training step of PyTorch */
};

struct stack {
	unsigned nr;
	uint64_t pcs[AF_STACK_MAX];
};

/* One way of getting the stack of the function that called chain->probe(). */
struct way {
	const char *name;
	void (*prepare)(void); /* not timed */
	void (*capture)(const struct af_regs *regs, struct stack *out);
	bool needs_fp;
	bool many;
};

static struct af_unwinder *unwinder;
static uint64_t overhead;
static double ns_per_tick;

static uint64_t ticks(void)
{
	unsigned core;
	uint64_t t = __rdtscp(&core);

	_mm_lfence();
	return t;
}

static void take_replay(const struct af_regs *regs, struct stack *out)
{
	out->nr = af_unwind_replay(unwinder, regs);
}

static void take_walk(const struct af_regs *regs, struct stack *out)
{
	enum af_stop stop;

	out->nr = af_unwind_walk(unwinder, regs, false, out->pcs, AF_STACK_MAX, &stop);
	if (stop != AF_STOP_COMPLETE)
		out->nr = 0;
}

static void take_record(const struct af_regs *regs, struct stack *out)
{
	enum af_stop stop;

	out->nr = af_unwind_record(unwinder, regs, out->pcs, AF_STACK_MAX, &stop);
	af_unwind_remember(unwinder, out->nr);
}

static void prepare_cold(void)
{
	af_unwind_forget();
	af_unwinder_init(unwinder);
}

static void take_fp(const struct af_regs *regs, struct stack *out)
{
	const uint64_t *frame = (const uint64_t *)regs->fp;

	out->nr = 0;
	out->pcs[out->nr++] = regs->pc - 1;
	while (out->nr < AF_STACK_MAX && frame && frame[1]) {
		out->pcs[out->nr++] = frame[1] - 1;
		if ((uint64_t)frame[0] <= (uint64_t)frame)
			break;
		frame = (const uint64_t *)frame[0];
	}
}

/* Cut off what the walker saw of itself: up to the frame we start from. */
static void keep_from(struct stack *out, void *const *pcs, int nr, uint64_t pc)
{
	int i = 0;

	while (i < nr && (uint64_t)pcs[i] != pc)
		i++;
	out->nr = 0;
	for (; i < nr; i++)
		out->pcs[out->nr++] = (uint64_t)pcs[i] - 1;
}

static void take_backtrace(const struct af_regs *regs, struct stack *out)
{
	void *pcs[AF_STACK_MAX];
	int nr = backtrace(pcs, AF_STACK_MAX);

	keep_from(out, pcs, nr, regs->pc);
}

#ifdef HAVE_LIBUNWIND
/* By dlopen: linked, it takes over backtrace() for the whole process. */
static int (*fast_backtrace)(void **, int);
static int (*get_context)(unw_context_t *);
static int (*init_local)(unw_cursor_t *, unw_context_t *);
static int (*step)(unw_cursor_t *);
static int (*get_register)(unw_cursor_t *, int, unw_word_t *);

static bool libunwind_open(void)
{
	void *lib = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return false;
	*(void **)&fast_backtrace = dlsym(lib, "unw_backtrace");
	*(void **)&get_context = dlsym(lib, "_Ux86_64_getcontext");
	*(void **)&init_local = dlsym(lib, "_ULx86_64_init_local");
	*(void **)&step = dlsym(lib, "_ULx86_64_step");
	*(void **)&get_register = dlsym(lib, "_ULx86_64_get_reg");
	return fast_backtrace && get_context && init_local && step && get_register;
}

static void take_unw_backtrace(const struct af_regs *regs, struct stack *out)
{
	void *pcs[AF_STACK_MAX];
	int nr = fast_backtrace(pcs, AF_STACK_MAX);

	keep_from(out, pcs, nr, regs->pc);
}

static void take_unw_step(const struct af_regs *regs, struct stack *out)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc = 0;
	void *pcs[AF_STACK_MAX];
	int nr = 0;

	get_context(&context);
	init_local(&cursor, &context);
	do {
		if (get_register(&cursor, UNW_REG_IP, &pc) || !pc)
			break;
		pcs[nr++] = (void *)pc;
	} while (nr < AF_STACK_MAX && step(&cursor) > 0);
	keep_from(out, pcs, nr, regs->pc);
}
#else
static bool libunwind_open(void)
{
	return false;
}
#define take_unw_backtrace NULL
#define take_unw_step NULL
#endif

static const struct way ways[] = {
    {"aflame replay", NULL, take_replay, false, true},
    {"aflame walk, warm rules", NULL, take_walk, false, true},
    {"aflame walk and record", NULL, take_record},
    {"aflame walk, cold rules", prepare_cold, take_walk},
    {"libunwind unw_backtrace", NULL, take_unw_backtrace},
    {"libunwind unw_step", NULL, take_unw_step},
    {"glibc backtrace()", NULL, take_backtrace},
    {"frame pointers (built with)", NULL, take_fp, true},
};

struct measure {
	const struct way *way;
	unsigned runs;
	uint64_t *samples;
	unsigned nr;
	struct stack *reference; /* NULL: only time it */
	unsigned wrong;
};

static bool agrees(const struct way *way, const struct stack *got, const struct stack *reference)
{
	/* A replay gives the id, which is the number of frames here. */
	if (way->capture == take_replay)
		return got->nr == reference->nr;
	if (memcmp(got->pcs, reference->pcs, sizeof *got->pcs * got->nr))
		return false;
	/* libc's frames below main have no frame pointers. */
	return way->needs_fp ? got->nr >= FRAMES - BELOW_MAIN : got->nr == reference->nr;
}

__attribute__((noinline)) static void probe(struct chain *chain)
{
	struct measure *m = chain->data;
	struct af_regs regs;
	static struct stack got;

	AF_REGS_CALLER(&regs);
	for (unsigned i = 0; i < m->runs; i++) {
		if (m->way->prepare)
			m->way->prepare();
		uint64_t from = ticks();
		m->way->capture(&regs, &got);
		uint64_t took = ticks() - from;
		m->samples[m->nr++] = took > overhead ? took - overhead : 0;
		m->wrong += m->reference && !agrees(m->way, &got, m->reference);
	}
}

static struct stack reference;

__attribute__((noinline)) static void probe_reference(struct chain *chain)
{
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	take_record(&regs, &reference);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print_row(const struct measure *m, const char *note)
{
	qsort(m->samples, m->nr, sizeof *m->samples, compare);
	printf("%-34s %9.0f %9.0f %8.1f  %s\n", m->way->name,
	       (double)m->samples[m->nr / 2] * ns_per_tick,
	       (double)m->samples[m->nr * 95 / 100] * ns_per_tick,
	       (double)m->samples[m->nr / 2] * ns_per_tick / FRAMES, m->wrong ? "WRONG" : note);
}

__attribute__((noinline)) static void run_chain(bool fp, struct chain *chain)
{
	/* The sum keeps the call from being a jump. */
	chain->sum += fp ? chain_with_fp(chain) : chain_without_fp(chain);
}

__attribute__((noinline)) static bool measure_one(const struct way *way, uint64_t *samples)
{
	struct chain chain = {.path = 0x5555, .depth = 30};
	struct measure m = {.way = way, .runs = RUNS, .samples = samples, .reference = &reference};

	chain.probe = probe_reference;
	chain.data = &m;
	/* The same call twice, so that both have the same stack. */
	for (volatile int i = 0; i < 2; i++) {
		run_chain(way->needs_fp, &chain);
		chain.probe = probe;
	}
	if (reference.nr != FRAMES)
		m.wrong++;
	print_row(&m, "agrees");
	return !m.wrong;
}

/* @nr stacks that come in turn, as those of a training step do, a twelfth of them at each depth. */
static bool measure_turns(const struct way *way, uint64_t *samples, unsigned nr, int depth)
{
	struct measure m = {.way = way, .runs = 1, .samples = samples};
	char note[64];

	for (unsigned i = 0; i < RUNS; i++) {
		struct chain chain = {.probe = i < nr ? probe_reference : probe, .data = &m};
		chain.path = i % (nr / 12) * 0x0421;
		chain.depth = depth + (int)(i / (nr / 12) % 12);
		if (i == nr)
			m.nr = 0;
		run_chain(false, &chain);
	}
	snprintf(note, sizeof note, "%u stacks of %d frames and more in turn", nr, depth + 10);
	print_row(&m, note);
	return true;
}

static bool measure_many(const struct way *way, uint64_t *samples)
{
	return measure_turns(way, samples, MANY, 25) && measure_turns(way, samples, DEEP, 90);
}

static void calibrate(void)
{
	struct timespec a, b;
	uint64_t from = ticks(), spent[64];

	clock_gettime(CLOCK_MONOTONIC, &a);
	do
		clock_gettime(CLOCK_MONOTONIC, &b);
	while ((b.tv_sec - a.tv_sec) * 1000000000ll + b.tv_nsec - a.tv_nsec < 50000000);
	ns_per_tick = (double)((b.tv_sec - a.tv_sec) * 1000000000ll + b.tv_nsec - a.tv_nsec) /
	              (double)(ticks() - from);
	for (unsigned i = 0; i < 64; i++) {
		spent[i] = ticks();
		spent[i] = ticks() - spent[i];
	}
	qsort(spent, 64, sizeof *spent, compare);
	overhead = spent[32];
}

static void unwinder_new(void)
{
	unwinder = mmap(NULL, af_unwinder_size(), PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (unwinder == MAP_FAILED)
		exit(1);
	af_unwinder_init(unwinder);
}

static void print_memory(void)
{
	static unsigned char pages[4096];
	size_t size = af_unwinder_size();
	unsigned nr = 0;

	if (size > sizeof pages * 4096ul || mincore(unwinder, size, pages))
		return;
	for (size_t i = 0; i < size / 4096; i++)
		nr += pages[i] & 1;
	printf("an unwinder that knows these stacks has touched %u of %zu KiB\n", nr * 4,
	       size >> 10);
}

int main(void)
{
	static uint64_t samples[RUNS];
	bool libunwind = libunwind_open(), good = true;

	af_modules_init();
	unwinder_new();
	calibrate();

	printf("%d native frames, %d captures each    %5s %9s %8s\n", FRAMES, RUNS, "p50 ns",
	       "p95 ns", "a frame");
	for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
		if (!libunwind && !strncmp(ways[i].name, "libunwind", 9))
			printf("%-34s not installed\n", ways[i].name);
		else
			good &= measure_one(&ways[i], samples);
	}
	unwinder_new();
	for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
		if (ways[i].many)
			good &= measure_many(&ways[i], samples);
	print_memory();
	return good ? 0 : 1;
}
