/* Replays must know a stack again, and only it. */
#include "unwind_stacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <ucontext.h>

#include <cmocka.h>

#include "inject/core/thread.h"
#include "inject/walk/modules.h"

static ucontext_t fiber_main, fiber_other;
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
	(void)room;
	if (depth)
		twins[path >> depth & 1](path, depth - 1);
	else
		replay();
	AFTER_CALL();
}

static unsigned replay_fiber_path;
static size_t replay_fiber_lower; /* bytes its stack begins below the top */

/* @depth calls, the @other-th by a twin of the function that makes the others. */
static void replay_deep(int depth, int other);

#define REPLAY_DEEP(name)                                                                          \
	NOINLINE static void name(int depth, int other)                                            \
	{                                                                                          \
		__asm__ volatile("# " #name);                                                      \
		replay_deep(depth, other);                                                         \
		AFTER_CALL();                                                                      \
	}

REPLAY_DEEP(deep_left)
REPLAY_DEEP(deep_right)

NOINLINE static void replay_deep(int depth, int other)
{
	static void (*const twins[])(int, int) = {deep_left, deep_right};

	if (depth)
		twins[depth == other](depth - 1, other);
	else
		replay();
	AFTER_CALL();
}

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

/* More frames than are kept, and no more slots than are compared: left-out frames count too. */
static void a_stack_with_its_middle_left_out_is_known_again(void **state)
{
	static const struct {
		int other;
		uint32_t remember_as, is;
	} turns[] = {{175, 77, 0}, {175, 0, 77}, {176, 0, 0}};

#ifdef AF_SANITIZED
	skip(); /* more stack than is walked at once */
#endif
	af_unwind_forget();
	for (volatile unsigned i = 0; i < 3; i++) {
		remember_as = turns[i].remember_as;
		replay_deep(350, turns[i].other);
		assert_int_equal(replayed, turns[i].is);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_stack_is_known_again),
	    cmocka_unit_test(a_stack_is_known_again_wherever_a_page_ends),
	    cmocka_unit_test(another_stack_with_the_same_registers_is_not_taken_for_it),
	    cmocka_unit_test(eight_stacks_with_the_same_registers_are_known_apart),
	    cmocka_unit_test(a_replay_is_never_wrong_however_many_stacks_come),
	    cmocka_unit_test(a_stack_with_its_middle_left_out_is_known_again),
	    cmocka_unit_test(unloaded_code_makes_a_stack_unknown),
	    cmocka_unit_test(an_unwinder_that_moves_to_another_thread_forgets_its_stack),
	    cmocka_unit_test(stacks_with_jit_code_are_replayed),
	};

	af_modules_init();
	unwinder = unwinder_make();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
