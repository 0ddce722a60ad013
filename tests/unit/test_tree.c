#include "analyse/tree/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct af_tree_weight weights[] = {{"samples", "samples"}, {"time", "ns"}};

static void tree_put(struct af_tree *t, const char *stack, uint64_t value)
{
	uint32_t node = 0;

	while (*stack) {
		size_t len = strcspn(stack, ";");
		node = af_tree_child(t, node, af_tree_name(t, stack, len, AF_FRAME_NATIVE, 0));
		stack += len + (stack[len] == ';');
	}
	af_tree_add(t, node, 0, value);
}

static void tree_print(const struct af_tree *t, uint32_t node, char *out, size_t cap)
{
	for (uint32_t c = t->nodes[node].first_child; c; c = t->nodes[c].next_sibling) {
		size_t len, used = strlen(out);
		const char *text = af_tree_text(t, t->nodes[c].name, &len);

		snprintf(out + used, cap - used, "%.*s:%llu/%llu(", (int)len, text,
		         (unsigned long long)t->self[0][c], (unsigned long long)t->total[0][c]);
		tree_print(t, c, out, cap);
		used = strlen(out);
		snprintf(out + used, cap - used, ")");
	}
}

static void assert_tree(const struct af_tree *t, const char *expected)
{
	char text[4096] = "";

	tree_print(t, 0, text, sizeof text);
	assert_string_equal(text, expected);
}

static void totals_are_the_sum_of_self_below(void **state)
{
	struct af_tree t;

	af_tree_open(&t, weights, 1);
	tree_put(&t, "a;b", 3);
	tree_put(&t, "a;b;c", 4);
	tree_put(&t, "a;d", 5);
	tree_put(&t, "a;b", 1);
	af_tree_finish(&t);
	assert_tree(&t, "a:0/13(b:4/8(c:4/4())d:5/5())");
	assert_int_equal(t.total[0][0], 13);
	assert_int_equal(t.nr, 5);
	assert_int_equal(af_tree_depth(&t), 3);
	af_tree_close(&t);
}

static void children_come_in_the_order_of_sorted_lines(void **state)
{
	/* ' ' < '(' < '1' < ';' < 'x': leaf foo first, foo with children after foo(int). */
	static const char *const lines[] = {"r;foox;q", "r;foo;q",    "r;foo(int);q", "r;foo1;q",
	                                    "s;foox",   "s;foo(int)", "s;foo",        "s;foo1"};
	struct af_tree a, b;

	af_tree_open(&a, weights, 1);
	af_tree_open(&b, weights, 1);
	for (int i = 0; i < 8; i++) {
		tree_put(&a, lines[i], 1);
		tree_put(&b, lines[7 - i], 1);
	}
	af_tree_finish(&a);
	af_tree_finish(&b);
	const char *expected = "r:0/4(foo(int):0/1(q:1/1())foo1:0/1(q:1/1())foo:0/1(q:1/1())"
			       "foox:0/1(q:1/1()))"
			       "s:0/4(foo:1/1()foo(int):1/1()foo1:1/1()foox:1/1())";
	assert_tree(&a, expected);
	assert_tree(&b, expected);
	af_tree_close(&a);
	af_tree_close(&b);
}

static void names_differ_by_kind(void **state)
{
	struct af_tree t;
	size_t len;

	af_tree_open(&t, weights, 1);
	uint32_t native = af_tree_name(&t, "f", 1, AF_FRAME_NATIVE, 0);
	uint32_t kernel = af_tree_name(&t, "f", 1, AF_FRAME_KERNEL, 0);
	assert_int_not_equal(native, kernel);
	assert_int_equal(native, af_tree_name(&t, "f", 1, AF_FRAME_NATIVE, 1));
	assert_int_equal(af_tree_frame(&t, kernel), AF_FRAME_KERNEL);
	assert_memory_equal(af_tree_text(&t, kernel, &len), "f", 1);
	assert_int_equal(len, 1);
	assert_int_not_equal(af_tree_child(&t, 0, native), af_tree_child(&t, 0, kernel));
	af_tree_close(&t);
}

