#include "cmd/functions/tails.h"

#ifdef AF_HAVE_CAPSTONE

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cmd/functions/moved.h"

/* A byte of code. */
enum {
	BEGINS = 1,  /* an instruction does */
	TARGET = 2,  /* of a jump of the function */
	FILLS = 4,   /* an instruction that does nothing: nop, int3 */
	BRANCHES = 8 /* calls, jumps, returns */
};

/* A part of the function, by byte. */
struct part {
	uint64_t start, size;
	const uint8_t *code;
	uint64_t left; /* bytes of @code; more than @size */
	uint8_t *is;
};

struct tails {
	struct functions_tails *t;
	const struct af_watch_function *f;
	cs_insn *insn;
	struct part parts[AF_EXIT_PARTS];
	uint32_t nr_parts;
	bool jumps_anywhere; /* some jumps lead to where registers or memory say */
};

static bool insn_at(const struct tails *x, const struct part *p, uint64_t address)
{
	const uint8_t *code = p->code + (address - p->start);
	size_t left = p->left - (address - p->start);

	return cs_disasm_iter(x->t->handle, &code, &left, &address, x->insn);
}

static struct part *part_of(struct tails *x, uint64_t address)
{
	for (uint32_t i = 0; i < x->nr_parts; i++)
		if (address - x->parts[i].start < x->parts[i].size)
			return &x->parts[i];
	return NULL;
}

/* The parts' instructions, then the targets of their jumps. */
static bool parts_read(struct tails *x)
{
	for (uint32_t i = 0; i < AF_EXIT_PARTS && x->f->parts[i].size; i++) {
		struct part *p = &x->parts[x->nr_parts];
		*p = (struct part){x->f->parts[i].start, x->f->parts[i].size};
		p->code = x->t->code->bytes(x->t->code->arg, p->start, &p->left);
		if (!p->code || p->left < p->size)
			return false;
		p->is = af_xcalloc(p->size, 1);
		x->nr_parts++;
		for (uint64_t at = p->start; at < p->start + p->size; at += x->insn->size) {
			if (!insn_at(x, p, at))
				return false;
			p->is[at - p->start] = BEGINS | (functions_fills(x->insn) ? FILLS : 0) |
			                       (functions_branches(x->insn) ? BRANCHES : 0);
		}
	}
	return true;
}

static void targets_mark(struct tails *x)
{
	for (uint32_t i = 0; i < x->nr_parts; i++) {
		const struct part *p = &x->parts[i];
		for (uint64_t k = 0; k < p->size; k++) {
			if (!(p->is[k] & BRANCHES) || !insn_at(x, p, p->start + k))
				continue;
			const cs_x86 *is = &x->insn->detail->x86;
			uint64_t target = is->op_count && is->operands[0].type == X86_OP_IMM
			                      ? (uint64_t)is->operands[0].imm
			                      : 0;
			struct part *to = part_of(x, target);
			if (to)
				to->is[target - to->start] |= TARGET;
		}
	}
	for (uint32_t i = 0; i < x->f->nr_exits; i++)
		x->jumps_anywhere |= x->f->exits[i].how >= AF_EXIT_TO_REGISTER;
}

/* Where what nothing runs ends: instructions behind @end that fill room, and that none jumps to. */
static uint64_t filling_end(struct tails *x, const struct part *p, uint64_t end)
{
	uint64_t at = end - p->start;

	for (; at < p->size; at += x->insn->size)
		if (p->is[at] != (BEGINS | FILLS) || !insn_at(x, p, p->start + at))
			return p->start + at;
	return functions_next(x->t->handle, x->insn, p->code + at, p->left - at, p->start + at);
}

/* The instruction before @start; 0: there is none that may move with those behind it. */
static uint64_t insn_before(const struct tails *x, const struct part *p, uint64_t start)
{
	uint64_t at = start - p->start;

	/* Whatever jumps to @start would land within a jump. */
	if (!at || p->is[at] & TARGET || x->jumps_anywhere)
		return 0;
	while (at && !(p->is[--at] & BEGINS))
		;
	return p->is[at] & BRANCHES ? 0 : p->start + at;
}

/* The instructions from @start to the exit, as they are to be elsewhere. */
static bool code_move(struct tails *x, const struct part *p, struct af_probe *to, uint64_t start,
                      uint64_t exit)
{
	to->address = start;
	for (uint64_t at = start; at <= exit; at += x->insn->size) {
		if (!insn_at(x, p, at))
			return false;
		to->last = to->code_len;
		bool moved = to->how >= AF_EXIT_TO_REGISTER && at == exit
		                 ? functions_copy(to, x->insn)
		                 : functions_move(to, x->insn);
		if (!moved)
			return false;
		to->len = (uint8_t)(at + x->insn->size - start);
	}
	return true;
}

static bool overlaps(const struct tails *x, const struct af_probe *probe)
{
	for (uint32_t i = 0; i < x->t->nr; i++) {
		const struct af_probe *p = &x->t->all[i];
		if (p->dev == probe->dev && p->ino == probe->ino &&
		    p->address < probe->address + probe->len &&
		    probe->address < p->address + p->len)
			return true;
	}
	return false;
}

static bool exit_add(struct tails *x, const struct af_watch_exit *e, uint32_t number)
{
	struct functions_tails *t = x->t;
	struct part *p = part_of(x, e->address);
	struct af_probe *to = &t->all[t->nr];
	uint64_t start = e->address;

	t->why = "it has more exits than are probed";
	if (t->nr == t->most)
		return false;
	t->why = "a jump has no room where it returns";
	if (!p || !insn_at(x, p, e->address))
		return false;
	uint64_t end = e->address + x->insn->size;
	if (e->how != AF_EXIT_IF)
		end = filling_end(x, p, end);
	while (end - start < AF_PROBE_JUMP)
		if (!(start = insn_before(x, p, start)))
			return false;
	*to = (struct af_probe){.dev = t->all[number].dev,
	                        .ino = t->all[number].ino,
	                        .is_exit = true,
	                        .how = e->how,
	                        .condition = e->condition,
	                        .base = e->base,
	                        .index = e->index,
	                        .scale = e->scale,
	                        .function = number,
	                        .exit = e->address,
	                        .add = e->add};
	for (uint32_t i = 0; i < AF_EXIT_PARTS; i++) {
		to->parts[i].start = x->f->parts[i].start;
		to->parts[i].size = x->f->parts[i].size;
	}
	if (!code_move(x, p, to, start, e->address))
		return false;
	to->len = to->len < AF_PROBE_JUMP ? AF_PROBE_JUMP : to->len;
	memcpy(to->head, p->code + (start - p->start), to->len);
	t->why = "it is so short that it ends where it begins";
	if (overlaps(x, to))
		return false;
	t->nr++;
	return true;
}

bool functions_tails_add(struct functions_tails *t, const struct af_watch_function *f,
                         uint32_t number)
{
	struct tails x = {.t = t, .f = f, .insn = cs_malloc(t->handle)};
	bool done = x.insn && parts_read(&x);
	uint32_t had = t->nr;

	t->why = "its instructions are not known";
	if (done)
		targets_mark(&x);
	for (uint32_t i = 0; done && i < f->nr_exits; i++)
		done = exit_add(&x, &f->exits[i], number);
	t->all[number].is_timed = done;
	t->nr = done ? t->nr : had;
	for (uint32_t i = 0; i < x.nr_parts; i++)
		free(x.parts[i].is);
	if (x.insn)
		cs_free(x.insn, 1);
	return done;
}

#endif
