/*
 * Walks through stacks whose shape is known: every function on the way notes its own return
 * address, and the walk must find exactly those. Replays must know a stack again, and only it.
 */
#include "inject/unwind.h"

#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/arch/arch.h"
#include "inject/modules.h"
#include "inject/thread.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#define KEEPS_FP
#else
#define NOINLINE __attribute__((noinline, noclone))
#define KEEPS_FP __attribute__((optimize("no-omit-frame-pointer")))
#endif
/* Something to do after a call, so that it is none of the last kind. */
#define AFTER_CALL() __asm__ volatile("")

struct walk {
	unsigned nr;
	enum af_stop stop;
	uint64_t pcs[AF_STACK_MAX];
};

static struct af_unwinder *unwinder;
static struct walk taken;

/* Return addresses from the outside in, noted on the way to take(). */
static uint64_t noted[AF_STACK_MAX];
static unsigned nr_noted;

#define NOTE_CALLER() (noted[nr_noted++] = (uint64_t)__builtin_return_address(0))

static struct af_unwinder *unwinder_make(void)
{
	struct af_unwinder *u = mmap(NULL, af_unwinder_size(), PROT_READ | PROT_WRITE,
	                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(u, MAP_FAILED);
	af_unwinder_init(u);
	return u;
}

static void walk_from(const struct af_regs *regs, bool leaf, struct walk *w)
{
	memset(w->pcs, 0, sizeof w->pcs);
	w->nr = af_unwind_walk(unwinder, regs, leaf, w->pcs, AF_STACK_MAX, &w->stop);
}

/* The stack of the caller. */
KEEPS_FP NOINLINE static void take(void)
{
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	NOTE_CALLER();
	walk_from(&regs, false, &taken);
}

/* Frames that were noted since the last look, from the inside out, are those at @from of @w. */
static void assert_noted(const struct walk *w, unsigned from)
{
	assert_int_equal(w->stop, AF_STOP_COMPLETE);
	assert_true(w->nr > from + nr_noted);
	for (unsigned i = 0; i < nr_noted; i++)
		assert_int_equal(w->pcs[from + i], noted[nr_noted - 1 - i] - 1);
	nr_noted = 0;
}

/* Shapes */

NOINLINE static int shape_recursive(int n)
{
	NOTE_CALLER();
	if (n)
		shape_recursive(n - 1);
	else
		take();
	AFTER_CALL();
	return n;
}

NOINLINE static int shape_alloca(int n)
{
	volatile char *bytes = alloca((size_t)n);

	NOTE_CALLER();
	bytes[n - 1] = 1;
	take();
	AFTER_CALL();
	return bytes[n - 1];
}

NOINLINE static int shape_aligned(int n)
{
	_Alignas(128) volatile char line[128];

	NOTE_CALLER();
	line[n] = 1;
	shape_alloca(n);
	AFTER_CALL();
	return line[n];
}

/* More than a packed rule can say. */
NOINLINE static int shape_huge(int n)
{
	volatile char bytes[300000];

	NOTE_CALLER();
	bytes[n] = 1;
	shape_aligned(n);
	AFTER_CALL();
	return bytes[n];
}

NOINLINE static int shape_registers(int n)
{
	NOTE_CALLER();
	__asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15");
	shape_huge(n);
	__asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15");
	AFTER_CALL();
	return n;
}

/* With the frame pointer as an ordinary register, where the compiler has it free. */
NOINLINE static int shape_sum(const volatile int *v)
{
	int a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6];

	NOTE_CALLER();
	shape_registers(7);
	AFTER_CALL();
	return a * b + c * d + e * f + g * a + b * c + d * e + f * g;
}

NOINLINE static void shape_tail(int n)
{
	__asm__ volatile("" : "+r"(n));
	take();
}

static void recursion_is_followed(void **state)
{
	shape_recursive(60);
	assert_noted(&taken, 0);
}

static void frames_of_every_make_are_followed(void **state)
{
	static const volatile int v[7] = {1, 2, 3, 4, 5, 6, 7};

	for (volatile int again = 0; again < 2; again++) {
		shape_sum(v);
		assert_noted(&taken, 0);
	}
}

static void a_tail_call_leaves_no_frame(void **state)
{
	shape_tail(3);
	AFTER_CALL();
	assert_int_equal(taken.stop, AF_STOP_COMPLETE);
	nr_noted = 0;
}

