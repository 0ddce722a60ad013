/*
 * Shared by the parts of the unwinder: the memory of one unwinder, packed rules, and the proof that
 * stack memory can be read. Private to rules.c, walk.c, replay.c and their tests.
 *
 * A signal handler of the same thread may walk at any instruction of a walk or a record. So
 * everything that both touch is single words: a rule with its program counter, a readable range.
 */
#ifndef AF_INJECT_WALK_UNWINDER_H
#define AF_INJECT_WALK_UNWINDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/arch/arch.h"
#include "inject/walk/unwind.h"
#include "unwind/cfi.h"

enum {
	UNWIND_RULES_BITS = 13,
	UNWIND_RULES = 1 << UNWIND_RULES_BITS, /* 64 KiB */
	UNWIND_RANGES = 4,
	UNWIND_WAYS = 8,
	UNWIND_SETS = 512,               /* 32 KiB */
	UNWIND_ARENA = 1024 << 10,       /* touched as it fills: 0.5 to 2 KiB a stack */
	UNWIND_SLOTS = 2 * AF_STACK_MAX, /* read by one stack that can be replayed */
	UNWIND_FP_LIMIT = 8 << 20,       /* bytes from sp that a frame pointer may point to */
};

/*
 * A packed rule, in 26 bits: kind 4 | CFA offset in words, signed 15 | frame pointer 7. Frame
 * pointer: 0 unchanged, n at cfa - n words; the two highest values are the cases below. A rule that
 * does not fit is not cached.
 *
 * Where a call leaves the return address in a register: kind 4 | CFA offset in 16 bytes (to which
 * these machines align stacks), signed 10 | return address 2 | frame pointer 10. The frame pointer
 * is as before; enum unwind_ra has the return address.
 */
enum {
	UNWIND_RULE_BITS = 26,
	UNWIND_KIND_SHIFT = 22,
	UNWIND_FP_BITS = AF_ARCH_LINKS ? 10 : 7,
	UNWIND_FP_AT_FP = (1 << UNWIND_FP_BITS) - 1, /* the word at fp */
	UNWIND_FP_LOST = UNWIND_FP_AT_FP - 1,
	UNWIND_RA_BITS = AF_ARCH_LINKS ? 2 : 0,
	UNWIND_RA_SHIFT = UNWIND_FP_BITS,
	UNWIND_CFA_SHIFT = UNWIND_FP_BITS + UNWIND_RA_BITS,
	UNWIND_CFA_BITS = UNWIND_KIND_SHIFT - UNWIND_CFA_SHIFT,
	UNWIND_CFA_UNIT = AF_ARCH_LINKS ? 16 : AF_ARCH_WORD, /* bytes */
};

enum unwind_ra {
	UNWIND_RA_LINKED,   /* in its register */
	UNWIND_RA_ABOVE_FP, /* in the word after the saved frame pointer */
	UNWIND_RA_FIRST,    /* at cfa + AF_ARCH_RA_OFFSET */
	UNWIND_RA_ALONE,    /* where the frame pointer would be, which is unchanged */
};

struct af_unwinder {
	/* kept by walk.c and rules.c */
	uint32_t epoch; /* of the modules that the rules are of */
	uint32_t age;   /* counts uses of rules that no table gave: they may grow old */
	_Atomic uint64_t ranges[UNWIND_RANGES]; /* first page << 24 | pages; proven readable */
	_Atomic uint32_t next_range;

	/* kept by replay.c */
	uint32_t replay_epoch;
	uint32_t used;    /* bytes of the arena */
	uint32_t pending; /* bytes of the record behind them that has no id yet, 0 for none */
	uint32_t next_way;

	_Alignas(64) _Atomic uint64_t rules[UNWIND_RULES];    /* tag 35 | epoch 3 | rule 26 */
	_Alignas(64) uint64_t ways[UNWIND_SETS][UNWIND_WAYS]; /* tag 32 | arena offset 32, from 1 */
	_Alignas(64) uint8_t arena[UNWIND_ARENA];
};

/* Pack @rule; 0 when it does not fit. */
uint32_t af_rule_pack(const struct af_rule *rule);

