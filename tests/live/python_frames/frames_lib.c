/*
 * The library under test, made loadable by ctypes: walk.py calls aft_* from every kind of Python
 * frame and compares what af_python_frames() read with what the interpreter itself says.
 *
 *	aft_start → { aft_walk | aft_natives | aft_call | aft_thread | aft_bench }*
 *	aft_start → aft_sample_start → … → aft_sample_stop
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "inject/python/python.h"
#include "inject/walk/modules.h"
#include "sym/sym.h"

#define EXPORT __attribute__((visibility("default")))

/* Called by ctypes; declared here because nothing else includes them. */
EXPORT int aft_start(void);
EXPORT int aft_forget(void);
EXPORT const char *aft_status(void);
EXPORT int aft_walk(char *out, int size);
EXPORT int aft_walk_at_most(unsigned max, unsigned *stop);
EXPORT int aft_natives(void);
EXPORT void aft_call(void (*callback)(void));
EXPORT void aft_thread(void (*callback)(void));
EXPORT int aft_bare_thread(void);
EXPORT int aft_sample_start(int period_us);
EXPORT void aft_sample_stop(uint64_t *counts);
EXPORT double aft_bench(unsigned rounds, unsigned *entries);
EXPORT double aft_bench_once(int evict, unsigned *entries);
EXPORT unsigned aft_codes(void);
EXPORT uint64_t aft_lost(void);

enum { ENTRIES_MAX = 8192 };

static struct sigaction old_segv;

static void on_fault(int signo, siginfo_t *info, void *ucontext)
{
	if (!af_guard_fault(ucontext))
		sigaction(signo, &old_segv, NULL);
}

static uint64_t interpreter(void)
{
	return (uint64_t)dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
}

