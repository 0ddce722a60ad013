/*
 * The text of instructions: what disassemblers print as one form, and listings of objects by those
 * that are here, by none, and by some that misbehave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/system/fs.h"
#include "base/system/tool.h"
#include "emulated.h"
#include "sym/device/code.h"
#include "sym/device/disassembler.h"
#include "sym/device/listing.h"
#include "sym/device/listing_parse.h"
#include "sym/device/sass.h"

enum { UNPACKED_MAX = 1 << 20 };

static char folder[] = "/tmp/aflame-listing-XXXXXX";

static void parsed(const char *text, bool host, const char *want)
{
	struct af_buf lines = {0};

	if (host)
		af_listing_objdump(&lines, text, strlen(text));
	else
		af_listing_nvdisasm(&lines, text, strlen(text));
	assert_string_equal(lines.data ? lines.data : "", want);
	af_buf_free(&lines);
}

static void nvdisasm_is_read(void **state)
{
	(void)state;
	/* The second is what CUDA 12.9 and later print. */
	parsed("\t.headerflags\t@\"EF_CUDA_SM90\"\n"
	       "//--------------------- .text._Z4kernPf  --------------------------\n"
	       "\t.section\t.text._Z4kernPf,\"ax\",@progbits\n"
	       "\t.align\t128\n"
	       "        .global         _Z4kernPf\n"
	       "        .size           _Z4kernPf,(.L_x_2 - _Z4kernPf)\n"
	       "_Z4kernPf:\n"
	       ".text._Z4kernPf:\n"
	       "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
	       ".L_x_0:\n"
	       "        /*0010*/              @!P0 BRA `(.L_x_1) ;\n"
	       "        /*0020*/                   CALL.REL.NOINC `($kern$_Z3fooi) ;\n"
	       ".L_x_1:\n"
	       "        /*0030*/                   BRA `(.L_x_0);\n"
	       ".L_x_2:\n"
	       "\t.section\t.nv.info,\"\",@\"SHT_CUDA_INFO\"\n"
	       "        /*0000*/ \t.byte\t0x04 ;\n",
	       false,
	       "f _Z4kernPf\ni 0 LDC R1, c[0x0][0x28]\ni 10 @!P0 BRA 0x30\n"
	       "i 20 CALL.REL.NOINC $kern$_Z3fooi\ni 30 BRA 0x10\n");
	parsed("\t.section\t.text.k,\"ax\",@progbits\n"
	       "        /*0000*/                   LDG.E R2, desc[UR4][R2.64] ;  /* "
	       "0x0000000402027981 */\n"
	       "                                                                 /* "
	       "0x000ea2000c1e1900 */\n"
	       "        /*10000*/                  EXIT ;\n",
	       false, "f k\ni 0 LDG.E R2, desc[UR4][R2.64]\ni 10000 EXIT\n");
}

static void objdump_is_read(void **state)
{
	(void)state;
	parsed("\n/tmp/x:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n"
	       "0000000000001139 <main>:\n    1139:\tpush   %rbp\n"
	       "    113a:\tcall   1030 <puts@plt>\n",
	       true, "i 1139 push %rbp\ni 113a call 1030 <puts@plt>\n");
}

static void garbage_is_borne(void **state)
{
	(void)state;
	parsed("", false, "");
	parsed("\t.section\t.text.k", false, "");
	parsed("\t.section\t.text.k,\n/*00", false, "");
	parsed("\t.section\t.text.k,\n/*0000*/ ;\n/*zz*/ A ;\n/*ffffffffffffffffff*/ B ;\n", false,
	       "");
	parsed("\t.section\t.text.k,\n/*10*/ A\x1b[31m `(.L_x_0) `( ;\n.L_x_0:\n", false,
	       "f k\ni 10 A[31m .L_x_0 `(\n");
	parsed(" :\t\n  :\tx\n 12:x\n", true, "");
}

/* objects */

struct object {
	uint8_t *bytes;
	struct af_code *code;
};

static void object_open(struct object *o, const char *name)
{
	const char *root = getenv("AF_SOURCE_ROOT");
	uint64_t limit = UINT64_MAX;
	struct af_err err = {0};
	struct af_file file;
	size_t in = 0, size = 0;
	char path[512];

	snprintf(path, sizeof path, "%s/tests/unit/sass/%s", root ? root : ".", name);
	assert_int_equal(af_file_map(&file, path, &err), 0);
	o->bytes = malloc(UNPACKED_MAX);
	assert_int_equal(lzma_stream_buffer_decode(&limit, 0, NULL, file.data, &in, file.size,
	                                           o->bytes, &size, UNPACKED_MAX),
	                 LZMA_OK);
	af_file_unmap(&file);
	assert_int_equal(af_code_open(&o->code, o->bytes, size, &err), 0);
}