static void walks_agree_with_glibc(void **state)
{
	void *pcs[AF_STACK_MAX];

	shape_recursive(5);
	nr_noted = 0;
	int nr = backtrace(pcs, AF_STACK_MAX), from = 0;
	while (from < nr && pcs[from] != __builtin_return_address(0))
		from++;
	/* From the caller on both must see the same. */
	assert_true(nr - from > 3);
	for (int i = from; i < nr; i++)
		assert_int_equal(taken.pcs[taken.nr - (unsigned)(nr - i)] + 1, (uint64_t)pcs[i]);
}

static void deep_stacks_are_cut_with_a_reason(void **state)
{
	struct af_regs regs;
	uint64_t pcs[4] = {0};
	enum af_stop stop;

	shape_recursive(AF_STACK_MAX - 2 > 500 ? 505 : 0);
	assert_int_equal(taken.stop, AF_STOP_TOO_DEEP);
	assert_int_equal(taken.nr, AF_STACK_MAX);
	nr_noted = 0;

	AF_REGS_CALLER(&regs);
	(void)regs;
	ucontext_t uc;
	getcontext(&uc);
	af_arch_context(&uc, &regs);
	assert_int_equal(af_unwind_walk(unwinder, &regs, true, pcs, 2, &stop), 2);
	assert_int_equal(stop, AF_STOP_TOO_DEEP);
	assert_int_equal(pcs[2], 0);
}

/* Signals */

static struct walk interrupted;

static void handle(int signo, siginfo_t *info, void *context)
{
	struct af_regs regs;

	take();
	af_arch_context(context, &regs);
	walk_from(&regs, true, &interrupted);
}

NOINLINE static int shape_raise(int n)
{
	NOTE_CALLER();
	raise(SIGUSR1);
	AFTER_CALL();
	return n;
}

static void signal_on(int flags)
{
	struct sigaction act = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | flags};

	sigaction(SIGUSR1, &act, NULL);
	shape_raise(1);
}

/* take() in the handler sees: handler, restorer, then all that the interrupted thread sees. */
static void assert_interrupted(void)
{
	assert_int_equal(taken.stop, AF_STOP_COMPLETE);
	assert_int_equal(interrupted.stop, AF_STOP_COMPLETE);
	assert_int_equal(taken.nr, interrupted.nr + 2);
	assert_memory_equal(taken.pcs + 2, interrupted.pcs, 8 * interrupted.nr);
	unsigned at = 0;
	while (at < interrupted.nr && interrupted.pcs[at] != noted[0] - 1)
		at++;
	assert_true(at < interrupted.nr);
	nr_noted = 0;
}

static void signal_frames_are_crossed(void **state)
{
	signal_on(0);
	assert_interrupted();
}

static void signal_frames_on_another_stack_are_crossed(void **state)
{
	stack_t other = {.ss_size = 1 << 16}, none = {.ss_flags = SS_DISABLE};

	other.ss_sp = malloc(other.ss_size);
	assert_int_equal(sigaltstack(&other, NULL), 0);
	signal_on(SA_ONSTACK);
	assert_interrupted();
	assert_int_equal(sigaltstack(&none, NULL), 0);
	free(other.ss_sp);
}

/* Every instruction, by the processor's trap flag. */

enum { TRAP_FLAG = 0x100 };

static struct {
	struct walk base;   /* the stack of the function that steps */
	unsigned nr, wrong; /* instructions looked at */
	uint64_t wrong_pc;
	enum af_stop wrong_stop;
	bool in_vdso;
} steps;

static void step_handle(int signo, siginfo_t *info, void *context)
{
	static struct walk w;
	struct af_regs regs;
	ucontext_t *uc = context;

	if (info->si_code != TRAP_TRACE) {
		/* A breakpoint: begin, or end. */
		uc->uc_mcontext.gregs[REG_EFL] ^= TRAP_FLAG;
		return;
	}
	af_arch_context(context, &regs);
	walk_from(&regs, true, &w);
	const struct af_module *m = af_module_find(regs.pc);
	steps.in_vdso |= m && !strcmp(m->path, "[vdso]");
	steps.nr++;
	/* All but the frame that steps, whose own pc moves, are there, at the end. */
	unsigned same = steps.base.nr - 1;
	if (w.stop == AF_STOP_COMPLETE && w.nr > same &&
	    !memcmp(w.pcs + w.nr - same, steps.base.pcs + 1, 8 * same))
		return;
	if (!steps.wrong++) {
		steps.wrong_pc = regs.pc - (m ? m->bias : 0);
		steps.wrong_stop = w.stop;
	}
}

