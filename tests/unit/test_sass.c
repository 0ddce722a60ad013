/*
 * The decoder of NVIDIA's instructions against what nvdisasm 12.4 reported of them (sass/remake,
 * sass/truth.py), and what it tells of waiting, in kernels of which that is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/system/fs.h"
#include "sym/device/code.h"
#include "sym/device/sass.h"

enum { UNPACKED_MAX = 1 << 20, PRODUCERS = 16 };

/* A file of tests/unit/sass, unpacked when its name says that it is packed; NUL-terminated. */
static uint8_t *file_read(const char *name, size_t *size)
{
	const char *root = getenv("AF_SOURCE_ROOT");
	uint8_t *bytes = malloc(UNPACKED_MAX);
	uint64_t limit = UINT64_MAX;
	struct af_err err = {0};
	struct af_file file;
	char path[512];
	size_t in = 0;

	snprintf(path, sizeof path, "%s/tests/unit/sass/%s", root ? root : ".", name);
	assert_int_equal(af_file_map(&file, path, &err), 0);
	*size = 0;
	if (strstr(name, ".xz")) {
		assert_int_equal(lzma_stream_buffer_decode(&limit, 0, NULL, file.data, &in,
		                                           file.size, bytes, size,
		                                           UNPACKED_MAX - 1),
		                 LZMA_OK);
	} else {
		assert_true(file.size < UNPACKED_MAX);
		memcpy(bytes, file.data, *size = file.size);
	}
	bytes[*size] = 0;
	af_file_unmap(&file);
	return bytes;
}

static void word_read(const char *hex, uint8_t word[AF_SASS_BYTES])
{
	for (int i = 0; i < AF_SASS_BYTES; i++) {
		unsigned v = 0;

		assert_int_equal(sscanf(hex + (size_t)2 * (AF_SASS_BYTES - 1 - i), "%2x", &v), 1);
		word[i] = (uint8_t)v;
	}
}

static void set_text(struct af_buf *b, const struct af_sass_set *set)
{
	b->len = 0;
	for (unsigned i = 0; i < 256; i++)
		if (set->r[i / 64] >> (i % 64) & 1)
			af_buf_fmt(b, ",R%u", i);
	for (unsigned i = 0; i < 8; i++)
		if (set->p >> i & 1)
			af_buf_fmt(b, ",P%u", i);
	for (unsigned i = 0; i < 256; i++)
		if (set->u[i / 64] >> (i % 64) & 1)
			af_buf_fmt(b, ",UR%u", i);
	for (unsigned i = 0; i < 8; i++)
		if (set->up >> i & 1)
			af_buf_fmt(b, ",UP%u", i);
	if (!b->len)
		af_buf_str(b, ",-");
}

/* How many coordinates a texture has, and how wide a matrix of integers is, is not read. */
static bool is_rough(const char *name)
{
	static const char *const rough[] = {"TEX", "TLD", "TLD4", "TXD", "SULD", "SUST", "IMMA"};

	for (size_t i = 0; i < sizeof rough / sizeof *rough; i++)
		if (!strcmp(name, rough[i]))
			return true;
	return false;
}

static void instructions_are_nvdisasms(void **state)
{
	struct af_buf reads = {0}, writes = {0};
	unsigned nr = 0, nr_rough = 0;
	size_t size;
	char *text = (char *)file_read("instructions.xz", &size);

	(void)state;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char hex[33], guard[16] = "", name[32], read[400], written[400];
		char want[64], got[AF_SASS_TEXT_MAX];
		uint8_t word[AF_SASS_BYTES];
		struct af_sass insn;
		unsigned sm;

		const char *rest;
		int n = 0;

		assert_int_equal(sscanf(line, "%u %32s %n", &sm, hex, &n), 2);
		rest = line + n;
		if (*rest == '@') {
			assert_int_equal(sscanf(rest, "%15s %n", guard, &n), 1);
			rest += n;
		}
		assert_int_equal(sscanf(rest, "%31s %399s %399s", name, read, written), 3);
		snprintf(want, sizeof want, "%s%s%s", guard, *guard ? " " : "", name);
		word_read(hex, word);
		assert_true(af_sass_decode(sm, word, &insn));
		if (strcmp(want, af_sass_text(&insn, got)) != 0)
			fail_msg("%s: not %s", line, got);
		set_text(&reads, &insn.reads);
		set_text(&writes, &insn.writes);
		nr++;
		if (is_rough(name))
			nr_rough++;
		else if (strcmp(read, reads.data + 1) != 0 || strcmp(written, writes.data + 1) != 0)
			fail_msg("%s: not %s and %s", line, reads.data + 1, writes.data + 1);
	}
	assert_true(nr > 2000);
	assert_true(nr_rough < 60);
	af_buf_free(&reads);
	af_buf_free(&writes);
	free(text);
}

