/* The pull reader of JSON: what it makes of text whole, in pieces of any size, and hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "exchange/source/json.h"

struct bytes {
	const char *at, *end;
	size_t piece; /* most bytes given at once */
	int fail;     /* -errno in place of the end */
};

static ssize_t bytes_read(void *arg, void *to, size_t size)
{
	struct bytes *b = arg;
	size_t n = (size_t)(b->end - b->at);

	if (!n && b->fail)
		return b->fail;
	n = n < size ? n : size;
	n = n < b->piece ? n : b->piece;
	memcpy(to, b->at, n);
	b->at += n;
	return (ssize_t)n;
}

/* All tokens of @text as text: {, k(name), s(text), n(number), T, F, N, …, !message. */
static char *tokens_of(const char *text, size_t len, size_t piece)
{
	static const char marks[] = "\0{}[]ksnTFN";
	struct bytes b = {text, text + len, piece, 0};
	struct af_buf out = {0};
	struct af_json j;
	enum af_json_token token;

	af_json_open(&j, bytes_read, &b);
	while ((token = af_json_next(&j)) > AF_JSON_END) {
		af_buf_char(&out, marks[token]);
		if (token < AF_JSON_KEY || token > AF_JSON_NUMBER)
			continue;
		af_buf_char(&out, '(');
		af_buf_add(&out, j.text, j.len);
		af_buf_str(&out, j.cut ? "…)" : ")");
	}
	if (token == AF_JSON_ERROR)
		af_buf_fmt(&out, "!%s%s", j.truncated ? "truncated " : "", j.err.msg);
	af_json_close(&j);
	return out.data;
}

static void expect_len(const char *text, size_t len, const char *want)
{
	for (size_t piece = 1; piece < 9; piece++) {
		char *got = tokens_of(text, len, piece < 8 ? piece : SIZE_MAX);
		assert_string_equal(got, want);
		free(got);
	}
}

static void expect(const char *text, const char *want)
{
	expect_len(text, strlen(text), want);
}

static void values_of_every_kind_are_read(void **state)
{
	expect("{\"a\": [1, -2.5e3, true, false, null, \"s\", {}, []], \"b\" :\n{\"\":\"\"}}",
	       "{k(a)[n(1)n(-2.5e3)TFNs(s){}[]]k(b){k()s()}}");
	expect(" \t\r\n\"alone\" \n", "s(alone)");
	expect("7", "n(7)");
}

