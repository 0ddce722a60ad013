#include "analyse/coverage/coverage.h"

#include <math.h>
#include <stdlib.h>

#include "trace/layout.h"

#define SECOND_NS 1000000000ull

/* The cost of a sample by signal: 19 us were measured on a virtual machine. */
#define SAMPLE_HANDLING_NS 50000

bool af_coverage_short(uint64_t used_ns, uint64_t sampled_ns, uint64_t period_ns)
{
	uint64_t missing = af_covered_missing(used_ns, sampled_ns);

	if ((double)sampled_ns * 100 >= (double)used_ns * AF_COVERAGE_PERCENT)
		return false;
	return used_ns >= SECOND_NS ||
	       (double)missing > 3 * sqrt((double)used_ns * (double)period_ns);
}

/* The kernel divides user and kernel time by its ticks, which is right only if there are many. */
static double split_variance(const struct af_covered *cpu)
{
	double used = (double)af_covered_used(cpu);

	return used > 0 ? (double)cpu->used_user * (double)cpu->used_kernel / used * AF_TICK_NS : 0;
}

/*
 * Kernel time that a sampler of user mode counts as the program's: a sample stands for the time
 * since the one before, which includes the kernel's time for handing that one to its thread.
 */
static uint64_t handling_ns(const struct af_coverage *c, const struct af_covered *cpu)
{
	double samples = c->period_ns ? (double)cpu->sampled_user / (double)c->period_ns : 0;
	double most = samples * SAMPLE_HANDLING_NS;

	return most < (double)cpu->used_kernel ? (uint64_t)most : cpu->used_kernel;
}

bool af_coverage_over(const struct af_coverage *c, const struct af_covered *cpu)
{
	uint64_t used, sampled;

	af_covered_held(cpu, &used, &sampled);
	if (!cpu->sampled_kernel)
		used += handling_ns(c, cpu);
	if ((double)sampled * (1 - c->stolen) * 100 <= (double)used * AF_COVERAGE_MOST_PERCENT)
		return false;
	double variance = cpu->sampled_kernel ? 0 : split_variance(cpu);
	if (used < SECOND_NS)
		variance += (double)sampled *
		            (double)(c->period_ns > AF_TICK_NS ? c->period_ns : AF_TICK_NS);
	return (double)sampled - (double)used > 3 * sqrt(variance);
}

bool af_coverage_is_exact(const struct af_coverage_row *r)
{
	return r->known && (r->shared_out || r->source != AF_USAGE_LAST_SEEN);
}

void af_coverage_free(struct af_coverage *c)
{
	free(c->processes);
	free(c->threads);
	free(c->launches);
	free(c->row_of);
	*c = (struct af_coverage){0};
}

const struct af_coverage_row *af_coverage_of(const struct af_coverage *c, uint32_t process)
{
	uint32_t row = process < c->nr_images ? c->row_of[process] : 0;

	return row ? &c->processes[row - 1] : NULL;
}
