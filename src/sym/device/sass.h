/*
 * Instructions of NVIDIA's GPUs since Volta (sm_70 and later): 128 bits each, with the opcode in
 * the low 12. Decodes what a profiler needs: the name, the guard, the registers and predicates that
 * it reads and writes, and what it waits for. The compiler, not the hardware, keeps track of waits,
 * in bits 105 to 125.
 *
 * None of this is documented. sass_opcodes.inc names the sources of the table's facts; an opcode
 * that it lacks is reported as unknown.
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

/* A bit for each register. RZ, URZ, PT and UPT have none. */
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
	bool ends; /* without a guard, no instruction follows it: EXIT, RET, BRA, … */
	bool branches;
	int64_t target; /* of a branch, from the instruction's own offset; 0: not known */
	struct af_sass_set reads, writes;
};

/*
 * Decode the instruction in the 16 bytes of code for sm_@sm (90 for sm_90). False when its opcode
 * is not known there; guard and barriers are valid all the same. Any thread.
 */
bool af_sass_decode(uint32_t sm, const uint8_t bytes[AF_SASS_BYTES], struct af_sass *out);

/*
 * Finds the instructions that the one at @offset of the @size bytes at @code waits for: at most
 * @most offsets. First come those that set a barrier which it waits for, and of them first the ones
 * whose registers it uses; then those of which it uses a register that is ready after a fixed time.
 * All instructions that may run before it count: through jumps, loops and joins. Calls and indirect
 * jumps are not followed, and the search ends after many instructions. Returns the number of
 * offsets. Any thread.
 */
uint32_t af_sass_producers(uint32_t sm, const uint8_t *code, size_t size, uint32_t offset,
                           uint32_t *out, uint32_t most);

/* "@!P0 LDG", or "@!P0 0x1a3?" for an unknown opcode. Returns @text. */
const char *af_sass_text(const struct af_sass *s, char text[AF_SASS_TEXT_MAX]);

#endif
