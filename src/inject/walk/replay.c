/*
 * Remembers walked stacks, and recognises one again when all stack slots that the walk read are
 * unchanged.
 */
#include <string.h>

#include "inject/walk/modules.h"
#include "inject/walk/unwind.h"
#include "inject/walk/unwinder.h"
#include "inject/walk/walk.h"

enum {
	REPLAY_CHUNK = 8, /* slots compared before looking whether one differs */
};

/* A stack that was walked: its key, then @nr values, then @nr slots in words from sp. */
struct replay_record {
	uint64_t pc, sp, fp;
	uint32_t id;
	uint16_t nr; /* a multiple of REPLAY_CHUNK; the last slot is repeated */
	uint16_t first_word, last_word;
	bool uses_fp;
	uint64_t values[];
};

static uint16_t *record_words(const struct replay_record *r, uint32_t nr)
{
	return (uint16_t *)(r->values + nr);
}

static uint32_t record_size(uint32_t nr)
{
	uint32_t size = sizeof(struct replay_record) + nr * (8 + 2);

	return (size + 7) & ~7u;
}

static uint64_t replay_hash(uint64_t pc, uint64_t sp)
{
	uint64_t h = pc * 0x9e3779b97f4a7c15ull ^ sp * 0xc2b2ae3d27d4eb4full;

	return h ^ h >> 29;
}

static uint64_t *replay_set(struct af_unwinder *u, uint64_t hash)
{
	return u->ways[hash % UNWIND_SETS];
}

/* Are all slots as they were? They lie in memory that is proven readable. */
UNWIND_INLINE bool replay_same(const struct replay_record *r)
{
	const uint16_t *words = record_words(r, r->nr);
	const volatile uint64_t *stack = (const volatile uint64_t *)r->sp;

	for (unsigned i = 0; i < r->nr; i += REPLAY_CHUNK) {
		uint64_t differ = 0;
		for (unsigned k = i; k < i + REPLAY_CHUNK; k++)
			differ |= stack[words[k]] ^ r->values[k];
		if (differ)
			return false;
	}
	return true;
}

UNWIND_WALKER uint32_t af_unwind_replay(struct af_unwinder *u, const struct af_regs *regs)
{
	uint64_t hash = replay_hash(regs->pc, regs->sp);
	const uint64_t *set = replay_set(u, hash);

	if (u->replay_epoch != af_modules_epoch())
		return 0;
	for (unsigned way = 0; way < UNWIND_WAYS; way++) {
		if (set[way] >> 32 != hash >> 32 || !(uint32_t)set[way])
			continue;
		const struct replay_record *r = (void *)(u->arena + (uint32_t)set[way] - 1);
		if (r->pc != regs->pc || r->sp != regs->sp || (r->uses_fp && r->fp != regs->fp) ||
		    !af_readable_known(u, r->sp + r->first_word * 8ull,
		                       r->sp + r->last_word * 8ull + 7))
			continue;
		if (replay_same(r))
			return r->id;
	}
	return 0;
}

static void replay_reset(struct af_unwinder *u)
{
	if (u->used)
		memset(u->ways, 0, sizeof u->ways);
	u->used = 0;
	u->replay_epoch = af_modules_epoch();
}

void af_unwind_forget_stacks(struct af_unwinder *u)
{
	replay_reset(u);
	u->pending = 0;
}

/* Turn the tape into a record at the end of the arena, where its values already are. */
static uint32_t replay_finish(struct replay_record *r, const struct unwind_tape *tape)
{
	uint32_t nr = tape->nr, padded = (nr + REPLAY_CHUNK - 1) / REPLAY_CHUNK * REPLAY_CHUNK;
	uint16_t first_word = UINT16_MAX, last_word = 0;

	if (tape->bad || !nr)
		return 0;
	r->nr = (uint16_t)padded;
	r->uses_fp = tape->uses_fp;
	for (uint32_t i = nr; i < padded; i++)
		r->values[i] = r->values[nr - 1];
	uint16_t *words = record_words(r, padded);
	for (uint32_t i = 0; i < padded; i++) {
		words[i] = tape->words[i < nr ? i : nr - 1];
		if (words[i] < first_word)
			first_word = words[i];
		if (words[i] > last_word)
			last_word = words[i];
	}
	r->first_word = first_word;
	r->last_word = last_word;
	return record_size(padded);
}

UNWIND_WALKER unsigned af_unwind_record(struct af_unwinder *u, const struct af_regs *regs,
                                        uint64_t *pcs, unsigned max, enum af_stop *stop)
{
	uint16_t words[UNWIND_SLOTS];

	if (u->replay_epoch != af_modules_epoch() ||
	    u->used + record_size(UNWIND_SLOTS) > UNWIND_ARENA)
		replay_reset(u);

	struct replay_record *r = (void *)(u->arena + u->used);
	struct unwind_tape tape = {.sp = regs->sp, .values = r->values, .words = words};
	unsigned nr = unwind_frames(u, regs, false, pcs, max, stop, &tape);

	/* Cut short by @max or by memory: not a function of the slots that were read. */
	tape.bad |= *stop == AF_STOP_TOO_DEEP || *stop == AF_STOP_UNREADABLE || regs->sp % 8;
	r->pc = regs->pc;
	r->sp = regs->sp;
	r->fp = regs->fp;
	u->pending = replay_finish(r, &tape);
	return nr;
}

void af_unwind_remember(struct af_unwinder *u, uint32_t id)
{
	struct replay_record *r = (void *)(u->arena + u->used);

	if (!u->pending || !id)
		return;
	uint64_t hash = replay_hash(r->pc, r->sp), *set = replay_set(u, hash);
	unsigned way = 0;
	while (way < UNWIND_WAYS && (uint32_t)set[way])
		way++;
	if (way == UNWIND_WAYS)
		way = u->next_way++ % UNWIND_WAYS;
	r->id = id;
	set[way] = hash >> 32 << 32 | (u->used + 1);
	u->used += u->pending;
	u->pending = 0;
}
