/* The cache of unwind rules by program counter, and their packed form (unwinder.h). */
#include "inject/walk/unwinder.h"

#include <errno.h>
#include <string.h>

#include "inject/walk/guard.h"
#include "inject/walk/modules.h"
#include "inject/walk/registered.h"

enum {
	CFA_MAX = (1 << (UNWIND_CFA_BITS - 1)) - 1,
	FP_MAX = UNWIND_FP_LOST - 1,
};

static int pack_fp(const struct af_rule *rule)
{
	int words = -rule->fp_offset / AF_ARCH_WORD;

	switch (rule->fp) {
	case AF_SAVED_SAME:
		return 0;
	case AF_SAVED_LOST:
		return UNWIND_FP_LOST;
	case AF_SAVED_FP:
		return rule->fp_offset == 0 ? UNWIND_FP_AT_FP : -1;
	case AF_SAVED_CFA:
		return words > 0 && words <= FP_MAX && rule->fp_offset % AF_ARCH_WORD == 0 ? words
		                                                                           : -1;
	}
	return -1;
}

/* The return address and the frame pointer in their bits, or -1. */
static int pack_saved(const struct af_rule *rule)
{
	int fp = pack_fp(rule), alone = -rule->ra_offset / AF_ARCH_WORD;

	if (!AF_ARCH_LINKS || fp < 0)
		return rule->ra_offset == AF_ARCH_RA_OFFSET ? fp : -1;
	if (rule->ra_in_register)
		return fp | UNWIND_RA_LINKED << UNWIND_RA_SHIFT;
	if (rule->fp == AF_SAVED_CFA && rule->ra_offset == rule->fp_offset + AF_ARCH_WORD)
		return fp | UNWIND_RA_ABOVE_FP << UNWIND_RA_SHIFT;
	if (rule->ra_offset == AF_ARCH_RA_OFFSET)
		return fp | UNWIND_RA_FIRST << UNWIND_RA_SHIFT;
	if (rule->fp == AF_SAVED_SAME && alone > 0 && alone <= FP_MAX &&
	    rule->ra_offset % AF_ARCH_WORD == 0)
		return alone | UNWIND_RA_ALONE << UNWIND_RA_SHIFT;
	return -1;
}

uint32_t af_rule_pack(const struct af_rule *rule)
{
	bool frame = unwind_rule_in_words(rule->cfa) || rule->cfa == AF_CFA_PLT;
	int32_t offset = rule->cfa_offset;
	int saved = frame ? pack_saved(rule) : 0;

	if (rule->cfa == AF_CFA_BASE || rule->cfa == AF_CFA_DRAP)
		return 0;
	if (saved < 0 || rule->exact)
		return 0;
	if (unwind_rule_in_words(rule->cfa)) {
		if (offset % UNWIND_CFA_UNIT)
			return 0;
		offset /= UNWIND_CFA_UNIT;
	}
	if (offset > CFA_MAX || offset < -CFA_MAX)
		return 0;
	uint32_t field = (uint32_t)offset & ((1u << UNWIND_CFA_BITS) - 1);
	return (uint32_t)rule->cfa << UNWIND_KIND_SHIFT | field << UNWIND_CFA_SHIFT |
	       (uint32_t)saved;
}

/* 1 to 7, so that a zeroed cache holds no rule. */
static uint32_t rules_epoch_bits(uint32_t epoch)
{
	return epoch % 7 + 1;
}

uint32_t af_rules_refresh(struct af_unwinder *u)
{
	uint32_t epoch = af_modules_epoch();

	if (__builtin_expect(u->epoch != epoch, 0)) {
		/* A fresh cache is empty and not even there. */
		for (unsigned i = 0; u->epoch && i < UNWIND_RULES; i++)
			atomic_store_explicit(&u->rules[i], 0, memory_order_relaxed);
		u->epoch = epoch;
	}
	return rules_epoch_bits(epoch);
}

/* The bytes around @pc; those before it may be missing (zeros), those from it on may not. */
static bool rules_code(const struct af_module *m, uint64_t pc, uint8_t code[AF_ARCH_CODE])
{
	uint64_t from = pc - AF_ARCH_CODE_BEFORE, left = 4096 - pc % 4096;

	if (m && m->readable && from >= m->start && from + AF_ARCH_CODE <= m->end) {
		memcpy(code, (const void *)from, AF_ARCH_CODE);
		return true;
	}
	if (!af_probed_read(code, from, AF_ARCH_CODE))
		return true;
	/* At the first or last bytes of a mapping. */
	memset(code, 0, AF_ARCH_CODE);
	if (left > AF_ARCH_CODE_AFTER)
		left = AF_ARCH_CODE_AFTER;
	if (af_probed_read(code + AF_ARCH_CODE_BEFORE, pc, left))
		return false;
	if (pc % 4096 >= AF_ARCH_CODE_BEFORE)
		af_probed_read(code, from, AF_ARCH_CODE_BEFORE);
	return true;
}

/* No table: what do the instructions say? @at is where the frame is, or will be, executing. */
static void rule_of_code(const struct af_module *m, uint64_t at, bool leaf, const uint8_t *code,
                         struct af_rule *rule)
{
	*rule = (struct af_rule){.cfa = AF_CFA_NONE, .ra_offset = AF_ARCH_RA_OFFSET};
	if (!code) {
		/* A call through a bad pointer has left its return address and nothing else. */
		rule->cfa = leaf ? AF_CFA_SP : AF_CFA_NOT_CODE;
		rule->cfa_offset = leaf ? AF_ARCH_CALL_PUSHES : 0;
		rule->ra_in_register = AF_ARCH_LINKS;
		return;
	}
	if (!af_arch_code_rule(code, leaf, rule))
		rule->cfa_offset = af_arch_after_call(code);
}

