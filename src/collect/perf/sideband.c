#include "collect/perf/sideband.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/proc.h"

enum {
	RING_BYTES = 512 << 10, /* of data, for each CPU; a power of two */
	TRAILER_BYTES = 16,
};

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

/* Types of the kernel's records: include/uapi/linux/perf_event.h, enum perf_event_type. */
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

void af_sideband_ask(struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_TIME | PERF_SAMPLE_ID;
	attr->sample_id_all = 1;
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
	attr->build_id = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
}

uint64_t af_sideband_time(const struct perf_event_header *h)
{
	uint64_t words[2]; /* sample_id_all: TIME and ID end every record */

	memcpy(words, (const char *)h + h->size - sizeof words, sizeof words);
	return words[0] + (uint64_t)af_time_namespace_ns();
}

int af_sideband_open(struct af_sideband *s, struct af_err *err)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof attr,
	    .config = PERF_COUNT_SW_DUMMY,
	    .exclude_kernel = 1,
	    .watermark = 1,
	    .wakeup_watermark = RING_BYTES / 2,
	};
	int cpu;

	af_sideband_ask(&attr);
	*s = (struct af_sideband){0};
	int rc = af_perf_rings_open(&s->rings, &attr, -1, RING_BYTES, &cpu);
	return rc ? af_fail(err, rc, "cannot watch processes on CPU %d", cpu) : 0;
}

void af_sideband_close(struct af_sideband *s)
{
	af_perf_rings_close(&s->rings);
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
	e->time_ns = af_sideband_time(h);
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

static void take_fork(struct af_sideband *s, const struct record_task *t)
{
	if (t->pid != t->ppid)
		event_add(s, AF_SIDEBAND_FORK, t->pid, &t->header)->parent = t->ppid;
	if (!s->names)
		return;
	struct af_sideband_event *e = event_add(s, AF_SIDEBAND_THREAD, t->pid, &t->header);
	e->tid = t->tid;
	e->parent = t->ptid;
}

static void take_comm(struct af_sideband *s, const struct record_comm *c)
{
	bool exec = c->header.misc & PERF_RECORD_MISC_COMM_EXEC;

	if (!exec && !s->names)
		return;
	size_t text = text_keep(s, &c->header, c->comm);
	if (exec)
		event_add(s, AF_SIDEBAND_EXEC, c->pid, &c->header)->text = text;
	if (!s->names)
		return;
	struct af_sideband_event *e = event_add(s, AF_SIDEBAND_COMM, c->pid, &c->header);
	e->tid = c->tid;
	e->text = text;
}

void af_sideband_take(struct af_sideband *s, const struct perf_event_header *h)
{
	if (h->type == PERF_RECORD_LOST && h->size >= sizeof(struct record_lost)) {
		s->lost += ((const struct record_lost *)h)->lost;
	} else if (h->type == PERF_RECORD_FORK &&
	           h->size >= sizeof(struct record_task) + TRAILER_BYTES) {
		take_fork(s, (const void *)h);
	} else if (h->type == PERF_RECORD_COMM &&
	           h->size > sizeof(struct record_comm) + TRAILER_BYTES) {
		take_comm(s, (const void *)h);
	} else if (h->type == PERF_RECORD_MMAP2 &&
	           h->size > sizeof(struct record_mmap) + TRAILER_BYTES) {
		take_mmap(s, (const void *)h);
	}
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
		AF_SORT(s->events + s->next, s->nr - s->next, event_order);
}

static bool sideband_record(void *arg, int cpu, const struct perf_event_header *h)
{
	(void)cpu;
	af_sideband_take(arg, h);
	return true;
}

void af_sideband_read(struct af_sideband *s)
{
	af_sideband_begin(s);
	af_perf_rings_read(&s->rings, sideband_record, s);
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