/* Call @run with a walk from each instruction of it. */
NOINLINE static void step_through(void (*run)(void))
{
	struct sigaction act = {.sa_sigaction = step_handle, .sa_flags = SA_SIGINFO};
	struct af_regs regs;
	ucontext_t uc;

	memset(&steps, 0, sizeof steps);
	sigaction(SIGTRAP, &act, NULL);
	getcontext(&uc);
	af_arch_context(&uc, &regs);
	walk_from(&regs, true, &steps.base);
	assert_int_equal(steps.base.stop, AF_STOP_COMPLETE);
	__asm__ volatile("int3" ::: "memory");
	run();
	__asm__ volatile("int3" ::: "memory");
	signal(SIGTRAP, SIG_DFL);
	if (steps.wrong)
		fail_msg("%u of %u instructions, the first at 0x%lx: %d", steps.wrong, steps.nr,
		         steps.wrong_pc, steps.wrong_stop);
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void run_libc(void)
{
	static volatile char text[64];
	int v[] = {3, 1, 4, 1, 5, 9, 2, 6};

	qsort(v, 8, sizeof *v, by_value);
	snprintf((char *)text, sizeof text, "%d %.9f %s", v[0], 1.0 / 3, "text");
	free(malloc(100));
}

static void run_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
}

static void run_shapes(void)
{
	static const volatile int v[7] = {1, 2, 3, 4, 5, 6, 7};
	struct walk before = taken;

	shape_sum(v);
	taken = before;
	nr_noted = 0;
}

static void every_instruction_of_libc_is_complete(void **state)
{
	step_through(run_libc);
	assert_true(steps.nr > 1000);
}

static void the_vdso_is_complete(void **state)
{
	step_through(run_clock);
	assert_true(steps.nr > 20);
	assert_true(steps.in_vdso);
}

static void every_instruction_of_the_walker_is_complete(void **state)
{
	step_through(run_shapes);
	assert_true(steps.nr > 1000);
}

/* Code that no table describes */

static void (*jit_make(const void *code, size_t len))(void (*)(void))
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
	                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	memset(page, 0xcc, 4096);
	memcpy(page + 64, code, len);
	return (void (*)(void (*)(void)))(page + 64);
}

#define JIT(bytes) jit_make(bytes, sizeof(bytes) - 1)

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const char jit_with_fp[] = "\x55\x48\x89\xe5\xff\xd7\x5d\xc3";
/* sub $8,%rsp; call *%rdi; add $8,%rsp; ret: CPython's perf trampoline, but for the register */
static const char jit_trampoline[] = "\x48\x83\xec\x08\xff\xd7\x48\x83\xc4\x08\xc3";
/* push %rbp; xor %ebp,%ebp; call *%rdi; pop %rbp; ret */
static const char jit_without_fp[] = "\x55\x31\xed\xff\xd7\x5d\xc3";
/* push %rbp; mov $-1,%rbp; call *%rdi; pop %rbp; ret */
static const char jit_bad_fp[] = "\x55\x48\xc7\xc5\xff\xff\xff\xff\xff\xd7\x5d\xc3";
/* push %rbp; push $0x1234; push $0x5678; mov %rsp,%rbp; call *%rdi; …: readable, but no frame */
static const char jit_false_fp[] = "\x55\x68\x34\x12\x00\x00\x68\x78\x56\x00\x00\x48\x89\xe5"
				   "\xff\xd7\x48\x83\xc4\x10\x5d\xc3";

NOINLINE static void shape_jit(void (*jit)(void (*)(void)), void (*target)(void))
{
	NOTE_CALLER();
	jit(target);
	AFTER_CALL();
}

static void jit_code_with_frame_pointers_is_crossed(void **state)
{
	void (*jit)(void (*)(void)) = JIT(jit_with_fp);

	shape_jit(jit, take);
	/* take() was called by the JIT code, that by shape_jit(), that from here. */
	assert_int_equal(taken.stop, AF_STOP_COMPLETE);
	assert_int_equal(taken.pcs[0], (uint64_t)jit + 6 - 1);
	assert_int_equal(taken.pcs[2], noted[0] - 1);
	nr_noted = 0;
}

