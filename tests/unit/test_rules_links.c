/*
 * Rules packed into words, and rules reported by instructions, on machines where a call leaves the
 * return address in a register: test_rules.c has those of x86-64.
 */
#include "inject/walk/unwinder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void assert_packs(struct af_rule rule)
{
	struct af_rule out;
	uint32_t packed = af_rule_pack(&rule);

	assert_true(packed && packed >> UNWIND_RULE_BITS == 0);
	af_rule_unpack(packed, &out);
	assert_int_equal(out.cfa, rule.cfa);
	assert_int_equal(out.cfa_offset, rule.cfa_offset);
	assert_int_equal(out.fp, rule.fp);
	if (rule.fp == AF_SAVED_CFA)
		assert_int_equal(out.fp_offset, rule.fp_offset);
	assert_int_equal(out.ra_in_register, rule.ra_in_register);
	if (!rule.ra_in_register)
		assert_int_equal(out.ra_offset, rule.ra_offset);
}

static void every_place_of_the_return_address_packs(void **state)
{
	static const int32_t frames[] = {16, 32, 4096, 8160};

	for (uint8_t cfa = AF_CFA_SP; cfa <= AF_CFA_FP; cfa++) {
		/* A leaf, without a frame and with one. */
		assert_packs((struct af_rule){.cfa = cfa, .ra_in_register = true});
		assert_packs(
		    (struct af_rule){.cfa = cfa, .cfa_offset = 64, .ra_in_register = true});
		for (unsigned i = 0; i < sizeof frames / sizeof *frames; i++) {
			int32_t size = frames[i];
			struct af_rule rule = {.cfa = cfa, .cfa_offset = size};
			/* AArch64: the record is at the bottom of the frame. */
			rule.fp = AF_SAVED_CFA;
			rule.fp_offset = -size;
			rule.ra_offset = 8 - size;
			assert_packs(rule);
			/* RISC-V: it is at the top. */
			rule.fp_offset = -16;
			rule.ra_offset = -8;
			assert_packs(rule);
			/* Without a frame pointer. */
			rule.fp = AF_SAVED_SAME;
			rule.ra_offset = -size;
			assert_packs(rule);
			rule.ra_offset = -8;
			assert_packs(rule);
		}
	}
}

static void what_does_not_fit_is_not_packed(void **state)
{
	static const struct af_rule rules[] = {
	    {.cfa = AF_CFA_SP, .cfa_offset = 8192, .ra_offset = -8},
	    {.cfa = AF_CFA_SP, .cfa_offset = 24, .ra_offset = -8},
	    {.cfa = AF_CFA_SP, .cfa_offset = 16, .ra_offset = 8},
	    {.cfa = AF_CFA_SP, .cfa_offset = 16, .ra_offset = -8, .exact = true},
	    {.cfa = AF_CFA_SP,
	     .cfa_offset = 64,
	     .ra_offset = -40,
	     .fp = AF_SAVED_CFA,
	     .fp_offset = -24},
	    {.cfa = AF_CFA_BASE, .cfa_offset = 16, .ra_offset = -8},
	};

	for (unsigned i = 0; i < sizeof rules / sizeof *rules; i++)
		assert_int_equal(af_rule_pack(&rules[i]), 0);
}

/* Code around the address that is element @at of @insns; what else there is are zeros. */
static void code_of(const uint32_t *insns, unsigned nr, unsigned at, uint8_t code[AF_ARCH_CODE])
{
	memset(code, 0, AF_ARCH_CODE);
	memcpy(code + AF_ARCH_CODE_BEFORE - 4 * at, insns,
	       nr - at > AF_ARCH_CODE_AFTER / 4 ? 4 * at + AF_ARCH_CODE_AFTER : 4 * nr);
}

enum { BY_FP, LINKED, SAVED };

#if defined(__aarch64__)
enum { SIGRETURN_MOV = (int)0xd2801168, SIGRETURN_CALL = (int)0xd4000001, CALL = (int)0x94000010 };
/* mul; ret; stp x29,x30,[sp,#-32]!; mov x29,sp; bl; ldp x29,x30,[sp],#32; ret; add; ret */
static const uint32_t functions[] = {0x1b017c00, 0xd65f03c0, 0xa9be7bfd, 0x910003fd, 0x94000010,
                                     0xa8c27bfd, 0xd65f03c0, 0x8b010000, 0xd65f03c0};
