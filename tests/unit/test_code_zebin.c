/*
 * Zebins of Intel's compiler (code/remake_zebins makes them): where instructions begin, as Intel's
 * own disassembler has it, and lines and inlined calls of each as LLVM has them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/system/fs.h"
#include "sym/device/code.h"
#include "sym/device/listing.h"
#include "sym/device/listing_parse.h"

enum { ZEBIN_MAX = 1 << 20 };

struct zebin {
	uint8_t *bytes;
	size_t size;
	struct af_code *code;
};

static void data_map(struct af_file *f, const char *name, const char *suffix)
{
	const char *root = getenv("AF_SOURCE_ROOT");
	char path[512];

	snprintf(path, sizeof path, "%s/tests/unit/code/zebin-%s%s", root ? root : ".", name,
	         suffix);
	assert_int_equal(af_file_map(f, path, NULL), 0);
}

static void zebin_read(struct zebin *z, const char *name)
{
	struct af_file packed;
	uint64_t limit = UINT64_MAX;
	size_t in = 0;

	*z = (struct zebin){.bytes = malloc(ZEBIN_MAX)};
	data_map(&packed, name, ".zebin.xz");
	assert_int_equal(lzma_stream_buffer_decode(&limit, 0, NULL, packed.data, &in, packed.size,
	                                           z->bytes, &z->size, ZEBIN_MAX),
	                 LZMA_OK);
	af_file_unmap(&packed);
	/* Exactly as large as it is, so that sanitizers see what is read behind it. */
	z->bytes = realloc(z->bytes, z->size);
}

static void zebin_open(struct zebin *z, const char *name)
{
	zebin_read(z, name);
	assert_int_equal(af_code_open(&z->code, z->bytes, z->size, NULL), 0);
}

static void zebin_close(struct zebin *z)
{
	af_code_close(z->code);
	free(z->bytes);
}

/* An instruction with its frames, as zebin_insns.py writes it. */
static void insn_text(struct af_buf *b, struct zebin *z, uint32_t i, uint64_t offset)
{
	struct af_code_frame frames[AF_CODE_FRAMES];
	uint32_t nr = af_code_frames(z->code, i, offset, frames, AF_CODE_FRAMES);

	af_buf_fmt(b, "%04llx", (unsigned long long)offset);
	for (uint32_t k = 0; k < nr; k++) {
		af_buf_fmt(b, " %s:%u", frames[k].function, frames[k].line);
		assert_non_null(strstr(frames[k].file, "chains.cl"));
	}
}

/* All instructions of the object against the @size bytes at @theirs. */
static unsigned insns_compare(struct zebin *z, const char *theirs, size_t size)
{
	const char *end = theirs + size;
	uint64_t at = 0;
	unsigned nr = 0;
	int i = -1;

	for (const char *line = theirs, *stop; line < end; line = stop + 1) {
		struct af_buf ours = {0};
		char name[64];

		stop = memchr(line, '\n', (size_t)(end - line));
		assert_non_null(stop);
		if (sscanf(line, ".text.%63[^\n]", name) == 1) {
			i = af_code_find(z->code, name, 0);
			at = 0;
			continue;
		}
		assert_true(i >= 0);
		/* Bytes behind the function are no instructions of it. */
		if (at >= af_code_function(z->code, (uint32_t)i)->size)
			continue;
		insn_text(&ours, z, (uint32_t)i, at);
		if (ours.len != (size_t)(stop - line) || memcmp(ours.data, line, ours.len) != 0)
			fail_msg("%s: not %.*s", ours.data, (int)(stop - line), line);
		at = af_code_next(z->code, (uint32_t)i, at);
		af_buf_free(&ours);
		nr++;
	}
	assert_int_equal(at, af_code_function(z->code, (uint32_t)i)->size);
	return nr;
}

static void instructions_are_those_of_others(void **state)
{
	static const struct {
		const char *name, *arch;
		unsigned nr;
	} zebins[] = {
	    {"gen12lp-debug", "gen12lp", 70},
	    {"xe-hpc-debug", "xe-hpc", 47},
	    {"xe-hpg-two", "xe-hpg", 164},
	    {"gen9-two", "gen9", 106},
	};

	(void)state;
	for (size_t i = 0; i < sizeof zebins / sizeof *zebins; i++) {
		struct af_file expected;
		struct zebin z;

		zebin_open(&z, zebins[i].name);
		data_map(&expected, zebins[i].name, ".insns");
		assert_string_equal(af_code_arch(z.code), zebins[i].arch);
		assert_int_equal(af_code_sm(z.code), 0);
		assert_int_equal(insns_compare(&z, (const char *)expected.data, expected.size),
		                 zebins[i].nr);
		af_file_unmap(&expected);
		zebin_close(&z);
	}
}

