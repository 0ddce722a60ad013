/* Finds what an instruction waits for, by a search backwards along the flow of control. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "sym/device/sass.h"

enum {
	SLICE_STEPS = 1 << 14, /* instructions that one search looks at */
	SLICE_NEAR = 40,       /* cycles after which all is ready that sets no barrier */
	SLICE_FOUND = 256,

	OPCODE_DEPBAR = 0x91a, /* low 12 bits */
	OPCODE_BRA = 0x147,    /* low 9 bits, as of all that follow */
	OPCODE_LDGSTS = 0x1ae,
	OPCODE_LDGDEPBAR = 0x1af,
	OPCODE_WARPGROUP = 0x1c5,
	OPCODE_GROUP_MATRIX = 0x1f0, /* to 0x1f3 */
	OPCODE_LOW = 0x1ff,
};

struct slice_jump {
	uint32_t to, from; /* instructions */
};

struct slice {
	uint32_t sm;
	const uint8_t *code;
	uint32_t nr; /* instructions */
	struct slice_jump *jumps;
	uint32_t nr_jumps;
	uint32_t *work; /* instructions to look at, and how many cycles each is before the user */
	uint32_t *cycles;
	uint64_t *seen; /* a bit for each instruction */
	struct af_sass user;
	uint32_t found[SLICE_FOUND], nr_found, nr_first;
};

/* The target of the search. */
enum slice_aim { AIM_BARRIER, AIM_MATRIX, AIM_REGISTERS };

struct slice_search {
	enum slice_aim aim;
	unsigned barrier;
	struct af_sass_set wanted;
	bool copies; /* LDGDEPBAR was seen: it stands for the LDGSTS before it */
};

static bool slice_decode(const struct slice *s, uint32_t i, struct af_sass *insn)
{
	return af_sass_decode(s->sm, s->code + (size_t)i * AF_SASS_BYTES, insn);
}

static int slice_order(const void *a, const void *b)
{
	const struct slice_jump *x = a, *y = b;

	return x->to != y->to ? (x->to > y->to) - (x->to < y->to)
	                      : (x->from > y->from) - (x->from < y->from);
}

static void slice_find_jumps(struct slice *s)
{
	uint32_t cap = 0;
	struct af_sass insn;

	for (uint32_t i = 0; i < s->nr; i++) {
		const uint8_t *b = s->code + (size_t)i * AF_SASS_BYTES;

		if (((b[0] | b[1] << 8) & OPCODE_LOW) != OPCODE_BRA || !slice_decode(s, i, &insn))
			continue;
		int64_t to = (int64_t)i * AF_SASS_BYTES + insn.target;
		if (to < 0 || to % AF_SASS_BYTES || to / AF_SASS_BYTES >= s->nr)
			continue;
		AF_GROW(s->jumps, s->nr_jumps, cap);
		s->jumps[s->nr_jumps++] = (struct slice_jump){(uint32_t)(to / AF_SASS_BYTES), i};
	}
	AF_SORT(s->jumps, s->nr_jumps, slice_order);
}

static bool slice_meet(const struct af_sass_set *a, const struct af_sass_set *b)
{
	uint64_t both = (uint64_t)(a->p & b->p) | (uint64_t)(a->up & b->up);

	for (int i = 0; i < 4; i++)
		both |= (a->r[i] & b->r[i]) | (a->u[i] & b->u[i]);
	return both;
}

/* Keep @i: among those that are listed first when @first is set. */
static void slice_keep(struct slice *s, uint32_t i, bool first)
{
	for (uint32_t k = 0; k < s->nr_found; k++)
		if (s->found[k] == i)
			return;
	if (s->nr_found == SLICE_FOUND)
		return;
	uint32_t at = first ? s->nr_first++ : s->nr_found;
	memmove(s->found + at + 1, s->found + at, (s->nr_found - at) * sizeof *s->found);
	s->found[at] = i;
	s->nr_found++;
}

/*
 * The barriers that the instruction waits for. DEPBAR names more: a mask in bits 32 to 37 and, if
 * bit 47 is set, one barrier in bits 44 to 46, which may still have as many requests under way as
 * bits 38 to 43 say. @all: only barriers that are clear afterwards.
 */
static unsigned slice_waits(const struct slice *s, uint32_t i, const struct af_sass *insn, bool all)
{
	const uint8_t *b = s->code + (size_t)i * AF_SASS_BYTES;
	unsigned mask = insn->wait_mask, left = (unsigned)(b[4] >> 6 | (b[5] & 0xf) << 2);

	if (insn->opcode != OPCODE_DEPBAR)
		return mask;
	mask |= b[4] & 0x3f;
	if (b[5] >> 7 && (!all || !left))
		mask |= 1U << (b[5] >> 4 & 7);
	return mask;
}

/* Look at instruction @i: true when the search continues before it. */
static bool slice_barrier(struct slice *s, struct slice_search *q, uint32_t i,
                          const struct af_sass *insn)
{
	unsigned low = insn->opcode & OPCODE_LOW;

	if (q->copies && low == OPCODE_LDGSTS)
		slice_keep(s, i, true);
	if (insn->write_barrier == q->barrier) {
		q->copies |= low == OPCODE_LDGDEPBAR;
		slice_keep(s, i,
		           slice_meet(&insn->writes, &s->user.reads) ||
		               slice_meet(&insn->writes, &s->user.writes));
	} else if (insn->read_barrier == q->barrier) {
		slice_keep(s, i, slice_meet(&insn->reads, &s->user.writes));
	}
	return !(slice_waits(s, i, insn, true) >> q->barrier & 1);
}

