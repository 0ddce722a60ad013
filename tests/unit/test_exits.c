/* The exits of functions of x86-64, as compilers and people write them, and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "aflame/error.h"
#include "cmd/functions/exits.h"

enum { START = 0x1000, COLD = 0x3000 };

struct memory {
	const uint8_t *bytes, *cold;
	size_t size, cold_size;
};

static const uint8_t *bytes_at(const void *arg, uint64_t address, uint64_t *left)
{
	const struct memory *m = arg;

	*left = address == COLD ? m->cold_size : m->size;
	return address == COLD ? m->cold : m->bytes;
}

static bool part_at(const void *arg, uint64_t address, struct af_watch_part *part)
{
	const struct memory *m = arg;

	*part = (struct af_watch_part){COLD, m->cold_size};
	return address - COLD < m->cold_size;
}

static struct functions_exits found;
static struct af_err err;

static int teardown(void **state)
{
	(void)state;
	functions_exits_free(&found);
	return 0;
}

static int find(const struct memory *m)
{
	const struct functions_code code = {bytes_at, part_at, m};

	functions_exits_free(&found);
	return functions_exits_find(&found, START, m->size, &code, &err);
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define FIND(...) find_plain(BYTES(__VA_ARGS__))

static int find_plain(const uint8_t *bytes, size_t size)
{
	return find(&(struct memory){.bytes = bytes, .size = size});
}

static void exit_is(uint32_t i, uint64_t at, enum af_exit_how how)
{
	assert_true(i < found.nr);
	assert_int_equal(found.all[i].address, START + at);
	assert_int_equal(found.all[i].how, how);
}

static void each_return_is_an_exit(void **state)
{
	(void)state;
	/* endbr64; test edi,edi; je +1; ret; rep ret; bnd ret; ret 8 */
	assert_int_equal(FIND(0xf3, 0x0f, 0x1e, 0xfa, 0x85, 0xff, 0x74, 0x01, 0xc3, 0xf3, 0xc3,
	                      0xf2, 0xc3, 0xc2, 8, 0),
	                 0);
	assert_int_equal(found.nr, 4);
	exit_is(0, 8, AF_EXIT_ALWAYS);
	exit_is(1, 9, AF_EXIT_ALWAYS);
	exit_is(2, 11, AF_EXIT_ALWAYS);
	exit_is(3, 13, AF_EXIT_ALWAYS);
}

static void bytes_of_a_return_in_another_instruction_are_none(void **state)
{
	(void)state;
	/* mov eax,0xc3c3c3c3; movabs rcx,…c3…; ret */
	assert_int_equal(FIND(0xb8, 0xc3, 0xc3, 0xc3, 0xc3, 0x48, 0xb9, 0xc3, 0xc3, 0xc3, 0xc3,
	                      0xc3, 0xc3, 0xc3, 0xc3, 0xc3),
	                 0);
	assert_int_equal(found.nr, 1);
	exit_is(0, 15, AF_EXIT_ALWAYS);
}

static void jumps_to_other_functions_are_exits_and_others_are_not(void **state)
{
	(void)state;
	/* nop; jmp OTHER; jl OTHER (near); jae -2 (itself); jmp back to the second byte; ret */
	assert_int_equal(FIND(0x90, 0xe9, 0xfa, 0x3f, 0, 0, 0x0f, 0x8c, 0xf4, 0x3f, 0, 0, 0x73,
	                      0xfe, 0xeb, 0xf1, 0xc3),
	                 0);
	assert_int_equal(found.nr, 3);
	exit_is(0, 16, AF_EXIT_ALWAYS); /* returns come first */
	exit_is(1, 1, AF_EXIT_ALWAYS);
	exit_is(2, 6, AF_EXIT_IF);
	assert_int_equal(found.all[2].condition, 0xc);
}

static void a_jump_to_the_beginning_is_a_call_and_an_exit(void **state)
{
	(void)state;
	/* dec edi; jne -4; ret */
	assert_int_equal(FIND(0xff, 0xcf, 0x75, 0xfc, 0xc3), 0);
	assert_int_equal(found.nr, 2);
	exit_is(1, 2, AF_EXIT_IF);
	assert_int_equal(found.all[1].condition, 5);
}