/* The return address of a rule whose @fp words are unpacked, by its bits. */
static inline void unwind_rule_ra(uint32_t packed, uint32_t fp, struct af_rule *rule)
{
	switch (packed >> UNWIND_RA_SHIFT & ((1u << UNWIND_RA_BITS) - 1)) {
	case UNWIND_RA_LINKED:
		rule->ra_in_register = true;
		return;
	case UNWIND_RA_ABOVE_FP:
		rule->ra_offset = rule->fp_offset + AF_ARCH_WORD;
		return;
	case UNWIND_RA_ALONE:
		rule->fp = AF_SAVED_SAME;
		rule->fp_offset = 0;
		rule->ra_offset = -(int32_t)fp * AF_ARCH_WORD;
		return;
	}
}

/* CFA offsets that do not lead to an address are kept as they are. */
static inline bool unwind_rule_in_words(uint8_t cfa)
{
	return cfa >= AF_CFA_SP && cfa <= AF_CFA_FP_DEREF;
}

static inline void af_rule_unpack(uint32_t packed, struct af_rule *rule)
{
	uint32_t fp = packed & ((1u << UNWIND_FP_BITS) - 1);
	int32_t offset = (int32_t)(packed << (32 - UNWIND_KIND_SHIFT)) >> (32 - UNWIND_CFA_BITS);

	rule->cfa = (uint8_t)(packed >> UNWIND_KIND_SHIFT & 15);
	rule->cfa_offset = unwind_rule_in_words(rule->cfa) ? offset * UNWIND_CFA_UNIT : offset;
	rule->ra_offset = AF_ARCH_RA_OFFSET;
	rule->exact = false;
	rule->ra_in_register = false;
	rule->fp_offset = 0;
	rule->base = AF_SAVED_LOST; /* not kept: see af_unwind_base() */
	rule->base_offset = 0;
	if (fp == 0) {
		rule->fp = AF_SAVED_SAME;
	} else if (fp < UNWIND_FP_LOST) {
		rule->fp = AF_SAVED_CFA;
		rule->fp_offset = -(int32_t)fp * AF_ARCH_WORD;
	} else {
		rule->fp = fp == UNWIND_FP_AT_FP ? AF_SAVED_FP : AF_SAVED_LOST;
	}
	if (AF_ARCH_LINKS)
		unwind_rule_ra(packed, fp, rule);
}

/*
 * The rule at @pc (a return address less one unless @leaf), computed and put into the cache. The
 * slow half of unwind_rule() in walk.c.
 */
void af_rule_compute(struct af_unwinder *u, uint64_t pc, bool leaf, struct af_rule *rule);

/* Bring the cache to the current module epoch. Returns the epoch's bits in the cache. */
uint32_t af_rules_refresh(struct af_unwinder *u);

/*
 * The base register in frame @nr of the walk from @regs, where a rule needs it: walks once more, by
 * the rules of the tables. False: it is not known there.
 */
bool af_unwind_base(struct af_unwinder *u, const struct af_regs *regs, unsigned nr, uint64_t *base);

/*
 * Do frame pointers from @fp on lead, through code without a file, to a return address that follows
 * a call or lies in code with a table? @pc is in such code, and its frame ends at @sp.
 */
bool af_unwind_chain(struct af_unwinder *u, uint64_t pc, uint64_t sp, uint64_t fp);

/*
 * Prove that the words at @addr can be read. On success *@start and *@size describe the proven
 * range: a word at @a may be read when a - *start < *size.
 */
bool af_readable_prove(struct af_unwinder *u, uint64_t addr, uint64_t *start, uint64_t *size);

/* The proven range that holds [@first, @last], without asking the kernel. */
bool af_readable_known(const struct af_unwinder *u, uint64_t first, uint64_t last);

/*
 * The hash of a program counter: its high UNWIND_RULES_BITS bits are the index, the 35 below tell
 * all addresses of that index apart (multiplication by an odd number permutes the 2^48 addresses).
 */
/*
 * No two addresses of 48 bits have the same hash: index and key together are the address, permuted.
 */
static inline uint64_t unwind_rule_hash(uint64_t pc)
{
	return pc * 0x9e3779b97f4a7c15ull & ((1ull << 48) - 1);
}

enum {
	UNWIND_TAG_BITS = 48 - UNWIND_RULES_BITS,
};

static inline uint32_t unwind_rule_index(uint64_t hash)
{
	return (uint32_t)(hash >> UNWIND_TAG_BITS);
}

static inline uint64_t unwind_rule_key(uint64_t hash, uint32_t epoch_bits)
{
	return (hash & ((1ull << UNWIND_TAG_BITS) - 1)) << 3 | epoch_bits;
}

#endif
