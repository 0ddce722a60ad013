/* Walks: they must find exactly what the functions on the way noted. */
#include "unwind_stacks.h"

#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/arch/arch.h"
#include "inject/core/thread.h"
#include "inject/walk/modules.h"

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

/* If a stack is deeper than the array, both ends are kept, and the rest is counted. */
static void the_ends_of_deep_stacks_are_kept(void **state)
{
	enum { FIRST = AF_STACK_MAX / 2, LAST = AF_STACK_MAX - FIRST - 1 };

	shape_recursive(3);
	unsigned below = taken.nr - nr_noted; /* main's, and those of libc */
	nr_noted = 0;
	for (int depth = 490; depth < 1010; depth += depth < 520 ? 1 : 97) {
		shape_recursive(depth);
		unsigned all = nr_noted + below;

		assert_int_equal(taken.stop, AF_STOP_COMPLETE);
		if (all <= AF_STACK_MAX) {
			assert_noted(&taken, 0);
			assert_int_equal(taken.nr, all);
			nr_noted = 0;
			continue;
		}
		assert_int_equal(taken.nr, AF_STACK_MAX);
		assert_int_equal(taken.pcs[FIRST], AF_LEFT_OUT | (all - FIRST - LAST));
		for (unsigned i = 0; i < FIRST; i++)
			assert_int_equal(taken.pcs[i], noted[nr_noted - 1 - i] - 1);
		for (unsigned i = 0; i < LAST - below; i++)
			assert_int_equal(taken.pcs[AF_STACK_MAX - 1 - below - i], noted[i] - 1);
		nr_noted = 0;
	}
}

static void a_small_array_is_filled_from_the_leaf(void **state)
{
	struct af_regs regs;
	uint64_t pcs[4] = {0};
	enum af_stop stop;

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

/* Code that no table describes */

#if defined(__x86_64__)
/* push %rbp; xor %ebp,%ebp; call *%rdi; pop %rbp; ret */
static const char jit_without_fp[] = "\x55\x31\xed\xff\xd7\x5d\xc3";
/* push %rbp; mov $-1,%rbp; call *%rdi; pop %rbp; ret */
static const char jit_bad_fp[] = "\x55\x48\xc7\xc5\xff\xff\xff\xff\xff\xd7\x5d\xc3";
/* push %rbp; push $0x1234; push $0x5678; mov %rsp,%rbp; call *%rdi; …: readable, but no frame */
static const char jit_false_fp[] = "\x55\x68\x34\x12\x00\x00\x68\x78\x56\x00\x00\x48\x89\xe5"
				   "\xff\xd7\x48\x83\xc4\x10\x5d\xc3";
#endif

static void jit_code_with_frame_pointers_is_crossed(void **state)
{
	void (*jit)(void (*)(void)) = JIT(jit_with_fp);

	shape_jit(jit, take);
	/* take() was called by the JIT code, that by shape_jit(), that from here. */
	assert_int_equal(taken.stop, AF_STOP_COMPLETE);
	assert_int_equal(taken.pcs[0], (uint64_t)jit + JIT_CALL_END - 1);
	assert_int_equal(taken.pcs[2], noted[0] - 1);
	nr_noted = 0;
}

#if defined(__x86_64__)
static void python_trampolines_are_crossed(void **state)
{
	void (*jit)(void (*)(void)) = JIT(jit_trampoline);

	shape_jit(jit, take);
	assert_int_equal(taken.stop, AF_STOP_COMPLETE);
	assert_int_equal(taken.pcs[0], (uint64_t)jit + 6 - 1);
	assert_int_equal(taken.pcs[2], noted[0] - 1);
	nr_noted = 0;
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

#endif

static void null_handle(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	struct af_regs regs;

	af_arch_context(uc, &regs);
	walk_from(&regs, true, &interrupted);
	/* Return from the call. */
#if defined(__x86_64__)
	*unwind_pc(uc) = *(uint64_t *)regs.sp;
	uc->uc_mcontext.gregs[REG_RSP] += 8;
#else
	*unwind_pc(uc) = regs.ra;
#endif
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
		cmocka_unit_test(the_ends_of_deep_stacks_are_kept),
		cmocka_unit_test(a_small_array_is_filled_from_the_leaf),
		cmocka_unit_test(signal_frames_are_crossed),
		cmocka_unit_test(signal_frames_on_another_stack_are_crossed),
		cmocka_unit_test(jit_code_with_frame_pointers_is_crossed),
#if defined(__x86_64__)
		cmocka_unit_test(python_trampolines_are_crossed),
		cmocka_unit_test(jit_code_without_frame_pointers_ends_the_walk_with_a_reason),
#endif
		cmocka_unit_test(a_call_through_null_has_a_caller),
		cmocka_unit_test(fibers_are_complete_at_their_start),
		cmocka_unit_test(threads_are_complete_at_their_start),
		cmocka_unit_test(any_registers_are_survived),
		cmocka_unit_test(threads_walk_while_modules_are_forgotten),
	};

	af_modules_init();
	unwinder = unwinder_make();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