static int rule_of_table(const struct af_module *m, uint64_t pc, struct af_rule *rule)
{
	uint32_t insns = AF_CFI_INSNS_MAX;
	struct af_cfi cfi = {.machine = af_machine(AF_ARCH_MACHINE)};

	int rc;

	/* LuaJIT registers rules that lead nowhere, for its handler of exceptions alone. */
	if (!m)
		return af_registered_rule(pc, rule) ? -ENOENT : 0;
	if (!m->eh_frame_hdr)
		return -ENOENT;
	cfi.image.bytes = (const uint8_t *)m->eh_start;
	cfi.image.address = m->eh_start;
	cfi.image.len = m->eh_end - m->eh_start;
	cfi.hdr = (uint64_t)m->eh_frame_hdr - m->eh_start;
	rc = af_cfi_rule(&cfi, pc - m->moved, &insns, rule);
	if (rc == -ENOTSUP) {
		*rule = (struct af_rule){.cfa = AF_CFA_UNSUPPORTED};
		rc = 0;
	}
	return rc;
}

static void rules_put(struct af_unwinder *u, uint64_t pc, uint32_t bits, const struct af_rule *rule)
{
	uint32_t packed = af_rule_pack(rule);
	uint64_t hash = unwind_rule_hash(pc);

	if (packed && pc >> 48 == 0)
		atomic_store_explicit(&u->rules[unwind_rule_index(hash)],
		                      unwind_rule_key(hash, bits) << UNWIND_RULE_BITS | packed,
		                      memory_order_relaxed);
}

void af_rule_compute(struct af_unwinder *u, uint64_t pc, bool leaf, struct af_rule *rule)
{
	/* Before looking anything up: a rule of unloaded code must not pass for a newer one. */
	uint32_t bits = rules_epoch_bits(af_modules_epoch());
	const struct af_module *m = af_module_find(pc);
	uint64_t at = leaf ? pc : pc + 1;
	uint8_t code[AF_ARCH_CODE];
	bool readable = rules_code(m, at, code);

	if (!(readable && af_arch_special_rule(code, leaf, rule)) && rule_of_table(m, pc, rule)) {
		rule_of_code(m, at, leaf, readable ? code : NULL, rule);
		/* At a leaf the instructions tell about this very one, not about the call here. */
		if (leaf)
			return;
	}
	rules_put(u, pc, bits, rule);
}

/* Ranges */

static uint64_t range_pack(uint64_t first_page, uint64_t nr_pages)
{
	return first_page << 24 | nr_pages;
}

static bool range_holds(uint64_t range, uint64_t page)
{
	return page - (range >> 24) < (range & 0xffffff);
}

static bool readable_find(const struct af_unwinder *u, uint64_t page, uint64_t *range)
{
	for (unsigned i = 0; i < UNWIND_RANGES; i++) {
		*range = atomic_load_explicit(&u->ranges[i], memory_order_relaxed);
		if (range_holds(*range, page))
			return true;
	}
	return false;
}

/* Ask for the pages between a range and @page; they are few, or it is another stack. */
static uint64_t range_grow(uint64_t range, uint64_t page)
{
	enum { NEAR = 64 };
	uint64_t first = range >> 24, nr = range & 0xffffff;

	if (!nr)
		return 0;
	if (page >= first + nr && page - (first + nr) < NEAR) {
		while (page >= first + nr) {
			if (!af_guard_probe((first + nr) << 12))
				return 0;
			nr++;
		}
	} else if (page < first && first - page <= NEAR) {
		while (page < first) {
			if (!af_guard_probe((first - 1) << 12))
				return 0;
			first--;
			nr++;
		}
	} else {
		return 0;
	}
	return nr < 1 << 24 ? range_pack(first, nr) : 0;
}

static bool readable_extend(struct af_unwinder *u, uint64_t page, uint64_t *range)
{
	if (page >> 36 || !af_guard_probe(page << 12))
		return false;
	for (unsigned i = 0; i < UNWIND_RANGES; i++) {
		*range =
		    range_grow(atomic_load_explicit(&u->ranges[i], memory_order_relaxed), page);
		if (*range) {
			atomic_store_explicit(&u->ranges[i], *range, memory_order_relaxed);
			return true;
		}
	}
	unsigned i = atomic_fetch_add(&u->next_range, 1) % UNWIND_RANGES;
	*range = range_pack(page, 1);
	atomic_store_explicit(&u->ranges[i], *range, memory_order_relaxed);
	return true;
}

bool af_readable_prove(struct af_unwinder *u, uint64_t addr, uint64_t *start, uint64_t *size)
{
	uint64_t last = addr + AF_ARCH_WORD - 1, range;

	if (last < addr)
		return false;
	if (!readable_find(u, addr >> 12, &range) && !readable_extend(u, addr >> 12, &range))
		return false;
	/* A word that crosses into the next page needs that one too. */
	if (!range_holds(range, last >> 12)) {
		if (!readable_extend(u, last >> 12, &range) || !range_holds(range, addr >> 12))
			return false;
	}
	*start = range >> 24 << 12;
	*size = ((range & 0xffffff) << 12) - (AF_ARCH_WORD - 1);
	return true;
}

bool af_readable_known(const struct af_unwinder *u, uint64_t first, uint64_t last)
{
	uint64_t range;

	return readable_find(u, first >> 12, &range) && range_holds(range, last >> 12);
}
