/* Callers and callees, narrowed trees, trees as tables and the ids in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ids.h"
#include "analyse/narrow.h"
#include "analyse/top.h"
#include "analyse/tree_table.h"

static const struct af_tree_weight weights[] = {{"time", "ns"}, {"count", "launches"}};

/* A stack as letters, outermost first: each is a function. */
static void add(struct af_tree *t, const char *letters, uint64_t time)
{
	uint32_t node = 0;

	for (; *letters; letters++)
		node = af_tree_child(t, node, af_tree_name(t, letters, 1, AF_FRAME_NATIVE, 0));
	af_tree_add(t, node, 0, time);
	af_tree_add(t, node, 1, 1);
}

static uint64_t at(const struct af_tree *t, const char *letters, bool self)
{
	uint32_t node = 0;
	size_t len;

	for (; *letters; letters++) {
		uint32_t c = t->nodes[node].first_child;
		while (c && *af_tree_text(t, t->nodes[c].name, &len) != *letters)
			c = t->nodes[c].next_sibling;
		if (!c)
			return 0;
		node = c;
	}
	return self ? t->self[0][node] : t->total[0][node];
}

/* f calls itself, directly and by way of g. */
static void recursive(struct af_tree *t)
{
	af_tree_open(t, weights, 2);
	add(t, "mf", 1);
	add(t, "mff", 10);
	add(t, "mfgf", 100);
	add(t, "mgf", 1000);
	add(t, "f", 10000);
	add(t, "mh", 100000);
	af_tree_finish(t);
}

static void a_recursive_function_counts_once(void **state)
{
	struct af_tree t, up, down;
	struct af_hits h;
	uint64_t total, self;

	(void)state;
	recursive(&t);
	af_hits_find(&h, &t, "f");
	assert_int_equal(h.how, AF_HITS_NAME);
	af_hits_weight(&t, &h, 0, &total, &self);
	assert_int_equal(total, 11111);
	assert_int_equal(self, 11111);

	af_tree_callers(&up, &t, &h);
	assert_int_equal(up.total[0][0], 11111);
	assert_int_equal(up.self[0][0], 10000);
	assert_int_equal(at(&up, "m", false), 111);
	assert_int_equal(at(&up, "gm", false), 1000);
	assert_int_equal(at(&up, "f", false), 0);

	af_tree_callees(&down, &t, &h);
	assert_int_equal(down.total[0][0], 11111);
	assert_int_equal(down.self[0][0], 11001);
	assert_int_equal(at(&down, "f", true), 10);
	assert_int_equal(at(&down, "g", false), 100);
	assert_int_equal(at(&down, "gf", true), 100);
	af_hits_free(&h);
	af_tree_close(&down);
	af_tree_close(&up);
	af_tree_close(&t);
}

static void words_are_a_name_or_an_id_or_a_pattern(void **state)
{
	char id[AF_ID_SIZE];
	struct af_tree t;
	struct af_hits h;

	(void)state;
	recursive(&t);
	af_function_id(id, AF_FRAME_NATIVE, "g", 1);
	af_hits_find(&h, &t, id);
	assert_int_equal(h.how, AF_HITS_ID);
	assert_int_equal(h.nr, 1);
	af_hits_free(&h);
	af_hits_find(&h, &t, "[F-H]");
	assert_int_equal(h.how, AF_HITS_PATTERN);
	assert_int_equal(h.nr, 3);
	af_hits_free(&h);
	af_hits_find(&h, &t, "f(");
	assert_int_equal(h.how, AF_HITS_PART);
	assert_int_equal(h.nr, 0);
	af_hits_free(&h);
	af_tree_close(&t);
}