static void kernels_are_functions(void **state)
{
	struct zebin z;

	(void)state;
	zebin_open(&z, "xe-hpg-two");
	assert_int_equal(af_code_nr_functions(z.code), 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct af_code_function *f = af_code_function(z.code, i);

		assert_string_equal(f->name, i ? "two_deep" : "three_deep");
		assert_string_equal(f->shown, f->name);
		assert_true(f->entry);
		assert_int_equal(f->start, 0);
		assert_int_equal(f->holder, i);
		assert_non_null(f->bytes);
	}
	assert_int_equal(af_code_find_address(z.code, 0x10, &(uint64_t){0}), -1);
	zebin_close(&z);
}

/* Move the section of code, and the symbols in it, to @address, as Intel's driver does. */
static void zebin_place(struct zebin *z, uint64_t address)
{
	Elf64_Ehdr h;
	Elf64_Shdr s;
	Elf64_Sym symbol;

	memcpy(&h, z->bytes, sizeof h);
	h.e_type = 0xff12;
	memcpy(z->bytes, &h, sizeof h);
	for (unsigned i = 0; i < h.e_shnum; i++) {
		uint8_t *p = z->bytes + h.e_shoff + i * sizeof s;

		memcpy(&s, p, sizeof s);
		if (s.sh_flags & SHF_EXECINSTR)
			s.sh_addr = address;
		memcpy(p, &s, sizeof s);
		for (uint64_t at = 0; s.sh_type == SHT_SYMTAB && at < s.sh_size;
		     at += sizeof symbol) {
			memcpy(&symbol, z->bytes + s.sh_offset + at, sizeof symbol);
			if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
				symbol.st_value += address;
			memcpy(z->bytes + s.sh_offset + at, &symbol, sizeof symbol);
		}
	}
}

static void placed_by_the_driver(void **state)
{
	struct af_file expected;
	struct zebin z;

	(void)state;
	zebin_read(&z, "xe-hpc-debug");
	zebin_place(&z, 0x8000fffd0000);
	assert_int_equal(af_code_open(&z.code, z.bytes, z.size, NULL), 0);
	data_map(&expected, "xe-hpc-debug", ".insns");
	assert_int_equal(insns_compare(&z, (const char *)expected.data, expected.size), 47);
	af_file_unmap(&expected);
	zebin_close(&z);
}

static void text_of_iga64(void **state)
{
	static const char text[] =
	    "L0:\n"
	    "/* [0000]  */ (W)     mov (8|M0)       r3.0<1>:ud    r0.0<1;1,0>:ud\n"
	    "/* [00A8]  */ (~f1.0) if (32|M0)       L256          L704       \n"
	    "L256:\n"
	    "/* [00b8]  */         illegal          \n"
	    "/* 00b8  */ nothing\n";
	struct af_buf lines = {0};

	(void)state;
	af_listing_iga64(&lines, 0x40, text, sizeof text - 1);
	assert_string_equal(lines.data, "i 40 (W) mov (8|M0) r3.0<1>:ud r0.0<1;1,0>:ud\n"
	                                "i e8 (~f1.0) if (32|M0) 0x140 0x300\n"
	                                "i f8 illegal\n");
	af_buf_free(&lines);
}

/* The real one, where it is found, has a text for each instruction and none between them. */
static void text_of_the_iga64_here(void **state)
{
	static const char *const names[] = {"gen12lp-debug", "xe-hpc-debug", "xe-hpg-two",
	                                    "gen9-two"};
	bool real = false;

	(void)state;
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		struct zebin z;

		zebin_open(&z, names[k]);
		struct af_listing *l = af_listing_open(z.code, NULL);
		for (uint32_t i = 0; i < af_code_nr_functions(z.code); i++) {
			const struct af_code_function *f = af_code_function(z.code, i);
			const char *first = af_listing_text(l, i, 0);

			assert_true(first || !real);
			real = first != NULL;
			for (uint64_t at = 0, next; real && at < f->size; at = next) {
				next = af_code_next(z.code, i, at);
				assert_non_null(af_listing_text(l, i, at));
				for (uint64_t between = at + 1; between < next; between++)
					assert_null(af_listing_text(l, i, between));
			}
		}
		assert_string_equal(af_listing_source(l), real ? "iga64" : "");
		assert_true(real == !*af_listing_reason(l));
		af_listing_close(l);
		zebin_close(&z);
	}
	if (!real) {
		print_message("# no iga64 in PATH, nor named by AFLAME_IGA64\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(instructions_are_those_of_others),
	    cmocka_unit_test(kernels_are_functions),
	    cmocka_unit_test(placed_by_the_driver),
	    cmocka_unit_test(text_of_iga64),
	    cmocka_unit_test(text_of_the_iga64_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
