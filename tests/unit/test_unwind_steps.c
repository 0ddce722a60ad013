/* Walks from each instruction of some code, by the processor's trap flag. */
#include "unwind_stacks.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include <cmocka.h>

#include "inject/arch/arch.h"
#include "inject/walk/modules.h"

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

static void run_descriptors(void)
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
	step_through(run_descriptors);
	assert_true(steps.nr > 1000);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_instruction_of_libc_is_complete),
	    cmocka_unit_test(the_vdso_is_complete),
	    cmocka_unit_test(every_instruction_of_the_walker_is_complete),
	    cmocka_unit_test(every_instruction_of_jit_code_is_complete),
	};

	af_modules_init();
	unwinder = unwinder_make();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
