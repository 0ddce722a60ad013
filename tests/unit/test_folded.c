#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyse/tree/tree.h"
#include "base/buf.h"
#include "base/err.h"
#include "render/render.h"

static const struct af_tree_weight weights[] = {{"before", "samples"}, {"after", "samples"}};

struct reading {
	struct af_tree tree;
	struct af_folded_stats stats;
	struct af_err err;
	char *data; /* exactly as long as the text, so that reading beyond it is seen */
	int rc;
};

static void read_bytes(struct reading *r, const char *text, size_t len, bool two, bool ordered)
{
	memset(r, 0, sizeof *r);
	r->data = malloc(len ? len : 1);
	memcpy(r->data, text, len);
	af_tree_open(&r->tree, weights, two ? 2 : 1);
	r->tree.ordered = ordered;
	r->rc = af_folded_read(&r->tree, r->data, len, two, &r->stats, &r->err);
}

static void read_text(struct reading *r, const char *text)
{
	read_bytes(r, text, strlen(text), false, false);
}

static void reading_close(struct reading *r)
{
	af_tree_close(&r->tree);
	free(r->data);
}

/* The tree written again by @format, as a string to free(). */
static char *rendered(const struct af_tree *t, const char *format, const struct af_picture *p)
{
	struct af_err err = {0};
	FILE *f = tmpfile();
	struct af_render r = {.fd = fileno(f), .picture = p};

	assert_int_equal(af_format_for(format)->tree(&r, t, &err), 0);
	off_t size = lseek(r.fd, 0, SEEK_END);
	char *text = calloc(1, (size_t)size + 1);
	assert_int_equal(pread(r.fd, text, (size_t)size, 0), size);
	fclose(f);
	return text;
}

static void assert_folded(const struct af_tree *t, const char *expected)
{
	static const struct af_picture plain;
	char *text = rendered(t, "folded", &plain);

	assert_string_equal(text, expected);
	free(text);
}

static void assert_reads_as(const char *text, const char *expected)
{
	struct reading r;

	read_text(&r, text);
	assert_int_equal(r.rc, 0);
	assert_folded(&r.tree, expected);
	reading_close(&r);
}

static void equal_stacks_are_added_in_any_order(void **state)
{
	assert_reads_as("a;b 1\na;c 2\na;b 4\nb 8\na 16\n", "a 16\na;b 5\na;c 2\nb 8\n");
	assert_reads_as("b 8\na 16\na;b 4\na;c 2\na;b 1", "a 16\na;b 5\na;c 2\nb 8\n");
}

/* Each pair shares bytes with the line before in a way that is not a shared frame. */
static void shared_bytes_are_not_shared_frames(void **state)
{
	assert_reads_as("ab;c 1\nab 2\nabc 3\na 4\nab;cd 5\nab;c;d 6\n",
	                "a 4\nab 2\nab;c 1\nab;c;d 6\nab;cd 5\nabc 3\n");
	assert_reads_as("a 1;b 5\na 1\n", "a 1\na_1;b 5\n");
	assert_reads_as("a;b;c 12\na;b;c 1\na;b 1\na;b;c 12\n", "a;b 1\na;b;c 25\n");
	assert_reads_as("aaaaaaaabbbbbbbbccccccccddddddddeeeeeeee;x;y 1\n"
	                "aaaaaaaabbbbbbbbccccccccddddddddeeeeeeee;x;yy 1\n"
	                "aaaaaaaabbbbbbbbccccccccddddddddeeeeeeee;xx;y 1\n",
	                "aaaaaaaabbbbbbbbccccccccddddddddeeeeeeee;x;y 1\n"
	                "aaaaaaaabbbbbbbbccccccccddddddddeeeeeeee;x;yy 1\n"
	                "aaaaaaaabbbbbbbbccccccccddddddddeeeeeeee;xx;y 1\n");
}

static void windows_line_ends_blank_lines_and_comments_are_fine(void **state)
{
	struct reading r;

	read_text(&r, "# made by hand\r\n\r\na;b 1\r\n\n#\n# 7\na;b 2");
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.stats.lines, 2);
	assert_int_equal(r.stats.bad_lines, 0);
	assert_folded(&r.tree, "a;b 3\n");
	reading_close(&r);
}

