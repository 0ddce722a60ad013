/*
 * How often each instruction was sampled, for each reason: a table of instructions, each of which
 * has its counts side by side, as reasons of one instruction come together. Memory is slower than
 * all else here, so samples are counted many at a time, each step for all of them.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/attribution/private.h"
#include "base/arena.h"
#include "base/hash.h"

enum {
	COUNTS_PAGE = 16, /* reasons of an instruction that lie side by side */
	COUNTS_SIZES = 5, /* there is room for 1, 2, 4, 8 or 16 of them */
	COUNTS_LINE = 64, /* bytes of memory that come at once */
	COUNTS_FIRST = 1024,
};

/* An instruction, with reasons of one page. */
struct counts_insn {
	uint64_t offset;
	uint64_t of;    /* group plus 1, and the page; 0: the place is free */
	uint64_t order; /* four bits for each reason: which of the counts it has */
	uint32_t first; /* of the counts */
	uint16_t has;   /* one bit for each reason */
};

/* The samples of one reason. In a free stretch, count is the next free one of its size, plus 1. */
struct counts_sum {
	uint64_t count, latency;
};

struct attribution_counts {
	void *memory; /* of insns, which begin with a line */
	struct counts_insn *insns;
	struct counts_sum *sums;
	uint32_t nr_insns, cap_insns, nr_sums, cap_sums, nr;
	uint32_t free[COUNTS_SIZES]; /* stretches of that size, plus 1 */
};

_Static_assert(COUNTS_LINE % sizeof(struct counts_insn) == 0, "none lies in two lines");

static inline uint64_t insn_of(uint32_t group, uint32_t stall)
{
	return (group + 1ull) << 32 | stall / COUNTS_PAGE;
}

/* Where an instruction is, or those before it are. */
static inline uint32_t insn_place(const struct attribution_counts *t, uint64_t of, uint64_t offset)
{
	uint64_t hash = af_mul_fold(offset ^ af_hash_seed[0], af_hash_seed[1]);

	hash = af_mul_fold(hash ^ of ^ af_hash_seed[2], af_hash_seed[3]);
	return (uint32_t)((hash >> 32) * t->cap_insns >> 32);
}

/* Its own place, or a free one; @at is where to begin. */
static inline uint32_t insn_find(const struct attribution_counts *t, uint64_t of, uint64_t offset,
                                 uint32_t at)
{
	while (t->insns[at].of && (t->insns[at].offset != offset || t->insns[at].of != of))
		if (++at == t->cap_insns)
			at = 0;
	return at;
}

static void insns_make(struct attribution_counts *t, uint32_t cap)
{
	uintptr_t line = COUNTS_LINE - 1;

	t->cap_insns = cap;
	t->memory = af_xcalloc(cap * sizeof *t->insns + line, 1);
	t->insns = (struct counts_insn *)(((uintptr_t)t->memory + line) & ~line);
}

/* Room for @more: half as much again where three of four places would be taken. */
static void insns_room(struct attribution_counts *t, uint32_t more)
{
	while (t->nr_insns + more > t->cap_insns / 4 * 3) {
		const struct counts_insn *old = t->insns;
		void *memory = t->memory;
		uint32_t cap = t->cap_insns;
		if (cap > UINT32_MAX / 3 * 2)
			af_memory_is_out();
		insns_make(t, cap ? cap + cap / 2 : COUNTS_FIRST);
		for (uint32_t i = 0; i < cap; i++) {
			if (!old[i].of)
				continue;
			uint32_t at = insn_place(t, old[i].of, old[i].offset);
			t->insns[insn_find(t, old[i].of, old[i].offset, at)] = old[i];
		}
		free(memory);
	}
}

/* A stretch of 2^@size sums, all zero. */
static uint32_t sums_take(struct attribution_counts *t, uint32_t size)
{
	uint32_t first = t->free[size], nr = 1u << size;

	if (first) {
		t->free[size] = (uint32_t)t->sums[--first].count;
	} else {
		first = t->nr_sums;
		AF_ROOM(t->sums, (size_t)first + nr, t->cap_sums);
		t->nr_sums += nr;
	}
	memset(t->sums + first, 0, nr * sizeof *t->sums);
	return first;
}

/* The reason @bit is new for @insn: its sums move to a longer stretch where theirs is full. */
static void insn_add(struct attribution_counts *t, struct counts_insn *insn, uint32_t bit)
{
	uint32_t nr = (uint32_t)__builtin_popcount(insn->has);

	if (!nr) {
		insn->first = sums_take(t, 0);
	} else if (!(nr & (nr - 1))) {
		uint32_t size = (uint32_t)__builtin_ctz(nr), had = insn->first;
		insn->first = sums_take(t, size + 1);
		memcpy(t->sums + insn->first, t->sums + had, nr * sizeof *t->sums);
		t->sums[had].count = t->free[size];
		t->free[size] = had + 1;
	}
	insn->order |= (uint64_t)nr << 4 * bit;
	insn->has |= (uint16_t)(1u << bit);
	t->nr++;
}

static void counts_free(struct attribution_counts *t)
{
	free(t->memory);
	free(t->sums);
	free(t);
}

