/*
 * Cubins of nvcc 13.0 and ptxas 12.4 (code/remake makes them): lines and inlined calls of every
 * instruction as nvdisasm 12.4 has them, by what it printed when they were made and, where it is
 * found, by itself; and as CUPTI has them, where that is found. Names of inlined functions, which
 * neither tells, by the comments in the sources.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <glob.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/system/fs.h"
#include "base/write.h"
#include "sym/device/code.h"

enum {
	CUBIN_MAX = 1 << 20,
	INSTRUCTION = 16, /* bytes of one, on all that is here */
};

struct cubin {
	char name[64], path[512];
	uint8_t *bytes;
	size_t size;
	struct af_code *code;
};

static const char *const cubins[] = {
    "12.4-sm_75-debug", "12.4-sm_75-lineinfo",  "12.4-sm_75-ptx",    "12.4-sm_90-debug",
    "12.4-sm_90-ptx",   "12.4-sm_90-lineinfo",  "13.0-sm_75-debug",  "13.0-sm_75-lineinfo",
    "13.0-sm_75-none",  "13.0-sm_75-ptx",       "13.0-sm_90-debug",  "13.0-sm_90-lineinfo",
    "13.0-sm_90-none",  "13.0-sm_90-ptx",       "13.0-sm_90-linked", "13.0-sm_90-object",
    "13.0-sm_100-none", "13.0-sm_100-lineinfo", "13.0-sm_100-ptx",   "13.0-sm_100-debug",
};

#define EACH(i, array) (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)

static void code_path(char *path, size_t size, const char *name, const char *suffix)
{
	const char *root = getenv("AF_SOURCE_ROOT");

	snprintf(path, size, "%s/tests/unit/code/%s%s", root ? root : ".", name, suffix);
}

static void cubin_open(struct cubin *c, const char *name)
{
	struct af_err err = {0};
	struct af_file packed;
	uint64_t limit = UINT64_MAX;
	size_t in = 0;

	memset(c, 0, sizeof *c);
	snprintf(c->name, sizeof c->name, "%s", name);
	code_path(c->path, sizeof c->path, name, ".cubin.xz");
	assert_int_equal(af_file_map(&packed, c->path, &err), 0);
	c->bytes = malloc(CUBIN_MAX);
	assert_int_equal(lzma_stream_buffer_decode(&limit, 0, NULL, packed.data, &in, packed.size,
	                                           c->bytes, &c->size, CUBIN_MAX),
	                 LZMA_OK);
	af_file_unmap(&packed);
	/* Exactly as large as it is, so that sanitizers see what is read behind it. */
	c->bytes = realloc(c->bytes, c->size);
	assert_int_equal(af_code_open(&c->code, c->bytes, c->size, &err), 0);
}

static void cubin_close(struct cubin *c)
{
	af_code_close(c->code);
	free(c->bytes);
}