static const uint8_t expected[] = {LINKED, LINKED, LINKED, SAVED, BY_FP,
                                   BY_FP,  LINKED, LINKED, LINKED};
/* adrp x16,…; ldr x17,[x16,…]; add x16,x16,…; br x17 */
static const uint32_t linkage[] = {0x90000090, 0xf9400211, 0x91000210, 0xd61f0220};
#else
enum { SIGRETURN_MOV = 0x08b00893, SIGRETURN_CALL = 0x00000073, CALL = 0x010000ef };
/* mul; ret; addi sp,sp,-16; sd ra,8(sp); sd s0,0(sp); addi s0,sp,16; jal; ret; add; ret */
static const uint32_t functions[] = {0x02b50533, 0x00008067, 0xff010113, 0x00113423, 0x00813023,
                                     0x01010413, 0x010000ef, 0x00008067, 0x00b50533, 0x00008067};
static const uint8_t expected[] = {LINKED, LINKED, LINKED, LINKED, BY_FP,
                                   BY_FP,  BY_FP,  LINKED, LINKED, LINKED};
/* auipc t3,…; ld t3,…(t3); jalr t1,t3; nop */
static const uint32_t linkage[] = {0x00002e17, 0x8d0e3e03, 0x000e0367, 0x00000013};
#endif

static void a_leaf_without_a_table_is_known_by_its_code(void **state)
{
	enum { NR = sizeof functions / sizeof *functions };
	uint8_t code[AF_ARCH_CODE];

	for (unsigned at = 0; at < NR; at++) {
		struct af_rule rule = {0};
		code_of(functions, NR, at, code);
		bool is = af_arch_code_rule(code, true, &rule);
		if (is != (expected[at] != BY_FP) ||
		    rule.ra_in_register != (expected[at] == LINKED))
			fail_msg("instruction %u: %d, %d", at, is, rule.ra_in_register);
		if (expected[at] == SAVED) {
			assert_int_equal(rule.cfa_offset, 32);
			assert_int_equal(rule.fp_offset, -32);
			assert_int_equal(rule.ra_offset, -24);
		}
		/* A function that has called may have lost what was in the register. */
		assert_false(af_arch_code_rule(code, false, &rule));
	}
}

static void linkage_tables_keep_the_register(void **state)
{
	uint8_t code[AF_ARCH_CODE];

	for (unsigned at = 0; at < 3; at++) {
		struct af_rule rule = {0};
		code_of(linkage, 4, at, code);
		assert_true(af_arch_code_rule(code, true, &rule));
		assert_true(rule.ra_in_register);
		assert_int_equal(rule.cfa, AF_CFA_SP);
		assert_int_equal(rule.cfa_offset, 0);
	}
}

static void the_ends_of_handlers_are_known(void **state)
{
	static const uint32_t end[] = {(uint32_t)SIGRETURN_MOV, (uint32_t)SIGRETURN_CALL};
	uint8_t code[AF_ARCH_CODE];
	struct af_rule rule;

	code_of(end, 2, 0, code);
	assert_true(af_arch_special_rule(code, false, &rule));
	assert_int_equal(rule.cfa, AF_CFA_SIGNAL);
	code_of(end, 2, 1, code);
	assert_true(af_arch_special_rule(code, true, &rule));
	assert_false(af_arch_special_rule(code, false, &rule));
	code_of(functions, 2, 0, code);
	assert_false(af_arch_special_rule(code, true, &rule));
}

static void calls_are_known(void **state)
{
	static const uint32_t call[] = {(uint32_t)CALL, 0};
	uint8_t code[AF_ARCH_CODE];

	code_of(call, 2, 1, code);
	assert_true(af_arch_after_call(code));
	code_of(call, 2, 0, code);
	assert_false(af_arch_after_call(code));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_place_of_the_return_address_packs),
	    cmocka_unit_test(what_does_not_fit_is_not_packed),
	    cmocka_unit_test(a_leaf_without_a_table_is_known_by_its_code),
	    cmocka_unit_test(linkage_tables_keep_the_register),
	    cmocka_unit_test(the_ends_of_handlers_are_known),
	    cmocka_unit_test(calls_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
