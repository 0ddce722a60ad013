/* Headers as models: each construct of C that the headers of APIs have, and what becomes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aflame/error.h"
#include "api/headers/headers.h"
#include "api/model/compare.h"
#include "api/model/merge.h"
#include "api/model/model.h"
#include "base/buf.h"

static const char header[] =
    "#include <stddef.h>\n"
    "#include <stdint.h>\n"
    "typedef struct x_object_st *x_object;\n"
    "typedef struct x_plain_st x_plain;\n"
    "typedef int x_device;\n"
    "typedef uint64_t x_bitfield;\n"
    "typedef unsigned x_info;\n"
    "typedef x_bitfield x_set;\n"
    "typedef void (*x_callback)(int);\n"
    "typedef void x_function(int);\n"
    "#define X_VERSION 7\n"
    "\n"
    "/* Error codes */\n"
    "#define X_FINE 0\n"
    "#define X_BAD -3\n"
    "/* x_info */\n"
    "#define X_INFO_A 0x10\n"
    "\n"
    "/* 0x11 is reserved */\n"
    "#define X_INFO_B (X_INFO_A + 2u)\n"
    "#define X_INFO_F(a) (a)\n"
    "\n"
    "/* another thing */\n"
    "#define X_OTHER 5\n"
    "/* x_set - bitfield */\n"
    "#define X_SET_A (1 << 0)\n"
    "#define X_SET_B (1ull << 40)\n"
    "#define X_NO_DEVICE ((x_device)-1)\n"
    "#define X_MODE_A 1\n"
    "enum { X_LOOSE = 3 };\n"
    "typedef enum { X_RED, X_GREEN = 5 } x_colour;\n"
    "enum x_state { X_STATE_LOW = -2 };\n"
    "typedef enum x_bits_enum { X_ONE = 1, X_TWO = 2, X_FOUR = 4, X_ALL = 7 } x_bits;\n"
    "typedef struct { float re, im; } x_inner;\n"
    "typedef union { int i; double d; } x_union;\n"
    "typedef struct x_outer_st {\n"
    "	char name[8];\n"
    "	x_inner two[2][3];\n"
    "	unsigned low : 3, high : 9;\n"
    "	x_union any;\n"
    "	struct { int x; struct x_outer_st *next; } point;\n"
    "	struct { short a, b; };\n"
    "	union { x_object same; x_object mem; };\n"
    "	union { int part; char whole[6]; };\n"
    "	x_callback call;\n"
    "	long long rest[];\n"
    "} x_outer;\n"
    "typedef x_outer x_outer_again;\n"
    "x_colour xFirst(void);\n"
    "void xValues(x_device d, size_t n, uint8_t u, const char c, signed char s, double f, _Bool "
    "b);\n"
    "x_object xPointers(const x_outer_again *in, x_outer *out, x_plain *opaque, const void *v,\n"
    "                   void *w, x_object *objects, const x_object *const_objects, char **p,\n"
    "                   const char **q, const char *const *r, const char *text, int (*range)[3]);\n"
    "int xArrays(const int a[], x_device b[3], const x_inner c[2], x_info);\n"
    "int xFunctions(x_callback a, void (*b)(int), x_function c, x_function *d);\n"
    "x_inner xStruct(x_inner whole, enum x_state s, x_bits b, x_set t, x_union u);\n"
    "static inline int xInline(void) { return 1; }\n"
    "typedef struct { int a; } x_wanted;\n"
    "typedef struct { int a; } x_useless;\n"
    "int yOther(void);\n"
    "typedef int (*xExtra_fn)(x_device device, const float *values);\n"
    "typedef int (*xFirst_fn)(int);\n";

