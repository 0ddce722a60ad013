/*
 * Do samples of a real program come out complete? Preloaded, it takes a SIGPROF every millisecond
 * of CPU time, walks the interrupted stack, walks it again with libunwind where that is
 * installed, and at the end prints how many stacks were complete and equal, to standard error.
 *
 *	LD_PRELOAD=libstacks_sampled.so AF_SAMPLED=1 python3 -c …
 *
 * AF_SAMPLED=maps looks modules up as with a glibc before 2.35.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#if __has_include(<libunwind.h>)
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#define HAVE_LIBUNWIND 1
#endif

#include "inject/arch/arch.h"
#include "inject/walk/modules.h"
#include "inject/walk/unwind.h"

enum { SAMPLES = 1 << 15, SHOWN = 8 };

struct sampled {
	uint16_t nr, nr_other, same;
	uint8_t stop;
	uint32_t ns, other_ns;
	uint64_t pc, last; /* where the walk began and ended */
};

static struct sampled *samples;
static atomic_uint nr_samples;
static __thread struct af_unwinder *unwinder __attribute__((tls_model("initial-exec")));

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

#ifdef HAVE_LIBUNWIND
static int (*init_local)(unw_cursor_t *, unw_context_t *, int);
static int (*step)(unw_cursor_t *);
static int (*get_register)(unw_cursor_t *, int, unw_word_t *);

static void libunwind_open(void)
{
	void *lib = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return;
	*(void **)&init_local = dlsym(lib, "_ULx86_64_init_local2");
	*(void **)&step = dlsym(lib, "_ULx86_64_step");
	*(void **)&get_register = dlsym(lib, "_ULx86_64_get_reg");
}

/* How many frames it finds and how many of the first agree with @pcs. */
static void libunwind_walk(ucontext_t *uc, const uint64_t *pcs, struct sampled *s)
{
	unw_cursor_t cursor;
	unw_word_t pc;
	bool same = true;

	if (!init_local || init_local(&cursor, (unw_context_t *)uc, UNW_INIT_SIGNAL_FRAME))
		return;
	do {
		if (get_register(&cursor, UNW_REG_IP, &pc) || !pc)
			break;
		/* A frame that a signal interrupted is exact, others are return addresses. */
		unsigned i = s->nr_other++;
		same = same && i < s->nr && pc - pcs[i] <= 1;
		s->same += same;
	} while (s->nr_other < AF_STACK_MAX && step(&cursor) > 0);
}
#else
static void libunwind_open(void)
{
}

static void libunwind_walk(ucontext_t *uc, const uint64_t *pcs, struct sampled *s)
{
}
#endif

static void sample(int signo, siginfo_t *info, void *context)
{
	int saved = errno;
	unsigned i = atomic_fetch_add(&nr_samples, 1);
	static __thread uint64_t pcs[AF_STACK_MAX] __attribute__((tls_model("initial-exec")));
	struct af_regs regs;
	enum af_stop stop;

	if (i >= SAMPLES)
		return;
	if (!unwinder) {
		unwinder = mmap(NULL, af_unwinder_size(), PROT_READ | PROT_WRITE,
		                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		af_unwinder_init(unwinder);
	}
	struct sampled *s = &samples[i];
	af_arch_context(context, &regs);
	uint64_t from = now_ns();
	s->nr = (uint16_t)af_unwind_walk(unwinder, &regs, true, pcs, AF_STACK_MAX, &stop);
	uint64_t middle = now_ns();
	s->stop = (uint8_t)stop;
	s->pc = pcs[0];
	s->last = pcs[s->nr - 1];
	libunwind_walk(context, pcs, s);
	s->ns = (uint32_t)(middle - from);
	s->other_ns = (uint32_t)(now_ns() - middle);
	errno = saved;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static uint32_t percentile(unsigned nr, uint32_t (*field)(const struct sampled *), unsigned percent)
{
	static uint32_t values[SAMPLES];

	for (unsigned i = 0; i < nr; i++)
		values[i] = field(&samples[i]);
	qsort(values, nr, sizeof *values, compare);
	return values[(uint64_t)(nr - 1) * percent / 100];
}

static uint32_t field_depth(const struct sampled *s)
{
	return s->nr;
}

static uint32_t field_ns(const struct sampled *s)
{
	return s->ns;
}

static uint32_t field_other_ns(const struct sampled *s)
{
	return s->other_ns;
}

static const char *stop_name(unsigned stop)
{
	static const char *const names[] = {
#define NAME(number, NAME_, meaning) [number] = #NAME_,
	    AF_STOPS(NAME)
#undef NAME
	};
	return names[stop];
}

static void place_print(uint64_t pc)
{
	const struct af_module *m = af_module_find(pc);

	if (m)
		fprintf(stderr, " %s+0x%lx", strrchr(m->path, '/') ?: m->path, pc - m->bias);
	else
		fprintf(stderr, " 0x%lx", pc);
}

__attribute__((destructor)) static void report(void)
{
	struct itimerval off = {0};
	unsigned stops[AF_STOP_END] = {0}, equal = 0, shown = 0;
	unsigned nr = atomic_load(&nr_samples) < SAMPLES ? atomic_load(&nr_samples) : SAMPLES;

	setitimer(ITIMER_PROF, &off, NULL);
	if (nr < 2)
		return;
	for (unsigned i = 0; i < nr; i++) {
		struct sampled *s = &samples[i];
		bool same = s->nr == s->nr_other && s->same == s->nr;
		stops[s->stop]++;
		equal += same;
		if ((s->stop == AF_STOP_COMPLETE && (same || s->same == s->nr_other)) ||
		    shown++ >= SHOWN)
			continue;
		fprintf(stderr, "  %s after %u frames, libunwind %u, of these %u the same: from",
		        stop_name(s->stop), s->nr, s->nr_other, s->same);
		place_print(s->pc);
		fprintf(stderr, " to");
		place_print(s->last);
		fprintf(stderr, "\n");
	}
	fprintf(stderr,
	        "%u samples: %.2f %% complete, %.2f %% as libunwind; depth %u, 95th %u; "
	        "walk %u ns, 95th %u; libunwind %u ns\n ",
	        nr, 100.0 * stops[AF_STOP_COMPLETE] / nr, 100.0 * equal / nr,
	        percentile(nr, field_depth, 50), percentile(nr, field_depth, 95),
	        percentile(nr, field_ns, 50), percentile(nr, field_ns, 95),
	        percentile(nr, field_other_ns, 50));
	for (unsigned i = 0; i < AF_STOP_END; i++)
		if (stops[i])
			fprintf(stderr, " %s %u", stop_name(i), stops[i]);
	fprintf(stderr, "\n");
}

__attribute__((constructor)) static void start(void)
{
	struct sigaction act = {.sa_sigaction = sample, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct itimerval every_ms = {{0, 1000}, {0, 1000}};

	const char *how = getenv("AF_SAMPLED");
	if (!how)
		return;
	af_modules_use_maps(!strcmp(how, "maps"));
	unsetenv("AF_SAMPLED");
	libunwind_open();
	af_modules_init();
	samples = calloc(SAMPLES, sizeof *samples);
	sigaction(SIGPROF, &act, NULL);
	setitimer(ITIMER_PROF, &every_ms, NULL);
}
