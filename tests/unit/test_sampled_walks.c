/*
 * Walks from a SIGPROF handler, as samplers make them: a leaf's callers must be right in 99 of 100
 * samples, however the code was compiled. The program may run under a translator.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include <cmocka.h>

#include "inject/arch/arch.h"
#include "inject/walk/modules.h"
#include "sampled_chain.h"
#include "unwind_stacks.h"

enum { SAMPLES = 250 };

static struct {
	const struct sampled_chain *chain;
	unsigned nr, in[SAMPLED_PARTS], right[SAMPLED_PARTS], complete;
	uint64_t wrong_pc, wrong[2];
} sampled;

static bool is_in(unsigned part, uint64_t pc)
{
	return pc >= (uint64_t)sampled.chain->parts[part].start &&
	       pc < (uint64_t)sampled.chain->parts[part].stop;
}

/* A sample in @part has the parts above it as callers. */
static void sample(int signo, siginfo_t *info, void *context)
{
	static struct walk w;
	struct af_regs regs;

	af_arch_context(context, &regs);
	walk_from(&regs, true, &w);
	for (unsigned part = 0; part < SAMPLED_PARTS; part++) {
		if (!is_in(part, regs.pc))
			continue;
		bool right = w.nr > SAMPLED_PARTS - part;
		for (unsigned i = 0; part + i < SAMPLED_PARTS; i++)
			right &= is_in(part + i, w.pcs[i]);
		/* The frame beneath the outermost of them is the test's. */
		right &= !is_in(SAMPLED_TOP, w.pcs[SAMPLED_PARTS - part]);
		sampled.in[part]++;
		sampled.right[part] += right;
		sampled.complete += w.stop == AF_STOP_COMPLETE;
		if (!right && part == SAMPLED_LEAF) {
			sampled.wrong_pc = regs.pc - (uint64_t)sampled.chain->parts[part].start;
			memcpy(sampled.wrong, w.pcs + 1, sizeof sampled.wrong);
		}
		sampled.nr++;
	}
}

static void assert_sampled(const struct sampled_chain *chain)
{
	struct sigaction act = {.sa_sigaction = sample, .sa_flags = SA_SIGINFO | SA_RESTART};
	const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {0};
	volatile unsigned sum = 0;

	memset(&sampled, 0, sizeof sampled);
	sampled.chain = chain;
	sigaction(SIGPROF, &act, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	while (sampled.nr < SAMPLES)
		sum += chain->run(sum);
	setitimer(ITIMER_PROF, &never, NULL);
	signal(SIGPROF, SIG_IGN);
	print_message("# %s: leaf %u of %u, mid %u of %u, top %u of %u right; %u complete\n",
	              chain->name, sampled.right[0], sampled.in[0], sampled.right[1], sampled.in[1],
	              sampled.right[2], sampled.in[2], sampled.complete);
	assert_true(sampled.in[SAMPLED_LEAF] > SAMPLES / 2);
	if (sampled.in[0] - sampled.right[0] > sampled.in[0] / 100)
		fail_msg("a leaf at +0x%lx had callers 0x%lx, 0x%lx", (long)sampled.wrong_pc,
		         (long)sampled.wrong[0], (long)sampled.wrong[1]);
}

static void code_with_frame_pointers(void **state)
{
	assert_sampled(&chain_O0_fp);
	assert_sampled(&chain_O2_fp);
}

static void code_without_frame_pointers(void **state)
{
	assert_sampled(&chain_O0_nofp);
	assert_sampled(&chain_O2_nofp);
}

#if !defined(__x86_64__)
/*
 * Nothing but frame pointers and instructions to go by. Not on x86-64, where gcc gives leaves no
 * frame, and no register has the return address.
 */
static void code_without_tables(void **state)
{
	assert_sampled(&chain_bare_fp);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_with_frame_pointers),
		cmocka_unit_test(code_without_frame_pointers),
#if !defined(__x86_64__)
		cmocka_unit_test(code_without_tables),
#endif
	};

	af_modules_init();
	unwinder = unwinder_make();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
