/*
 * Instructions of NVIDIA's GPUs since Volta (sm_70 and later): 128 bits each, whose low 12 say what
 * it is. Reads what a profiler asks of one: its name, its guard, which registers and predicates
 * it reads and writes, and what it waits for: the compiler, not the hardware, keeps track of that,
 * in bits 105 to 125.
 *
 * None of this is documented. Where the table's facts are from is said in sass_opcodes.inc; what it
 * does not have is told as unknown.
 */
#ifndef AF_SYM_DEVICE_SASS_H
#define AF_SYM_DEVICE_SASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	AF_SASS_BYTES = 16,
	AF_SASS_BARRIERS = 6,
	AF_SASS_NO_BARRIER = 7,
	AF_SASS_ALWAYS = 7, /* the predicate PT */
	AF_SASS_TEXT_MAX = 32,
};

/* A bit for each register that can be one: not for RZ, URZ, PT and UPT. */
struct af_sass_set {
	uint64_t r[4], u[4];
	uint8_t p, up;
};

struct af_sass {
	const char *name; /* "LDG"; NULL when not known, and then it has no registers */
	uint16_t opcode;  /* the low 12 bits */
	uint8_t guard;    /* predicate, AF_SASS_ALWAYS when it has none */
	bool guard_negated;
	bool guard_uniform; /* it is UP, not P */
	bool yield;
	uint8_t stall_cycles;                /* until the next instruction of the warp may issue */
	uint8_t write_barrier, read_barrier; /* what it sets, or AF_SASS_NO_BARRIER */
	uint8_t wait_mask;                   /* barriers that must be clear before it issues */
	uint8_t reuse;
	bool ends; /* without a guard nothing follows it: EXIT, RET, BRA, … */
	bool branches;
	int64_t target; /* of a branch, from the instruction's own offset; 0: not known */
	struct af_sass_set reads, writes;
};

/*
 * The instruction in the 16 bytes of code for sm_@sm (90 for sm_90). False when its opcode is not
 * known there; guard and barriers are good all the same. Any thread.
 */
bool af_sass_decode(uint32_t sm, const uint8_t bytes[AF_SASS_BYTES], struct af_sass *out);

/*
 * What the instruction at @offset of the @size bytes at @code waits for: offsets of at most @most
 * instructions. First come those that set a barrier which it waits for, of them first the ones
 * whose registers it uses, then those of which it uses a register that is ready after a fixed time.
 * All that may be on the way there count: through jumps, loops and joins. Calls and indirect jumps
 * are not followed, and after many instructions the search ends. Returns how many. Any thread.
 */
uint32_t af_sass_producers(uint32_t sm, const uint8_t *code, size_t size, uint32_t offset,
                           uint32_t *out, uint32_t most);

/* "@!P0 LDG", or "@!P0 0x1a3?" for what is not known. Returns @text. */
const char *af_sass_text(const struct af_sass *s, char text[AF_SASS_TEXT_MAX]);

#endif