static void a_suffix_decides_the_kind_and_is_not_kept(void **state)
{
	static const struct {
		const char *frame, *text;
		enum af_frame kind;
	} cases[] = {
	    {"f", "f", AF_FRAME_NATIVE},
	    {"f_[k]", "f", AF_FRAME_KERNEL},
	    {"f_[i]", "f", AF_FRAME_INLINED},
	    {"f_[j]", "f", AF_FRAME_JIT},
	    {"f_[G]", "f", AF_FRAME_GPU},
	    {"f_[g]", "f", AF_FRAME_GPU_INSN},
	    {"f_[w]", "f_[w]", AF_FRAME_NATIVE},
	    {"_[k]", "_[k]", AF_FRAME_NATIVE},
	    {"-", "-", AF_FRAME_MARK},
	    {"--", "--", AF_FRAME_MARK},
	    {"[unknown]", "[unknown]", AF_FRAME_MARK},
	    {"[truncated: no table]", "[truncated: no table]", AF_FRAME_MARK},
	    {"[libc.so.6]", "[libc.so.6]", AF_FRAME_NATIVE},
	    {"f (a.py:12)", "f (a.py:12)", AF_FRAME_PYTHON},
	    {"f (<string>:1)", "f (<string>:1)", AF_FRAME_PYTHON},
	    {"py::f", "py::f", AF_FRAME_PYTHON},
	    {"f (a.c:12)", "f (a.c:12)", AF_FRAME_NATIVE},
	    {"f(:)", "f(:)", AF_FRAME_NATIVE},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char line[64];
		size_t len;
		struct reading r;

		snprintf(line, sizeof line, "%s 3\n", cases[i].frame);
		read_text(&r, line);
		assert_int_equal(r.tree.nr, 2);
		const char *text = af_tree_text(&r.tree, r.tree.nodes[1].name, &len);
		assert_int_equal(len, strlen(cases[i].text));
		assert_memory_equal(text, cases[i].text, len);
		assert_int_equal(af_tree_frame(&r.tree, r.tree.nodes[1].name), cases[i].kind);
		assert_folded(&r.tree, line);
		reading_close(&r);
	}
}

static void counts_are_exact_and_stop_at_their_limit(void **state)
{
	struct reading r;

	read_text(&r, "a 18446744073709551614\na 1\n");
	assert_false(r.stats.saturated);
	assert_folded(&r.tree, "a 18446744073709551615\n");
	reading_close(&r);
	read_text(&r, "a 18446744073709551615\na;b 1\n");
	assert_true(r.stats.saturated);
	assert_folded(&r.tree, "a 18446744073709551615\na;b 1\n");
	reading_close(&r);
	read_text(&r, "a 18446744073709551616\n");
	assert_true(r.stats.saturated);
	reading_close(&r);
}

static void fractions_are_kept_to_a_millionth(void **state)
{
	assert_reads_as("a 1\na 0.5\nb 2.\nc 0.000001\nd .5\n", "a 1.5\nb 2\nc 0.000001\n");
	assert_reads_as("a 3.0\n", "a 3\n");
}

static void a_number_in_a_name_is_no_column_unless_asked(void **state)
{
	struct reading r;

	read_text(&r, "foo 42 10\n");
	assert_int_equal(r.tree.total[0][0], 10);
	assert_folded(&r.tree, "foo_42 10\n");
	reading_close(&r);

	static const struct af_picture diff = {.differential = true};
	const char *text = "a;foo 42 10\na;b 1 0\n";
	read_bytes(&r, text, strlen(text), true, false);
	assert_int_equal(r.tree.total[0][0], 43);
	assert_int_equal(r.tree.total[1][0], 10);
	char *again = rendered(&r.tree, "folded", &diff);
	assert_string_equal(again, "a;b 1 0\na;foo 42 10\n");
	free(again);
	reading_close(&r);
}

static void bad_lines_are_counted_and_the_first_described(void **state)
{
	struct reading r;

	read_text(&r, "a 1\nno\x1b[31m count\n 5\n;; 3\nb 1e3\nc -1\nd 2\n");
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.stats.lines, 2);
	assert_int_equal(r.stats.bad_lines, 5);
	assert_int_equal(r.stats.first_bad, 2);
	assert_string_equal(r.stats.complaint, "line 2: no count after the stack: no?[31m count");
	assert_folded(&r.tree, "a 1\nd 2\n");
	reading_close(&r);
}