static void escapes_are_what_they_stand_for(void **state)
{
	expect("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "s(\"\\/\b\f\n\r\t)");
	expect("\"\\u0041\\u00e4\\u20ac\"", "s(Aä€)");
	expect("{\"k\\u0065y\":1}", "{k(key)n(1)}");
}

static void surrogate_pairs_are_one_character(void **state)
{
	expect("\"\\ud83d\\ude00\"", "s(😀)");
	expect("\"\\uDBFF\\uDFFF\"", "s(\xf4\x8f\xbf\xbf)");
}

static void half_of_a_pair_and_nul_are_replaced(void **state)
{
	expect("\"\\ud83d\"", "s(\ufffd)");
	expect("\"\\ud83dx\"", "s(\ufffdx)");
	expect("\"\\ude00\\ud83d\"", "s(\ufffd\ufffd)");
	expect("\"\\ud83d\\u0041\"", "s(\ufffdA)");
	expect("\"a\\u0000b\"", "s(a\ufffd"
	                        "b)");
}

/* PyTorch puts paths of Windows and control characters into strings as they are. */
static void escapes_that_do_not_exist_stay(void **state)
{
	expect("\"C:\\Work\\users\"", "s(C:\\Work\\users)");
	expect("\"\\u12g4\"", "s(\\u12g4)");
	expect("\"a\nb\x01\"", "s(a\nb\x01)");
}

static void words_that_are_no_numbers_are_tokens(void **state)
{
	expect("[nan, -inf, Infinity, 0x10, truely]", "[n(nan)n(-inf)n(Infinity)n(0x10)n(truely)]");
}

static void a_comma_before_a_bracket_is_forgiven(void **state)
{
	expect("[1,]", "[n(1)]");
	expect("{\"a\":1,}", "{k(a)n(1)}");
}

static void truncation_anywhere_is_reported(void **state)
{
	const char *text = "{\"a\": [1, \"t\\u20acx\", {\"b\": true}]}";

	for (size_t len = 0; len < strlen(text); len++) {
		char *got = tokens_of(text, len, 3);
		assert_non_null(strstr(got, "!truncated byte "));
		free(got);
	}
}

static void what_is_no_json_is_an_error_with_its_place(void **state)
{
	expect("[1 2]", "[n(1)!byte 3: no comma between two values");
	expect("{1:2}", "{!byte 1: no name in an object");
	expect("{\"a\" 1}", "{!byte 5: no colon behind a name");
	expect("{\"a\":}", "{k(a)!byte 5: no value can begin so");
	expect("[1}", "[n(1)!byte 2: a bracket closes what it did not open");
	expect("[] x", "[]!byte 3: more behind the end");
	expect("]", "!byte 0: no value can begin so");
	expect_len("[\0]", 3, "[!byte 1: no value can begin so");
}

static void depth_has_a_limit(void **state)
{
	char text[2 * AF_JSON_DEPTH + 2];

	memset(text, '[', AF_JSON_DEPTH);
	memset(text + AF_JSON_DEPTH, ']', AF_JSON_DEPTH);
	char *got = tokens_of(text, sizeof text - 2, SIZE_MAX);
	assert_memory_equal(got, text, sizeof text - 2);
	free(got);
	memset(text, '[', AF_JSON_DEPTH + 1);
	got = tokens_of(text, AF_JSON_DEPTH + 1, SIZE_MAX);
	assert_string_equal(got + AF_JSON_DEPTH, "!byte 256: nested too deeply");
	free(got);
}

/* A string of any length is cut at the limit, at a whole character, and reading goes on. */
static void a_long_string_is_cut(void **state)
{
	size_t len = 3 * AF_JSON_BUFFER;
	char *text = malloc(len + 8);

	for (size_t pad = 0; pad < 3; pad++) {
		memset(text, 'x', len);
		text[0] = '[';
		text[1] = '"';
		for (size_t i = 2 + pad; i + 3 < len; i += 3)
			memcpy(text + i, "\u20ac", 3);
		memcpy(text + len - 4, "\",7]", 4);
		struct bytes b = {text, text + len, SIZE_MAX, 0};
		struct af_json j;
		af_json_open(&j, bytes_read, &b);
		assert_int_equal(af_json_next(&j), AF_JSON_ARRAY);
		assert_int_equal(af_json_next(&j), AF_JSON_STRING);
		assert_true(j.cut);
		assert_in_range(j.len, AF_JSON_TEXT_MAX - 3, AF_JSON_TEXT_MAX);
		assert_memory_equal(j.text + j.len - 3, "\u20ac", 3);
		assert_int_equal(af_json_next(&j), AF_JSON_NUMBER);
		assert_memory_equal(j.text, "7", 1);
		assert_int_equal(af_json_next(&j), AF_JSON_ARRAY_END);
		assert_int_equal(af_json_next(&j), AF_JSON_END);
		af_json_close(&j);
	}
	free(text);
}

static void a_long_number_is_cut(void **state)
{
	char text[200], want[100] = "[n(";

	memset(text, '1', sizeof text);
	text[0] = '[';
	text[sizeof text - 1] = ']';
	memset(want + 3, '1', AF_JSON_NUMBER_MAX);
	strcpy(want + 3 + AF_JSON_NUMBER_MAX, "…)]");
	expect_len(text, sizeof text, want);
}

static void values_can_be_skipped(void **state)
{
	const char *text = "{\"skip\": {\"a\": [[1], {\"b\": 2}], \"c\": 3}, \"take\": 4}";
	struct bytes b = {text, text + strlen(text), 2, 0};
	struct af_json j;

	af_json_open(&j, bytes_read, &b);
	assert_int_equal(af_json_next(&j), AF_JSON_OBJECT);
	assert_int_equal(af_json_next(&j), AF_JSON_KEY);
	assert_true(af_json_skip(&j, af_json_next(&j)));
	assert_int_equal(af_json_next(&j), AF_JSON_KEY);
	assert_memory_equal(j.text, "take", 4);
	assert_true(af_json_skip(&j, af_json_next(&j)));
	assert_int_equal(af_json_next(&j), AF_JSON_OBJECT_END);
	assert_int_equal(af_json_next(&j), AF_JSON_END);
	assert_int_equal(af_json_position(&j), strlen(text));
	af_json_close(&j);
}

static void a_read_error_is_no_truncation(void **state)
{
	const char *text = "[1, ";
	struct bytes b = {text, text + strlen(text), 2, -EIO};
	struct af_json j;

	af_json_open(&j, bytes_read, &b);
	assert_int_equal(af_json_next(&j), AF_JSON_ARRAY);
	assert_int_equal(af_json_next(&j), AF_JSON_NUMBER);
	assert_int_equal(af_json_next(&j), AF_JSON_ERROR);
	assert_int_equal(j.err.code, -EIO);
	assert_false(j.truncated);
	af_json_close(&j);
}

static void fixed(const char *text, int power, int64_t want)
{
	int64_t got = 0;

	if (!af_json_fixed(text, strlen(text), power, &got))
		fail_msg("%s is no number", text);
	assert_int_equal(got, want);
}

static void decimals_are_exact(void **state)
{
	fixed("0", 3, 0);
	fixed("-0.0", 3, 0);
	fixed("7", 0, 7);
	fixed("-7.9", 0, -7);
	fixed("1691234567890123.456", 3, 1691234567890123456);
	fixed("1691234567890123.4569", 3, 1691234567890123456);
	fixed("1.5", 3, 1500);
	fixed(".25", 3, 250);
	fixed("2.", 3, 2000);
	fixed("1e3", 0, 1000);
	fixed("1.2345E+2", 3, 123450);
	fixed("12345e-2", 3, 123450);
	fixed("12345e-9", 3, 0);
	fixed("9223372036854775807", 0, INT64_MAX);
	fixed("0e999999999", 3, 0);
}

static void numbers_that_do_not_fit_are_refused(void **state)
{
	static const char *const texts[] = {"9223372036854775808",
	                                    "99999999999999999999999",
	                                    "9223372036854775.808",
	                                    "1e400",
	                                    "1e999999999999",
	                                    "",
	                                    "-",
	                                    ".",
	                                    "e5",
	                                    "1e",
	                                    "1e+",
	                                    "1e5.5",
	                                    "nan",
	                                    "0x10",
	                                    "1 2",
	                                    "1.2.3",
	                                    "--1",
	                                    "+1"};
	int64_t v;

	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
		if (af_json_fixed(texts[i], strlen(texts[i]), 3, &v))
			fail_msg("%s is taken for %lld", texts[i], (long long)v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(values_of_every_kind_are_read),
	    cmocka_unit_test(escapes_are_what_they_stand_for),
	    cmocka_unit_test(surrogate_pairs_are_one_character),
	    cmocka_unit_test(half_of_a_pair_and_nul_are_replaced),
	    cmocka_unit_test(escapes_that_do_not_exist_stay),
	    cmocka_unit_test(words_that_are_no_numbers_are_tokens),
	    cmocka_unit_test(a_comma_before_a_bracket_is_forgiven),
	    cmocka_unit_test(truncation_anywhere_is_reported),
	    cmocka_unit_test(what_is_no_json_is_an_error_with_its_place),
	    cmocka_unit_test(depth_has_a_limit),
	    cmocka_unit_test(a_long_string_is_cut),
	    cmocka_unit_test(a_long_number_is_cut),
	    cmocka_unit_test(values_can_be_skipped),
	    cmocka_unit_test(a_read_error_is_no_truncation),
	    cmocka_unit_test(decimals_are_exact),
	    cmocka_unit_test(numbers_that_do_not_fit_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