static void python_trampolines_are_crossed(void **state)
{
	void (*jit)(void (*)(void)) = JIT(jit_trampoline);

	shape_jit(jit, take);
	assert_int_equal(taken.stop, AF_STOP_COMPLETE);
	assert_int_equal(taken.pcs[0], (uint64_t)jit + 6 - 1);
	assert_int_equal(taken.pcs[2], noted[0] - 1);
	nr_noted = 0;
}

static void (*stepped_jit)(void (*)(void));

static void run_nothing(void)
{
	AFTER_CALL();
}

static void run_jit(void)
{
	stepped_jit(run_nothing);
	AFTER_CALL();
}

static void every_instruction_of_jit_code_is_complete(void **state)
{
	stepped_jit = JIT(jit_with_fp);
	step_through(run_jit);
	assert_true(steps.nr > 8);
	stepped_jit = JIT(jit_trampoline);
	step_through(run_jit);
	assert_true(steps.nr > 8);
}

static void jit_code_without_frame_pointers_ends_the_walk_with_a_reason(void **state)
{
	static const struct {
		const char *code;
		size_t len;
	} all[] = {
	    {jit_without_fp, sizeof jit_without_fp - 1},
	    {jit_bad_fp, sizeof jit_bad_fp - 1},
	    {jit_false_fp, sizeof jit_false_fp - 1},
	};

	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
		void (*jit)(void (*)(void)) = jit_make(all[i].code, all[i].len);
		shape_jit(jit, take);
		nr_noted = 0;
		assert_int_equal(taken.stop, AF_STOP_NO_RULE);
		assert_int_equal(taken.nr, 1);
	}
}

static void null_handle(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	struct af_regs regs;
	greg_t *gregs = uc->uc_mcontext.gregs;

	af_arch_context(uc, &regs);
	walk_from(&regs, true, &interrupted);
	/* Return from the call. */
	gregs[REG_RIP] = *(greg_t *)gregs[REG_RSP];
	gregs[REG_RSP] += 8;
}

NOINLINE static void shape_null(void (*volatile function)(void))
{
	NOTE_CALLER();
	function();
	AFTER_CALL();
}

static void a_call_through_null_has_a_caller(void **state)
{
	struct sigaction act = {.sa_sigaction = null_handle, .sa_flags = SA_SIGINFO}, old;

	sigaction(SIGSEGV, &act, &old);
	shape_null(NULL);
	sigaction(SIGSEGV, &old, NULL);
	assert_int_equal(interrupted.pcs[0], 0);
	assert_noted(&interrupted, 2);
}

/* Stacks of other kinds */

static ucontext_t fiber_main, fiber_other;

static void fiber_run(void)
{
	shape_recursive(3);
	swapcontext(&fiber_other, &fiber_main);
}

static void fibers_are_complete_at_their_start(void **state)
{
	size_t size = 1 << 16;

	for (int again = 0; again < 3; again++) {
		void *stack =
		    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(stack, MAP_FAILED);
		getcontext(&fiber_other);
		fiber_other.uc_stack.ss_sp = stack;
		fiber_other.uc_stack.ss_size = size;
		makecontext(&fiber_other, fiber_run, 0);
		swapcontext(&fiber_main, &fiber_other);
		assert_noted(&taken, 0);
		munmap(stack, size);
	}
}

static void *thread_run(void *data)
{
	shape_recursive(4);
	return NULL;
}

static void threads_are_complete_at_their_start(void **state)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, thread_run, NULL), 0);
	pthread_join(thread, NULL);
	assert_noted(&taken, 0);
	assert_in_range(taken.nr, 7, 9);
}

static void any_registers_are_survived(void **state)
{
	uint64_t seed = 1, pcs[AF_STACK_MAX];
	enum af_stop stop;

	for (int i = 0; i < 20000; i++) {
		uint64_t v[3];
		for (int k = 0; k < 3; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			v[k] = seed >> (i % 48);
			/* Half of them near something real. */
			if (seed & 1)
				v[k] = (uint64_t)(k ? (void *)pcs : (void *)qsort) + seed % 4096;
		}
		struct af_regs regs = {v[0], v[1], v[2]};
		unsigned nr = af_unwind_walk(unwinder, &regs, i & 1, pcs, AF_STACK_MAX, &stop);
		assert_in_range(nr, 1, AF_STACK_MAX);
	}
}

