/* Frames of each machine: steps by frame pointers, and rules where calls leave a register. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/cfi.h"
#include "unwind/frame_pointer.h"

enum {
	STACK = 0x7ff000, /* where the words are */
	NR_WORDS = 32,
	REACH = NR_WORDS * 8,
	MAX = 8,
};

/* A stack as words from STACK on, and the frame that runs. */
struct stack {
	uint64_t words[NR_WORDS];
	struct af_fp_frame frame;
};

static bool stack_read(const struct stack *s, uint64_t at, uint64_t *word)
{
	if (at < STACK || at - STACK > REACH - 8 || at % 8)
		return false;
	*word = s->words[(at - STACK) / 8];
	return true;
}

static uint64_t at(unsigned word)
{
	return STACK + 8 * (uint64_t)word;
}

/* Callers by frame pointers, up to a frame pointer of 0; -1 in *@nr: the chain is broken. */
static int chain(const struct stack *s, uint16_t machine, uint64_t pcs[MAX])
{
	struct af_fp_frame f = s->frame;
	struct af_fp_slots slots;
	int nr = 0;

	while (f.fp) {
		if (nr == MAX || !af_fp_slots(machine, &f, REACH, &slots) ||
		    !stack_read(s, slots.ra, &f.pc) || !stack_read(s, slots.fp, &f.fp))
			return -1;
		af_fp_step(machine, &f, REACH, &slots);
		pcs[nr++] = f.pc;
	}
	return nr;
}

static void assert_chain(const struct stack *s, uint16_t machine, int nr, const uint64_t *expected)
{
	uint64_t pcs[MAX] = {0};

	assert_int_equal(chain(s, machine, pcs), nr);
	for (int i = 0; i < nr; i++)
		assert_int_equal(pcs[i], expected[i]);
}

static void a_chain_of_aarch64_walks_to_its_null_sentinel(void **state)
{
	/* Records lie at the bottom of frames of 32, 48 and 16 bytes. */
	struct stack s = {.frame = {.pc = 0x400100, .sp = at(0), .fp = at(0), .is_leaf = true}};

	s.words[0] = at(4);
	s.words[1] = 0x400200;
	s.words[4] = at(10);
	s.words[5] = 0x400300;
	s.words[10] = 0;
	s.words[11] = 0x400400;
	assert_chain(&s, EM_AARCH64, 3, (const uint64_t[]){0x400200, 0x400300, 0x400400});
	/* x86-64 has the same records. */
	assert_chain(&s, EM_X86_64, 3, (const uint64_t[]){0x400200, 0x400300, 0x400400});
}

static void signatures_of_return_addresses_are_stripped(void **state)
{
	struct stack s = {.frame = {.pc = 0x400100, .sp = at(0), .fp = at(0)}};

	s.words[1] = 0x002a000000400200 | UINT64_C(0x3f) << 56;
	assert_chain(&s, EM_AARCH64, 1, (const uint64_t[]){0x400200});
	assert_int_equal(af_machine_address(EM_AARCH64, 0xffff555555554321), 0x0000555555554321);
	/* No other machine signs: such an address is damage, and stays what it is. */
	assert_int_equal(af_machine_address(EM_X86_64, s.words[1]), s.words[1]);
	assert_int_equal(af_machine_address(EM_RISCV, s.words[1]), s.words[1]);
}

static void a_chain_of_riscv64_walks_to_its_null_sentinel(void **state)
{
	/* fp is the end of each frame: the return address at -8, the caller's fp at -16. */
	struct stack s = {.frame = {.pc = 0x10100, .sp = at(0), .fp = at(4)}};

	s.words[3] = 0x10200;
	s.words[2] = at(10);
	s.words[9] = 0x10300;
	s.words[8] = at(12);
	s.words[11] = 0x10400;
	s.words[10] = 0;
	assert_chain(&s, EM_RISCV, 3, (const uint64_t[]){0x10200, 0x10300, 0x10400});
}

static void a_leaf_of_riscv64_has_its_caller_in_a_register(void **state)
{
	struct stack s = {.frame = {.pc = 0x10100, .sp = at(0), .fp = at(2), .ra = 0x10200}};

	s.words[1] = at(6); /* the caller's frame pointer, alone */
	s.words[0] = 0xdead;
	s.words[5] = 0x10300;
	s.words[4] = 0;
	s.frame.is_leaf = true;
	assert_chain(&s, EM_RISCV, 2, (const uint64_t[]){0x10200, 0x10300});
	/* An interrupted function that has saved both is no such leaf. */
	s.words[1] = 0x10250;
	s.words[0] = at(6);
	assert_chain(&s, EM_RISCV, 2, (const uint64_t[]){0x10250, 0x10300});
	/* In a frame that has called, a stack address is not a return address either. */
	s.words[1] = at(6);
	s.words[0] = 0xdead;
	s.frame.is_leaf = false;
	assert_chain(&s, EM_RISCV, -1, NULL);
}

static void frame_pointers_that_leave_the_stack_end_the_chain(void **state)
{
	static const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_RISCV};

	for (int i = 0; i < 3; i++) {
		/* Below sp; not aligned; beyond the stack; code, not the stack; the very top. */
		const uint64_t bad[] = {at(0), at(4) + 4, at(NR_WORDS + 4), 0x400100,
		                        UINT64_MAX - 7};
		for (unsigned k = 0; k < sizeof bad / sizeof *bad; k++) {
			struct stack s = {.frame = {.pc = 1, .sp = at(2), .fp = bad[k]}};
			assert_chain(&s, machines[i], -1, NULL);
		}
		/* A frame pointer to itself: the frame cannot be above its caller's sp again. */
		struct stack s = {.frame = {.pc = 1, .sp = at(2), .fp = at(6)}};
		for (int k = 0; k < NR_WORDS; k++)
			s.words[k] = at(6);
		assert_chain(&s, machines[i], -1, NULL);
	}
}

