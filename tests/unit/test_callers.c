/* Callers and callees, narrowed trees, trees as tables and the ids in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/functions/top.h"
#include "analyse/tree/filter.h"
#include "analyse/tree/ids.h"
#include "analyse/tree/module_key.h"
#include "analyse/tree/table.h"

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
	af_function_id(id, AF_FRAME_NATIVE, "g", 1, "");
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
	struct af_buf reported = {0}, words = {0};
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
	af_hits_choose(&h, &t, 0, &reported);
	af_hits_weight(&t, &h, 0, &total, &self);
	assert_int_equal(total, 200);
	af_buf_char(&reported, 0);
	assert_string_equal(reported.data, "gpu:matmul, not host:matmul");
	const struct af_name_key inlined =
	    af_name_key_of(&t, af_tree_name(&t, "matmul", 6, AF_FRAME_INLINED, 1));
	af_function_words(&words, &t, &inlined);
	af_buf_char(&words, 0);
	assert_string_equal(words.data, "host:matmul");
	words.len = 0;
	const struct af_name_key alone =
	    af_name_key_of(&t, af_tree_name(&t, "main", 4, AF_FRAME_NATIVE, 1));
	af_function_words(&words, &t, &alone);
	af_buf_char(&words, 0);
	assert_string_equal(words.data, "main");
	af_hits_free(&h);
	af_buf_free(&reported);
	af_buf_free(&words);
	af_tree_close(&t);
}

/* Two libraries have a helper each, one of them inlined as well; a third one is of nobody knows. */
static void functions_of_one_name_are_reported_apart_by_their_module(void **state)
{
	static const struct {
		const char *module;
		enum af_frame frame;
		uint64_t time;
	} all[] = {
	    {"/opt/v1/liba.so.1.2", AF_FRAME_NATIVE, 10},
	    {"/usr/lib/liba.so.3", AF_FRAME_INLINED, 1},
	    {"/usr/lib/libb-2.31.so", AF_FRAME_NATIVE, 200},
	    {NULL, AF_FRAME_NATIVE, 3000},
	};
	static const struct {
		const char *words;
		uint64_t total;
	} meant[] = {
	    {"liba.so!helper", 11},
	    {"liba.so.9!helper", 11},
	    {"/lib/liba.so!helper", 11},
	    {"host:liba.so!helper", 11},
	    {"inlined:liba.so!helper", 1},
	    {"libb.so!helper", 200},
	    {"libb-2.31.so!helper", 200},
	    {"!helper", 3000},
	    {"helper", 3211},
	    {"libc.so!helper", 0},
	    {"python:liba.so!helper", 0},
	};
	struct af_buf reported = {0}, words = {0};
	uint64_t total, self;
	struct af_tree t;
	struct af_hits h;
	size_t len;

	(void)state;
	af_tree_open(&t, weights, 2);
	for (int i = 0; i < 4; i++) {
		const struct af_location location = {.module = all[i].module};
		uint32_t name = af_tree_name_at(&t, "helper", 6, all[i].frame, &location);
		af_tree_add(&t, af_tree_child(&t, 0, name), 0, all[i].time);
	}
	uint32_t alone = af_tree_name_at(&t, "alone", 5, AF_FRAME_NATIVE,
	                                 &(struct af_location){.module = all[0].module});
	af_tree_child(&t, 0, alone);
	af_tree_finish(&t);
	af_trees_tell_apart(&t, 1);
	assert_int_equal(t.nr, 6);
	for (unsigned i = 0; i < sizeof meant / sizeof *meant; i++) {
		af_hits_find(&h, &t, meant[i].words);
		af_hits_weight(&t, &h, 0, &total, &self);
		if (total != meant[i].total)
			fail_msg("%s: %llu", meant[i].words, (unsigned long long)total);
		af_hits_free(&h);
	}
	af_hits_find(&h, &t, "helper");
	af_hits_choose(&h, &t, 0, &reported);
	assert_int_equal(h.nr, 1);
	af_buf_char(&reported, 0);
	assert_string_equal(reported.data, "!helper, not liba.so!helper, not libb.so!helper");
	for (uint32_t i = 1; i < t.nr_names; i++) {
		const struct af_name_key f = af_name_key_of(&t, i);
		words.len = 0;
		af_function_words(&words, &t, &f);
		af_buf_char(&words, 0);
		assert_string_equal(words.data, i == alone             ? "alone"
		                                : !*af_tree_key(&t, i) ? "!helper"
		                                : strstr(af_tree_key(&t, i), "a.")
		                                    ? "liba.so!helper"
		                                    : "libb.so!helper");
	}
	assert_string_equal(af_tree_label(&t, t.nodes[1].name, &len), "liba.so!helper");
	assert_int_equal(len, strlen("liba.so!helper"));
	assert_false(af_tree_is_qualified(&t, alone));
	af_hits_free(&h);
	af_buf_free(&reported);
	af_buf_free(&words);
	af_tree_close(&t);
}

