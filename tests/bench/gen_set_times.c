/* When the ranks of a job do what: bulk-synchronous steps, computed without a simulation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gen_set.h"

enum { KERNEL_NS = 30000, LAUNCH_NS = 4000, COMPUTE_NS = 1000000, SEND_NS = 900 };

/* The purposes of random numbers: each has its own. */
enum { OF_OFFSET = 1, OF_DRIFT, OF_REAL, OF_BOOT, OF_COMPUTE, OF_LATENCY, OF_LEAVE, OF_KERNEL };

bool set_has(const struct set_list *list, uint32_t rank)
{
	for (uint32_t i = 0; i < list->nr; i++)
		if (list->ranks[i] == rank)
			return true;
	return false;
}

uint32_t set_host_of(const struct set_job *j, uint32_t rank)
{
	return (uint32_t)((uint64_t)rank * j->o.hosts / j->o.ranks);
}

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

uint64_t set_random(const struct set_job *j, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = j->o.seed + 0x9e3779b97f4a7c15u * (a + 1);

	return mixed(mixed(mixed(x) + b) + c);
}

double set_unit(const struct set_job *j, uint64_t a, uint64_t b, uint64_t c)
{
	return (double)(set_random(j, a, b, c) >> 11) * 0x1p-53;
}

double set_tail(const struct set_job *j, double mean, uint64_t a, uint64_t b, uint64_t c)
{
	return -mean * log(1 - set_unit(j, a, b, c));
}

uint64_t set_clock(const struct set_host *h, uint64_t ns)
{
	return (uint64_t)(h->base_ns + (int64_t)ns + (int64_t)(h->drift * (double)ns));
}

static void hosts_make(struct set_job *j)
{
	/* No host has stood for less than no time. */
	int64_t base_ns =
	    1000000000000 + (j->o.offset_ms > 5e5 ? (int64_t)(j->o.offset_ms * 1e6) : 0);

	for (uint32_t i = 0; i < j->o.hosts; i++) {
		struct set_host *h = &j->hosts[i];
		double span = i ? 2 : 0; /* the first host is the reference */
		snprintf(h->name, sizeof h->name, "node%04u", i);
		snprintf(h->boot_id, sizeof h->boot_id, "%08x-0000-4000-8000-%012llx", i,
		         (unsigned long long)set_random(j, OF_BOOT, i, 0) >> 16);
		h->base_ns = base_ns + (int64_t)(span * j->o.offset_ms * 1e6 *
		                                 (set_unit(j, OF_OFFSET, i, 0) - 0.5));
		h->drift = span * j->o.drift_ppm * 1e-6 * (set_unit(j, OF_DRIFT, i, 0) - 0.5);
		/* Clocks of the day agree within a millisecond, as NTP has them. */
		h->realtime_ns = 1790000000000000000 - h->base_ns +
		                 (int64_t)(2e6 * (set_unit(j, OF_REAL, i, 0) - 0.5));
	}
}

uint64_t set_kernel_ns(const struct set_job *j, uint32_t rank, uint64_t launch)
{
	double slow = j->o.slow == SLOW_GPU && set_has(&j->o.stragglers, rank) ? 1.5 : 1;

	return (uint64_t)(slow * KERNEL_NS * (0.8 + 0.4 * set_unit(j, OF_KERNEL, rank, launch)));
}

/* How long a rank computes, and on what. */
static void compute(const struct set_job *j, uint32_t rank, uint32_t step, struct set_step *is)
{
	bool slow = set_has(&j->o.stragglers, rank);
	double some = 0.95 + 0.1 * set_unit(j, OF_COMPUTE, rank, step);

	is->cpu_ns = (uint64_t)(some * (COMPUTE_NS + LAUNCH_NS * j->launches));
	is->slow_ns = slow && j->o.slow == SLOW_CPU ? is->cpu_ns / 3 : 0;
	is->disk_ns = slow && j->o.slow == SLOW_DISK ? is->cpu_ns / 2 : is->cpu_ns / 50;
	is->gpu_ns = (uint64_t)(1.3 * KERNEL_NS * j->launches);
	if (slow && j->o.slow == SLOW_GPU)
		is->gpu_ns += is->gpu_ns / 2;
	uint64_t cpu_ns = is->cpu_ns + is->slow_ns;
	is->computed = (cpu_ns > is->gpu_ns ? cpu_ns : is->gpu_ns) + is->disk_ns;
}

static uint64_t leave_ns(const struct set_job *j, uint32_t rank, uint32_t step)
{
	return 2000 + (uint64_t)set_tail(j, 1e3 * j->o.jitter_us, OF_LEAVE, rank, step);
}

static uint64_t send_begin(const struct set_job *j, uint32_t rank, uint32_t step,
                           struct set_step *is)
{
	is->begin = j->steps[step] + (step ? leave_ns(j, rank, step - 1) : 0);
	compute(j, rank, step, is);
	return is->begin + is->computed;
}

static uint64_t latency_ns(const struct set_job *j, uint32_t from, uint32_t to, uint32_t step)
{
	uint32_t a = set_host_of(j, from), b = set_host_of(j, to);

	if (a == b)
		return 500;
	double least = 1e3 * j->o.latency_us * (a > b ? j->o.asymmetry : 1);
	return (uint64_t)(least + set_tail(j, 1e3 * j->o.jitter_us, OF_LATENCY, from, step));
}

/* All of a step, but not when it leaves the collective, which depends on all ranks. */
static void step_alone(const struct set_job *j, uint32_t rank, uint32_t step, struct set_step *is)
{
	uint32_t n = j->o.ranks, right = (rank + 1) % n, left = (rank + n - 1) % n;
	struct set_step of;

	is->to = step % 2 ? left : right;
	is->from = step % 2 ? right : left;
	is->send_begin = send_begin(j, rank, step, is);
	is->send_end = is->send_begin + SEND_NS;
	is->receive_begin = is->send_end + 200;
	uint64_t arrives = send_begin(j, is->from, step, &of) + latency_ns(j, is->from, rank, step);
	is->receive_end = (arrives > is->receive_begin ? arrives : is->receive_begin) + 300;
	is->enter = is->receive_end + 100;
}

void set_step_of(const struct set_job *j, uint32_t rank, uint32_t step, struct set_step *is)
{
	step_alone(j, rank, step, is);
	is->leave = j->steps[step + 1] + leave_ns(j, rank, step);
}

void set_job_make(struct set_job *j)
{
	j->hosts = calloc(j->o.hosts, sizeof *j->hosts);
	j->steps = calloc(j->nr_steps + 1, sizeof *j->steps);
	if (!j->hosts || !j->steps)
		abort();
	hosts_make(j);
	j->steps[0] = 100000000; /* MPI_Init is over */
	for (uint32_t s = 0; s < j->nr_steps; s++)
		for (uint32_t r = 0; r < j->o.ranks; r++) {
			struct set_step is;
			step_alone(j, r, s, &is);
			if (is.enter > j->steps[s + 1])
				j->steps[s + 1] = is.enter;
		}
}
