#include "collect/outside_events.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"

/*
 * Of data, for each CPU; a power of two. Users may lock perf_event_mlock_kb (516) for each CPU
 * without asking for more.
 */
enum { RING_BYTES = 256 << 10 };

/* Three registers, in the order of their bits. */
enum { REGS = 1 << PERF_REG_X86_BP | 1 << PERF_REG_X86_SP | 1 << PERF_REG_X86_IP };

static int event_open(struct perf_event_attr *attr, int pid, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno == EINVAL && attr->build_id) { /* before Linux 5.12 */
		attr->build_id = 0;
		fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

/* Owned by an event of ours that never happens, so that it outlives whom it is about. */
static int ring_open(struct af_outside_ring *r, int cpu)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof attr,
	    .config = PERF_COUNT_SW_DUMMY,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	    .use_clockid = 1,
	    .clockid = CLOCK_MONOTONIC,
	};

	r->cpu = cpu;
	r->fd = event_open(&attr, 0, cpu);
	if (r->fd < 0)
		return r->fd;
	r->map = mmap(NULL, RING_BYTES + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
	              MAP_SHARED, r->fd, 0);
	if (r->map != MAP_FAILED)
		return 0;
	int rc = -errno;
	close(r->fd);
	return rc;
}

int af_outside_rings_open(struct af_outside_rings *r)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);

	r->rings = af_xcalloc((size_t)nr_cpus, sizeof *r->rings);
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		int rc = ring_open(&r->rings[r->nr], cpu);
		if (rc == -ENODEV || rc == -ENXIO)
			continue; /* offline */
		if (rc) {
			af_outside_rings_close(r);
			return rc;
		}
		r->nr++;
	}
	return r->nr ? 0 : -ENODEV;
}

void af_outside_rings_close(struct af_outside_rings *r)
{
	for (uint32_t i = 0; i < r->nr; i++) {
		munmap(r->rings[i].map, RING_BYTES + (size_t)sysconf(_SC_PAGESIZE));
		close(r->rings[i].fd);
	}
	free(r->rings);
	*r = (struct af_outside_rings){0};
}

int af_outside_events_open(const struct af_outside_rings *r, uint32_t tid, uint64_t period_ns,
                           bool inherit, int **fds)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof attr,
	    .config = PERF_COUNT_SW_TASK_CLOCK,
	    .sample_period = period_ns,
	    .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
	                   PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
	    .sample_regs_user = REGS,
	    .sample_stack_user = AF_OUTSIDE_STACK_BYTES,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	    .exclude_callchain_kernel = 1,
	    .inherit = inherit,
	    .sample_id_all = 1,
	    .mmap = 1,
	    .mmap2 = 1,
	    .comm = 1,
	    .comm_exec = 1,
	    .task = 1,
	    .build_id = 1,
	    .use_clockid = 1,
	    .clockid = CLOCK_MONOTONIC,
	};
	int *opened = af_xcalloc(r->nr, sizeof *opened), rc = 0;

	for (uint32_t i = 0; !rc && i < r->nr; i++) {
		opened[i] = event_open(&attr, (int)tid, r->rings[i].cpu);
		if (opened[i] < 0)
			rc = opened[i];
		else if (ioctl(opened[i], PERF_EVENT_IOC_SET_OUTPUT, r->rings[i].fd))
			rc = -errno;
	}
	if (!rc) {
		*fds = opened;
		return 0;
	}
	for (uint32_t i = 0; i < r->nr; i++)
		if (opened[i] > 0)
			close(opened[i]);
	free(opened);
	return rc;
}

/* Takes @n words of a record, NULL when it has not so many. */
static const uint64_t *words(const uint64_t **at, const uint64_t *end, uint64_t n)
{
	const uint64_t *here = *at;

	if (n > (uint64_t)(end - here))
		return NULL;
	*at = here + n;
	return here;
}

/* perf_event_open(2), PERF_RECORD_SAMPLE, of the attr above. */
static bool sample_parse(const struct perf_event_header *h, struct af_outside_sample *s)
{
	const uint64_t *at = (const uint64_t *)(h + 1);
	const uint64_t *end = (const uint64_t *)((const char *)h + h->size), *w;

	if (!(w = words(&at, end, 3)))
		return false;
	s->pid = (uint32_t)w[0];
	s->tid = (uint32_t)(w[0] >> 32);
	s->time_ns = w[1];
	s->nr_chain = w[2];
	s->chain = words(&at, end, s->nr_chain);
	if (!s->chain || !(w = words(&at, end, 1)))
		return false;
	s->stack_bytes = 0;
	if (*w == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	if (!(w = words(&at, end, 4))) /* and the size of the stack */
		return false;
	s->fp = w[0];
	s->sp = w[1];
	uint64_t size = w[3];
	if (!size)
		return true;
	s->stack = words(&at, end, size / 8);
	w = s->stack ? words(&at, end, 1) : NULL;
	if (w)
		s->stack_bytes = *w <= size ? *w : size;
	/* What leads to the kernel's part, and from it to the user's, are marks. */
	while (s->nr_chain && s->chain[0] >= PERF_CONTEXT_MAX) {
		s->chain++;
		s->nr_chain--;
	}
	return w != NULL;
}

static uint64_t record_time(const struct perf_event_header *h)
{
	uint64_t time_ns;

	/* sample_id_all: TID, TIME end every record that is no sample. */
	memcpy(&time_ns,
	       h->type == PERF_RECORD_SAMPLE ? (const char *)(h + 1) + 8
	                                     : (const char *)h + h->size - sizeof time_ns,
	       sizeof time_ns);
	return time_ns;
}

static void ring_read(const struct af_outside_ring *r, uint64_t until_ns,
                      struct af_sideband *sideband,
                      void (*sample)(void *arg, const struct af_outside_sample *s), void *arg)
{
	struct perf_event_mmap_page *page = r->map;
	const char *data = (const char *)r->map + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	char whole[65536] __attribute__((aligned(8)));
	struct af_outside_sample s = {.cpu = (uint32_t)r->cpu};

	while (tail < head) {
		size_t at = tail & (RING_BYTES - 1);
		const struct perf_event_header *h = (const void *)(data + at);
		if (h->size < sizeof *h + 16 || h->size > head - tail)
			break;
		if (at + h->size > RING_BYTES) { /* it goes on at the beginning */
			size_t first = RING_BYTES - at, size = h->size;
			memcpy(whole, data + at, first);
			memcpy(whole + first, data, size - first);
			h = (const void *)whole;
		}
		if (record_time(h) > until_ns)
			break;
		if (h->type != PERF_RECORD_SAMPLE)
			af_sideband_take(sideband, h);
		else if (sample_parse(h, &s))
			sample(arg, &s);
		tail += h->size;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

void af_outside_rings_read(struct af_outside_rings *r, uint64_t until_ns,
                           struct af_sideband *sideband,
                           void (*sample)(void *arg, const struct af_outside_sample *s), void *arg)
{
	for (uint32_t i = 0; i < r->nr; i++)
		ring_read(&r->rings[i], until_ns, sideband, sample, arg);
}