/* A name has the same one of several sources, in whatever order they came. */
static void a_name_has_the_first_of_its_sources(void **state)
{
	static const struct af_location at[] = {{.source = "b.c", .source_line = 2},
	                                        {.source = "a.c", .source_line = 9},
	                                        {.source = "a.c", .source_line = 7}};
	struct af_tree t, copy;

	for (unsigned first = 0; first < 3; first++) {
		af_tree_open(&t, weights, 1);
		uint32_t name = af_tree_name_at(&t, "f", 1, AF_FRAME_NATIVE, NULL);
		assert_null(af_tree_source(&t, name).file);
		for (unsigned i = 0; i < 2; i++)
			af_tree_name_at(&t, "f", 1, AF_FRAME_NATIVE, &at[first]);
		assert_int_equal(af_tree_source(&t, name).line, at[first].source_line);
		assert_false(af_tree_source(&t, name).several);
		for (unsigned i = 1; i < 3; i++)
			af_tree_name_at(&t, "f", 1, AF_FRAME_NATIVE, &at[(first + i) % 3]);
		af_tree_open(&copy, weights, 1);
		struct af_tree_source s =
		    af_tree_source(&copy, af_tree_name_like(&copy, &t, name, 0));
		assert_string_equal(s.file, "a.c");
		assert_int_equal(s.line, 7);
		assert_true(s.several);
		af_tree_close(&copy);
		af_tree_close(&t);
	}
}

static void more_may_be_added_after_finish(void **state)
{
	struct af_tree t;

	af_tree_open(&t, weights, 1);
	tree_put(&t, "b", 1);
	af_tree_finish(&t);
	tree_put(&t, "a;z", 2);
	tree_put(&t, "b;c", 3);
	tree_put(&t, "b", 4);
	af_tree_finish(&t);
	af_tree_finish(&t);
	assert_tree(&t, "a:0/2(z:2/2())b:5/8(c:3/3())");
	af_tree_close(&t);
}

static void an_ordered_tree_keeps_time(void **state)
{
	struct af_tree t;

	af_tree_open(&t, weights, 1);
	t.ordered = true;
	tree_put(&t, "m;b", 1);
	tree_put(&t, "m;a", 2);
	af_tree_finish(&t);
	tree_put(&t, "m;a;x", 3);
	tree_put(&t, "m;b", 4);
	af_tree_finish(&t);
	assert_tree(&t, "m:0/10(b:1/1()a:2/5(x:3/3())b:4/4())");
	af_tree_close(&t);
}

static void weights_stick_at_their_limit(void **state)
{
	struct af_tree t;

	af_tree_open(&t, weights, 1);
	tree_put(&t, "a;b", UINT64_MAX - 1);
	assert_false(t.saturated);
	tree_put(&t, "a", 5);
	af_tree_finish(&t);
	assert_true(t.saturated);
	assert_true(t.total[0][0] == UINT64_MAX);
	assert_true(t.self[0][2] == UINT64_MAX - 1);
	af_tree_close(&t);
}

static void reversing_turns_every_stack_around(void **state)
{
	struct af_tree t, r, back;

	af_tree_open(&t, weights, 1);
	tree_put(&t, "a;b;c", 1);
	tree_put(&t, "a;c", 2);
	tree_put(&t, "a;b", 4);
	tree_put(&t, "x;b", 8);
	tree_put(&t, "b;b;b", 16);
	af_tree_reverse(&r, &t);
	assert_tree(&r, "b:0/28(a:4/4()b:0/16(b:16/16())x:8/8())c:0/3(a:2/2()b:0/1(a:1/1()))");
	af_tree_reverse(&back, &r);
	af_tree_finish(&t);
	char there[4096] = "", again[4096] = "";
	tree_print(&t, 0, there, sizeof there);
	tree_print(&back, 0, again, sizeof again);
	assert_string_equal(there, again);
	af_tree_close(&back);
	af_tree_close(&r);
	af_tree_close(&t);
}

