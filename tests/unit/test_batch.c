/*
 * Batch buffers that are written here DWORD by DWORD: lengths, levels, circles, bases, and where
 * each command has its kernels. Real ones are in tests/live/test_batch.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "batch/batch.h"
#include "batch/command.h"

enum { PLACE = 0x10000, WORDS = 8192 };

static uint32_t memory[WORDS]; /* at PLACE */
static uint32_t nr_reads;

static struct {
	struct af_batch_kernel kernels[64];
	uint32_t nr;
} found;

static int read_memory(void *arg, uint64_t address, void *to, uint32_t bytes)
{
	(void)arg;
	nr_reads++;
	if (address < PLACE || address + bytes > PLACE + sizeof memory)
		return -1;
	memcpy(to, (const char *)memory + (address - PLACE), bytes);
	return 0;
}

static void take(void *arg, const struct af_batch_kernel *kernel)
{
	(void)arg;
	if (found.nr < 64)
		found.kernels[found.nr++] = *kernel;
}

static struct af_batch_walk walk;

static uint32_t run(uint32_t version)
{
	struct af_batch_reader reader = {read_memory, NULL};
	const struct af_batch_taker taker = {take, NULL};

	found.nr = 0;
	nr_reads = 0;
	return af_batch_walk(&walk, version, PLACE, &reader, &taker);
}

static int begin(void **state)
{
	(void)state;
	memset(memory, 0, sizeof memory);
	memset(&walk, 0, sizeof walk);
	return 0;
}

static uint32_t put(uint32_t at, const uint32_t *words, uint32_t nr)
{
	memcpy(memory + at, words, nr * 4);
	return at + nr;
}

#define PUT(at, ...)                                                                               \
	put(at, (const uint32_t[]){__VA_ARGS__}, sizeof(const uint32_t[]){__VA_ARGS__} / 4)

#define END 0x05000000
#define JUMP 0x18800101u
#define CALL 0x18c00101u

static uint32_t put_bases(uint32_t at, uint64_t dynamic, uint64_t instruction)
{
	uint32_t words[22] = {0x61010014};

	words[6] = (uint32_t)dynamic | 1;
	words[7] = dynamic >> 32;
	words[10] = (uint32_t)instruction | 1;
	words[11] = instruction >> 32;
	return put(at, words, 22);
}

static void kernel_is(uint32_t i, uint64_t address, uint32_t kind)
{
	assert_true(i < found.nr);
	assert_int_equal(found.kernels[i].address, address);
	assert_int_equal(found.kernels[i].kind, kind);
}

/* ---- lengths ---- */