static void object_close(struct object *o)
{
	af_code_close(o->code);
	free(o->bytes);
}

/* A script that stands for nvdisasm: $3 is the object. */
static void script(const char *text)
{
	char path[64];

	snprintf(path, sizeof path, "%s/nvdisasm", folder);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", text);
	fclose(f);
	assert_int_equal(chmod(path, 0700), 0);
	setenv("AFLAME_NVDISASM", path, 1);
}

static void without_one_names_are_left(void **state)
{
	struct object o;

	(void)state;
	setenv("AFLAME_NVDISASM", "", 1);
	object_open(&o, "waits-90.cubin.xz");
	struct af_listing *l = af_listing_open(o.code, NULL);
	int i = af_code_find(o.code, "special", 0);
	assert_true(i >= 0);
	assert_string_equal(af_listing_source(l), "aflame's table");
	assert_non_null(strstr(af_listing_reason(l), "no nvdisasm"));
	assert_string_equal(af_listing_text(l, (uint32_t)i, 0x50), "LDG");
	assert_string_equal(af_listing_text(l, (uint32_t)i, 0x80), "@!P0 FMUL");
	assert_null(af_listing_text(l, (uint32_t)i, 0x58));
	assert_null(af_listing_text(l, (uint32_t)i, 1 << 20));
	assert_null(af_listing_text(l, 1000, 0));
	af_listing_close(l);
	object_close(&o);
}

/*
 * Asked once; what it reported is taken from the cache then, and from none that others could write.
 */
static void it_is_asked_once(void **state)
{
	char count[64], cache[64], line[64] = "";
	struct object o;

	(void)state;
	snprintf(count, sizeof count, "%s/count", folder);
	snprintf(cache, sizeof cache, "%s/cache", folder);
	setenv("XDG_CACHE_HOME", cache, 1);
	setenv("COUNT", count, 1);
	script("echo run >>$COUNT; test \"$1\" = -c || exit 3\n"
	       "test \"$(head -c4 \"$2\" | tail -c3)\" = ELF || exit 4\n"
	       "printf '\\t.section\\t.text.special,\"ax\"\\n/*0050*/ LDG.E R2, [R2.64] ;\\n'");
	object_open(&o, "waits-90.cubin.xz");
	for (int round = 0; round < 3; round++) {
		struct af_listing *l = af_listing_open(o.code, "0123456789abcdef");
		int i = af_code_find(o.code, "special", 0);

		assert_string_equal(af_listing_reason(l), "");
		assert_string_equal(af_listing_source(l), "nvdisasm");
		assert_string_equal(af_listing_text(l, (uint32_t)i, 0x50), "LDG.E R2, [R2.64]");
		/* Bytes that it does not mention. */
		assert_string_equal(af_listing_text(l, (uint32_t)i, 0x60), "FMUL");
		af_listing_close(l);
	}
	FILE *f = fopen(count, "re");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof line, f));
	assert_null(fgets(line, sizeof line, f));
	fclose(f);
	object_close(&o);
}

static void those_that_fail_are_reported(void **state)
{
	struct object o;

	(void)state;
	object_open(&o, "waits-90.cubin.xz");
	script("echo 'nvdisasm fatal   : Cannot decode architecture SM90' >&2; exit 1");
	struct af_listing *l = af_listing_open(o.code, "ffff");
	assert_non_null(strstr(af_listing_reason(l), "Cannot decode architecture SM90"));
	assert_string_equal(af_listing_source(l), "aflame's table");
	assert_string_equal(af_listing_text(l, 0, 0), "LDC");
	af_listing_close(l);
	script("kill -SEGV $$");
	l = af_listing_open(o.code, "ffff");
	assert_non_null(strstr(af_listing_reason(l), "did not say why"));
	af_listing_close(l);
	object_close(&o);
}

static int tool_run(const char *shell, unsigned seconds, size_t most, struct af_buf *out,
                    struct af_err *err)
{
	const char *argv[] = {"/bin/sh", "-c", shell, NULL};

	return af_tool_run(
	    &(struct af_tool){
		.path = "/bin/sh", .argv = argv, .input = -1, .seconds = seconds, .most = most},
	    out, err);
}