/* Every opcode that it knows of sm_70 to sm_90, and what it did not know is not known here. */
static void opcodes_are_nvdisasms(void **state)
{
	static bool known[100][4096];
	unsigned nr = 0, more = 0;
	size_t size;
	char *text = (char *)file_read("opcodes", &size);

	(void)state;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char name[32], *archs = strrchr(line, ' ');
		unsigned opcode, sm;

		assert_int_equal(sscanf(line, "%3x %31s", &opcode, name), 2);
		for (int n = 0; archs && sscanf(archs + 1, "%u%n", &sm, &n) == 1;
		     archs = strchr(archs + 1, ',')) {
			uint8_t word[AF_SASS_BYTES] = {(uint8_t)opcode,
			                               (uint8_t)(opcode >> 8 | 0x70)};
			struct af_sass insn;

			if (!af_sass_decode(sm, word, &insn) || strcmp(insn.name, name) != 0)
				fail_msg("sm_%u %03x: %s, not %s", sm, opcode, name,
				         insn.name ? insn.name : "unknown");
			known[sm][opcode & 0x1ff] = true;
			nr++;
		}
	}
	for (unsigned opcode = 0; opcode < 0x1000; opcode++) {
		uint8_t word[AF_SASS_BYTES] = {(uint8_t)opcode, (uint8_t)(opcode >> 8 | 0x70)};
		struct af_sass insn;

		more += af_sass_decode(90, word, &insn) && !known[90][opcode & 0x1ff] &&
		        !known[89][opcode & 0x1ff] && !known[86][opcode & 0x1ff];
	}
	assert_true(nr > 2900);
	assert_true(more < 24);
	free(text);
}

static void unknown_is_reported(void **state)
{
	uint8_t word[AF_SASS_BYTES] = {0x5a, 0x9e};
	char text[AF_SASS_TEXT_MAX];
	struct af_sass insn;

	(void)state;
	assert_false(af_sass_decode(90, word, &insn));
	assert_string_equal(af_sass_text(&insn, text), "@!P1 0xe5a?");
	/* One that came later. */
	word[0] = 0x36;
	word[1] = 0x72;
	assert_false(af_sass_decode(80, word, &insn));
	assert_true(af_sass_decode(90, word, &insn));
	assert_string_equal(insn.name, "VIADD");
	assert_true(af_sass_decode(75, word, &insn));
	assert_string_equal(insn.name, "HMMA");
	word[15] = 0x0f;
	word[14] = 0xea;
	word[13] = 0x84;
	assert_false(af_sass_decode(80, word, &insn));
	assert_int_equal(insn.reuse, 3);
	assert_int_equal(insn.wait_mask, 0x3e);
	assert_int_equal(insn.read_barrier, 5);
}

/* waiting */

struct kernel {
	struct af_code *code;
	const struct af_code_function *function;
	uint8_t *bytes;
	uint32_t sm;
};

static void kernel_open(struct kernel *k, uint32_t sm, const char *name)
{
	struct af_err err = {0};
	char file[64];
	size_t size;

	snprintf(file, sizeof file, "waits-%u.cubin.xz", sm);
	k->bytes = file_read(file, &size);
	k->sm = sm;
	assert_int_equal(af_code_open(&k->code, k->bytes, size, &err), 0);
	int i = af_code_find(k->code, name, 0);
	assert_true(i >= 0);
	k->function = af_code_function(k->code, (uint32_t)i);
	assert_non_null(k->function->bytes);
}

static void kernel_close(struct kernel *k)
{
	af_code_close(k->code);
	free(k->bytes);
}

static const char *kernel_name(const struct kernel *k, uint32_t offset)
{
	struct af_sass insn;

	assert_true(af_sass_decode(k->sm, k->function->bytes + offset, &insn));
	return insn.name;
}

/* The nth instruction called @name, from the first. */
static uint32_t kernel_find(const struct kernel *k, const char *name, unsigned nth)
{
	for (uint32_t at = 0; at < k->function->size; at += AF_SASS_BYTES)
		if (!strcmp(kernel_name(k, at), name) && !nth--)
			return at;
	fail_msg("sm_%u %s has no %s", k->sm, k->function->name, name);
	return 0;
}

static uint32_t kernel_producers(const struct kernel *k, uint32_t at, uint32_t out[PRODUCERS])
{
	return af_sass_producers(k->sm, k->function->bytes, k->function->size, at, out, PRODUCERS);
}

static bool kernel_waits(const struct kernel *k, uint32_t at, uint32_t for_what)
{
	uint32_t out[PRODUCERS], nr = kernel_producers(k, at, out);

	for (uint32_t i = 0; i < nr; i++)
		if (out[i] == for_what)
			return true;
	return false;
}

static const uint32_t archs[] = {75, 80, 90, 100};

#define EACH_ARCH(sm) (const uint32_t *sm = archs; sm < archs + sizeof archs / sizeof *archs; sm++)