static void lengths(void **state)
{
	static const struct {
		uint32_t header, version, dwords;
	} rules[] = {{0, 9, 1},
	             {0x05000000, 9, 1},
	             {0x11000001, 9, 3},
	             {0x100003ff, 9, 1025},
	             {0x18800101, 9, 3},
	             {0x50400014, 12, 22},
	             {0x61010011, 9, 19},
	             {0x69040300, 12, 1},
	             {0x61040001, 9, 3},
	             {0x680b0001, 9, 1},
	             {0x780b0001, 9, 1},
	             {0x7a000004, 12, 6},
	             {0x70000007, 9, 9},
	             {0x7105010d, 9, 15},
	             {0x71001234, 9, 0x1236},
	             {0x72080525, 12, 39},
	             {0x73a20fff, 12, 0x1001},
	             {0x7c01002b, 20, 45},
	             {0xac000003, 20, 5},
	             {0xac000003, 12, 0},
	             {0x20000000, 12, 0},
	             {0x80000000, 12, 0},
	             {0xe0000000, 12, 0},
	             {0x62000000, 12, 0},
	             {0x74000000, 12, 0},
	             {0x75800102, 12, 0x104},
	             {0x79170100, 12, 0x102},
	             {0x78430101, 12, 0x103},
	             {0x7d000000, 12, 0},
	             {0x7f000000, 12, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (af_batch_dwords(rules[i].version, rules[i].header) != rules[i].dwords)
			fail_msg("%#x has %u DWORDs, not %u", rules[i].header,
			         af_batch_dwords(rules[i].version, rules[i].header),
			         rules[i].dwords);
}

/* ---- where it goes on ---- */

static void ends_are_named(void **state)
{
	(void)state;
	PUT(0, 0x11000001, 0x2244, 5, END);
	assert_int_equal(run(12), AF_BATCH_END);
	assert_int_equal(walk.nr_commands, 2);

	PUT(3, 0x20000000);
	assert_int_equal(run(12), AF_BATCH_UNKNOWN);
	assert_int_equal(walk.at, PLACE + 12);

	PUT(3, JUMP, 0x1000, 0);
	assert_int_equal(run(12), AF_BATCH_UNREADABLE);
	assert_int_equal(walk.at, 0x1000);

	PUT(3, JUMP & ~0x100u, PLACE, 0);
	assert_int_equal(run(12), AF_BATCH_GLOBAL);

	PUT(3, JUMP | 1 << 18, PLACE, 0);
	assert_int_equal(run(AF_BATCH_VERSION_XE3P), AF_BATCH_INDIRECT);
}

static void zeros_are_unwritten(void **state)
{
	(void)state;
	PUT(0, 0x11000001, 0x2244, 5);
	assert_int_equal(run(12), AF_BATCH_UNWRITTEN);
	assert_true(nr_reads < 2 * AF_BATCH_EMPTY);

	/* Padding is none: what follows it counts. */
	PUT(1000, END);
	assert_int_equal(run(12), AF_BATCH_END);
}

static void circles_end(void **state)
{
	(void)state;
	put_bases(0, 0, 0x800000000000);
	PUT(22, JUMP, PLACE + 400, 0);
	PUT(100, 0x61020001, 0x1000, 0, JUMP, PLACE + 800, 0);
	PUT(200, 0x61020001, 0x2000, 0, JUMP, PLACE + 400, 0);
	assert_int_equal(run(12), AF_BATCH_LOOP);
	assert_int_equal(found.nr, 2);
	kernel_is(0, 0x800000001000, AF_BATCH_SYSTEM);
	kernel_is(1, 0x800000002000, AF_BATCH_SYSTEM);

	PUT(0, JUMP, PLACE, 0);
	assert_int_equal(run(12), AF_BATCH_LOOP);
	PUT(0, CALL, PLACE, 0, END);
	assert_int_equal(run(12), AF_BATCH_END);
	assert_true(walk.nr_commands < 16);
}

/* Three levels that return, each to the command behind its call; a chained one does not. */
static void levels_return(void **state)
{
	(void)state;
	put_bases(0, 0, 0x800000000000);
	PUT(22, CALL, PLACE + 400, 0, 0x61020001, 0x1000, 0, END);
	PUT(100, CALL, PLACE + 800, 0, 0x61020001, 0x2000, 0, END);
	PUT(200, CALL, PLACE + 1200, 0, 0x61020001, 0x3000, 0, END);
	PUT(300, 0x61020001, 0x4000, 0, JUMP, PLACE + 1600, 0, 0x61020001, 0x6000, 0, END);
	PUT(400, 0x61020001, 0x5000, 0, END);
	assert_int_equal(run(12), AF_BATCH_END);
	assert_int_equal(found.nr, 5);
	kernel_is(0, 0x800000004000, AF_BATCH_SYSTEM);
	kernel_is(1, 0x800000005000, AF_BATCH_SYSTEM);
	kernel_is(2, 0x800000003000, AF_BATCH_SYSTEM);
	kernel_is(3, 0x800000002000, AF_BATCH_SYSTEM);
	kernel_is(4, 0x800000001000, AF_BATCH_SYSTEM);
	assert_int_equal(found.kernels[1].at, PLACE + 1600);
}

/*
 * GPUs with two levels: calls from the second level are jumps, as many as it likes, and nothing
 * lies behind them. The first level goes on all the same.
 */
static void second_level_chains(void **state)
{
	(void)state;
	put_bases(0, 0, 0x800000000000);
	PUT(22, CALL, PLACE + 400, 0, 0x61020001, 0x9000, 0, END);
	for (uint32_t i = 0; i < 6; i++)
		PUT(100 + 1200 * i, 0x61020001, 0x1000 * (i + 1), 0, CALL,
		    PLACE + 4 * (100 + 1200 * (i + 1)), 0);
	PUT(100 + 1200 * 6, 0x61020001, 0x7000, 0, END);
	memory[106 + 1200] = 0x20000000; /* no command: behind the second call */
	assert_int_equal(run(12), AF_BATCH_END);
	assert_int_equal(found.nr, 8);
	for (uint32_t i = 0; i < 7; i++)
		kernel_is(i, 0x800000000000 + 0x1000 * (i + 1), AF_BATCH_SYSTEM);
	kernel_is(7, 0x800000009000, AF_BATCH_SYSTEM);

	/* Behind a call of the first level there must be something. */
	memory[25] = 0x20000000;
	assert_int_equal(run(12), AF_BATCH_UNKNOWN);
}

/* A batch that is called twice is read twice: it starts its kernels twice. */
static void calls_repeat(void **state)
{
	(void)state;
	PUT(0, CALL, PLACE + 400, 0, CALL, PLACE + 400, 0, END);
	PUT(100, 0x61020001, 0x1000, 0, END);
	assert_int_equal(run(12), AF_BATCH_END);
	assert_int_equal(found.nr, 2);
}

/* Nobody here knows a condition: both ways are read, and an end that may not be one is passed. */
static void conditions_go_both_ways(void **state)
{
	(void)state;
	PUT(0, JUMP | 1 << 15, PLACE + 400, 0, 0x61020001, 0x1000, 0, END | 1 << 15, 0x61020001,
	    0x2000, 0, END);
	PUT(100, 0x61020001, 0x3000, 0, END);
	assert_int_equal(run(12), AF_BATCH_END);
	assert_int_equal(found.nr, 3);
	kernel_is(0, 0x1000, AF_BATCH_SYSTEM);
	kernel_is(1, 0x2000, AF_BATCH_SYSTEM);
	kernel_is(2, 0x3000, AF_BATCH_SYSTEM);
	assert_int_equal(found.kernels[0].flags, AF_BATCH_OFFSET);
}

/* ---- code ---- */

static void bases_stay(void **state)
{
	(void)state;
	uint32_t at = put_bases(0, 0, 0x800000000000);
	PUT(at, END);
	assert_int_equal(run(12), AF_BATCH_END);
	begin(NULL);
	walk.bases = (struct af_batch_bases){0x800000000000, 0, AF_BATCH_INSTRUCTION, 0};
	PUT(0, 0x61010014);
	PUT(22, 0x61020001, 0x7000, 0, END);
	assert_int_equal(run(12), AF_BATCH_END);
	kernel_is(0, 0x800000007000, AF_BATCH_SYSTEM);
	assert_int_equal(found.kernels[0].flags, 0);
}

static void walkers_hold_kernels(void **state)
{
	static const struct {
		uint32_t header, version, at;
		uint64_t base;
	} forms[] = {{0x72080025, 12, 18, 0x800000000000}, {0x72080526, 20, 19, 0x800000000000},
	             {0x720a0026, 30, 19, 0x800000000000}, {0x7220003e, 35, 19, 0},
	             {0x7c01002a, 12, 23, 0x800000000000}, {0x7c01002b, 20, 24, 0x800000000000}};

	(void)state;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		begin(NULL);
		uint32_t at = put_bases(0, 0, 0x800000000000);
		memory[at] = forms[i].header;
		for (uint32_t k = 1; k < (forms[i].header & 0xff) + 2; k++)
			memory[at + k] = 0xa0000000 + k * 64;
		memory[at + forms[i].at] = 0xfffd0080 | 3;
		memory[at + forms[i].at + 1] = forms[i].version == 35 ? 0x8000 : 0;
		PUT(at + (forms[i].header & 0xff) + 2, END);
		assert_int_equal(run(forms[i].version), AF_BATCH_END);
		assert_int_equal(found.nr, 1);
		kernel_is(0, 0x8000fffd0080, AF_BATCH_COMPUTE);
		assert_int_equal(found.kernels[0].at, PLACE + 88);
	}
}

static void descriptors_are_read(void **state)
{
	(void)state;
	uint32_t at = put_bases(0, PLACE + 0x1000, 0x800000000000);
	at = PUT(at, 0x70020002, 0, 64, 0x40);
	memory[at] = 0x7105000d;
	memory[at + 1] = 1;
	memory[at + 15] = 0x7105000d;
	memory[at + 16] = 2; /* behind the last */
	PUT(at + 30, END);
	PUT(0x1040 / 4, 0x1000, 0, 0, 0, 0, 0, 0, 0, 0xfff40000, 0);
	assert_int_equal(run(9), AF_BATCH_END);
	assert_int_equal(found.nr, 1);
	kernel_is(0, 0x8000fff40000, AF_BATCH_COMPUTE);
	assert_int_equal(walk.nr_undescribed, 1);
}

static void shaders_that_are_on(void **state)
{
	(void)state;
	for (uint32_t on = 0; on < 2; on++) {
		begin(NULL);
		walk.bases = (struct af_batch_bases){0x100000, 0, AF_BATCH_INSTRUCTION, 0};
		uint32_t at = PUT(0, 0x78100007, 0x40, 0, 0, 0, 0, 0, on, 0);
		at = PUT(at, 0x781b0007, 0, on << 31, 0x80, 0, 0, 0, 0, 0);
		at = PUT(at, 0x781d0009, 0xc0, 0, 0, 0, 0, 0, on, 0, 0, 0);
		at = PUT(at, 0x78110008, 0x100, 0, 0, 0, 0, 0, on, 0, 0);
		at = PUT(at, 0x7820000a, 0x140, 0, 0, 0, 0, on * 7, 0, 0x180, 0, 0x1c0, 0);
		PUT(at, END);
		assert_int_equal(run(12), AF_BATCH_END);
		assert_int_equal(found.nr, on * 7);
	}
	static const uint32_t kinds[] = {AF_BATCH_VERTEX,   AF_BATCH_HULL,  AF_BATCH_DOMAIN,
	                                 AF_BATCH_GEOMETRY, AF_BATCH_PIXEL, AF_BATCH_PIXEL,
	                                 AF_BATCH_PIXEL};
	for (uint32_t i = 0; i < 7; i++)
		kernel_is(i, 0x100000 + 0x40 * (i + 1), kinds[i]);

	/* Xe2: each of two is on by itself. */
	begin(NULL);
	walk.bases.known = AF_BATCH_INSTRUCTION;
	uint32_t at = PUT(0, 0x7820000a, 0x140, 0, 0, 0, 0, 7, 0, 0x181, 0, 0x1c1, 0);
	PUT(at, END);
	assert_int_equal(run(20), AF_BATCH_END);
	assert_int_equal(found.nr, 1);
	kernel_is(0, 0x180, AF_BATCH_PIXEL);
}

/* A command that is shorter than its kind can be, or cut by the end of memory, starts nothing. */
static void short_commands(void **state)
{
	(void)state;
	PUT(0, 0x72080001, 0, 0, END);
	assert_int_equal(run(12), AF_BATCH_UNKNOWN);
	PUT(0, JUMP, PLACE + 4 * (WORDS - 10), 0);
	PUT(WORDS - 10, 0x72080025);
	assert_int_equal(run(12), AF_BATCH_UNREADABLE);
	assert_int_equal(found.nr, 0);
}

static void names(void **state)
{
	(void)state;
	for (uint32_t i = AF_BATCH_END; i <= AF_BATCH_INDIRECT; i++)
		assert_string_not_equal(af_batch_stop_name(i), "?");
	for (uint32_t i = AF_BATCH_COMPUTE; i <= AF_BATCH_SYSTEM; i++)
		assert_string_not_equal(af_batch_kind_name(i), "?");
	assert_string_equal(af_batch_stop_name(0), "?");
	assert_string_equal(af_batch_kind_name(99), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(lengths, begin),
	    cmocka_unit_test_setup(ends_are_named, begin),
	    cmocka_unit_test_setup(zeros_are_unwritten, begin),
	    cmocka_unit_test_setup(circles_end, begin),
	    cmocka_unit_test_setup(levels_return, begin),
	    cmocka_unit_test_setup(second_level_chains, begin),
	    cmocka_unit_test_setup(calls_repeat, begin),
	    cmocka_unit_test_setup(conditions_go_both_ways, begin),
	    cmocka_unit_test_setup(bases_stay, begin),
	    cmocka_unit_test_setup(walkers_hold_kernels, begin),
	    cmocka_unit_test_setup(descriptors_are_read, begin),
	    cmocka_unit_test_setup(shaders_that_are_on, begin),
	    cmocka_unit_test_setup(short_commands, begin),
	    cmocka_unit_test_setup(names, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