static void text_that_is_no_folded_text_fails(void **state)
{
	struct reading r;

	read_text(&r, "<html>\n<body>\n");
	assert_int_not_equal(r.rc, 0);
	assert_non_null(strstr(r.err.msg, "line 1: no count after the stack: <html>"));
	reading_close(&r);
	read_text(&r, "");
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.tree.nr, 1);
	reading_close(&r);
}

static void a_stack_too_deep_is_refused_and_the_next_one_read(void **state)
{
	struct reading r;
	struct af_buf text = {0};

	af_buf_str(&text, "a;b 1\na");
	for (int i = 0; i < 70000; i++)
		af_buf_str(&text, ";b");
	af_buf_str(&text, " 1\na;b 1\n");
	read_bytes(&r, text.data, text.len, false, false);
	af_buf_free(&text);
	assert_int_equal(r.stats.lines, 2);
	assert_int_equal(r.stats.bad_lines, 1);
	assert_non_null(strstr(r.stats.complaint, "more than 65536 frames"));
	assert_int_equal(r.tree.total[0][0], 2);
	reading_close(&r);
}

static void a_flame_chart_keeps_time_and_gaps(void **state)
{
	struct reading r;
	const char *text = "m;b 1\nm 2\nm;b 3\nm;a 4\nm;a;x 5\nm;a 6\n";

	read_bytes(&r, text, strlen(text), false, true);
	assert_folded(&r.tree, text);
	reading_close(&r);
}

static void names_are_escaped_on_the_way_out(void **state)
{
	static const struct {
		const char *text, *line;
	} cases[] = {
	    {"a;b", "a:b 1\n"},
	    {"a\nb\tc\x01", "a\\nb\\tc\\x01 1\n"},
	    {"f 42", "f_42 1\n"},
	    {"f 1.5", "f_1.5 1\n"},
	    {"f 42 x", "f 42 x 1\n"},
	    {"f x42", "f x42 1\n"},
	    {"42", "42 1\n"},
	    {" 42", "_42 1\n"},
	    {"", "[unnamed] 1\n"},
	    {"# f", "\\x23 f 1\n"},
	    {"wait ...", "wait ... 1\n"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct af_tree t;
		af_tree_open(&t, weights, 1);
		uint32_t name =
		    af_tree_name(&t, cases[i].text, strlen(cases[i].text), AF_FRAME_NATIVE, 0);
		af_tree_add(&t, af_tree_child(&t, 0, name), 0, 1);
		af_tree_finish(&t);
		assert_folded(&t, cases[i].line);
		af_tree_close(&t);
		/* And whatever was written is read as one frame with one count. */
		assert_reads_as(cases[i].line, cases[i].line);
	}
}

static void writing_to_a_full_device_is_an_error(void **state)
{
	static const struct af_picture plain;
	struct af_err err = {0};
	struct reading r;

	read_text(&r, "a 1\n");
	FILE *full = fopen("/dev/full", "w");
	if (!full)
		skip();
	struct af_render render = {.fd = fileno(full), .picture = &plain};
	assert_int_not_equal(af_format_for("x.folded")->tree(&render, &r.tree, &err), 0);
	assert_non_null(strstr(err.msg, "No space left"));
	assert_int_not_equal(af_format_for("svg")->tree(&render, &r.tree, &err), 0);
	fclose(full);
	reading_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_stacks_are_added_in_any_order),
	    cmocka_unit_test(shared_bytes_are_not_shared_frames),
	    cmocka_unit_test(windows_line_ends_blank_lines_and_comments_are_fine),
	    cmocka_unit_test(a_suffix_decides_the_kind_and_is_not_kept),
	    cmocka_unit_test(counts_are_exact_and_stop_at_their_limit),
	    cmocka_unit_test(fractions_are_kept_to_a_millionth),
	    cmocka_unit_test(a_number_in_a_name_is_no_column_unless_asked),
	    cmocka_unit_test(bad_lines_are_counted_and_the_first_described),
	    cmocka_unit_test(text_that_is_no_folded_text_fails),
	    cmocka_unit_test(a_stack_too_deep_is_refused_and_the_next_one_read),
	    cmocka_unit_test(a_flame_chart_keeps_time_and_gaps),
	    cmocka_unit_test(names_are_escaped_on_the_way_out),
	    cmocka_unit_test(writing_to_a_full_device_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
