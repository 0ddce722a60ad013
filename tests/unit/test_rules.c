/* Rules packed into words, and rules reported by instructions where no table covers them. */
#include "inject/walk/unwinder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "inject/walk/modules.h"

static void assert_same_rule(const struct af_rule *a, const struct af_rule *b)
{
	assert_int_equal(a->cfa, b->cfa);
	assert_int_equal(a->cfa_offset, b->cfa_offset);
	assert_int_equal(a->fp, b->fp);
	assert_int_equal(a->fp_offset, b->fp_offset);
	assert_int_equal(a->ra_offset, b->ra_offset);
	assert_int_equal(a->exact, b->exact);
}

static void what_packs_comes_out_as_it_went_in(void **state)
{
	static const int32_t offsets[] = {-131064, -131056, -8, 0, 8, 16, 4096, 131056, 131064};
	static const int32_t fps[] = {-16, -24, -56, -1000};

	for (int cfa = AF_CFA_SP; cfa <= AF_CFA_FP_DEREF; cfa++) {
		for (unsigned i = 0; i < sizeof offsets / sizeof *offsets; i++) {
			struct af_rule rule = {.cfa = (uint8_t)cfa, .cfa_offset = offsets[i]}, out;
			rule.ra_offset = AF_ARCH_RA_OFFSET;
			for (unsigned k = 0; k < sizeof fps / sizeof *fps; k++) {
				rule.fp = AF_SAVED_CFA;
				rule.fp_offset = fps[k];
				uint32_t packed = af_rule_pack(&rule);
				assert_true(packed && packed >> UNWIND_RULE_BITS == 0);
				af_rule_unpack(packed, &out);
				assert_same_rule(&rule, &out);
			}
		}
	}
}

static void every_kind_of_frame_pointer_packs(void **state)
{
	static const uint8_t saved[] = {AF_SAVED_SAME, AF_SAVED_FP, AF_SAVED_LOST};

	for (unsigned i = 0; i < sizeof saved; i++) {
		struct af_rule rule = {.cfa = AF_CFA_SP, .cfa_offset = 8, .fp = saved[i]}, out;
		rule.ra_offset = AF_ARCH_RA_OFFSET;
		af_rule_unpack(af_rule_pack(&rule), &out);
		assert_same_rule(&rule, &out);
	}
}

static void what_does_not_fit_is_not_packed(void **state)
{
	static const struct af_rule rules[] = {
	    {.cfa = AF_CFA_SP, .cfa_offset = 131072, .ra_offset = -8},
	    {.cfa = AF_CFA_SP, .cfa_offset = 12, .ra_offset = -8},
	    {.cfa = AF_CFA_SP, .cfa_offset = 16, .ra_offset = -16},
	    {.cfa = AF_CFA_SP, .cfa_offset = 16, .ra_offset = -8, .exact = true},
	    {.cfa = AF_CFA_SP,
	     .cfa_offset = 16,
	     .ra_offset = -8,
	     .fp = AF_SAVED_CFA,
	     .fp_offset = 8},
	    {.cfa = AF_CFA_SP,
	     .cfa_offset = 16,
	     .ra_offset = -8,
	     .fp = AF_SAVED_CFA,
	     .fp_offset = -1008},
	    {.cfa = AF_CFA_SP,
	     .cfa_offset = 16,
	     .ra_offset = -8,
	     .fp = AF_SAVED_FP,
	     .fp_offset = 8},
	    {.cfa = AF_CFA_SP, .cfa_offset = 16, .ra_offset = -8, .fp = AF_SAVED_SP},
	    {.cfa = AF_CFA_SP, .cfa_offset = 16, .ra_offset = -8, .fp = AF_SAVED_VALUE},
	    {.cfa = AF_CFA_BASE, .cfa_offset = 16, .ra_offset = -8},
	    {.cfa = AF_CFA_DRAP, .cfa_offset = 16, .ra_offset = -8},
	};

	for (unsigned i = 0; i < sizeof rules / sizeof *rules; i++)
		assert_int_equal(af_rule_pack(&rules[i]), 0);
}

/* Addresses that share an index never share a tag. */
static void the_cache_tells_all_addresses_apart(void **state)
{
	uint64_t seed = 1;

	for (int i = 0; i < 200000; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		uint64_t a = seed >> 16, b = a ^ 1ull << (seed & 47);
		uint64_t hash_a = unwind_rule_hash(a), hash_b = unwind_rule_hash(b);
		assert_true(unwind_rule_index(hash_a) != unwind_rule_index(hash_b) ||
		            unwind_rule_key(hash_a, 1) != unwind_rule_key(hash_b, 1));
		assert_true(unwind_rule_index(hash_a) < UNWIND_RULES);
		assert_int_equal(unwind_rule_key(hash_a, 7) >> (64 - UNWIND_RULE_BITS), 0);
	}
}

/* @at is where in @bytes the program counter is. */
static bool code_rule(const char *bytes, size_t len, unsigned at, bool leaf, struct af_rule *rule)
{
	uint8_t code[AF_ARCH_CODE] = {0};

	memset(rule, 0xee, sizeof *rule);
	memcpy(code + AF_ARCH_CODE_BEFORE - at, bytes, len);
	return af_arch_special_rule(code, leaf, rule) || af_arch_code_rule(code, leaf, rule);
}

static void assert_leaf(const char *bytes, size_t len, unsigned at, int cfa_offset)
{
	struct af_rule rule;

	assert_true(code_rule(bytes, len, at, true, &rule));
	assert_int_equal(rule.cfa, AF_CFA_SP);
	assert_int_equal(rule.cfa_offset, cfa_offset);
	assert_int_equal(rule.ra_offset, AF_ARCH_RA_OFFSET);
	/* Away from a leaf a function is at a call, and none of these says anything. */
	assert_false(code_rule(bytes, len, at, false, &rule));
}