/* Against a count that knows nothing of trees: stacks of letters, again and again. */
static void any_function_of_any_tree_adds_up(void **state)
{
	enum { STACKS = 300 };
	char stacks[STACKS][9];
	uint64_t time[STACKS];
	struct af_tree t;

	(void)state;
	srand(4);
	af_tree_open(&t, weights, 2);
	for (int s = 0; s < STACKS; s++) {
		int depth = 1 + rand() % 8;
		for (int i = 0; i < depth; i++)
			stacks[s][i] = (char)('a' + rand() % 5);
		stacks[s][depth] = 0;
		time[s] = (uint64_t)(rand() % 1000);
		add(&t, stacks[s], time[s]);
	}
	af_tree_finish(&t);
	for (char letter = 'a'; letter < 'f'; letter++) {
		uint64_t inside = 0, first = 0, total, self;
		struct af_tree up, down, focus, keep, hide;
		const char name[] = {letter, 0};
		struct af_hits h;
		for (int s = 0; s < STACKS; s++) {
			inside += strchr(stacks[s], letter) ? time[s] : 0;
			first += *stacks[s] == letter ? time[s] : 0;
		}
		af_hits_find(&h, &t, name);
		af_hits_weight(&t, &h, 0, &total, &self);
		af_tree_callers(&up, &t, &h);
		af_tree_callees(&down, &t, &h);
		af_tree_focus(&focus, &t, &h);
		af_tree_keep(&keep, &t, &h);
		af_tree_hide(&hide, &t, &h);
		assert_int_equal(total, inside);
		assert_int_equal(up.total[0][0], inside);
		assert_int_equal(up.self[0][0], first);
		assert_int_equal(down.total[0][0], inside);
		assert_int_equal(focus.total[0][0], inside);
		assert_int_equal(at(&focus, name, false), inside);
		assert_int_equal(keep.total[0][0], inside);
		assert_int_equal(hide.total[0][0], t.total[0][0]);
		assert_int_equal(at(&hide, name, false), 0);
		af_tree_close(&hide);
		af_tree_close(&keep);
		af_tree_close(&focus);
		af_tree_close(&down);
		af_tree_close(&up);
		af_hits_free(&h);
	}
	af_tree_close(&t);
}

static void hiding_charges_the_caller(void **state)
{
	struct af_tree t, hide;
	struct af_hits h;

	(void)state;
	recursive(&t);
	af_hits_find(&h, &t, "g");
	af_tree_hide(&hide, &t, &h);
	assert_int_equal(at(&hide, "mf", false), 1111);
	assert_int_equal(at(&hide, "mff", true), 110);
	assert_int_equal(hide.total[1][0], 6);
	af_hits_free(&h);
	af_tree_close(&hide);
	af_tree_close(&t);
}

/* A host function launches the kernel of its own name; inlined elsewhere it is still the host's. */
static void one_name_on_two_sides(void **state)
{
	static const enum af_frame kinds[] = {AF_FRAME_NATIVE, AF_FRAME_INLINED, AF_FRAME_GPU};
	struct af_buf said = {0}, words = {0};
	struct af_tree t;
	struct af_hits h;
	uint64_t total, self;

	(void)state;
	af_tree_open(&t, weights, 2);
	uint32_t at = af_tree_child(&t, 0, af_tree_name(&t, "main", 4, AF_FRAME_NATIVE, 1));
	for (int k = 0; k < 3; k++) {
		uint32_t name = af_tree_name(&t, "matmul", 6, kinds[k], 1);
		af_tree_add(&t, af_tree_child(&t, at, name), 0, k == 2 ? 200 : 11);
	}
	af_tree_finish(&t);

	af_hits_find(&h, &t, "gpu:matmul");
	assert_int_equal(h.how, AF_HITS_NAME);
	af_hits_weight(&t, &h, 0, &total, &self);
	assert_int_equal(total, 200);
	af_hits_free(&h);
	af_hits_find(&h, &t, "host:matmul");
	af_hits_weight(&t, &h, 0, &total, &self);
	assert_int_equal(total, 22);
	af_hits_free(&h);
	af_hits_find(&h, &t, "inlined:matmul");
	af_hits_weight(&t, &h, 0, &total, &self);
	assert_int_equal(total, 11);
	af_hits_free(&h);

	af_hits_find(&h, &t, "matmul");
	af_hits_choose(&h, &t, 0, &said);
	af_hits_weight(&t, &h, 0, &total, &self);
	assert_int_equal(total, 200);
	af_buf_char(&said, 0);
	assert_string_equal(said.data, "gpu:matmul, not host:matmul");
	af_function_words(&words, &t, "matmul", 6, AF_FRAME_INLINED);
	af_buf_char(&words, 0);
	assert_string_equal(words.data, "host:matmul");
	words.len = 0;
	af_function_words(&words, &t, "main", 4, AF_FRAME_NATIVE);
	af_buf_char(&words, 0);
	assert_string_equal(words.data, "main");
	af_hits_free(&h);
	af_buf_free(&said);
	af_buf_free(&words);
	af_tree_close(&t);
}