/* Names of a file in another build of it, or elsewhere. */
static void a_module_is_one_word_in_every_run(void **state)
{
	static const struct {
		enum af_frame frame;
		const char *module, *file, *key;
	} all[] = {
	    {AF_FRAME_NATIVE, "/usr/lib/libfoo.so.1.2", "/src/a.c", "libfoo.so"},
	    {AF_FRAME_INLINED, "/lib/libfoo-1.2.so", NULL, "libfoo.so"},
	    {AF_FRAME_NATIVE, "/w/libfoo-0a1b2c3d.so.5", NULL, "libfoo.so"},
	    {AF_FRAME_NATIVE, "/tmp/libfoo.so (deleted)", NULL, "libfoo.so"},
	    {AF_FRAME_NATIVE, "/w/_core.cpython-311-x86_64-linux-gnu.so", NULL,
	     "_core.cpython-311-x86_64-linux-gnu.so"},
	    {AF_FRAME_NATIVE, "libstdc++.so.6.0.30", NULL, "libstdc++.so"},
	    {AF_FRAME_NATIVE, "/usr/bin/python3.11", NULL, "python3.11"},
	    {AF_FRAME_NATIVE, "/usr/bin/.so", NULL, ".so"},
	    {AF_FRAME_NATIVE, "/tmp/app (deleted)", NULL, "app"},
	    {AF_FRAME_NATIVE, "/srv/my.socket", NULL, "my.socket"},
	    {AF_FRAME_NATIVE, "[vdso]", NULL, "[vdso]"},
	    {AF_FRAME_NATIVE, NULL, "/src/app/util.js", "util.js"},
	    {AF_FRAME_NATIVE, NULL, NULL, ""},
	    {AF_FRAME_NATIVE, "/home/me/.debug/jit/jitted-77-1.so", NULL, ""},
	    {AF_FRAME_NATIVE, "/tmp/perf-77.map", NULL, ""},
	    {AF_FRAME_NATIVE, "/usr/bin/perf-report", NULL, "perf-report"},
	    {AF_FRAME_NATIVE, "//anon", NULL, ""},
	    {AF_FRAME_NATIVE, "/memfd:jit (deleted)", NULL, ""},
	    {AF_FRAME_KERNEL, "[kernel.kallsyms]", NULL, "[kernel]"},
	    {AF_FRAME_KERNEL, "/usr/lib/debug/boot/vmlinux-6.1.0-18-amd64", NULL, "[kernel]"},
	    {AF_FRAME_KERNEL, "[kernel]", NULL, "[kernel]"},
	    {AF_FRAME_KERNEL, "/lib/modules/6.1/fs/ext4.ko.xz", NULL, "[ext4]"},
	    {AF_FRAME_KERNEL, "[ext4]", NULL, "[ext4]"},
	    {AF_FRAME_KERNEL, "ext4", NULL, "[ext4]"},
	    {AF_FRAME_KERNEL, NULL, "fs/open.c", ""},
	    {AF_FRAME_JIT, "/usr/bin/node", NULL, ""},
	    {AF_FRAME_GPU, "4d413feaed61", NULL, ""},
	    {AF_FRAME_PYTHON, NULL, "/a/utils.py", ""},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
		struct af_buf b = {0};
		af_module_key(&b, all[i].frame, all[i].module, all[i].file);
		af_buf_char(&b, 0);
		assert_string_equal(b.data, all[i].key);
		af_buf_free(&b);
	}
}

/* They are in documents that people keep. */
static void ids_stay_what_they_are(void **state)
{
	char id[AF_ID_SIZE], place[AF_ID_SIZE];

	(void)state;
	af_function_id(id, AF_FRAME_NATIVE, "main", 4, "");
	assert_string_equal(id, "f-58e63a3b4607c2fd50a2c14fc9c8ccaf");
	af_place_id(place, "", id);
	assert_string_equal(place, "n-f9a470a678c472157906d966939bd5ed");
	af_function_id(id, AF_FRAME_KERNEL, "main", 4, "");
	assert_string_equal(id, "f-9c0d1aad67b4c44363ea5000631230e9");
	af_function_id(id, AF_FRAME_NATIVE, "main", 4, "app");
	assert_string_equal(id, "f-608bc8fff943262d31beb176c3ac67e5");
	assert_true(af_is_function_id(id));
	assert_false(af_is_function_id(place));
	assert_false(af_is_function_id("f-0123456789abcdef0123456789abcdeg"));
}

/* The heaviest, none without its caller, and what is left out is weighed. */
static void a_tree_is_cut_from_above(void **state)
{
	const struct af_tree_cut cut = {.min = 1, .limit = 4};
	struct af_tables f = {0};
	struct af_tree t;

	(void)state;
	recursive(&t);
	const struct af_table *table = af_tree_table(&f, &t, 0, &cut, "tree", "Tree");
	static const char *const names[] = {"f", "m", "g", "h"};
	assert_int_equal(table->nr_rows, 4);
	for (uint32_t r = 0; r < 4; r++)
		assert_string_equal(AF_ROW_AT(struct af_tree_row, table, r)->frame.text, names[r]);
	assert_int_equal(table->left_out, 5);
	assert_int_equal(table->left_weight, 1111);
	assert_string_equal(AF_ROW_AT(struct af_tree_row, table, 2)->below.text,
	                    AF_ROW_AT(struct af_tree_row, table, 1)->id.text);
	af_tables_free(&f);
	af_tree_close(&t);
}

static void a_cut_table_of_functions_says_what_is_missing(void **state)
{
	struct af_tables f = {0};
	struct af_tree t;

	(void)state;
	recursive(&t);
	af_top_table(&f, &t, 0, "top", "Top", 1);
	assert_int_equal(f.first->nr_rows, 1);
	assert_int_equal(f.first->left_out, 1);
	assert_int_equal(f.first->left_weight, 11111);
	af_ids_add(&f, f.first, &t);
	assert_string_equal(f.first->columns[9].title, "Id");
	assert_int_equal(strlen(f.first->cells[9].text), AF_ID_SIZE - 1);
	af_tables_free(&f);
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
	    cmocka_unit_test(functions_of_one_name_are_reported_apart_by_their_module),
	    cmocka_unit_test(a_module_is_one_word_in_every_run),
	    cmocka_unit_test(ids_stay_what_they_are),
	    cmocka_unit_test(a_tree_is_cut_from_above),
	    cmocka_unit_test(a_cut_table_of_functions_says_what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
