/*
 * Loads the BPF programs and attaches them: to a perf event on each CPU's clock, and to
 * tracepoints.
 */
#include "collect/bpf/private.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/proc.h"
#include "bpf/record.skel.h"
#include "collect/session/session.h"

enum {
	RING_MIN = 1 << 20, /* bytes */
	RING_MAX = 64 << 20,
	RING_OFF_CPU = 16 << 20,   /* switches come in bursts */
	RING_CALLS = 8 << 20,      /* so do launches, each with a kilobyte of stack */
	RING_FUNCTIONS = 24 << 20, /* and calls of any function */
	RECORD_GUESS = 700,        /* bytes of a sample */
	TURNS_MOST = 8192,         /* threads that call functions of --uprobe at a time */
	FRAMES_MOST = 65536,       /* calls of them that are under way, and are timed */
};

/* libbpf's own words, for who debugs us: AFLAME_BPF_DEBUG=1. */
static int bpf_words(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	return getenv("AFLAME_BPF_DEBUG") ? vfprintf(stderr, fmt, ap) : 0;
}

/* Half a second of samples from every CPU; and of calls of APIs, or of @drivers. */
static uint32_t ring_bytes(const struct af_bpf *b, bool drivers, long nr_cpus)
{
	uint64_t period_ns = b->period_ns;
	uint64_t want = b->options->off_cpu ? RING_OFF_CPU : RING_MIN, bytes = RING_MIN;

	if (b->r && b->r->control->flags & BPF_SESSION_APIS &&
	    (b->options->all || b->options->nr_pids || b->options->calls_twice))
		want += RING_CALLS;
	if (drivers)
		want += RING_CALLS;
	if (b->options->nr_functions)
		want += RING_FUNCTIONS;
	if (b->options->samples && period_ns)
		want += 500000000ull / period_ns * (uint64_t)nr_cpus * RECORD_GUESS;
	while (bytes < want && bytes < RING_MAX)
		bytes *= 2;
	return (uint32_t)bytes;
}

/* The initial pid namespace has a fixed number: PROC_PID_INIT_INO of include/linux/proc_ns.h. */
static uint32_t pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || (uint32_t)st.st_ino == 0xeffffffcu)
		return 0;
	return (uint32_t)st.st_ino;
}

/* For --uprobe; nothing of it otherwise. */
static void functions_choose(const struct af_bpf *b)
{
	struct record_bpf *p = b->programs;

	bpf_program__set_autoload(p->progs.function_call, b->options->nr_functions);
	if (bpf_probes_at_once())
		bpf_program__set_expected_attach_type(p->progs.function_call,
		                                      (enum bpf_attach_type)BPF_TRACE_UPROBES);
	if (b->options->nr_functions)
		bpf_map__set_max_entries(p->maps.turns, TURNS_MOST);

	uint32_t nr_exits = bpf_functions_nr_exits(b->options);
	bpf_program__set_autoload(p->progs.function_exit, nr_exits);
	if (bpf_probes_at_once())
		bpf_program__set_expected_attach_type(p->progs.function_exit,
		                                      (enum bpf_attach_type)BPF_TRACE_UPROBES);
	if (nr_exits) {
		bpf_map__set_max_entries(p->maps.frames, FRAMES_MOST);
		bpf_map__set_max_entries(p->maps.exits, nr_exits);
	}
}

/* Open them, set as @b's options are, with those for GPU drivers that are wanted, and load them. */
static int programs_try(struct af_bpf *b, enum bpf_drivers wanted, struct af_err *err)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct record_bpf *p = b->programs = record_bpf__open();
	struct rlimit memlock;

	if (!p)
		return af_fail(err, -errno, "cannot open the BPF programs");
	p->rodata->recorder_pid = (uint32_t)getpid();
	p->rodata->recorder_ns = pid_namespace();
	p->rodata->period_ns = b->period_ns;
	p->rodata->ahead_ns = af_time_namespace_ns();
	p->rodata->begun_ns = af_now_ns() - (uint64_t)af_time_namespace_ns();
	p->rodata->min_block_ns = b->options->min_block_ns;
	p->rodata->all_processes = b->options->all;
	/* Before, it keeps back only what would be written (perf/bpf: Allow a BPF program to
	 * suppress all sample side effects). */
	p->rodata->mutes = af_linux_is_at_least(6, 10);
	p->rodata->wakers = b->options->off_cpu == AF_OFF_CPU_WAKERS;
	bool drivers = bpf_drm_choose(b, wanted);
	p->rodata->ring_low = ring_bytes(b, drivers, nr_cpus) / 4;
	bpf_map__set_max_entries(p->maps.ring, ring_bytes(b, drivers, nr_cpus));
	if (bpf_probes_at_once()) {
		bpf_program__set_expected_attach_type(p->progs.device_call,
		                                      (enum bpf_attach_type)BPF_TRACE_UPROBES);
		bpf_program__set_expected_attach_type(p->progs.recorded_call,
		                                      (enum bpf_attach_type)BPF_TRACE_UPROBES);
	}
	bpf_program__set_autoload(p->progs.recorded_call, b->options->calls_twice);
	functions_choose(b);
	if (!b->options->off_cpu) {
		bpf_map__set_max_entries(p->maps.slots, 1);
		bpf_program__set_autoload(p->progs.on_switch, false);
		bpf_program__set_autoload(p->progs.on_waking, false);
	}
	/*
	 * Before Linux 5.11 libbpf lifts this limit for good; the program is to find it as it was.
	 */
	getrlimit(RLIMIT_MEMLOCK, &memlock);
	int rc = record_bpf__load(p);
	setrlimit(RLIMIT_MEMLOCK, &memlock);
	if (rc)
		return af_fail(err, rc, "the kernel refuses the BPF programs");
	return 0;
}