int aft_start(void)
{
	struct sigaction action = {.sa_sigaction = on_fault,
	                           .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

	sigaction(SIGSEGV, &action, &old_segv);
	sigaction(SIGBUS, &action, NULL);
	af_guard_arm(true);
	af_modules_init();
	af_modules_watch(af_python_meet);
	if (af_python_ready() || *af_python_status())
		return 0;
	af_module_find(interpreter());
	return af_python_ready();
}

/* Modules were unloaded: not ready until the interpreter is found again. */
int aft_forget(void)
{
	af_modules_forget();
	if (af_python_ready())
		return 0;
	af_module_find(interpreter());
	return af_python_ready();
}

const char *aft_status(void)
{
	return af_python_status();
}

/* One line an entry: name, file, line, all by tabs; "--" for a border. -1: not complete. */
int aft_walk(char *out, int size)
{
	static uint64_t entries[ENTRIES_MAX];
	enum af_stop stop;
	int used = 0;

	unsigned nr = af_python_frames(entries, ENTRIES_MAX, &stop);
	for (unsigned i = 0; i < nr; i++) {
		const struct af_py_code_copy *c = af_python_code((uint32_t)(entries[i] >> 32));
		if (entries[i] == AF_PY_BORDER)
			used += snprintf(out + used, (size_t)(size - used), "--\n");
		else if (c)
			used += snprintf(out + used, (size_t)(size - used), "%s\t%s\t%d\n", c->name,
			                 c->file,
			                 af_py_line(c->version, c->lines, c->lines_len,
			                            c->first_line, (uint32_t)entries[i]));
		else
			return -2;
		if (used >= size)
			return -3;
	}
	return stop == AF_STOP_COMPLETE ? (int)nr : -1;
}

int aft_walk_at_most(unsigned max, unsigned *stop)
{
	uint64_t entries[ENTRIES_MAX];
	enum af_stop why;
	int nr = (int)af_python_frames(entries, max < ENTRIES_MAX ? max : ENTRIES_MAX, &why);

	*stop = why;
	return nr;
}

/*
 * Whether the code at @pc is the eval loop: by the exported symbol, or where a compiler has put
 * parts of it elsewhere by what names them in a recording.
 */
static bool is_eval(char *pc)
{
	static struct af_sym_module *module;
	static struct af_sym_answer answer;
	struct link_map *map, *interpreter_map;
	Dl_info info;

	if (!dladdr1(pc, &info, (void **)&map, RTLD_DL_LINKMAP))
		return false;
	if (info.dli_sname)
		return !strcmp(info.dli_sname, "_PyEval_EvalFrameDefault");
	if (!dladdr1((void *)interpreter(), &info, (void **)&interpreter_map, RTLD_DL_LINKMAP) ||
	    map != interpreter_map)
		return false;
	if (!module)
		module = af_sym_module_open(*map->l_name ? map->l_name : "/proc/self/exe", NULL, 0,
		                            NULL);
	af_sym_lookup(module, (uint64_t)pc - map->l_addr, &answer);
	return answer.nr &&
	       !strcmp(answer.frames[answer.nr - 1].function ?: "", "_PyEval_EvalFrameDefault");
}

/* Native calls of the eval loop on this stack, as the system unwinds it. One thread at a time. */
int aft_natives(void)
{
	static void *pcs[ENTRIES_MAX];
	int natives = 0;

	int nr = backtrace(pcs, ENTRIES_MAX);
	for (int i = 0; i < nr; i++)
		natives += is_eval((char *)pcs[i] - 1);
	return natives;
}

void aft_call(void (*callback)(void))
{
	callback();
}

static void *thread_main(void *arg)
{
	((void (*)(void))arg)();
	return NULL;
}

/* Run @callback on a thread that Python did not make. */
void aft_thread(void (*callback)(void))
{
	pthread_t t;

	if (!pthread_create(&t, NULL, thread_main, (void *)callback))
		pthread_join(t, NULL);
}

static void *bare_main(void *arg)
{
	uint64_t entries[16];
	enum af_stop stop;

	*(int *)arg = (int)af_python_frames(entries, 16, &stop) + (stop != AF_STOP_COMPLETE) * 100;
	return NULL;
}

/* How many entries a thread sees that never ran Python. */
int aft_bare_thread(void)
{
	pthread_t t;
	int nr = -1;

	if (!pthread_create(&t, NULL, bare_main, &nr))
		pthread_join(t, NULL);
	return nr;
}

enum { SAMPLES, NO_PYTHON, INCOMPLETE, IMPLAUSIBLE, STRANGE_ROOT, FRAMES, NR_COUNTS };
static _Atomic uint64_t sample_counts[NR_COUNTS];

static bool plausible(uint64_t entry)
{
	const struct af_py_code_copy *c = af_python_code((uint32_t)(entry >> 32));

	if (!c || !c->name[0] || !strcmp(c->name, "?") || !strcmp(c->file, "?"))
		return false;
	return af_py_line(c->version, c->lines, c->lines_len, c->first_line, (uint32_t)entry) >= -1;
}

/* Every thread of walk.py begins in one of these. */
static bool plausible_root(uint64_t entry)
{
	const struct af_py_code_copy *c = af_python_code((uint32_t)(entry >> 32));

	return c && (!strcmp(c->name, "<module>") || strstr(c->name, "_bootstrap"));
}

static void on_sample(int signo, siginfo_t *info, void *ucontext)
{
	uint64_t entries[512];
	enum af_stop stop;
	unsigned nr = af_python_frames(entries, 512, &stop);
	uint64_t root = 0;

	sample_counts[SAMPLES]++;
	sample_counts[NO_PYTHON] += nr == 0;
	sample_counts[INCOMPLETE] += stop != AF_STOP_COMPLETE && stop != AF_STOP_TOO_DEEP;
	for (unsigned i = 0; i < nr; i++) {
		if (entries[i] == AF_PY_BORDER)
			continue;
		root = entries[i];
		sample_counts[FRAMES]++;
		sample_counts[IMPLAUSIBLE] += !plausible(root);
	}
	if (nr && stop == AF_STOP_COMPLETE)
		sample_counts[STRANGE_ROOT] += !plausible_root(root);
}

int aft_sample_start(int period_us)
{
	struct sigaction action = {.sa_sigaction = on_sample,
	                           .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	struct itimerval timer = {{0, period_us}, {0, period_us}};

	return sigaction(SIGPROF, &action, NULL) || setitimer(ITIMER_PROF, &timer, NULL);
}

void aft_sample_stop(uint64_t *counts)
{
	struct itimerval off = {0};

	setitimer(ITIMER_PROF, &off, NULL);
	for (int i = 0; i < NR_COUNTS; i++)
		counts[i] = sample_counts[i];
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds of one walk from here, the best of a few batches; *@entries that it gives. */
double aft_bench(unsigned rounds, unsigned *entries)
{
	static uint64_t found[ENTRIES_MAX];
	double best = 1e18;
	enum af_stop stop;

	for (int batch = 0; batch < 8; batch++) {
		double start = cpu_ns();
		for (unsigned i = 0; i < rounds; i++)
			*entries = af_python_frames(found, ENTRIES_MAX, &stop);
		double each = (cpu_ns() - start) / rounds;
		best = each < best ? each : best;
	}
	return best;
}

/* Nanoseconds of one walk; @evict: after so much other memory that nothing is in the caches. */
double aft_bench_once(int evict, unsigned *entries)
{
	static uint64_t found[ENTRIES_MAX];
	static char other[64 << 20];
	enum af_stop stop;

	for (size_t i = 0; evict && i < sizeof other; i += 64)
		((volatile char *)other)[i]++;
	double start = cpu_ns();
	*entries = af_python_frames(found, ENTRIES_MAX, &stop);
	return cpu_ns() - start;
}

unsigned aft_codes(void)
{
	return af_python_nr_codes();
}

uint64_t aft_lost(void)
{
	return af_python_lost();
}
