#include "exchange/perf/record.h"

#include <string.h>

#include "base/cursor.h"

enum {
	READ_ENABLED = 1 << 0, /* read_format */
	READ_RUNNING = 1 << 1,
	READ_ID = 1 << 2,
	READ_GROUP = 1 << 3,
	READ_LOST = 1 << 4,
	MISC_DATA = 1 << 13,     /* MMAP: no code */
	MISC_EXEC = 1 << 13,     /* COMM */
	MISC_BUILD_ID = 1 << 14, /* MMAP2: a build-id stands where device and inode would */
	PROTECTION_EXEC = 4,
	BRANCH_INDEX = 1 << 17, /* branch_sample_type */
	BRANCH_COUNTERS = 1 << 19,
	REGISTERS_64 = 2, /* whose they are: a process of 64 bits */
};

/* The words of a record, one after the other. */
static uint64_t word(struct af_cursor *w)
{
	return af_cursor_uint(w, 8);
}

static void words_skip(struct af_cursor *w, uint64_t nr)
{
	af_cursor_bytes(w, nr > UINT64_MAX / 8 ? UINT64_MAX : nr * 8);
}

/*
 * Finds the event of a sample. perf ensures that the id is at the same place in the samples of all
 * events.
 */
static int sample_attr(const struct perf_file *f, const struct perf_record *r)
{
	uint64_t type = f->nr_attrs ? f->attrs[0].sample_type : 0;
	size_t at = 0;

	if (f->nr_attrs < 2)
		return (int)f->nr_attrs - 1;
	if (!(type & PERF_IDENTIFIER)) {
		if (!(type & PERF_ID))
			return 0;
		const uint64_t before[] = {PERF_IP, PERF_TID, PERF_TIME, PERF_ADDR};
		for (int i = 0; i < 4; i++)
			at += type & before[i] ? 8 : 0;
	}
	if (at + 8 > r->size)
		return -1;
	const uint64_t *attr = af_map_get(&f->by_id, perf_u64(r->body + at));
	return attr ? (int)*attr - 1 : -1;
}

static void sample_skip_read(struct af_cursor *w, uint64_t format)
{
	uint64_t times = !!(format & READ_ENABLED) + !!(format & READ_RUNNING);
	uint64_t each = 1 + !!(format & READ_ID) + !!(format & READ_LOST);

	if (!(format & READ_GROUP)) {
		words_skip(w, each + times);
		return;
	}
	uint64_t nr = word(w);
	words_skip(w, times);
	words_skip(w, nr > UINT16_MAX ? UINT64_MAX : nr * each);
}

/* Only the length of data and branches is used. */
static void sample_skip_more(struct af_cursor *w, const struct perf_attr *a)
{
	if (a->sample_type & PERF_RAW) {
		uint64_t bytes = w->end - w->at >= 4 ? perf_u32(w->at) : 0;
		words_skip(w, (bytes + 4 + 7) / 8);
	}
	if (a->sample_type & PERF_BRANCH_STACK) {
		uint64_t each = a->branch_type & BRANCH_COUNTERS ? 4 : 3, nr = word(w);
		words_skip(w, nr > UINT16_MAX ? UINT64_MAX
		                              : nr * each + !!(a->branch_type & BRANCH_INDEX));
	}
}

/* The registers of the process, and the copy of its stack. */
static void sample_stack(struct af_cursor *w, const struct perf_attr *a, struct perf_sample *s)
{
	if (a->sample_type & PERF_REGS_USER) {
		uint64_t whose = word(w);
		s->registers = whose == REGISTERS_64 ? w->at : NULL;
		words_skip(w, whose ? (uint64_t)__builtin_popcountll(a->registers) : 0);
	}
	if (!(a->sample_type & PERF_STACK_USER))
		return;
	uint64_t size = word(w);
	const uint8_t *stack = w->at;
	words_skip(w, size > UINT16_MAX ? UINT64_MAX : (size + 7) / 8);
	uint64_t used = size ? word(w) : 0;
	if (w->bad || !used || used > size)
		return;
	s->stack = stack;
	s->stack_size = (uint32_t)used;
	s->stack_cut = used == size;
}

bool perf_sample_parse(const struct perf_file *f, const struct perf_record *r,
                       struct perf_sample *s)
{
	struct af_cursor w = {r->body, r->body + r->size, false};
	int attr = sample_attr(f, r);