/* One CIE and one FDE of .debug_frame, of the function [0x1000, 0x1100). */
static int rule_of(uint16_t machine, uint8_t ra_register, const void *entry, uint8_t entry_len,
                   const void *insns, uint8_t len, uint64_t pc, struct af_rule *rule)
{
	uint8_t bytes[128] = {0};
	const uint8_t cie[] = {0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 3, 0, 1, 0x78, ra_register};
	uint32_t left = AF_CFI_INSNS_MAX, size, n = sizeof cie;
	const uint64_t range[] = {0x1000, 0x100};
	struct af_cfi c;

	memcpy(bytes, cie, n);
	memcpy(bytes + n, entry, entry_len);
	n += entry_len;
	size = n - 4;
	memcpy(bytes, &size, 4);
	size = 4 + sizeof range + len;
	memcpy(bytes + n, &size, 4);
	memcpy(bytes + n + 8, range, sizeof range);
	memcpy(bytes + n + 8 + sizeof range, insns, len);
	n += 8 + (uint32_t)sizeof range + len;
	assert_true(af_cfi_open_debug(&c, machine, bytes, n));
	int rc = af_cfi_rule(&c, pc, &left, rule);
	af_cfi_close(&c);
	return rc;
}

#define RULE_OF(machine, ra, entry, pc, rule, ...)                                                 \
	rule_of(machine, ra, entry, sizeof entry - 1, (const uint8_t[]){__VA_ARGS__},              \
	        sizeof((const uint8_t[]){__VA_ARGS__}), pc, rule)

static void a_leaf_has_its_return_address_in_the_register(void **state)
{
	/* DW_CFA_def_cfa sp, 0 */
	static const char aarch64[] = "\x0c\x1f\x00", riscv[] = "\x0d\x02";
	struct af_rule r;

	assert_int_equal(RULE_OF(EM_AARCH64, 30, aarch64, 0x1010, &r, 0, 0, 0), 0);
	assert_int_equal(r.cfa, AF_CFA_SP);
	assert_int_equal(r.cfa_offset, 0);
	assert_true(r.ra_in_register);
	assert_int_equal(r.fp, AF_SAVED_SAME);
	/* GNU as names RISC-V's register alone. */
	assert_int_equal(RULE_OF(EM_RISCV, 1, riscv, 0x1010, &r, 0, 0, 0), 0);
	assert_int_equal(r.cfa, AF_CFA_SP);
	assert_int_equal(r.cfa_offset, 0);
	assert_true(r.ra_in_register);
	/* A register that is not the machine's is no return address. */
	assert_int_equal(RULE_OF(EM_AARCH64, 15, aarch64, 0x1010, &r, 0, 0, 0), -ENOTSUP);
}

static void a_frame_has_its_return_address_on_the_stack(void **state)
{
	static const char aarch64[] = "\x0c\x1f\x00", riscv[] = "\x0c\x02\x00";
	struct af_rule r;

	/* paciasp; stp x29,x30,[sp,#-32]!; mov x29,sp */
	for (uint64_t pc = 0x1000; pc < 0x1010; pc += 4) {
		assert_int_equal(RULE_OF(EM_AARCH64, 30, aarch64, pc, &r, 0x44, 0x2d, 0x44, 0x0e,
		                         32, 0x9d, 4, 0x9e, 3, 0x44, 0x0d, 29),
		                 0);
		assert_int_equal(r.ra_in_register, pc < 0x1008);
		assert_int_equal(r.cfa, pc < 0x100c ? AF_CFA_SP : AF_CFA_FP);
		assert_int_equal(r.cfa_offset, pc < 0x1008 ? 0 : 32);
		if (pc >= 0x1008) {
			assert_int_equal(r.ra_offset, -24);
			assert_int_equal(r.fp, AF_SAVED_CFA);
			assert_int_equal(r.fp_offset, -32);
		}
	}
	/* The caller of the outermost frame is undefined. */
	assert_int_equal(RULE_OF(EM_RISCV, 1, riscv, 0x1010, &r, 0x07, 1), 0);
	assert_int_equal(r.cfa, AF_CFA_END);
	/* ra at -8, s0 at -16, the frame's address is s0. */
	assert_int_equal(RULE_OF(EM_RISCV, 1, riscv, 0x1010, &r, 0x81, 1, 0x88, 2, 0x0c, 8, 0), 0);
	assert_int_equal(r.cfa, AF_CFA_FP);
	assert_false(r.ra_in_register);
	assert_int_equal(r.ra_offset, -8);
	assert_int_equal(r.fp_offset, -16);
	/* On x86-64 a call leaves nothing in a register. */
	static const char x86_64[] = "\x0c\x07\x08";
	assert_int_equal(RULE_OF(EM_X86_64, 16, x86_64, 0x1010, &r, 0, 0), -ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_chain_of_aarch64_walks_to_its_null_sentinel),
	    cmocka_unit_test(signatures_of_return_addresses_are_stripped),
	    cmocka_unit_test(a_chain_of_riscv64_walks_to_its_null_sentinel),
	    cmocka_unit_test(a_leaf_of_riscv64_has_its_caller_in_a_register),
	    cmocka_unit_test(frame_pointers_that_leave_the_stack_end_the_chain),
	    cmocka_unit_test(a_leaf_has_its_return_address_in_the_register),
	    cmocka_unit_test(a_frame_has_its_return_address_on_the_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