/* Twenty thousand stacks from a fixed generator: two reversals and a rebuilt tree agree. */
static void a_large_tree_survives_two_reversals(void **state)
{
	struct af_tree t, r, back;
	uint64_t x = 88172645463325252ull;

	af_tree_open(&t, weights, 1);
	for (int i = 0; i < 20000; i++) {
		uint32_t node = 0;
		int depth = 1;
		do {
			char name[16];
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			int len = snprintf(name, sizeof name, "f%u", (unsigned)(x % 50));
			node = af_tree_child(&t, node,
			                     af_tree_name(&t, name, (size_t)len, AF_FRAME_JIT, 0));
		} while (x >> 8 & 7 && depth++ < 20);
		af_tree_add(&t, node, 0, x >> 60);
	}
	af_tree_finish(&t);
	af_tree_reverse(&r, &t);
	af_tree_reverse(&back, &r);
	assert_true(r.total[0][0] == t.total[0][0]);
	assert_true(back.total[0][0] == t.total[0][0]);

	uint32_t a = 0, b = 0, compared = 0;
	/* Zero-weight stacks vanish in reversal, so walk only what has weight. */
	while (1) {
		uint32_t ca = t.nodes[a].first_child, cb = back.nodes[b].first_child;
		while (ca && !t.total[0][ca])
			ca = t.nodes[ca].next_sibling;
		while (!ca && a) {
			ca = t.nodes[a].next_sibling;
			while (ca && !t.total[0][ca])
				ca = t.nodes[ca].next_sibling;
			cb = back.nodes[b].next_sibling;
			a = t.nodes[a].parent;
			b = back.nodes[b].parent;
		}
		assert_int_equal(!ca, !cb);
		if (!ca)
			break;
		size_t la, lb;
		const char *ta = af_tree_text(&t, t.nodes[ca].name, &la);
		const char *tb = af_tree_text(&back, back.nodes[cb].name, &lb);
		assert_int_equal(la, lb);
		assert_memory_equal(ta, tb, la);
		assert_true(t.self[0][ca] == back.self[0][cb]);
		a = ca;
		b = cb;
		compared++;
	}
	assert_true(compared > 10000);
	af_tree_close(&back);
	af_tree_close(&r);
	af_tree_close(&t);
}

static void merging_adds_columns_by_name(void **state)
{
	static const struct af_tree_weight other[] = {{"count", "launches"}, {"time", "ns"}};
	struct af_tree a, b;

	af_tree_open(&a, weights, 2);
	tree_put(&a, "p;q", 1);
	af_tree_open(&b, other, 2);
	uint32_t p = af_tree_child(&b, 0, af_tree_name(&b, "p", 1, AF_FRAME_NATIVE, 0));
	af_tree_add(&b, p, 0, 7);
	af_tree_add(&b, p, 1, 9);
	af_tree_merge(&a, &b);
	af_tree_close(&b);
	af_tree_finish(&a);
	assert_tree(&a, "p:0/1(q:1/1())");
	assert_int_equal(a.total[1][0], 9);
	assert_int_equal(af_tree_weight(&a, "time"), 1);
	assert_int_equal(af_tree_weight(&a, "bytes"), -1);
	af_tree_close(&a);
	af_tree_close(&a);
}

static void a_chart_merges_into_a_tree_without_its_gaps(void **state)
{
	struct af_tree chart, t;

	af_tree_open(&chart, weights, 1);
	chart.ordered = true;
	tree_put(&chart, "m;b", 1);
	af_tree_add(&chart, af_tree_child(&chart, 1, AF_TREE_GAP), 0, 2);
	tree_put(&chart, "m;b", 4);
	af_tree_open(&t, weights, 1);
	af_tree_merge(&t, &chart);
	af_tree_finish(&t);
	assert_tree(&t, "m:2/7(b:5/5())");
	af_tree_close(&t);
	af_tree_reverse(&t, &chart);
	assert_tree(&t, "b:0/5(m:5/5())m:2/2()");
	af_tree_close(&t);
	af_tree_close(&chart);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(totals_are_the_sum_of_self_below),
	    cmocka_unit_test(children_come_in_the_order_of_sorted_lines),
	    cmocka_unit_test(names_differ_by_kind),
	    cmocka_unit_test(a_name_has_the_first_of_its_sources),
	    cmocka_unit_test(more_may_be_added_after_finish),
	    cmocka_unit_test(an_ordered_tree_keeps_time),
	    cmocka_unit_test(weights_stick_at_their_limit),
	    cmocka_unit_test(reversing_turns_every_stack_around),
	    cmocka_unit_test(a_large_tree_survives_two_reversals),
	    cmocka_unit_test(merging_adds_columns_by_name),
	    cmocka_unit_test(a_chart_merges_into_a_tree_without_its_gaps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