static struct attribution_counts *counts_of(struct attribution_private *p)
{
	if (!p->counts)
		p->counts = af_xcalloc(1, sizeof *p->counts);
	return p->counts;
}

/* The instructions of @nr samples, in order; those that are new are made. */
static void insns_find(struct attribution_counts *t, const struct attribution_sampled *all,
                       uint32_t nr, uint32_t at[ATTRIBUTION_SAMPLED])
{
	uint64_t of[ATTRIBUTION_SAMPLED];

	for (uint32_t i = 0; i < nr; i++) {
		of[i] = insn_of(all[i].group, all[i].stall);
		if (i && of[i] == of[i - 1] && all[i].offset == all[i - 1].offset) {
			at[i] = at[i - 1];
			continue;
		}
		at[i] = insn_place(t, of[i], all[i].offset);
		__builtin_prefetch(&t->insns[at[i]], 1);
	}
	for (uint32_t i = 0; i < nr; i++) {
		if (i && of[i] == of[i - 1] && all[i].offset == all[i - 1].offset) {
			at[i] = at[i - 1];
			continue;
		}
		at[i] = insn_find(t, of[i], all[i].offset, at[i]);
		struct counts_insn *insn = &t->insns[at[i]];
		if (insn->has) {
			__builtin_prefetch(&t->sums[insn->first], 1);
			continue;
		}
		if (insn->of) /* since an earlier sample of these */
			continue;
		*insn = (struct counts_insn){.offset = all[i].offset, .of = of[i]};
		t->nr_insns++;
	}
}

void attribution_count(struct attribution_private *p, const struct attribution_sampled *all,
                       uint32_t nr)
{
	struct attribution_counts *t = counts_of(p);
	uint32_t at[ATTRIBUTION_SAMPLED];

	insns_room(t, nr);
	insns_find(t, all, nr, at);
	for (uint32_t i = 0; i < nr; i++) {
		struct counts_insn *insn = &t->insns[at[i]];
		uint32_t bit = all[i].stall % COUNTS_PAGE;
		if (!(insn->has >> bit & 1))
			insn_add(t, insn, bit);
		struct counts_sum *sum = &t->sums[insn->first + (insn->order >> 4 * bit & 15)];
		if (all[i].latency)
			sum->latency += all[i].count;
		else
			sum->count += all[i].count;
	}
}

static const struct counts_sum *sum_of(const struct attribution_counts *t,
                                       const struct counts_insn *insn, uint32_t bit)
{
	return &t->sums[insn->first + (insn->order >> 4 * bit & 15)];
}

/* Count what @insn of @was has, in the group @group. */
static void insn_again(struct attribution_private *p, const struct attribution_counts *was,
                       const struct counts_insn *insn, uint32_t group)
{
	struct attribution_sampled all[2 * COUNTS_PAGE];
	uint32_t nr = 0;

	for (uint32_t left = insn->has; left; left &= left - 1) {
		uint32_t bit = (uint32_t)__builtin_ctz(left);
		const struct counts_sum *sum = sum_of(was, insn, bit);
		struct attribution_sampled one = {
		    .offset = insn->offset,
		    .count = sum->count,
		    .group = group,
		    .stall = (uint32_t)insn->of * COUNTS_PAGE + bit,
		};
		all[nr++] = one;
		one.count = sum->latency;
		one.latency = true;
		all[nr] = one;
		nr += sum->latency != 0;
	}
	attribution_count(p, all, nr);
}

void attribution_counts_regroup(struct attribution_private *p, const uint32_t *now)
{
	struct attribution_counts *was = counts_of(p);

	/* As large as it was: in a smaller one, all of them would begin at its start. */
	p->counts = NULL;
	insns_make(counts_of(p), was->cap_insns);
	for (uint32_t i = 0; i < was->cap_insns; i++)
		if (was->insns[i].of)
			insn_again(p, was, &was->insns[i], now[(was->insns[i].of >> 32) - 1]);
	counts_free(was);
}

uint32_t attribution_counts_nr(const struct attribution_private *p)
{
	return p->counts ? p->counts->nr : 0;
}

struct attribution_counted *attribution_counted(struct attribution_private *p, uint32_t *nr)
{
	const struct attribution_counts *t = counts_of(p);
	struct attribution_counted *all = af_xrealloc(NULL, (t->nr + 1ull) * sizeof *all);

	*nr = 0;
	for (uint32_t i = 0; i < t->cap_insns; i++) {
		const struct counts_insn *insn = &t->insns[i];
		for (uint32_t left = insn->has; left; left &= left - 1) {
			uint32_t bit = (uint32_t)__builtin_ctz(left);
			const struct counts_sum *sum = sum_of(t, insn, bit);
			all[(*nr)++] = (struct attribution_counted){
			    .offset = insn->offset,
			    .count = sum->count,
			    .latency = sum->latency,
			    .group = (uint32_t)(insn->of >> 32) - 1,
			    .stall = (uint32_t)insn->of * COUNTS_PAGE + bit,
			};
		}
	}
	attribution_counts_free(p);
	return all;
}

void attribution_counts_free(struct attribution_private *p)
{
	if (p->counts)
		counts_free(p->counts);
	p->counts = NULL;
}