static const char model[] = "api x 0x3000 X\n"
			    "source x.h 7\n"
			    "type x_error_code enum i32\n"
			    "\t0 X_FINE\n"
			    "\t-3 X_BAD\n"
			    "type x_info enum u32\n"
			    "\t16 X_INFO_A\n"
			    "\t18 X_INFO_B\n"
			    "type x_set flags u64\n"
			    "\t1 X_SET_A\n"
			    "\t1099511627776 X_SET_B\n"
			    "type x_device enum i32\n"
			    "\t-1 X_NO_DEVICE\n"
			    "type x_mode flags u32\n"
			    "\t1 X_MODE_A\n"
			    "type x_colour enum u32\n"
			    "\t0 X_RED\n"
			    "\t5 X_GREEN\n"
			    "type x_state enum i32\n"
			    "\t-2 X_STATE_LOW\n"
			    "type x_bits flags u32\n"
			    "\t1 X_ONE\n"
			    "\t2 X_TWO\n"
			    "\t4 X_FOUR\n"
			    "\t7 X_ALL\n"
			    "type x_wanted struct 4 4\n"
			    "\t0 a i32\n"
			    "type x_object handle\n"
			    "type x_inner struct 8 4\n"
			    "\t0 re f32\n"
			    "\t4 im f32\n"
			    "type x_union bytes8\n"
			    "type x_outer_point struct 16 8\n"
			    "\t0 x i32\n"
			    "\t8 next pointer\n"
			    "type x_callback pointer\n"
			    "type x_outer struct 120 8\n"
			    "\t0 name char 8\n"
			    "\t8 two x_inner 6\n"
			    "\t56 low bytes2\n"
			    "\t64 any x_union\n"
			    "\t72 point x_outer_point\n"
			    "\t88 a i16\n"
			    "\t90 b i16\n"
			    "\t96 same x_object\n"
			    "\t104 part_or bytes8\n"
			    "\t112 call x_callback\n"
			    "type x_function pointer\n"
			    "fn 0 xFirst x_colour\n"
			    "fn 1 xValues void\n"
			    "\td x_device\n"
			    "\tn u64\n"
			    "\tu u8\n"
			    "\tc char\n"
			    "\ts i8\n"
			    "\tf f64\n"
			    "\tb u8\n"
			    "fn 2 xPointers x_object\n"
			    "\tin in x_outer\n"
			    "\tout out x_outer\n"
			    "\topaque handle\n"
			    "\tv in void\n"
			    "\tw out void\n"
			    "\tobjects out x_object\n"
			    "\tconst_objects in x_object\n"
			    "\tp out pointer\n"
			    "\tq out pointer\n"
			    "\tr in pointer\n"
			    "\ttext in char\n"
			    "\trange out i32\n"
			    "fn 3 xArrays i32\n"
			    "\ta in i32\n"
			    "\tb out x_device\n"
			    "\tc in x_inner\n"
			    "\targ3 x_info\n"
			    "fn 4 xFunctions i32\n"
			    "\ta x_callback\n"
			    "\tb pointer\n"
			    "\tc x_function\n"
			    "\td pointer\n"
			    "fn 5 xStruct x_inner\n"
			    "\twhole x_inner\n"
			    "\ts x_state\n"
			    "\tb x_bits\n"
			    "\tt x_set\n"
			    "\tu x_union\n"
			    "fn 6 xExtra i32\n"
			    "\tdevice x_device\n"
			    "\tvalues in f32\n";

