/*
 * Compares sampled time with used time: for every process and thread, the CPU time that it used
 * itself, without its children, and the part of it that samples stand for; and, where much is
 * missing, the reason. And for device work: the launches that were made and those whose work was
 * seen.
 *
 * The CPU time of a process comes from the process itself, from its CPU clocks, or only from the
 * sum that its parent's children used together. In the last case the sum is shared out among those
 * children of which nothing better is known; the rest of it, when no such process was recorded, is
 * a row of its own.
 */
#ifndef AF_ANALYSE_COVERAGE_COVERAGE_H
#define AF_ANALYSE_COVERAGE_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

struct af_tables;
struct af_world;

/* The share of used time below which, and the share above which, it is reported. */
enum { AF_COVERAGE_PERCENT = 90, AF_COVERAGE_MOST_PERCENT = 110 };

/* The longest time between two ticks of a kernel, by which it tells user from kernel time. */
#define AF_TICK_NS 10000000ull

#define AF_COVERAGE_OVER_TEXT "more was sampled than used: counted twice"

/* CPU time in ns. */
struct af_covered {
	uint64_t used_user, used_kernel;
	uint64_t sampled_user, sampled_kernel;
};

struct af_coverage_row {
	uint32_t process; /* ordinal of its last image; 0: of processes that were not recorded */
	/* For unrecorded processes: the process that waited for them; 0: the program's */
	uint32_t parent;
	uint32_t tid;    /* 0: of the whole process */
	bool known;      /* the used time is known */
	bool shared_out; /* the used time is a part of what its parent's children used */
	uint32_t source; /* enum af_usage_source: which other process measured it */
	struct af_covered cpu;
	bool short_of; /* enough is missing to report it */
	/* Enough more was sampled than used to report it; then it is not short_of */
	bool over;
	uint32_t cause; /* enum af_unsampled; 0: not known, or nothing is missing */
	/*
	 * About the cause: number of threads or samples, and the time that it explains; 0: not
	 * known
	 */
	uint64_t count, cpu_ns;
	const char *name, *text; /* "xz", "xz [4711]"; live as long as the facts */
};

/*
 * Launches of a process by one API, and their work by device. A call does not tell its device, only
 * its work does: launches without work are a row of their own, unless the process has queues on one
 * device alone.
 */
struct af_coverage_launches {
	uint32_t process, api;   /* enum af_api */
	uint32_t device;         /* as the process numbers them; 0: of launches that have no work */
	uint64_t calls, joined;  /* launches that the device accepted; those whose work was seen */
	uint64_t works, alone;   /* pieces of device work; those without a call */
	uint64_t untimed;        /* those without times */
	uint64_t dropped;        /* records dropped by the driver or the ring; of all devices */
	bool short_of;           /* of launches with work */
	bool short_of_times;     /* of work with times */
	const char *text;        /* "app [4711]" */
	const char *device_text; /* "NVIDIA H200 #2" */
};

struct af_coverage {
	bool comparable;     /* used and sampled time cover the same period, the whole recording */
	const char *why_not; /* a sentence, or NULL: the used time is not known */
	bool sees_kernel;    /* samples include kernel time */
	uint64_t period_ns;  /* between two samples */
	/*
	 * Part of its CPUs' busy time that the machine's host took away: the clocks of some
	 * samplers go on meanwhile.
	 */
	double stolen;
	struct af_coverage_row *processes, *threads; /* the one with most missing time first */
	uint32_t nr_processes, nr_threads;
	struct af_coverage_row total;
	/*
	 * By the recorder's wait4: CPU time of the program and of all processes that it waited for;
	 * 0: not known.
	 */
	uint64_t tree_ns;
	struct af_coverage_launches *launches; /* rows of a process and API are neighbours */
	uint32_t nr_launches;
	uint32_t *row_of; /* by ordinal of any image: index of its process's row plus 1; 0: none */
	uint32_t nr_images;
};

/* Free what @c holds. A zeroed struct is fine. */
void af_coverage_free(struct af_coverage *c);

static inline uint64_t af_covered_used(const struct af_covered *c)
{
	return c->used_user + c->used_kernel;
}

static inline uint64_t af_covered_sampled(const struct af_covered *c)
{
	return c->sampled_user + c->sampled_kernel;
}

static inline void af_covered_add(struct af_covered *to, const struct af_covered *c)
{
	to->used_user += c->used_user;
	to->used_kernel += c->used_kernel;
	to->sampled_user += c->sampled_user;
	to->sampled_kernel += c->sampled_kernel;
}

/* The missing part of @used_ns; 0 when samples stand for more, as chance has it. */
static inline uint64_t af_covered_missing(uint64_t used_ns, uint64_t sampled_ns)
{
	return used_ns > sampled_ns ? used_ns - sampled_ns : 0;
}

/*
 * Is so much missing that it matters? Of a second or more: more than a tenth. Of less time it must
 * also be more than chance explains for samples at random times, three standard deviations: 0.1 s
 * without samples at 99 a second is reported, 0.08 s is not.
 */
bool af_coverage_short(uint64_t used_ns, uint64_t sampled_ns, uint64_t period_ns);

/*
 * The CPU time that samples of @cpu are compared with, and the time that they stand for: of user
 * mode alone when no sample is in the kernel.
 */
static inline void af_covered_held(const struct af_covered *cpu, uint64_t *used_ns,
                                   uint64_t *sampled_ns)
{
	*used_ns = cpu->sampled_kernel ? af_covered_used(cpu) : cpu->used_user;
	*sampled_ns = af_covered_sampled(cpu);
}

/*
 * Do samples stand for more than was used, by more than a tenth and the host's share? Of less than
 * a second the excess must also be more than three standard deviations of samples at random times;
 * of user mode, more than three of the ticks by which the kernel tells it apart, and more than
 * handing samples over takes. Then time was sampled twice.
 */
bool af_coverage_over(const struct af_coverage *c, const struct af_covered *cpu);

/* Is the CPU time of @r known to its end? Only then can more be sampled than used. */
bool af_coverage_is_exact(const struct af_coverage_row *r);

/* The row of the process that has the image @process, its last or an earlier one; NULL: none. */
const struct af_coverage_row *af_coverage_of(const struct af_coverage *c, uint32_t process);

/* The tables "coverage", "coverage_threads" and "coverage_devices", as far as there are rows. */
void af_coverage_tables(const struct af_coverage *c, struct af_tables *f);

/* "97.2 % of 3.2 s CPU time was sampled", in a line; lives as long as @f. */
const char *af_coverage_text(const struct af_coverage *c, struct af_tables *f);

/*
 * One sentence on why shares are not right: less than AF_COVERAGE_PERCENT of the CPU time was
 * sampled, or more than AF_COVERAGE_MOST_PERCENT (with @cpu); less than AF_COVERAGE_PERCENT of the
 * launches have work, or of the work has times (with @devices). NULL: they are right. Lives as long
 * as @f.
 */
const char *af_coverage_warning(const struct af_coverage *c, bool cpu, bool devices,
                                struct af_tables *f);

/* Why @r has too few samples, with numbers; NULL: it is not known. */
const char *af_coverage_cause(const struct af_coverage_row *r, struct af_tables *f);

/* The usual remedy for @cause; NULL: there is none. */
const char *af_coverage_helps(uint32_t cause);

#endif
