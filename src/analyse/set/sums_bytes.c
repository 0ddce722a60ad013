/* Counters and coverage of a merge as bytes. */
#include <string.h>

#include "analyse/set/bytes.h"

enum { ROW_KNOWN = 1, ROW_SHARED = 2, ROW_SHORT = 4, ROW_OVER = 8 };

static void write_covered(struct af_buf *to, const struct af_covered *c)
{
	set_write_u64s(
	    to, (uint64_t[]){c->used_user, c->used_kernel, c->sampled_user, c->sampled_kernel}, 4);
}

static struct af_covered read_covered(struct af_cursor *from)
{
	uint64_t all[4];

	set_read_u64s(from, all, 4);
	return (struct af_covered){all[0], all[1], all[2], all[3]};
}

static void write_row(struct af_buf *to, const struct af_coverage_row *r)
{
	set_write_text(to, r->name);
	af_buf_char(to, (char)((r->known ? ROW_KNOWN : 0) | (r->shared_out ? ROW_SHARED : 0) |
	                       (r->short_of ? ROW_SHORT : 0) | (r->over ? ROW_OVER : 0)));
	set_write_u64s(to, (uint64_t[]){r->source, r->cause, r->count, r->cpu_ns}, 4);
	write_covered(to, &r->cpu);
}

static void read_row(struct af_cursor *from, struct af_merge *m, struct af_coverage_row *r)
{
	uint64_t all[4];
	const char *name = set_read_text(from, m);
	unsigned bits = (unsigned)af_cursor_uint(from, 1);

	set_read_u64s(from, all, 4);
	from->bad |= all[0] > AF_USAGE_ENDED || all[1] >= AF_UNSAMPLED_END;
	*r = (struct af_coverage_row){
	    .name = name,
	    .text = name,
	    .known = bits & ROW_KNOWN,
	    .shared_out = bits & ROW_SHARED,
	    .short_of = bits & ROW_SHORT,
	    .over = bits & ROW_OVER,
	    .source = from->bad ? 0 : (uint32_t)all[0],
	    .cause = from->bad ? 0 : (uint32_t)all[1],
	    .count = all[2],
	    .cpu_ns = all[3],
	    .cpu = read_covered(from),
	};
}

static void write_rows(struct af_buf *to, const struct set_covered *s)
{
	af_buf_leb128(to, s->nr);
	for (uint32_t i = 0; i < s->nr; i++)
		write_row(to, &s->rows[i]);
}

static void read_rows(struct af_cursor *from, struct af_merge *m, struct set_covered *s)
{
	uint64_t nr = af_cursor_uleb(from);

	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		AF_GROW(s->rows, s->nr, s->cap);
		read_row(from, m, &s->rows[s->nr++]);
	}
}

static void write_launches(struct af_buf *to, const struct af_coverage_launches *l)
{
	set_write_text(to, l->device_text);
	set_write_u64s(to,
	               (uint64_t[]){l->api, l->device, l->calls, l->joined, l->works, l->alone,
	                            l->untimed, l->dropped, l->short_of, l->short_of_times},
	               10);
}

static void read_launches(struct af_cursor *from, struct af_merge *m,
                          struct af_coverage_launches *l)
{
	const char *device = set_read_text(from, m);
	uint64_t all[10];

	set_read_u64s(from, all, 10);
	*l = (struct af_coverage_launches){
	    .api = (uint32_t)all[0],
	    .device = (uint32_t)all[1],
	    .calls = all[2],
	    .joined = all[3],
	    .works = all[4],
	    .alone = all[5],
	    .untimed = all[6],
	    .dropped = all[7],
	    .short_of = all[8] != 0,
	    .short_of_times = all[9] != 0,
	    .text = "",
	    .device_text = device,
	};
}

static void write_coverage(struct af_buf *to, const struct set_sums *s)
{
	const struct af_coverage *c = &s->coverage;

	af_buf_char(to, (char)(c->comparable | c->sees_kernel << 1));
	set_write_text(to, c->why_not);
	set_write_u64s(to, (uint64_t[]){c->period_ns, c->tree_ns}, 2);
	af_buf_add(to, &c->stolen, sizeof c->stolen);
	write_row(to, &c->total);
	write_rows(to, &s->processes);
	write_rows(to, &s->threads);
	af_buf_leb128(to, c->nr_launches);
	for (uint32_t i = 0; i < c->nr_launches; i++)
		write_launches(to, &c->launches[i]);
}