/* Read @text as x.h; skips the test where there is no libclang, or was none at build time. */
static int read_header(struct af_model *m, const char *text, struct af_err *err)
{
	char dir[] = "/tmp/aflame_headers_XXXXXX", path[64], arg[64];
	const char *files[] = {"x.h"}, *args[] = {arg};
	const struct af_headers_group group = {"x_mode", "X_MODE_*", true};
	const struct af_headers of = {.files = files,
	                              .nr_files = 1,
	                              .args = args,
	                              .nr_args = 1,
	                              .functions = "x*",
	                              .types = "x_wanted",
	                              .version = "X_VERSION",
	                              .groups = &group,
	                              .nr_groups = 1};

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/x.h", dir);
	snprintf(arg, sizeof arg, "-I%s", dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	m->name = "x";
	m->title = "X";
	m->kind = 0x3000;
	int rc = af_headers_read(&of, m, err);
	unlink(path);
	rmdir(dir);
	if (rc == -ENOTSUP || rc == -ENOENT)
		skip();
	return rc;
}

static void each_construct_has_its_form(void **state)
{
	struct af_model m = {0}, again = {0};
	struct af_buf b = {0};
	struct af_err err = {0};
	(void)state;

	if (read_header(&m, header, &err))
		fail_msg("%s", err.msg);
	af_model_write(&m, &b);
	assert_string_equal(b.data, model);
	if (af_model_read_text(&again, "x.api", b.data, b.len, &err))
		fail_msg("%s", err.msg);
	af_buf_free(&b);
	af_model_free(&again);
	af_model_free(&m);
}

static void an_error_of_the_compiler_is_reported(void **state)
{
	struct af_model m = {0};
	struct af_err err = {0};
	(void)state;

	assert_int_equal(read_header(&m, "int xOne(x_unknown);\nint x(\n", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "x.h:1"));
	af_model_free(&m);
}

static void patterns_have_commas_between(void **state)
{
	(void)state;
	assert_true(af_headers_match("a*,b", "b"));
	assert_true(af_headers_match("a*,b", "abc"));
	assert_false(af_headers_match("a*,b", "ba"));
	assert_false(af_headers_match("", "a"));
	assert_false(af_headers_match(",,", "a"));
}

/* Two versions of an API */

#define HEAD "api a 0x1000 A\n"

static const char old_text[] = HEAD "type e enum i32\n\t1 ONE\n\t2 TWO\n"
				    "type s struct 8 4\n\t0 x i32\n\t4 y i32\n"
				    "type gone i32\n"
				    "fn 0 first i32\n\tp i32\n"
				    "fn 4 vanished gone\n\tp in s\n"
				    "fn 5 last void\n";
static const char new_text[] = HEAD "type e enum i32\n\t1 ONE\n\t3 TWO\n\t4 FOUR\n"
				    "type s struct 12 4\n\t0 x i32\n\t4 y i32\n\t8 z i32\n"
				    "fn 0 last void\n"
				    "fn 1 added i32\n"
				    "fn 2 first i32\n\tp out i32\n";

static struct af_model model_of(const char *text)
{
	struct af_model m = {0};
	struct af_err err = {0};

	if (af_model_read_text(&m, "text", text, strlen(text), &err))
		fail_msg("%s", err.msg);
	return m;
}

static void numbers_and_vanished_functions_are_kept(void **state)
{
	struct af_model old = model_of(old_text), m = model_of(new_text);
	struct af_buf b = {0};
	(void)state;

	af_model_number(&m, &old, 1);
	af_model_keep(&m, &old);
	af_model_write(&m, &b);
	assert_string_equal(b.data, HEAD "type e enum i32\n\t1 ONE\n\t3 TWO\n\t4 FOUR\n"
	                                 "type s struct 12 4\n\t0 x i32\n\t4 y i32\n\t8 z i32\n"
	                                 "type gone i32\n"
	                                 "fn 0 first i32\n\tp out i32\n"
	                                 "fn 4 vanished gone\n\tp in s\n"
	                                 "fn 5 last void\n"
	                                 "fn 6 added i32\n");
	af_buf_free(&b);
	af_model_free(&m);
	af_model_free(&old);
}

static void note_change(const struct af_model_change *c, void *arg)
{
	af_buf_fmt(arg, "%s %s: %s → %s\n", c->what, c->name, c->before ? c->before : "",
	           c->after ? c->after : "");
}

static void changes_are_found(void **state)
{
	struct af_model old = model_of(old_text), m = model_of(new_text);
	struct af_buf b = {0};
	(void)state;

	af_model_compare(&old, &m, note_change, &b);
	assert_string_equal(b.data, "function added:  → i32 ()\n"
	                            "function first: i32 (p i32) → i32 (p out i32)\n"
	                            "function vanished: gone (p in s) → \n"
	                            "value e.TWO: 2 → 3\n"
	                            "value e.FOUR:  → 4\n"
	                            "struct s: 8 bytes aligned to 4: 0 x i32, 4 y i32 → "
	                            "12 bytes aligned to 4: 0 x i32, 4 y i32, 8 z i32\n"
	                            "type gone: i32 → \n");
	b.len = 0;
	af_model_compare(&m, &m, note_change, &b);
	assert_int_equal(b.len, 0);
	af_buf_free(&b);
	af_model_free(&m);
	af_model_free(&old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_construct_has_its_form),
	    cmocka_unit_test(an_error_of_the_compiler_is_reported),
	    cmocka_unit_test(patterns_have_commas_between),
	    cmocka_unit_test(numbers_and_vanished_functions_are_kept),
	    cmocka_unit_test(changes_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