static void jumps_by_registers_and_memory_are_described(void **state)
{
	(void)state;
	/*
	 * notrack jmp *%r11; jmp *16(%rdi); jmp *8(%r13,%r9,4); jmp *0x100(%rip);
	 * jmp *0x10(,%rax,8)
	 */
	assert_int_equal(FIND(0x3e, 0x41, 0xff, 0xe3, 0xff, 0x67, 0x10, 0x43, 0xff, 0x64, 0x8d,
	                      0x08, 0xff, 0x25, 0, 1, 0, 0, 0xff, 0x24, 0xc5, 0x10, 0, 0, 0),
	                 0);
	assert_int_equal(found.nr, 5);
	exit_is(0, 0, AF_EXIT_TO_REGISTER);
	assert_int_equal(found.all[0].base, 11);
	static const struct {
		uint32_t at, base, index, scale, add;
	} want[] = {{4, 7, AF_EXIT_NO_REGISTER, 1, 16},
	            {7, 13, 9, 4, 8},
	            {12, AF_EXIT_RIP, AF_EXIT_NO_REGISTER, 1, 0x106},
	            {18, AF_EXIT_NO_REGISTER, 0, 8, 16}};
	for (uint32_t i = 0; i < 4; i++) {
		const struct af_watch_exit *e = &found.all[i + 1];
		exit_is(i + 1, want[i].at, AF_EXIT_TO_MEMORY);
		assert_int_equal(e->base, want[i].base);
		assert_int_equal(e->index, want[i].index);
		assert_int_equal(e->scale, want[i].scale);
		assert_int_equal(e->add, want[i].add);
	}
}

static void a_piece_that_lies_elsewhere_belongs_to_the_function(void **state)
{
	/* je COLD + 1; ret | push; pop; ret; jmp back to the ret of the first */
	static const uint8_t hot[] = {0x0f, 0x84, 0xfb, 0x1f, 0, 0, 0xc3};
	static const uint8_t cold[] = {0x50, 0x58, 0xc3, 0xe9, 0xfe, 0xdf, 0xff, 0xff};

	(void)state;
	assert_int_equal(find(&(struct memory){hot, cold, sizeof hot, sizeof cold}), 0);
	assert_int_equal(found.nr_parts, 2);
	assert_int_equal(found.parts[1].start, COLD);
	assert_int_equal(found.parts[1].size, sizeof cold);
	assert_int_equal(found.nr, 2);
	exit_is(0, 6, AF_EXIT_ALWAYS);
	exit_is(1, COLD + 2 - START, AF_EXIT_ALWAYS);
	/* Without it, the jump is the exit. */
	assert_int_equal(FIND(0x0f, 0x84, 0xfa, 0x1f, 0, 0, 0xc3), 0);
	exit_is(1, 0, AF_EXIT_IF);
}

static void a_function_that_never_returns_has_none(void **state)
{
	(void)state;
	assert_int_equal(FIND(0x90, 0xeb, 0xfe), 0);
	assert_int_equal(found.nr, 0);
}

static void refused(int rc, const char *why)
{
	assert_int_equal(rc, -ENOTSUP);
	if (!strstr(err.msg, why))
		fail_msg("\"%s\" is not in \"%s\"", why, err.msg);
}

static void what_is_not_understood_is_refused(void **state)
{
	(void)state;
	/* jmp over two bytes that begin a long instruction */
	refused(FIND(0xeb, 0x02, 0x48, 0xb8, 0xc3, 0, 0, 0, 0, 0, 0, 0, 0xc3), "data among");
	refused(FIND(0x06, 0xc3), "does not know at 0x1000");
	refused(FIND(0x90, 0xe8, 0, 0), "does not know at 0x1001"); /* cut in a call */
	refused(FIND(0x48, 0xcb), "unusual return");
	refused(FIND(0xe3, 0x70, 0xc3), "unusual jump");
	refused(FIND(0x64, 0xff, 0x27), "unusual jump"); /* jmp *%fs:(%rdi) */
	refused(FIND(0xff, 0x2f), "unusual jump");
	refused(find(&(struct memory){0}), "has no size");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_return_is_an_exit),
	    cmocka_unit_test(bytes_of_a_return_in_another_instruction_are_none),
	    cmocka_unit_test(jumps_to_other_functions_are_exits_and_others_are_not),
	    cmocka_unit_test(a_jump_to_the_beginning_is_a_call_and_an_exit),
	    cmocka_unit_test(jumps_by_registers_and_memory_are_described),
	    cmocka_unit_test(a_piece_that_lies_elsewhere_belongs_to_the_function),
	    cmocka_unit_test(a_function_that_never_returns_has_none),
	    cmocka_unit_test(what_is_not_understood_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
