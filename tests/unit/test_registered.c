/* Unwind tables of code that is made at run time: copied, searched, forgotten; hostile ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/walk/registered.h"

enum { CODE = 0x10000 }; /* from the table to the code */

/* A CIE (code and data alignment 1 and -8, pointers by PC) and two FDEs, the later code first. */
struct table {
	uint8_t cie[24];
	struct {
		uint32_t length, cie;
		int32_t start;
		uint32_t size;
		uint8_t augmentation, insns[7];
	} fdes[2];
	uint32_t end;
};

/* DWARF numbers of the return address and the stack pointer; the CFA where a function begins. */
#if defined(__x86_64__)
enum { RA = 16, SP = 7, AT_START = 8, RA_RULE = 0x80 | RA, RA_AT = 1 };
#elif defined(__aarch64__)
enum { RA = 30, SP = 31, AT_START = 0, RA_RULE = 0, RA_AT = 0 };
#else
enum { RA = 1, SP = 2, AT_START = 0, RA_RULE = 0, RA_AT = 0 };
#endif

static const uint8_t cie[24] = {20, 0, 0,    0,  0, 0,    0,    0,  1,        'z',     'R',
                                0,  1, 0x78, RA, 1, 0x1b, 0x0c, SP, AT_START, RA_RULE, RA_AT};

static void table_make(struct table *t)
{
	static const uint32_t starts[] = {0x200, 0x100};

	memset(t, 0, sizeof *t);
	memcpy(t->cie, cie, sizeof cie);
	for (int i = 0; i < 2; i++) {
		t->fdes[i].length = sizeof t->fdes[i] - 4;
		t->fdes[i].cie = (uint32_t)((uint8_t *)&t->fdes[i].cie - t->cie);
		t->fdes[i].start =
		    (int32_t)((uint8_t *)t + CODE + starts[i] - (uint8_t *)&t->fdes[i].start);
		t->fdes[i].size = 0x40;
		/* From byte 4 on, the frame is 32 bytes: 48 in the second. */
		memcpy(t->fdes[i].insns, (uint8_t[]){0x44, 0x0e, (uint8_t)(32 + 16 * i)}, 3);
	}
}

static int cfa_at(const struct table *t, uint64_t offset)
{
	struct af_rule rule;

	int rc = af_registered_rule((uint64_t)t + CODE + offset, &rule);
	return rc ? rc : rule.cfa == AF_CFA_SP ? rule.cfa_offset : -EINVAL;
}

static void a_table_has_the_rules_of_its_code_while_it_is_there(void **state)
{
	static struct table t;

	table_make(&t);
	assert_int_equal(cfa_at(&t, 0x210), -ENOENT);
	af_registered_add(&t);
	assert_int_equal(cfa_at(&t, 0x200), AT_START);
	assert_int_equal(cfa_at(&t, 0x210), 32);
	assert_int_equal(cfa_at(&t, 0x110), 48);
	assert_int_equal(cfa_at(&t, 0xff), -ENOENT);
	assert_int_equal(cfa_at(&t, 0x180), -ENOENT); /* between them */
	assert_int_equal(cfa_at(&t, 0x240), -ENOENT);
	/* Its owner may free it at once. */
	memset(&t, 0xff, sizeof t);
	assert_int_equal(cfa_at(&t, 0x210), 32);
	assert_true(af_registered_remove(&t));
	assert_int_equal(cfa_at(&t, 0x210), -ENOENT);
	assert_false(af_registered_remove(&t));
}

static void a_table_that_no_walk_used_is_forgotten_by_nobody(void **state)
{
	static struct table t;

	table_make(&t);
	af_registered_add(&t);
	assert_false(af_registered_remove(&t));
}

static void the_room_of_tables_that_went_is_used_again(void **state)
{
	static struct {
		_Alignas(4096) struct table t; /* code of one lies beside that of the next */
	} tables[64];

	for (int round = 0; round < 400; round++) {
		for (int i = 0; i < 64; i++) {
			table_make(&tables[i].t);
			af_registered_add(&tables[i].t);
		}
		for (int i = 0; i < 64; i++)
			assert_int_equal(cfa_at(&tables[i].t, 0x210), 32);
		for (int i = 0; i < 64; i++)
			af_registered_remove(&tables[i].t);
	}
	assert_int_equal(cfa_at(&tables[0].t, 0x210), -ENOENT);
}

static void what_is_no_table_is_left_alone(void **state)
{
	static struct table t;

	table_make(&t);
	af_registered_add(NULL);
	af_registered_add((void *)8);
	af_registered_add(&t.fdes[0]); /* an FDE alone, as other unwinders take it */
	t.cie[0] = 0;
	af_registered_add(&t);
	assert_int_equal(cfa_at(&t, 0x210), -ENOENT);
	table_make(&t);
	t.fdes[1].length = 0xfffffff0;
	af_registered_add(&t);
	assert_int_equal(cfa_at(&t, 0x210), -ENOENT);
	/* At the end of what is mapped. */
	uint8_t *pages =
	    mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(pages != MAP_FAILED && !munmap(pages + 4096, 4096));
	struct table *last = (void *)(pages + 4096 - offsetof(struct table, end));
	struct table whole;
	table_make(&whole);
	memcpy(last, &whole, offsetof(struct table, end));
	af_registered_add(last);
	assert_int_equal(cfa_at(last, 0x210), -ENOENT);
	munmap(pages, 4096);
}

static void damage_of_any_byte_does_no_harm(void **state)
{
	static struct table t;

	for (size_t i = 0; i < sizeof t; i++)
		for (int value = 0; value < 256; value += 51) {
			table_make(&t);
			((uint8_t *)&t)[i] = (uint8_t)value;
			af_registered_add(&t);
			for (uint64_t offset = 0x100; offset < 0x240; offset += 0x50)
				cfa_at(&t, offset);
			af_registered_remove(&t);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_table_has_the_rules_of_its_code_while_it_is_there),
	    cmocka_unit_test(a_table_that_no_walk_used_is_forgotten_by_nobody),
	    cmocka_unit_test(the_room_of_tables_that_went_is_used_again),
	    cmocka_unit_test(what_is_no_table_is_left_alone),
	    cmocka_unit_test(damage_of_any_byte_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