/* The address of a load is made of what the same load gave one turn of the loop before. */
static void a_chase_waits_for_itself(void **state)
{
	(void)state;
	for
		EACH_ARCH(sm)
		{
			uint32_t out[PRODUCERS];
			struct kernel k;

			kernel_open(&k, *sm, "chase");
			uint32_t load = kernel_find(&k, "LDG", 0),
				 nr = kernel_producers(&k, load, out);
			assert_true(nr > 0);
			/* Only the address, which is ready after a fixed time, and where from. */
			uint32_t address = out[0];
			assert_true(address < load);
			assert_string_equal(kernel_name(&k, address), "IMAD");
			assert_true(kernel_waits(&k, address, load));
			/* After the loop the result is waited for, past the jump that ends it. */
			assert_true(kernel_waits(&k, kernel_find(&k, "STG", 0), load));
			kernel_close(&k);
		}
}

/* First what it stalls for, then what is ready soon: its own sum of the turn before. */
static void a_sum_waits_for_its_load(void **state)
{
	(void)state;
	for
		EACH_ARCH(sm)
		{
			uint32_t out[PRODUCERS];
			struct kernel k;

			kernel_open(&k, *sm, "sum");
			uint32_t add = kernel_find(&k, "FADD", 0);
			uint32_t nr = kernel_producers(&k, add, out);
			assert_true(nr >= 2);
			assert_int_equal(out[0], kernel_find(&k, "LDG", 0));
			assert_true(kernel_waits(&k, add, add));
			for (uint32_t i = 1; i < nr; i++)
				assert_string_not_equal(kernel_name(&k, out[i]), "LDG");
			/* Nothing that begins its turn waits for the load. */
			assert_false(kernel_waits(&k, kernel_find(&k, "LDG", 0), out[0]));
			kernel_close(&k);
		}
}

static void shared_memory_is_waited_for(void **state)
{
	(void)state;
	for
		EACH_ARCH(sm)
		{
			uint32_t out[PRODUCERS];
			struct kernel k;

			kernel_open(&k, *sm, "shared");
			assert_int_equal(kernel_producers(&k, kernel_find(&k, "FMUL", 0), out), 1);
			assert_int_equal(out[0], kernel_find(&k, "LDS", 0));
			assert_true(
			    kernel_waits(&k, kernel_find(&k, "STS", 0), kernel_find(&k, "LDG", 0)));
			kernel_close(&k);
		}
}

static void special_functions_are_waited_for(void **state)
{
	(void)state;
	for
		EACH_ARCH(sm)
		{
			uint32_t out[PRODUCERS];
			struct kernel k;

			kernel_open(&k, *sm, "special");
			uint32_t after = kernel_find(&k, "MUFU", 0) + AF_SASS_BYTES;
			assert_string_equal(kernel_name(&k, after), "FMUL");
			assert_true(kernel_producers(&k, after, out) >= 1);
			assert_int_equal(out[0], after - AF_SASS_BYTES);
			kernel_close(&k);
		}
}

/* Two ways join: both loads may be what is waited for. Only sm_100's code has two. */
static void both_ways_are_followed(void **state)
{
	uint32_t out[PRODUCERS];
	struct kernel k;

	(void)state;
	kernel_open(&k, 100, "either");
	assert_true(kernel_producers(&k, kernel_find(&k, "FMUL", 0), out) >= 2);
	assert_true(kernel_waits(&k, kernel_find(&k, "FMUL", 0), kernel_find(&k, "LDG", 0)));
	assert_true(kernel_waits(&k, kernel_find(&k, "FMUL", 0), kernel_find(&k, "LDG", 1)));
	kernel_close(&k);
}

static void copies_are_waited_for(void **state)
{
	(void)state;
	for
		EACH_ARCH(sm)
		{
			uint32_t out[PRODUCERS];
			struct kernel k;

			if (*sm < 80)
				continue;
			kernel_open(&k, *sm, "copies");
			assert_true(kernel_producers(&k, kernel_find(&k, "DEPBAR", 0), out) >= 2);
			assert_int_equal(out[0], kernel_find(&k, "LDGSTS", 0));
			kernel_close(&k);
		}
}

/* Bytes that are no code, and offsets that are none. */
static void nonsense_is_borne(void **state)
{
	uint8_t code[64 * AF_SASS_BYTES + 5];
	uint32_t out[2], seed = 1;

	(void)state;
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof code; i++)
			code[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
		for (uint32_t at = 0; at < sizeof code; at += 8)
			assert_true(af_sass_producers(90, code, sizeof code, at, out, 2) <= 2);
	}
	assert_int_equal(af_sass_producers(90, code, sizeof code, 64 * AF_SASS_BYTES, out, 2), 0);
	assert_int_equal(af_sass_producers(90, code, 0, 0, out, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(instructions_are_nvdisasms),
	    cmocka_unit_test(opcodes_are_nvdisasms),
	    cmocka_unit_test(unknown_is_reported),
	    cmocka_unit_test(a_chase_waits_for_itself),
	    cmocka_unit_test(a_sum_waits_for_its_load),
	    cmocka_unit_test(shared_memory_is_waited_for),
	    cmocka_unit_test(special_functions_are_waited_for),
	    cmocka_unit_test(both_ways_are_followed),
	    cmocka_unit_test(copies_are_waited_for),
	    cmocka_unit_test(nonsense_is_borne),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