	*s = (struct perf_sample){0};
	if (attr < 0)
		return false;
	s->attr = (uint32_t)attr;
	uint64_t type = f->attrs[attr].sample_type;
	if (type & PERF_IDENTIFIER)
		word(&w);
	if (type & PERF_IP)
		s->ip = word(&w);
	if (type & PERF_TID) {
		uint64_t both = word(&w);
		s->pid = (uint32_t)both;
		s->tid = (uint32_t)(both >> 32);
	}
	if (type & PERF_TIME)
		s->time_ns = word(&w);
	words_skip(&w, !!(type & PERF_ADDR) + !!(type & PERF_ID) + !!(type & PERF_STREAM_ID));
	if (type & PERF_CPU)
		s->cpu = (uint32_t)word(&w);
	if (type & PERF_PERIOD)
		s->period = word(&w);
	if (type & PERF_READ)
		sample_skip_read(&w, f->attrs[attr].read_format);
	if (type & PERF_CALLCHAIN) {
		s->nr = word(&w);
		s->chain = w.at;
		words_skip(&w, s->nr);
	}
	/* Errors in the following fields are ignored: the sample counts without them. */
	bool good = !w.bad;
	sample_skip_more(&w, &f->attrs[attr]);
	sample_stack(&w, &f->attrs[attr], s);
	if (w.bad)
		s->registers = s->stack = NULL;
	return good;
}

bool perf_record_time(const struct perf_file *f, const struct perf_record *r, uint64_t *time_ns)
{
	const struct perf_attr *a = f->attrs;

	if (!f->nr_attrs || !a->ids_in_all)
		return false;
	if (a->sample_type & PERF_IDENTIFIER && r->size >= 8) {
		const uint64_t *attr = af_map_get(&f->by_id, perf_u64(r->body + r->size - 8));
		a = attr ? &f->attrs[*attr - 1] : a;
	}
	uint64_t type = a->sample_type;
	size_t behind = !!(type & PERF_TIME) + !!(type & PERF_ID) + !!(type & PERF_STREAM_ID) +
	                !!(type & PERF_CPU) + !!(type & PERF_IDENTIFIER);
	if (!(type & PERF_TIME) || r->size < behind * 8)
		return false;
	*time_ns = perf_u64(r->body + r->size - behind * 8);
	return true;
}

bool perf_mmap_parse(const struct perf_record *r, struct perf_mmap *m)
{
	size_t at = 32, id_at = 32;

	if (r->size < (r->type == PERF_MMAP2 ? 64 : 32))
		return false;
	*m = (struct perf_mmap){
	    .pid = perf_u32(r->body),
	    .start = perf_u64(r->body + 8),
	    .size = perf_u64(r->body + 16),
	    .offset = perf_u64(r->body + 24),
	    .code = !(r->misc & MISC_DATA),
	    .kernel = (r->misc & PERF_MODE_MASK) == PERF_MODE_KERNEL,
	};
	if (r->type == PERF_MMAP2) {
		at = 64;
		m->code = m->kernel || perf_u32(r->body + 56) & PROTECTION_EXEC;
		if (r->misc & MISC_BUILD_ID) {
			uint32_t len = r->body[id_at];
			m->build_id_len = len < PERF_BUILD_ID_MAX ? len : PERF_BUILD_ID_MAX;
			m->build_id = r->body + id_at + 4;
		}
	}
	m->path = (const char *)r->body + at;
	m->path_len = strnlen(m->path, r->size - at);
	return m->start + m->size >= m->start;
}

bool perf_comm_parse(const struct perf_record *r, struct perf_comm *c)
{
	if (r->size < 8)
		return false;
	*c = (struct perf_comm){
	    .pid = perf_u32(r->body),
	    .tid = perf_u32(r->body + 4),
	    .exec = r->misc & MISC_EXEC,
	    .name = (const char *)r->body + 8,
	    .len = strnlen((const char *)r->body + 8, r->size - 8),
	};
	return true;
}

bool perf_ksymbol_parse(const struct perf_record *r, struct perf_ksymbol *k)
{
	enum { UNREGISTER = 1, NAME_AT = 16 };

	if (r->size < NAME_AT)
		return false;
	*k = (struct perf_ksymbol){
	    .start = perf_u64(r->body),
	    .size = perf_u32(r->body + 8),
	    .gone = perf_u16(r->body + 14) & UNREGISTER,
	    .name = (const char *)r->body + NAME_AT,
	    .len = strnlen((const char *)r->body + NAME_AT, r->size - NAME_AT),
	};
	return k->len && k->start + k->size > k->start;
}