#define ASSERT_LEAF(bytes, at, offset) assert_leaf(bytes, sizeof(bytes) - 1, at, offset)

static void prologues_and_epilogues_are_known(void **state)
{
	static const char frame[] = "\x55\x48\x89\xe5", end[] = "\x5d\xc3", leave[] = "\xc9\xc3";
	struct af_rule rule;

	ASSERT_LEAF("\xf3\x0f\x1e\xfa", 0, 8);
	ASSERT_LEAF(frame, 0, 8);
	ASSERT_LEAF(frame, 1, 16);
	assert_true(code_rule(frame, 4, 1, true, &rule));
	assert_int_equal(rule.fp, AF_SAVED_CFA);
	assert_int_equal(rule.fp_offset, -16);
	ASSERT_LEAF("\x55\x48\x8b\xec", 1, 16);
	ASSERT_LEAF(end, 1, 8);
	ASSERT_LEAF(leave, 1, 8);
	assert_false(code_rule("\x48\x01\xd8\x90", 4, 0, true, &rule));
}

static void linkage_tables_without_a_table_are_known(void **state)
{
	static const char lazy[] =
	    "\xff\x25\x01\x02\x03\x04\x68\x05\x00\x00\x00\xe9\x06\x07\x08\x09";
	static const char plt0[] = "\xff\x35\x01\x02\x03\x04\xff\x25\x05\x06\x07\x08";

	ASSERT_LEAF(lazy, 0, 8);
	ASSERT_LEAF(lazy, 6, 8);
	assert_leaf(lazy + 3, sizeof lazy - 4, 8, 16);
	ASSERT_LEAF(plt0, 0, 16);
	ASSERT_LEAF(plt0, 6, 24);
	ASSERT_LEAF("\xf2\xff\x25\x01\x02\x03\x04", 0, 8);
}

static void the_ends_of_handlers_and_fibers_are_known(void **state)
{
	static const char mov_rax[] = "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05";
	static const char mov_eax[] = "\xb8\x0f\x00\x00\x00\x0f\x05";
	static const char fiber[] = "\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff";
	struct af_rule rule;

	assert_true(code_rule(mov_rax, 9, 0, false, &rule));
	assert_int_equal(rule.cfa, AF_CFA_SIGNAL);
	assert_true(code_rule(mov_eax, 7, 0, false, &rule));
	assert_int_equal(rule.cfa, AF_CFA_SIGNAL);
	assert_true(code_rule(mov_rax, 9, 7, true, &rule));
	assert_int_equal(rule.cfa, AF_CFA_SIGNAL);
	assert_false(code_rule(mov_rax, 9, 7, false, &rule));
	assert_true(code_rule(fiber, 10, 0, false, &rule));
	assert_int_equal(rule.cfa, AF_CFA_END);
}

static void calls_of_every_form_are_known(void **state)
{
	static const struct {
		const char *bytes;
		unsigned len;
	} calls[] = {
	    {"\xe8\x01\x02\x03\x04", 5},
	    {"\xff\xd0", 2},
	    {"\x41\xff\xd4", 3},
	    {"\xff\x50\x10", 3},
	    {"\xff\x54\x24\x08", 4},
	    {"\xff\x15\x01\x02\x03\x04", 6},
	    {"\xff\x90\x01\x02\x03\x04", 6},
	    {"\xff\x94\x24\x01\x02\x03\x04", 7},
	    {"\x41\xff\x94\x24\x01\x02\x03\x04", 8},
	};

	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
		uint8_t code[AF_ARCH_CODE];
		memset(code, 0x90, sizeof code);
		assert_false(af_arch_after_call(code));
		memcpy(code + AF_ARCH_CODE_BEFORE - calls[i].len, calls[i].bytes, calls[i].len);
		assert_true(af_arch_after_call(code));
	}
}

/* Memory that was proved readable is really there, and stays so for words at its edges. */
static void readable_ranges_end_at_the_mapping(void **state)
{
	static struct af_unwinder u;
	size_t size = 64 << 12;
	uint64_t start, len, page;
	char *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	page = (uint64_t)map;
	mprotect(map, 4096, PROT_NONE);
	mprotect(map + size - 4096, 4096, PROT_NONE);
	assert_false(af_readable_prove(&u, page + 4088, &start, &len));
	/* A word that begins in the last good page and ends behind it. */
	assert_false(af_readable_prove(&u, page + size - 4096 - 4, &start, &len));
	assert_true(af_readable_prove(&u, page + 4096, &start, &len));
	assert_int_equal(start, page + 4096);
	assert_true(af_readable_prove(&u, page + size - 4096 - 8, &start, &len));
	assert_int_equal(start, page + 4096);
	assert_int_equal(start + len, page + size - 4096 - 7);
	assert_true(af_readable_known(&u, page + 4096, page + size - 4097));
	assert_false(af_readable_known(&u, page + 4096, page + size - 4096));
	assert_false(af_readable_known(&u, page, page + 4096));
	munmap(map, size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_packs_comes_out_as_it_went_in),
	    cmocka_unit_test(every_kind_of_frame_pointer_packs),
	    cmocka_unit_test(what_does_not_fit_is_not_packed),
	    cmocka_unit_test(the_cache_tells_all_addresses_apart),
	    cmocka_unit_test(prologues_and_epilogues_are_known),
	    cmocka_unit_test(linkage_tables_without_a_table_are_known),
	    cmocka_unit_test(the_ends_of_handlers_and_fibers_are_known),
	    cmocka_unit_test(calls_of_every_form_are_known),
	    cmocka_unit_test(readable_ranges_end_at_the_mapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