/* Replay */

static uint32_t replayed;
static uint32_t remember_as;

/* Replay the caller's stack; if @remember_as is set and it is not known, remember it as that. */
KEEPS_FP NOINLINE static void replay(void)
{
	struct af_regs regs;
	static uint64_t pcs[AF_STACK_MAX];
	enum af_stop stop;

	AF_REGS_CALLER(&regs);
	replayed = af_unwind_replay(unwinder, &regs);
	if (!replayed && remember_as) {
		af_unwind_record(unwinder, &regs, pcs, AF_STACK_MAX, &stop);
		af_unwind_remember(unwinder, remember_as);
	}
}

/*
 * Bit i of @path chooses which of two equal functions makes the i-th call: the registers are the
 * same at the end, but not the stack.
 */
static void replay_by(unsigned path, int depth);

#define REPLAY_TWIN(name)                                                                          \
	NOINLINE static void name(unsigned path, int depth)                                        \
	{                                                                                          \
		__asm__ volatile("# " #name);                                                      \
		replay_by(path, depth);                                                            \
		AFTER_CALL();                                                                      \
	}

REPLAY_TWIN(replay_left)
REPLAY_TWIN(replay_right)

NOINLINE static void replay_by(unsigned path, int depth)
{
	static void (*const twins[])(unsigned, int) = {replay_left, replay_right};
	volatile char room[256]; /* A frame that a page may end in. */

	room[depth] = 1;
	if (depth)
		twins[path >> depth & 1](path, depth - 1);
	else
		replay();
	AFTER_CALL();
}

static unsigned replay_fiber_path;
static size_t replay_fiber_lower; /* bytes its stack begins below the top */

static void replay_fiber(void)
{
	replay_by(replay_fiber_path, 6);
	swapcontext(&fiber_other, &fiber_main);
}

/* On a stack of its own, so that it does not matter from where in a test this is called. */
static uint32_t replay_path(unsigned path, uint32_t id)
{
	static _Alignas(64) char stack[1 << 16];

	remember_as = id;
	replay_fiber_path = path;
	getcontext(&fiber_other);
	fiber_other.uc_stack.ss_sp = stack;
	fiber_other.uc_stack.ss_size = sizeof stack - replay_fiber_lower;
	makecontext(&fiber_other, replay_fiber, 0);
	swapcontext(&fiber_main, &fiber_other);
	return replayed;
}

static void a_stack_is_known_again(void **state)
{
	assert_int_equal(replay_path(0, 0), 0);
	assert_int_equal(replay_path(0, 77), 0);
	assert_int_equal(replay_path(0, 0), 77);
	assert_int_equal(replay_path(0, 0), 77);
}

static void a_stack_is_known_again_wherever_a_page_ends(void **state)
{
	for (uint32_t i = 0; i < 4096 / 16; i++) {
		af_unwind_forget();
		af_unwinder_init(unwinder);
		replay_fiber_lower = i * 16;
		assert_int_equal(replay_path(0, 1000 + i), 0);
		assert_int_equal(replay_path(0, 0), 1000 + i);
	}
	replay_fiber_lower = 0;
}

static void another_stack_with_the_same_registers_is_not_taken_for_it(void **state)
{
	af_unwind_forget();
	replay_path(0, 50);
	for (unsigned path = 2; path < 128; path += 2)
		assert_int_equal(replay_path(path, 0), 0);
	assert_int_equal(replay_path(0, 0), 50);
}

static void eight_stacks_with_the_same_registers_are_known_apart(void **state)
{
	af_unwind_forget();
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(replay_path(i << 1, 100 + i), 0);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(replay_path(i << 1, 0), 100 + i);
}

static void a_replay_is_never_wrong_however_many_stacks_come(void **state)
{
	af_unwind_forget();
	for (unsigned i = 0; i < 20000; i++) {
		unsigned path = i * 7 % 64;
		uint32_t id = replay_path(path << 1, path + 1);
		assert_true(!id || id == path + 1);
	}
}

static void unloaded_code_makes_a_stack_unknown(void **state)
{
	replay_path(0, 60);
	assert_int_equal(replay_path(0, 0), 60);
	af_unwind_forget();
	assert_int_equal(replay_path(0, 0), 0);
}

static void an_unwinder_that_moves_to_another_thread_forgets_its_stack(void **state)
{
	replay_path(0, 61);
	assert_int_equal(replay_path(0, 0), 61);
	af_unwinder_init(unwinder);
	/* It would read memory that may be gone; the next walk proves it anew. */
	assert_int_equal(replay_path(0, 62), 0);
	assert_true(replay_path(0, 0) != 0);
}

NOINLINE static void replay_on_jit(uint32_t id)
{
	remember_as = id;
	replay();
	AFTER_CALL();
}

static void replay_on_jit_remember(void)
{
	replay_on_jit(90);
	AFTER_CALL();
}

static void stacks_with_jit_code_are_replayed(void **state)
{
	void (*jit)(void (*)(void)) = JIT(jit_with_fp);

	for (volatile int i = 0; i < 3; i++) {
		replayed = 0;
		shape_jit(jit, replay_on_jit_remember);
		nr_noted = 0;
		assert_int_equal(replayed, i ? 90 : 0);
	}
}

/* Threads walk while modules are forgotten. */

static _Atomic unsigned threads_wrong;
static _Atomic bool threads_stop;

static void *walking_thread(void *data)
{
	struct af_unwinder *u = unwinder_make();
	uint64_t pcs[AF_STACK_MAX];
	enum af_stop stop;

	for (int i = 0; i < 3000; i++) {
		struct af_regs regs;
		ucontext_t uc;
		getcontext(&uc);
		af_arch_context(&uc, &regs);
		unsigned nr = af_unwind_walk(u, &regs, true, pcs, AF_STACK_MAX, &stop);
		threads_wrong += stop != AF_STOP_COMPLETE || nr != 3;
	}
	munmap(u, af_unwinder_size());
	return NULL;
}

static void *forgetting_thread(void *data)
{
	while (!threads_stop) {
		af_unwind_forget();
		usleep(100);
	}
	return NULL;
}

static void threads_walk_while_modules_are_forgotten(void **state)
{
	pthread_t threads[4], forgetting;

	threads_stop = false;
	pthread_create(&forgetting, NULL, forgetting_thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, walking_thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	threads_stop = true;
	pthread_join(forgetting, NULL);
	assert_int_equal(threads_wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(recursion_is_followed),
	    cmocka_unit_test(frames_of_every_make_are_followed),
	    cmocka_unit_test(a_tail_call_leaves_no_frame),
	    cmocka_unit_test(walks_agree_with_glibc),
	    cmocka_unit_test(deep_stacks_are_cut_with_a_reason),
	    cmocka_unit_test(signal_frames_are_crossed),
	    cmocka_unit_test(signal_frames_on_another_stack_are_crossed),
	    cmocka_unit_test(every_instruction_of_libc_is_complete),
	    cmocka_unit_test(the_vdso_is_complete),
	    cmocka_unit_test(every_instruction_of_the_walker_is_complete),
	    cmocka_unit_test(jit_code_with_frame_pointers_is_crossed),
	    cmocka_unit_test(python_trampolines_are_crossed),
	    cmocka_unit_test(every_instruction_of_jit_code_is_complete),
	    cmocka_unit_test(jit_code_without_frame_pointers_ends_the_walk_with_a_reason),
	    cmocka_unit_test(a_call_through_null_has_a_caller),
	    cmocka_unit_test(fibers_are_complete_at_their_start),
	    cmocka_unit_test(threads_are_complete_at_their_start),
	    cmocka_unit_test(any_registers_are_survived),
	    cmocka_unit_test(a_stack_is_known_again),
	    cmocka_unit_test(a_stack_is_known_again_wherever_a_page_ends),
	    cmocka_unit_test(another_stack_with_the_same_registers_is_not_taken_for_it),
	    cmocka_unit_test(eight_stacks_with_the_same_registers_are_known_apart),
	    cmocka_unit_test(a_replay_is_never_wrong_however_many_stacks_come),
	    cmocka_unit_test(unloaded_code_makes_a_stack_unknown),
	    cmocka_unit_test(an_unwinder_that_moves_to_another_thread_forgets_its_stack),
	    cmocka_unit_test(stacks_with_jit_code_are_replayed),
	    cmocka_unit_test(threads_walk_while_modules_are_forgotten),
	};

	af_modules_init();
	unwinder = unwinder_make();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
