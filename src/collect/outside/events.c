#include "collect/outside/events.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system/proc.h"

/*
 * Size of the data for each CPU; a power of two. Users may lock perf_event_mlock_kb (516) for each
 * CPU without asking for more.
 */
enum { RING_BYTES = 256 << 10 };

/* Three registers, in the order of their bits. */
enum { REGS = 1 << PERF_REG_X86_BP | 1 << PERF_REG_X86_SP | 1 << PERF_REG_X86_IP };

/* Owned by events of ours that never happen, so that they outlive whom they are about. */
int af_outside_rings_open(struct af_perf_rings *r)
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

	int rc = af_perf_rings_open(r, &attr, 0, RING_BYTES, NULL);
	return rc || r->nr ? rc : -ENODEV;
}

int af_outside_events_open(const struct af_perf_rings *r, uint32_t tid, uint64_t period_ns,
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
	};
	int *opened = af_xcalloc(r->nr, sizeof *opened), rc = 0;

	af_sideband_ask(&attr);
	for (uint32_t i = 0; !rc && i < r->nr; i++) {
		opened[i] = af_perf_event_open(&attr, (int)tid, r->rings[i].cpu);
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

uint64_t af_outside_event_id(int fd)
{
	uint64_t id = 0;

	return ioctl(fd, PERF_EVENT_IOC_ID, &id) ? 0 : id;
}

bool af_outside_events_over(const int *fds, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct pollfd p = {.fd = fds[i]};
		if (poll(&p, 1, 0) != 1 || !(p.revents & POLLHUP))
			return false;
	}
	return true;
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

	if (!(w = words(&at, end, 4)))
		return false;
	s->pid = (uint32_t)w[0];
	s->tid = (uint32_t)(w[0] >> 32);
	s->time_ns = w[1] + (uint64_t)af_time_namespace_ns();
	s->event = w[2];
	s->nr_chain = w[3];
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
	/* Marks separate the kernel's part from the user's. */
	while (s->nr_chain && s->chain[0] >= PERF_CONTEXT_MAX) {
		s->chain++;
		s->nr_chain--;
	}
	return w != NULL;
}

static uint64_t record_time(const struct perf_event_header *h)
{
	uint64_t time_ns;

	if (h->type != PERF_RECORD_SAMPLE)
		return af_sideband_time(h);
	memcpy(&time_ns, (const char *)(h + 1) + 8, sizeof time_ns);
	return time_ns + (uint64_t)af_time_namespace_ns();
}

struct reading {
	uint64_t until_ns;
	struct af_sideband *sideband;
	void (*sample)(void *arg, const struct af_outside_sample *s);
	void *arg;
};

static bool record_take(void *arg, int cpu, const struct perf_event_header *h)
{
	const struct reading *r = arg;
	struct af_outside_sample s = {.cpu = (uint32_t)cpu};

	if (h->size < sizeof *h + 16) /* shorter than where its time is */
		return true;
	if (record_time(h) > r->until_ns)
		return false;
	if (h->type != PERF_RECORD_SAMPLE)
		af_sideband_take(r->sideband, h);
	else if (sample_parse(h, &s))
		r->sample(r->arg, &s);
	return true;
}

void af_outside_rings_read(const struct af_perf_rings *r, uint64_t until_ns,
                           struct af_sideband *sideband,
                           void (*sample)(void *arg, const struct af_outside_sample *s), void *arg)
{
	struct reading reading = {until_ns, sideband, sample, arg};

	af_perf_rings_read(r, record_take, &reading);
}