/* They are in documents that people keep. */
static void ids_stay_what_they_are(void **state)
{
	char id[AF_ID_SIZE], place[AF_ID_SIZE];

	(void)state;
	af_function_id(id, AF_FRAME_NATIVE, "main", 4);
	assert_string_equal(id, "f-58e63a3b4607c2fd50a2c14fc9c8ccaf");
	af_place_id(place, "", id);
	assert_string_equal(place, "n-f9a470a678c472157906d966939bd5ed");
	af_function_id(id, AF_FRAME_KERNEL, "main", 4);
	assert_string_equal(id, "f-9c0d1aad67b4c44363ea5000631230e9");
	assert_true(af_is_function_id(id));
	assert_false(af_is_function_id(place));
	assert_false(af_is_function_id("f-0123456789abcdef0123456789abcdeg"));
}

/* The heaviest, none without its caller, and what is left out is weighed. */
static void a_tree_is_cut_from_above(void **state)
{
	const struct af_tree_cut cut = {.min = 1, .limit = 4};
	struct af_facts f = {0};
	struct af_tree t;

	(void)state;
	recursive(&t);
	const struct af_table *table = af_tree_table(&f, &t, 0, &cut, "tree", "Tree");
	static const char *const names[] = {"f", "m", "g", "h"};
	assert_int_equal(table->nr_rows, 4);
	for (uint32_t r = 0; r < 4; r++)
		assert_string_equal(table->cells[r * table->nr_columns].text, names[r]);
	assert_int_equal(table->left_out, 5);
	assert_int_equal(table->left_weight, 1111);
	assert_string_equal(table->cells[2 * table->nr_columns + 8].text,
	                    table->cells[1 * table->nr_columns + 7].text);
	af_facts_free(&f);
	af_tree_close(&t);
}

static void a_cut_table_of_functions_says_what_is_missing(void **state)
{
	struct af_facts f = {0};
	struct af_tree t;

	(void)state;
	recursive(&t);
	af_top_table(&f, &t, 0, "top", "Top", 1);
	assert_int_equal(f.first->nr_rows, 1);
	assert_int_equal(f.first->left_out, 1);
	assert_int_equal(f.first->left_weight, 11111);
	af_ids_add(&f, f.first, 0, 5, AF_FRAME_GPU);
	assert_string_equal(f.first->columns[6].title, "Id");
	assert_int_equal(strlen(f.first->cells[6].text), AF_ID_SIZE - 1);
	af_facts_free(&f);
	af_tree_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_recursive_function_counts_once),
	    cmocka_unit_test(words_are_a_name_or_an_id_or_a_pattern),
	    cmocka_unit_test(any_function_of_any_tree_adds_up),
	    cmocka_unit_test(hiding_charges_the_caller),
	    cmocka_unit_test(one_name_on_two_sides),
	    cmocka_unit_test(ids_stay_what_they_are),
	    cmocka_unit_test(a_tree_is_cut_from_above),
	    cmocka_unit_test(a_cut_table_of_functions_says_what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