static bool cubin_is(const struct cubin *c, const char *kind)
{
	return strstr(c->name, kind) != NULL;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Frames of an instruction as lines.awk writes them. */
static void frames_text(struct af_buf *b, struct cubin *c, uint32_t i, uint64_t offset)
{
	struct af_code_frame frames[AF_CODE_FRAMES];
	uint32_t nr = af_code_frames(c->code, i, offset, frames, AF_CODE_FRAMES);

	/*
	 * nvdisasm knows nothing of .debug_info, nor we of PTX where there are lines of the source.
	 */
	if (cubin_is(c, "debug") && nr)
		nr = frames[0].file == AF_CODE_PTX ? 0 : 1;
	for (uint32_t k = 0; k < nr; k++)
		af_buf_fmt(b, " %s:%u",
		           frames[k].file == AF_CODE_PTX ? ".nv_debug_ptx_txt"
		                                         : last_part(frames[k].file),
		           frames[k].line);
}

/* nvdisasm says nothing of an instruction that has the innermost line of the one before. */
static bool same_innermost(const struct af_buf *a, const struct af_buf *b)
{
	size_t n = a->len ? 1 + strcspn(a->data + 1, " ") : 0;

	return n == (b->len ? 1 + strcspn(b->data + 1, " ") : 0) &&
	       (!n || !memcmp(a->data, b->data, n));
}

static void code_text(struct af_buf *b, struct cubin *c)
{
	for (uint32_t i = 0; i < af_code_nr_functions(c->code); i++) {
		const struct af_code_function *f = af_code_function(c->code, i);
		struct af_buf now = {0}, next = {0};

		if (f->holder != i)
			continue;
		af_buf_fmt(b, ".text.%s\n", f->name);
		for (uint64_t at = 0; at < f->size; at += INSTRUCTION) {
			next.len = 0;
			frames_text(&next, c, i, at);
			if (same_innermost(&now, &next))
				continue;
			af_buf_fmt(b, "%04llx", (unsigned long long)at);
			af_buf_add(b, next.data, next.len);
			af_buf_char(b, '\n');
			now.len = 0;
			af_buf_add(&now, next.data, next.len);
		}
		af_buf_free(&now);
		af_buf_free(&next);
	}
}

/* Fails at the first line that differs. */
static void same_lines(const char *name, const char *theirs, const char *ours)
{
	const char *section = theirs;

	while (*theirs || *ours) {
		size_t len = strcspn(theirs, "\n");

		if (!strncmp(theirs, ".text", 5))
			section = theirs;
		if (len != strcspn(ours, "\n") || strncmp(theirs, ours, len) != 0)
			fail_msg("%s, %.*s: nvdisasm has %.*s, not %.*s", name,
			         (int)strcspn(section, "\n"), section, (int)len, theirs,
			         (int)strcspn(ours, "\n"), ours);
		theirs += len + (theirs[len] != 0);
		ours += len + (ours[len] != 0);
	}
}

static void lines_are_nvdisasms(void **state)
{
	unsigned nr = 0;

	(void)state;
	for
		EACH(i, cubins)
		{
			struct af_buf text = {0};
			struct af_file expected;
			struct cubin c;
			char path[512];

			cubin_open(&c, cubins[i]);
			code_path(path, sizeof path, cubins[i], ".lines");
			if (!af_file_map(&expected, path, NULL)) {
				struct af_buf theirs = {0};

				af_buf_add(&theirs, expected.data, expected.size);
				code_text(&text, &c);
				same_lines(cubins[i], theirs.data, text.data);
				af_file_unmap(&expected);
				af_buf_free(&theirs);
				af_buf_free(&text);
				nr++;
			}
			cubin_close(&c);
		}
	/* It does not read what is for sm_100. */
	assert_int_equal(nr, 16);
}

/* The output of `command`. */
static void command_text(struct af_buf *b, const char *command)
{
	FILE *f = popen(command, "r");
	char part[4096];
	size_t n;

	assert_non_null(f);
	while ((n = fread(part, 1, sizeof part, f)))
		af_buf_add(b, part, n);
	pclose(f);
}

static void nvdisasm_run(struct cubin *c, const char *tool, struct af_buf *b)
{
	char file[] = "/tmp/aflame-test-code-XXXXXX", command[2048], script[512];
	const char *option = cubin_is(c, "ptx") ? "-gp" : cubin_is(c, "debug") ? "-g" : "-gi";
	int fd = mkstemp(file);

	assert_true(fd >= 0);
	assert_int_equal(af_write_all(fd, c->bytes, c->size), 0);
	close(fd);
	code_path(script, sizeof script, "lines", ".awk");
	snprintf(command, sizeof command, "%s -c %s %s 2>/dev/null | awk -f %s", tool, option, file,
	         script);
	command_text(b, command);
	unlink(file);
}

static void lines_are_those_of_the_nvdisasm_here(void **state)
{
	const char *tool = getenv("AFLAME_NVDISASM");
	unsigned nr = 0;

	(void)state;
	if (!tool)
		tool = "nvdisasm";
	for
		EACH(i, cubins)
		{
			struct af_buf theirs = {0}, ours = {0};
			struct cubin c;

			cubin_open(&c, cubins[i]);
			nvdisasm_run(&c, tool, &theirs);
			if (theirs.len) {
				code_text(&ours, &c);
				same_lines(cubins[i], theirs.data, ours.data);
				nr++;
			}
			af_buf_free(&ours);
			af_buf_free(&theirs);
			cubin_close(&c);
		}
	if (!nr) {
		print_message("# no nvdisasm in PATH, nor named by AFLAME_NVDISASM\n");
		skip();
	}
}

/* As cupti_pcsampling.h has it. */
struct cupti_s2s {
	size_t size;
	const void *cubin;
	const char *function;
	size_t cubin_size;
	uint32_t line;
	uint64_t offset;
	char *file, *directory;
};

typedef int cupti_s2s_fn(struct cupti_s2s *);

static cupti_s2s_fn *cupti_find(void)
{
	const char *named = getenv("AFLAME_CUPTI");
	void *library = dlopen(named ? named : "libcupti.so", RTLD_NOW);
	glob_t found;

	for (size_t i = 0; !library && !glob("/usr/local/cuda*/lib*/libcupti.so", 0, NULL, &found);
	     i++) {
		if (i < found.gl_pathc)
			library = dlopen(found.gl_pathv[i], RTLD_NOW);
		bool last = i >= found.gl_pathc;
		globfree(&found);
		if (last)
			break;
	}
	return library ? (cupti_s2s_fn *)dlsym(library, "cuptiGetSassToSourceCorrelation") : NULL;
}

/* Compare an instruction; 1 when CUPTI knows a line of it. */
static unsigned cupti_compare(cupti_s2s_fn *s2s, struct cubin *c, uint32_t i, uint64_t offset)
{
	struct af_code_frame frames[AF_CODE_FRAMES];
	struct cupti_s2s p = {
	    .size = sizeof p,
	    .cubin = c->bytes,
	    .cubin_size = c->size,
	    .function = af_code_function(c->code, i)->name,
	    .offset = offset,
	};
	char path[1024] = "";
	uint32_t nr = af_code_frames(c->code, i, offset, frames, AF_CODE_FRAMES);

	assert_int_equal(s2s(&p), 0);
	if (nr && frames[0].file == AF_CODE_PTX)
		nr = 0;
	assert_int_equal(nr ? frames[0].line : 0, p.line);
	if (p.line) {
		snprintf(path, sizeof path, "%s/%s", p.directory, p.file);
		assert_string_equal(frames[0].file, path);
	}
	free(p.file);
	free(p.directory);
	return p.line != 0;
}

static void lines_are_cuptis(void **state)
{
	cupti_s2s_fn *s2s = cupti_find();
	unsigned nr = 0;

	(void)state;
	if (!s2s) {
		print_message("# no libcupti that tells lines, nor one named by AFLAME_CUPTI\n");
		skip();
	}
	for
		EACH(i, cubins)
		{
			struct cubin c;

			cubin_open(&c, cubins[i]);
			for (uint32_t k = 0; k < af_code_nr_functions(c.code); k++) {
				const struct af_code_function *f = af_code_function(c.code, k);

				/* It finds what is within a kernel only by the kernel. */
				for (uint64_t at = 0; f->holder == k && at < f->size;
				     at += INSTRUCTION)
					nr += cupti_compare(s2s, &c, k, at);
			}
			cubin_close(&c);
		}
	assert_true(nr > 5000);
}

/* The function that the comments in @file name for @line. */
static void source_function(char *name, size_t size, const char *file, uint32_t line)
{
	char path[512], text[256];
	FILE *f;

	code_path(path, sizeof path, file, "");
	f = fopen(path, "r");
	assert_non_null(f);
	snprintf(name, size, "none");
	for (uint32_t i = 1; i <= line && fgets(text, sizeof text, f); i++)
		if (!strncmp(text, "/* in ", 6))
			snprintf(name, size, "%.*s", (int)strcspn(text + 6, " "), text + 6);
	fclose(f);
}

/* Does each frame of an instruction have the name of the function that its line is in? */
static unsigned names_check(struct cubin *c, uint32_t i, uint64_t at, unsigned *nr_wrong)
{
	struct af_code_frame frames[AF_CODE_FRAMES];
	uint32_t nr = af_code_frames(c->code, i, at, frames, AF_CODE_FRAMES);
	char name[64];

	for (uint32_t k = 0; k < nr; k++) {
		if (frames[k].file == AF_CODE_PTX)
			return 0;
		assert_non_null(frames[k].function);
		/*
		 * A function that the compiler itself calls, for a division, has the line of the
		 * call.
		 */
		if (!strncmp(frames[k].function, "__cuda", 6))
			continue;
		source_function(name, sizeof name, last_part(frames[k].file), frames[k].line);
		size_t len = strcspn(frames[k].function, "<");
		if (len == strlen(name) && !strncmp(frames[k].function, name, len))
			continue;
		print_message("# %s, function %u, 0x%llx: frame %u is %s at line %u, in %s\n",
		              c->name, i, (unsigned long long)at, k, frames[k].function,
		              frames[k].line, name);
		++*nr_wrong;
	}
	return nr;
}

static void functions_are_those_that_lines_are_in(void **state)
{
	(void)state;
	for
		EACH(i, cubins)
		{
			unsigned nr = 0, deepest = 0, nr_wrong = 0;
			struct cubin c;

			cubin_open(&c, cubins[i]);
			for (uint32_t k = 0; k < af_code_nr_functions(c.code); k++)
				for (uint64_t at = 0; at < af_code_function(c.code, k)->size;
				     at += INSTRUCTION, nr++) {
					unsigned depth = names_check(&c, k, at, &nr_wrong);

					deepest = depth > deepest ? depth : deepest;
				}
			assert_true(nr > 20);
			/* From ptxas: there .debug_info has three calls begin later than the lines
			 * do. */
			assert_int_equal(nr_wrong, strcmp(cubins[i], "13.0-sm_100-debug") ? 0 : 3);
			if (cubin_is(&c, "lineinfo") || cubin_is(&c, "debug"))
				assert_int_equal(deepest, 4);
			if (cubin_is(&c, "none") || cubin_is(&c, "ptx"))
				assert_int_equal(deepest, 0);
			cubin_close(&c);
		}
}

/* Whether some instruction of @kernel has the chain of functions @names, innermost first. */
static bool has_chain(struct cubin *c, const char *kernel, const char *const *names, uint32_t nr)
{
	struct af_code_frame frames[AF_CODE_FRAMES];
	int i = af_code_find(c->code, kernel, 0);

	assert_true(i >= 0);
	for (uint64_t at = 0; at < af_code_function(c->code, (uint32_t)i)->size;
	     at += INSTRUCTION) {
		uint32_t k = 0;

		if (af_code_frames(c->code, (uint32_t)i, at, frames, AF_CODE_FRAMES) != nr)
			continue;
		while (k < nr && !strcmp(frames[k].function, names[k]))
			k++;
		if (k == nr)
			return true;
	}
	return false;
}

static void chains_are_whole(void **state)
{
	static const char *const three[] = {"Poly::eval", "inner", "outer", "three_deep"};
	static const char *const two[] = {"clamped<float>", "inner", "two_deep"};
	static const char *const one[] = {"clamped<double>", "scale<double>"};

	(void)state;
	for
		EACH(i, cubins)
		{
			struct cubin c;

			cubin_open(&c, cubins[i]);
			if (cubin_is(&c, "lineinfo") || cubin_is(&c, "debug")) {
				assert_true(has_chain(&c, "three_deep", three, 4));
				assert_true(has_chain(&c, "two_deep", two, 3));
				assert_true(has_chain(&c, "_Z5scaleIdEvPT_S0_", one, 2));
			}
			cubin_close(&c);
		}
}

/* A function that is not inlined is within each kernel that calls it. */
static void functions_within_kernels(void **state)
{
	struct af_code_frame frames[AF_CODE_FRAMES], same[AF_CODE_FRAMES];
	struct cubin c;
	uint64_t holder;

	(void)state;
	cubin_open(&c, "13.0-sm_100-lineinfo");
	assert_string_equal(af_code_arch(c.code), "sm_100");
	assert_int_equal(af_code_sm(c.code), 100);
	int kernel = af_code_find(c.code, "three_deep", 0);
	int callee = af_code_find(c.code, "$three_deep$_Z6calleePKfi", 0);
	assert_true(kernel >= 0 && callee >= 0);
	const struct af_code_function *k = af_code_function(c.code, (uint32_t)kernel);
	const struct af_code_function *f = af_code_function(c.code, (uint32_t)callee);
	assert_true(k->entry && !f->entry);
	assert_int_equal(k->holder, kernel);
	assert_int_equal(f->holder, kernel);
	assert_string_equal(f->shown, "callee");
	assert_ptr_equal(f->bytes, k->bytes + f->start);

	/* By its own offset or by the kernel's. */
	uint32_t nr = af_code_frames(c.code, (uint32_t)callee, 0x20, frames, AF_CODE_FRAMES);
	assert_true(nr > 0);
	assert_string_equal(frames[nr - 1].function, "callee");
	assert_int_equal(
	    nr, af_code_frames(c.code, (uint32_t)kernel, f->start + 0x20, same, AF_CODE_FRAMES));
	for (uint32_t i = 0; i < nr; i++) {
		assert_ptr_equal(frames[i].function, same[i].function);
		assert_ptr_equal(frames[i].file, same[i].file);
		assert_int_equal(frames[i].line, same[i].line);
	}
	assert_int_equal(af_code_innermost(c.code, (uint32_t)kernel, f->start + 0x20, &holder),
	                 callee);
	assert_int_equal(holder, 0x20);
	assert_int_equal(af_code_innermost(c.code, (uint32_t)kernel, 0, &holder), kernel);
	assert_int_equal(af_code_innermost(c.code, (uint32_t)kernel, k->size, &holder), -1);
	assert_int_equal(af_code_frames(c.code, (uint32_t)kernel, k->size, frames, 1), 0);

	/* Two kernels have one of that name: only its number tells which is meant. */
	assert_int_equal(af_code_find(c.code, "_Z6calleePKfi", 0), -1);
	assert_int_equal(af_code_find(c.code, "_Z6calleePKfi", f->symbol), callee);
	assert_int_equal(af_code_find(c.code, "three_deep", k->symbol), kernel);
	assert_int_equal(af_code_find(c.code, "three_deep", k->symbol + 1000), kernel);
	assert_int_equal(af_code_find(c.code, "nothing", 0), -1);
	cubin_close(&c);
}

static void fewer_frames_than_there_are(void **state)
{
	struct af_code_frame frames[2];
	struct cubin c;
	unsigned nr_cut = 0;

	(void)state;
	cubin_open(&c, "13.0-sm_90-lineinfo");
	int i = af_code_find(c.code, "three_deep", 0);
	for (uint64_t at = 0; at < af_code_function(c.code, (uint32_t)i)->size; at += INSTRUCTION) {
		frames[1] = (struct af_code_frame){0};
		assert_int_equal(af_code_frames(c.code, (uint32_t)i, at, frames, 1), 1);
		uint32_t nr = af_code_frames(c.code, (uint32_t)i, at, frames, 2);
		if (nr == 2 && !strcmp(frames[0].function, "Poly::eval")) {
			assert_non_null(frames[1].file);
			nr_cut++;
		}
	}
	assert_true(nr_cut > 0);
	cubin_close(&c);
}

/* The instructions that read the number of a thread, in SASS and in the PTX it was made of. */
static void lines_of_ptx(void **state)
{
	struct af_code_frame frame;
	struct cubin c;

	(void)state;
	cubin_open(&c, "13.0-sm_90-ptx");
	int i = af_code_find(c.code, "_Z5scaleIdEvPT_S0_", 0);
	assert_int_equal(af_code_frames(c.code, (uint32_t)i, 0x10, &frame, 1), 1);
	assert_ptr_equal(frame.file, AF_CODE_PTX);
	assert_string_equal(frame.function, "scale<double>");
	assert_non_null(strstr(af_code_ptx(c.code, frame.line), "%tid.x;"));
	assert_null(af_code_ptx(c.code, 0));
	assert_null(af_code_ptx(c.code, 1u << 30));
	cubin_close(&c);
	cubin_open(&c, "13.0-sm_90-none");
	assert_null(af_code_ptx(c.code, 10));
	cubin_close(&c);
}

/* This very program: its functions by their names and addresses, its lines by libdw. */
static __attribute__((noinline)) int host_function(int x)
{
	return x * 3 + 1;
}

static void objects_for_the_host(void **state)
{
	enum { LINE = __LINE__ - 5 };
	struct af_code_frame frames[AF_CODE_FRAMES];
	struct af_err err = {0};
	struct af_code *c;
	struct af_file f;
	uint64_t offset;

	(void)state;
	assert_int_equal(af_file_map(&f, "/proc/self/exe", &err), 0);
	assert_int_equal(af_code_open(&c, f.data, f.size, &err), 0);
	assert_int_equal(host_function(1), 4);
	int i = af_code_find(c, "host_function", 0);
	assert_true(i >= 0);
	const struct af_code_function *h = af_code_function(c, (uint32_t)i);
	assert_int_equal(af_code_find_address(c, h->start + 1, &offset), i);
	assert_int_equal(offset, 1);
	assert_memory_equal(h->bytes, (const void *)(uintptr_t)host_function, h->size);
	uint32_t nr = af_code_frames(c, (uint32_t)i, 0, frames, AF_CODE_FRAMES);
	assert_int_equal(nr, 1);
	assert_string_equal(frames[0].function, "host_function");
	assert_string_equal(last_part(frames[0].file), "test_code.c");
	assert_in_range(frames[0].line, LINE - 1, LINE + 2);
	assert_int_equal(af_code_sm(c), 0);
	af_code_close(c);
	af_file_unmap(&f);
}

static void what_is_no_object(void **state)
{
	static const char text[] = "no object at all, but long enough to have the header of one: "
				   "sixty-four bytes";
	struct af_err err = {0};
	struct af_code *c;

	(void)state;
	assert_int_equal(af_code_open(&c, text, sizeof text, &err), -8);
	assert_null(c);
	assert_string_equal(err.msg, "not an ELF file of 64 bits");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_are_nvdisasms),
	    cmocka_unit_test(lines_are_those_of_the_nvdisasm_here),
	    cmocka_unit_test(lines_are_cuptis),
	    cmocka_unit_test(functions_are_those_that_lines_are_in),
	    cmocka_unit_test(chains_are_whole),
	    cmocka_unit_test(functions_within_kernels),
	    cmocka_unit_test(fewer_frames_than_there_are),
	    cmocka_unit_test(lines_of_ptx),
	    cmocka_unit_test(objects_for_the_host),
	    cmocka_unit_test(what_is_no_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