static void read_coverage(struct af_cursor *from, struct af_merge *m, struct set_sums *s)
{
	struct af_coverage *c = &s->coverage;
	unsigned bits = (unsigned)af_cursor_uint(from, 1);
	uint64_t all[2];

	c->comparable = bits & 1;
	c->sees_kernel = bits & 2;
	c->why_not = set_read_text(from, m);
	set_read_u64s(from, all, 2);
	c->period_ns = all[0];
	c->tree_ns = all[1];
	uint64_t stolen = af_cursor_uint(from, sizeof c->stolen);
	memcpy(&c->stolen, &stolen, sizeof stolen);
	read_row(from, m, &c->total);
	read_rows(from, m, &s->processes);
	read_rows(from, m, &s->threads);
	uint64_t nr = af_cursor_uleb(from);
	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		AF_GROW(c->launches, c->nr_launches, s->cap_launches);
		read_launches(from, m, &c->launches[c->nr_launches++]);
	}
}

enum { SAMPLED_NUMBERS = 14 };

static void sampled_numbers(struct af_sampled_device *d, uint64_t *all[SAMPLED_NUMBERS])
{
	uint64_t *const of[SAMPLED_NUMBERS] = {
	    &d->windows,      &d->full_windows, &d->serialized_windows,
	    &d->samples,      &d->exact,        &d->apportioned,
	    &d->unattributed, &d->edge,         &d->dropped,
	    &d->other,        &d->ran_ns,       &d->bare_ns,
	    &d->by_launches,  &d->shared};

	memcpy(all, of, sizeof of);
}

void set_sums_write(const struct af_merge *m, struct af_buf *to)
{
	const struct set_sums *s = &m->sums;
	struct af_sampled_device sampled = s->counters.sampled;
	uint64_t *all[SAMPLED_NUMBERS];

	set_write_u64s(to, s->counters.sums, SET_COUNTERS);
	set_write_u64s(to, s->counters.lost, AF_LOST_END);
	sampled_numbers(&sampled, all);
	for (int i = 0; i < SAMPLED_NUMBERS; i++)
		af_buf_leb128(to, *all[i]);
	set_write_u64s(to, (uint64_t[]){s->counters.longest_ns, s->counters.shortest_ns}, 2);
	const struct af_stack_losses *stacks = &s->counters.stacks;
	set_write_u64s(to,
	               (uint64_t[]){stacks->sampled_ns, stacks->cut_ns, stacks->middle_ns,
	                            stacks->pointers_ns, stacks->none_ns},
	               5);
	af_buf_char(to, (char)s->counters.any);
	write_coverage(to, s);
	write_covered(to, &s->worst);
	set_write_number(to, m, s->worst_who);
	af_buf_leb128(to, m->own_python.nr);
	for (uint32_t i = 1; i < m->own_python.nr; i++)
		set_write_text(to, af_strtab_get(&m->own_python, i));
}

void set_sums_read(struct af_merge *m, struct af_cursor *from)
{
	struct set_sums *s = &m->sums;
	uint64_t *all[SAMPLED_NUMBERS], spans[2];

	set_read_u64s(from, s->counters.sums, SET_COUNTERS);
	set_read_u64s(from, s->counters.lost, AF_LOST_END);
	sampled_numbers(&s->counters.sampled, all);
	for (int i = 0; i < SAMPLED_NUMBERS; i++)
		*all[i] = af_cursor_uleb(from);
	set_read_u64s(from, spans, 2);
	s->counters.longest_ns = spans[0];
	s->counters.shortest_ns = spans[1];
	uint64_t stacks[5] = {0};
	set_read_u64s(from, stacks, 5);
	s->counters.stacks = (struct af_stack_losses){.sampled_ns = stacks[0],
	                                              .cut_ns = stacks[1],
	                                              .middle_ns = stacks[2],
	                                              .pointers_ns = stacks[3],
	                                              .none_ns = stacks[4]};
	s->counters.any = af_cursor_uint(from, 1) != 0;
	read_coverage(from, m, s);
	s->worst = read_covered(from);
	s->worst_who = set_read_number(from, m);
	uint64_t nr = af_cursor_uleb(from);
	for (uint64_t i = 1; i < nr && !from->bad; i++) {
		const char *file = set_read_text(from, m);
		if (file)
			af_strtab_id_z(&m->own_python, file);
	}
}
