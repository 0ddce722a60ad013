#include "collect/bpf_sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"

enum { RING_BYTES = 512 << 10 }; /* of data, for each CPU; a power of two */

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

/* What the kernel writes: include/uapi/linux/perf_event.h, enum perf_event_type. */
struct record_task {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time_ns;
};

struct record_comm {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[];
};

struct record_mmap {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, size, offset;
	uint8_t build_id_size, pad[3], build_id[20];
	uint32_t prot, flags;
	char file[];
};

struct record_lost {
	struct perf_event_header header;
	uint64_t id, lost;
};

static int ring_open(struct af_sideband_ring *r, int cpu)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof attr,
	    .config = PERF_COUNT_SW_DUMMY,
	    .sample_type = PERF_SAMPLE_TIME,
	    .sample_id_all = 1,
	    .exclude_kernel = 1,
	    .mmap = 1,
	    .mmap2 = 1,
	    .comm = 1,
	    .comm_exec = 1,
	    .task = 1,
	    .build_id = 1,
	    .watermark = 1,
	    .wakeup_watermark = RING_BYTES / 2,
	    .use_clockid = 1,
	    .clockid = CLOCK_MONOTONIC,
	};

	r->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0 && errno == EINVAL) { /* before Linux 5.12 */
		attr.build_id = 0;
		r->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	if (r->fd < 0)
		return -errno;
	r->map = mmap(NULL, RING_BYTES + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
	              MAP_SHARED, r->fd, 0);
	if (r->map == MAP_FAILED) {
		int rc = -errno;
		close(r->fd);
		return rc;
	}
	return 0;
}

int af_sideband_open(struct af_sideband *s, struct af_err *err)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);

	*s = (struct af_sideband){0};
	s->rings = af_xcalloc((size_t)nr_cpus, sizeof *s->rings);
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		int rc = ring_open(&s->rings[s->nr_rings], cpu);
		if (rc == -ENODEV || rc == -ENXIO)
			continue; /* offline */
		if (rc)
			return af_fail(err, rc, "cannot watch what processes do on CPU %d", cpu);
		s->nr_rings++;
	}
	return 0;
}

void af_sideband_close(struct af_sideband *s)
{
	for (uint32_t i = 0; i < s->nr_rings; i++) {
		munmap(s->rings[i].map, RING_BYTES + (size_t)sysconf(_SC_PAGESIZE));
		close(s->rings[i].fd);
	}
	free(s->rings);
	free(s->events);
	af_buf_free(&s->text);
	*s = (struct af_sideband){0};
}

static struct af_sideband_event *event_add(struct af_sideband *s, enum af_sideband_kind kind,
                                           uint32_t pid, const struct perf_event_header *h)
{
	AF_GROW(s->events, s->nr, s->cap);
	struct af_sideband_event *e = &s->events[s->nr++];
	*e = (struct af_sideband_event){.kind = kind, .pid = pid};
	/* sample_id_all: the time is the record's last word. */
	memcpy(&e->time_ns, (const char *)h + h->size - sizeof e->time_ns, sizeof e->time_ns);
	return e;
}

static size_t text_keep(struct af_sideband *s, const struct perf_event_header *h, const char *text)
{
	size_t at = s->text.len, room = (size_t)((const char *)h + h->size - text);

	af_buf_add(&s->text, text, strnlen(text, room));
	af_buf_char(&s->text, 0);
	return at;
}

static void take_mmap(struct af_sideband *s, const struct record_mmap *m)
{
	struct af_sideband_event *e = event_add(s, AF_SIDEBAND_MMAP, m->pid, &m->header);

	e->start = m->start;
	e->size = m->size;
	e->offset = m->offset;
	if (m->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID &&
	    m->build_id_size <= sizeof e->build_id) {
		e->build_id_size = m->build_id_size;
		memcpy(e->build_id, m->build_id, m->build_id_size);
	}
	e->text = text_keep(s, &m->header, m->file);
}

void af_sideband_take(struct af_sideband *s, const struct perf_event_header *h)
{
	if (h->type == PERF_RECORD_LOST && h->size >= sizeof(struct record_lost)) {
		s->lost += ((const struct record_lost *)h)->lost;
	} else if (h->type == PERF_RECORD_FORK && h->size >= sizeof(struct record_task)) {
		const struct record_task *t = (const void *)h;
		if (t->pid != t->ppid)
			event_add(s, AF_SIDEBAND_FORK, t->pid, h)->parent = t->ppid;
	} else if (h->type == PERF_RECORD_COMM && h->size > sizeof(struct record_comm) + 8) {
		const struct record_comm *c = (const void *)h;
		if (h->misc & PERF_RECORD_MISC_COMM_EXEC) {
			size_t text = text_keep(s, h, c->comm);
			event_add(s, AF_SIDEBAND_EXEC, c->pid, h)->text = text;
		}
	} else if (h->type == PERF_RECORD_MMAP2 && h->size > sizeof(struct record_mmap) + 8) {
		take_mmap(s, (const void *)h);
	}
}

static void ring_read(struct af_sideband *s, const struct af_sideband_ring *r)
{
	struct perf_event_mmap_page *page = r->map;
	const char *data = (const char *)r->map + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	char whole[65536] __attribute__((aligned(8)));

	while (tail < head) {
		size_t at = tail & (RING_BYTES - 1);
		const struct perf_event_header *h = (const void *)(data + at);
		if (h->size < sizeof *h || h->size > head - tail)
			break;
		if (at + h->size > RING_BYTES) { /* it goes on at the beginning */
			size_t first = RING_BYTES - at, size = h->size;
			memcpy(whole, data + at, first);
			memcpy(whole + first, data, size - first);
			h = (const void *)whole;
		}
		af_sideband_take(s, h);
		tail += h->size;
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

static int event_order(const void *a, const void *b)
{
	const struct af_sideband_event *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

void af_sideband_begin(struct af_sideband *s)
{
	if (s->next < s->nr)
		return;
	s->nr = s->next = 0;
	s->text.len = 0;
}

void af_sideband_sort(struct af_sideband *s)
{
	if (s->nr > s->next)
		qsort(s->events + s->next, s->nr - s->next, sizeof *s->events, event_order);
}

void af_sideband_read(struct af_sideband *s)
{
	af_sideband_begin(s);
	for (uint32_t i = 0; i < s->nr_rings; i++)
		ring_read(s, &s->rings[i]);
	af_sideband_sort(s);
}

const struct af_sideband_event *af_sideband_next(struct af_sideband *s, uint64_t until_ns)
{
	if (s->next == s->nr || s->events[s->next].time_ns > until_ns)
		return NULL;
	return &s->events[s->next++];
}

const char *af_sideband_text(const struct af_sideband *s, const struct af_sideband_event *e)
{
	return s->text.data + e->text;
}