int bpf_programs_load(struct af_bpf *b, struct af_err *err)
{
	/* Processes that carry libaflame record the work of GPUs themselves. */
	enum bpf_drivers drivers =
	    b->options->all || b->options->nr_pids ? BPF_DRIVERS_BATCHES : BPF_DRIVERS_NONE;

	libbpf_set_print(bpf_words);
	if (bpf_prepared_take(b))
		return 0;
	int rc = programs_try(b, drivers, err);
	/*
	 * It may be that the kernel does not take the reader of batches, or lets nobody attach to
	 * functions of drivers.
	 */
	while (rc && drivers && b->programs) {
		record_bpf__destroy(b->programs);
		rc = programs_try(b, --drivers, err);
	}
	return rc;
}

/* One event on the clock of each CPU. */
static int samples_attach(struct af_bpf *b, struct af_err *err)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof attr,
	    .config = PERF_COUNT_SW_CPU_CLOCK,
	    .sample_period = b->period_ns,
	    .exclude_hv = 1,
	};

	b->links = af_xcalloc((size_t)nr_cpus, sizeof *b->links);
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		int fd =
		    (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && (errno == ENODEV || errno == ENXIO))
			continue; /* offline */
		if (fd < 0)
			return af_fail(err, -errno, "cannot sample CPU %d", cpu);
		struct bpf_link *link =
		    bpf_program__attach_perf_event(b->programs->progs.cpu_sample, fd);
		if (!link) {
			int rc = -errno;
			close(fd);
			return af_fail(err, rc, "cannot attach to the clock of CPU %d", cpu);
		}
		b->links[b->nr_links++] = link; /* and @fd with it */
	}
	return 0;
}

static int tracepoints_attach(struct af_bpf *b, struct af_err *err)
{
	struct record_bpf *p = b->programs;
	const struct {
		struct bpf_program *program;
		struct bpf_link **link;
		bool wanted;
	} points[] = {
	    {p->progs.on_fork, &p->links.on_fork, true},
	    {p->progs.on_exec, &p->links.on_exec, true},
	    {p->progs.on_exit, &p->links.on_exit, true},
	    {p->progs.on_rename, &p->links.on_rename, true},
	    {p->progs.on_waking, &p->links.on_waking, b->options->off_cpu},
	    {p->progs.on_switch, &p->links.on_switch, b->options->off_cpu},
	};

	for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
		if (!points[i].wanted)
			continue;
		*points[i].link = bpf_program__attach(points[i].program);
		if (!*points[i].link)
			return af_fail(err, -errno, "cannot attach to the kernel's tracepoints");
	}
	return 0;
}

/* Try what attaching needs: a tracepoint, and an event with a program; removed at once. */
int bpf_programs_try(struct af_bpf *b, struct af_err *err)
{
	struct bpf_link *link = bpf_program__attach(b->programs->progs.on_exec);

	if (!link)
		return af_fail(err, -errno, "cannot attach to the kernel's tracepoints");
	bpf_link__destroy(link);
	int rc = b->options->samples ? samples_attach(b, err) : 0;
	for (uint32_t k = 0; k < b->nr_links; k++)
		bpf_link__destroy(b->links[k]);
	free(b->links);
	b->links = NULL;
	b->nr_links = 0;
	return rc;
}

int bpf_programs_attach(struct af_bpf *b, struct af_err *err)
{
	int rc = tracepoints_attach(b, err);

	if (!rc)
		bpf_drm_attach(b);
	return rc || !b->options->samples ? rc : samples_attach(b, err);
}

void bpf_programs_close(struct af_bpf *b)
{
	for (uint32_t k = 0; k < b->nr_links; k++)
		bpf_link__destroy(b->links[k]);
	free(b->links);
	record_bpf__destroy(b->programs);
}
