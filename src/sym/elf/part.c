#include "sym/elf/part.h"

#include <string.h>

/*
 * Where the jump at @at leads that is within @left bytes, for near ones with 32 bits (Intel SDM,
 * volume 2: JMP rel32, Jcc rel32). What only looks like one, in the middle of another instruction,
 * is recognised by where it leads and by being rare.
 */
static bool jump_target(const uint8_t *at, uint32_t left, uint64_t vaddr, uint64_t *target)
{
	uint32_t opcode = at[0] == 0xe9 ? 1 : left > 1 && at[0] == 0x0f && at[1] >> 4 == 8 ? 2 : 0;
	int32_t relative;

	if (!opcode || left < opcode + sizeof relative)
		return false;
	memcpy(&relative, at + opcode, sizeof relative);
	*target = vaddr + opcode + sizeof relative + (uint64_t)(int64_t)relative;
	return true;
}

/*
 * The function that contains @target past its beginning. 0 if @target is a beginning, which is what
 * a call jumps to, or lies in a part.
 */
static uint64_t jumped_into(const struct af_cfi *t, uint64_t target)
{
	uint64_t start;

	if (!af_fde_find(t, target, &start) || start == target || af_fde_part_len(t, start))
		return 0;
	return start;
}

enum { PART_MOST = 1 << 20 }; /* bytes that are looked at */

struct part_scan {
	const struct af_cfi *fdes;
	const uint8_t *code;
	uint64_t start;
	uint32_t len, at;
};

/* The function that the next jump out of the part goes into; 0 when there is none left. */
static uint64_t next_jumped_into(struct part_scan *s)
{
	uint64_t target, into = 0;

	for (; !into && s->at < s->len; s->at++)
		if (jump_target(s->code + s->at, s->len - s->at, s->start + s->at, &target) &&
		    target - s->start >= s->len)
			into = jumped_into(s->fdes, target);
	return into;
}

bool af_part_whole(const struct af_cfi *t, const struct af_elf *elf, uint64_t start,
                   uint64_t *whole)
{
	uint64_t len = af_fde_part_len(t, start);
	struct part_scan s = {.fdes = t, .start = start};
	uint64_t left, into, votes = 0, all = 0, won = 0;

	s.code = len ? af_elf_at(elf, start, &left) : NULL;
	if (!s.code)
		return false;
	if (len > left)
		len = left;
	s.len = len < PART_MOST ? (uint32_t)len : PART_MOST;

	/* Majority vote: if unlike jumps cancel each other, a majority is left over. */
	*whole = 0;
	while ((into = next_jumped_into(&s))) {
		if (!votes)
			*whole = into;
		votes = into == *whole ? votes + 1 : votes - 1;
	}
	s.at = 0;
	while ((into = next_jumped_into(&s))) {
		all++;
		won += into == *whole;
	}
	return won * 2 > all;
}