static bool slice_matrix(struct slice *s, uint32_t i, const struct af_sass *insn)
{
	unsigned low = insn->opcode & OPCODE_LOW;

	if (low >= OPCODE_GROUP_MATRIX && low < OPCODE_GROUP_MATRIX + 4)
		slice_keep(s, i, true);
	return low != OPCODE_WARPGROUP;
}

static bool slice_registers(struct slice *s, const struct slice_search *q, uint32_t i,
                            const struct af_sass *insn)
{
	if (!slice_meet(&insn->writes, &q->wanted))
		return true;
	/* One that sets a barrier is found by its barrier, in this wait or an earlier one. */
	if (insn->write_barrier == AF_SASS_NO_BARRIER)
		slice_keep(s, i, false);
	return insn->guard != AF_SASS_ALWAYS;
}

static bool slice_step(struct slice *s, struct slice_search *q, uint32_t i)
{
	struct af_sass insn;

	slice_decode(s, i, &insn);
	switch (q->aim) {
	case AIM_BARRIER:
		return slice_barrier(s, q, i, &insn);
	case AIM_MATRIX:
		return slice_matrix(s, i, &insn);
	case AIM_REGISTERS:
		return slice_registers(s, q, i, &insn);
	}
	return false;
}

static uint32_t slice_add(struct slice *s, uint32_t i, uint32_t cycles, uint32_t nr_work)
{
	struct af_sass insn;

	if (nr_work == SLICE_STEPS)
		return nr_work;
	slice_decode(s, i, &insn);
	s->work[nr_work] = i;
	s->cycles[nr_work] = cycles + (insn.stall_cycles ? insn.stall_cycles : 1U);
	return nr_work + 1;
}

/* Put the instructions from which control may come to @i on the list of work. */
static uint32_t slice_before(struct slice *s, uint32_t i, uint32_t cycles, uint32_t nr_work)
{
	struct af_sass insn;
	uint32_t low = 0, high = s->nr_jumps;

	if (i && (slice_decode(s, i - 1, &insn), !insn.ends))
		nr_work = slice_add(s, i - 1, cycles, nr_work);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->jumps[middle].to < i)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->nr_jumps && s->jumps[low].to == i; low++)
		nr_work = slice_add(s, s->jumps[low].from, cycles, nr_work);
	return nr_work;
}

static void slice_search(struct slice *s, struct slice_search *q, uint32_t from)
{
	uint32_t nr = slice_before(s, from, 0, 0);

	memset(s->seen, 0, ((size_t)s->nr + 63) / 64 * sizeof *s->seen);
	for (uint32_t at = 0; at < nr; at++) {
		uint32_t i = s->work[at];

		if (s->seen[i / 64] >> (i % 64) & 1)
			continue;
		s->seen[i / 64] |= UINT64_C(1) << (i % 64);
		if (q->aim == AIM_REGISTERS && s->cycles[at] > SLICE_NEAR)
			continue;
		if (slice_step(s, q, i))
			nr = slice_before(s, i, s->cycles[at], nr);
	}
}

/* Each register has its own search: the writer of one does not hide the writer of another. */
static void slice_search_registers(struct slice *s, uint32_t from)
{
	const struct af_sass_set *reads = &s->user.reads;

	for (unsigned i = 0; i < 528; i++) {
		struct slice_search q = {.aim = AIM_REGISTERS};
		uint64_t bit = UINT64_C(1) << (i % 64);

		if (i < 256)
			q.wanted.r[i / 64] = reads->r[i / 64] & bit;
		else if (i < 512)
			q.wanted.u[i / 64 - 4] = reads->u[i / 64 - 4] & bit;
		else if (i < 520)
			q.wanted.p = (uint8_t)(reads->p & 1 << (i - 512));
		else
			q.wanted.up = (uint8_t)(reads->up & 1 << (i - 520));
		if (slice_meet(&q.wanted, reads))
			slice_search(s, &q, from);
	}
}

uint32_t af_sass_producers(uint32_t sm, const uint8_t *code, size_t size, uint32_t offset,
                           uint32_t *out, uint32_t most)
{
	struct slice s = {.sm = sm, .code = code};
	uint32_t from = offset / AF_SASS_BYTES;

	if (size / AF_SASS_BYTES > UINT32_MAX / AF_SASS_BYTES || from >= size / AF_SASS_BYTES ||
	    offset % AF_SASS_BYTES)
		return 0;
	s.nr = (uint32_t)(size / AF_SASS_BYTES);
	s.work = af_xcalloc(SLICE_STEPS, sizeof *s.work);
	s.cycles = af_xcalloc(SLICE_STEPS, sizeof *s.cycles);
	s.seen = af_xcalloc(((size_t)s.nr + 63) / 64, sizeof *s.seen);
	slice_find_jumps(&s);
	slice_decode(&s, from, &s.user);
	unsigned waits = slice_waits(&s, from, &s.user, false);
	for (unsigned b = 0; b < AF_SASS_BARRIERS; b++)
		if (waits >> b & 1)
			slice_search(&s, &(struct slice_search){.barrier = b}, from);
	if ((s.user.opcode & OPCODE_LOW) == OPCODE_WARPGROUP)
		slice_search(&s, &(struct slice_search){.aim = AIM_MATRIX}, from);
	slice_search_registers(&s, from);
	uint32_t nr = s.nr_found < most ? s.nr_found : most;
	for (uint32_t i = 0; i < nr; i++)
		out[i] = s.found[i] * AF_SASS_BYTES;
	free(s.jumps);
	free(s.work);
	free(s.cycles);
	free(s.seen);
	return nr;
}