static void tools_keep_their_limits(void **state)
{
	SKIP_EMULATED("posix_spawn does not report that there is no program");
	struct af_buf out = {0};
	struct af_err err = {0};

	(void)state;
	assert_int_equal(tool_run("echo good; echo bad >&2", 20, 100, &out, &err), 0);
	assert_string_equal(out.data, "good\n");
	assert_int_equal(tool_run("yes", 20, 1 << 20, &out, &err), -EFBIG);
	assert_true(out.len <= (1 << 20) + 5);
	assert_int_equal(tool_run("exec sleep 100", 1, 100, &out, &err), -ETIMEDOUT);
	/* Closed, but not ended. */
	assert_int_equal(tool_run("exec >&- 2>&-; exec sleep 100", 20, 100, &out, &err),
	                 -ETIMEDOUT);
	assert_int_equal(tool_run("exit 3", 20, 100, &out, &err), -EIO);
	/* Nothing of ours is open in it. */
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	out.len = 0;
	assert_int_equal(tool_run("ls /proc/self/fd | tr '\\n' ' '", 20, 100, &out, &err), 0);
	close(fd);
	assert_string_equal(out.data, "0 1 2 3 ");
	const char *argv[] = {"x", NULL};
	assert_int_equal(
	    af_tool_run(
		&(struct af_tool){
		    .path = "/nonexistent/x", .argv = argv, .input = -1, .seconds = 1, .most = 1},
		&out, &err),
	    -ENOENT);
	af_buf_free(&out);
}

static int call_writes(void *arg)
{
	return dprintf(1, "%s", (const char *)arg) < 0;
}

static int call_fails(void *arg)
{
	fprintf(stderr, "%s", (const char *)arg);
	return 1;
}

static int call_breaks(void *arg)
{
	*(volatile int *)arg = 1;
	return 0;
}

static int call_hangs(void *arg)
{
	while (!arg)
		pause();
	return 0;
}

/* A function in a child: what it writes is heard, and what it breaks is its own. */
static void calls_break_only_their_child(void **state)
{
	static const struct {
		int (*call)(void *arg);
		void *arg;
		int rc;
		const char *says;
	} calls[] = {
	    {call_writes, "good", 0, ""},
	    {call_fails, "bad", -EIO, "bad"},
	    {call_breaks, NULL, -EIO, "did not say why (Segmentation fault)"},
	    {call_hangs, NULL, -ETIMEDOUT, "longer than 1 second"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		struct af_buf out = {0};
		struct af_err err = {.msg = ""};

		assert_int_equal(af_tool_run(&(struct af_tool){.path = "a library",
		                                               .call = calls[i].call,
		                                               .arg = calls[i].arg,
		                                               .input = -1,
		                                               .seconds = 1,
		                                               .most = 100},
		                             &out, &err),
		                 calls[i].rc);
		assert_string_equal(out.data ? out.data : "", i ? "" : "good");
		/* An emulator reports crashes in its own words. */
		assert_true(strstr(err.msg, calls[i].says) || strstr(err.msg, "qemu: uncaught"));
		af_buf_free(&out);
	}
}

/* The real one, where it is found: what it says begins with what the decoder says. */
static void it_is_as_the_decoder_has_it(void **state)
{
	static const char *const objects[] = {"waits-75.cubin.xz", "waits-80.cubin.xz",
	                                      "waits-90.cubin.xz", "waits-100.cubin.xz"};
	unsigned nr = 0;

	(void)state;
	unsetenv("AFLAME_NVDISASM");
	for (size_t k = 0; k < sizeof objects / sizeof *objects; k++) {
		struct object o;

		object_open(&o, objects[k]);
		struct af_listing *l = af_listing_open(o.code, NULL);
		bool real = !strcmp(af_listing_source(l), "nvdisasm");
		for (uint32_t i = 0; real && i < af_code_nr_functions(o.code); i++) {
			const struct af_code_function *f = af_code_function(o.code, i);

			for (uint64_t at = 0; at < f->size; at += AF_SASS_BYTES, nr++) {
				const char *text = af_listing_text(l, i, at);
				char ours[AF_SASS_TEXT_MAX];
				struct af_sass insn;

				af_sass_decode(af_code_sm(o.code), f->bytes + at, &insn);
				af_sass_text(&insn, ours);
				if (strncmp(text, ours, strlen(ours)) != 0)
					fail_msg("%s %s %#llx: %s, not %s", objects[k], f->name,
					         (unsigned long long)at, text, ours);
			}
		}
		af_listing_close(l);
		object_close(&o);
	}
	if (!nr)
		skip();
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return af_remove_tree(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nvdisasm_is_read),
	    cmocka_unit_test(objdump_is_read),
	    cmocka_unit_test(garbage_is_borne),
	    cmocka_unit_test(without_one_names_are_left),
	    cmocka_unit_test(it_is_asked_once),
	    cmocka_unit_test(those_that_fail_are_reported),
	    cmocka_unit_test(tools_keep_their_limits),
	    cmocka_unit_test(calls_break_only_their_child),
	    cmocka_unit_test(it_is_as_the_decoder_has_it),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
