#include "analyse/difference/difference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/functions/steps.h"
#include "base/buf.h"
#include "base/err.h"
#include "render/render.h"

static const struct af_tree_weight samples[] = {{"samples", "samples"}};
static const struct af_tree_weight timed[] = {
    {"time", "ns"}, {"samples", "samples"}, {"count", "launches"}};

static void tree_read(struct af_tree *t, const char *text)
{
	struct af_folded_stats stats;
	struct af_err err = {0};

	af_tree_open(t, samples, 1);
	assert_int_equal(af_folded_read(t, text, strlen(text), false, &stats, &err), 0);
	assert_int_equal(stats.bad_lines, 0);
}

static struct af_difference_side counts(const struct af_tree *t)
{
	return (struct af_difference_side){.tree = t, .measured = -1};
}

static struct af_difference compared(const char *before, const char *after, bool strip)
{
	struct af_tree a, b;
	struct af_difference d;

	tree_read(&a, before);
	tree_read(&b, after);
	const struct af_difference_side x = counts(&a), y = counts(&b);
	af_difference_open(&d, &x, &y, strip);
	af_tree_close(&a);
	af_tree_close(&b);
	return d;
}

/* The node of a path of names, or 0. */
static uint32_t node_of(const struct af_tree *t, const char *path)
{
	uint32_t node = 0;

	while (*path) {
		size_t len = strcspn(path, ";"), n;
		uint32_t c = t->nodes[node].first_child;
		for (; c; c = t->nodes[c].next_sibling) {
			const char *text = af_tree_text(t, t->nodes[c].name, &n);
			if (n == len && !memcmp(text, path, n))
				break;
		}
		node = c;
		if (!node)
			return 0;
		path += len + (path[len] == ';');
	}
	return node;
}

static struct af_change change_at(const struct af_difference *d, const char *path, bool self)
{
	uint32_t node = node_of(&d->tree, path);

	assert_true(node || !*path);
	return af_difference_node(&d->look, &d->tree, node, self);
}

static void assert_change(const struct af_change *c, enum af_change_kind kind, int64_t size,
                          bool certain)
{
	assert_int_equal(c->kind, kind);
	assert_int_equal(c->less ? -(int64_t)c->size : (int64_t)c->size, size);
	assert_int_equal(c->certain, certain);
}

/* Stacks of names of few letters, so that many are in both of two such texts. */
static char *random_text(unsigned seed, unsigned lines)
{
	struct af_buf b = {0};

	for (unsigned i = 0; i < lines; i++) {
		unsigned depth = 1 + rand_r(&seed) % 6;
		for (unsigned k = 0; k < depth; k++)
			af_buf_fmt(&b, "%sf%u", k ? ";" : "", rand_r(&seed) % 7);
		af_buf_fmt(&b, " %u\n", 1 + rand_r(&seed) % 300);
	}
	return b.data;
}

static const char *path_of(const struct af_tree *t, uint32_t node, char *out, size_t cap)
{
	char above[512];
	size_t len;

	if (!node)
		return "";
	uint32_t parent = t->nodes[node].parent;
	const char *text = af_tree_text(t, t->nodes[node].name, &len);
	snprintf(out, cap, "%s%s%.*s", path_of(t, parent, above, sizeof above), parent ? ";" : "",
	         (int)len, text);
	return out;
}

static void of_the_same_there_is_none(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed < 6; seed++) {
		char *text = random_text(seed, 200);
		struct af_difference d = compared(text, text, false);
		for (enum af_normalize n = 0; n <= AF_NORMALIZE_TOTAL; n++) {
			d.look.normalize = n;
			for (uint32_t i = 0; i < d.tree.nr * 2; i++) {
				struct af_change c =
				    af_difference_node(&d.look, &d.tree, i / 2, i & 1);
				assert_int_equal(c.kind, AF_CHANGE_NONE);
				assert_int_equal(c.size, 0);
				assert_false(c.certain);
			}
		}
		af_difference_close(&d);
		free(text);
	}
}

static void turned_around_it_is_the_opposite(void **state)
{
	char *a = random_text(11, 300), *b = random_text(12, 200);
	struct af_difference x = compared(a, b, false), y = compared(b, a, false);
	char path[512];

	(void)state;
	assert_int_equal(x.tree.nr, y.tree.nr);
	for (uint32_t i = 0; i < x.tree.nr * 2; i++) {
		bool self = i & 1;
		struct af_change c = af_difference_node(&x.look, &x.tree, i / 2, self);
		struct af_change o =
		    change_at(&y, path_of(&x.tree, i / 2, path, sizeof path), self);
		assert_int_equal(c.size, o.size);
		assert_int_equal(c.before, o.after);
		assert_int_equal(c.after, o.before);
		assert_true(!c.size || c.less != o.less);
		assert_int_equal(c.certain, o.certain);
		assert_true(fabs(c.noise - o.noise) < 1e-6);
	}
	af_difference_close(&x);
	af_difference_close(&y);
	free(a);
	free(b);
}

static void sums_are_exact(void **state)
{
	char *a = random_text(21, 300), *b = random_text(22, 300);
	struct af_difference d = compared(a, b, false);
	int64_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < d.tree.nr; i++) {
		struct af_change c = af_difference_node(&d.look, &d.tree, i, true);
		sum += c.less ? -(int64_t)c.size : (int64_t)c.size;
	}
	struct af_change all = change_at(&d, "", false);
	assert_int_equal(sum, all.less ? -(int64_t)all.size : (int64_t)all.size);

	/* In whole units it is as much as after, to the last one. */
	d.look.normalize = AF_NORMALIZE_TOTAL;
	af_difference_apply(&d);
	assert_int_equal(d.tree.total[0][0], d.tree.total[1][0]);
	uint64_t whole = 0;
	for (uint32_t i = 0; i < d.tree.nr; i++)
		whole += d.tree.self[0][i];
	assert_int_equal(whole, d.tree.total[1][0]);
	af_difference_close(&d);
	free(a);
	free(b);
}

static void counts_scatter_by_their_root(void **state)
{
	struct af_difference d =
	    compared("m;up 100\nm;same 50\nm;less 9\nm;gone 10\n",
	             "m;up 144\nm;same 50\nm;less 8\nm;fresh 9\nm;sure 10\n", false);
	struct af_change c = change_at(&d, "m;up", false);

	(void)state;
	assert_change(&c, AF_CHANGE_GREW, 44, false);
	assert_true(fabs(c.noise - 3 * sqrt(244)) < 1e-9);
	c = change_at(&d, "m;same", false);
	assert_change(&c, AF_CHANGE_NONE, 0, false);
	assert_string_equal(af_change_name(&c), "same");
	c = change_at(&d, "m;less", true);
	assert_change(&c, AF_CHANGE_SHRANK, -1, false);
	assert_string_equal(af_change_name(&c), "within noise");
	/* Nine of none are three deviations, which is not more than that. */
	c = change_at(&d, "m;fresh", false);
	assert_change(&c, AF_CHANGE_NEW, 9, false);
	c = change_at(&d, "m;sure", false);
	assert_change(&c, AF_CHANGE_NEW, 10, true);
	assert_string_equal(af_change_name(&c), "new");
	c = change_at(&d, "m;gone", false);
	assert_change(&c, AF_CHANGE_VANISHED, -10, true);
	af_difference_close(&d);
}

static void scales_make_sides_comparable(void **state)
{
	struct af_difference d = compared("m;a 3000\nm;b 1000\n", "m;a 1500\nm;b 900\n", false);
	struct af_change c;

	(void)state;
	assert_true(d.look.scales[AF_NORMALIZE_TOTAL] == 0.6);
	assert_true(d.look.scales[AF_NORMALIZE_WALL] == 0);
	d.look.normalize = AF_NORMALIZE_TOTAL;
	c = change_at(&d, "", false);
	assert_change(&c, AF_CHANGE_NONE, 0, false);
	c = change_at(&d, "m;a", false);
	assert_change(&c, AF_CHANGE_SHRANK, -300, true);
	assert_true(fabs(c.noise - 3 * sqrt(0.36 * 3000 + 1500)) < 1e-9);
	d.look.normalize = AF_NORMALIZE_STEP;
	d.look.scales[AF_NORMALIZE_STEP] = 0.5;
	c = change_at(&d, "m;a", false);
	assert_change(&c, AF_CHANGE_NONE, 0, false);
	assert_int_equal(c.before, 1500);
	c = change_at(&d, "m;b", false);
	assert_change(&c, AF_CHANGE_GREW, 400, true);
	af_difference_close(&d);

	d = compared("a 1\n", "# nothing\nb 0\n", false);
	assert_true(d.look.scales[AF_NORMALIZE_TOTAL] == 0);
	af_difference_close(&d);
}

static void put(struct af_tree *t, const char *name, enum af_frame frame, uint64_t ns, uint64_t n,
                uint64_t launches)
{
	uint32_t root = af_tree_child(t, 0, af_tree_name(t, "app", 3, AF_FRAME_PROCESS, 0));
	uint32_t node = af_tree_child(t, root, af_tree_name(t, name, strlen(name), frame, 0));

	af_tree_add(t, node, 0, ns);
	af_tree_add(t, node, 1, n);
	af_tree_add(t, node, 2, launches);
}

static void time_scatters_by_samples_unless_it_was_measured(void **state)
{
	struct af_tree t;
	struct af_difference d;

	(void)state;
	af_tree_open(&t, timed, 3);
	put(&t, "often", AF_FRAME_NATIVE, 100000, 100, 0);
	put(&t, "rare", AF_FRAME_NATIVE, 50000, 2, 0);
	put(&t, "gemm", AF_FRAME_GPU, 70000, 5, 3);
	put(&t, "copy", AF_FRAME_GPU, 1000, 0, 1);
	af_tree_finish(&t);
	const struct af_difference_side x = {&t, 0, 1, 2, 0};
	af_difference_open(&d, &x, &x, false);
	struct af_change c = change_at(&d, "app;often", true);
	assert_true(fabs(c.noise / (3 * sqrt(2.0 * 100) * 1000) - 1) < 1e-3);
	c = change_at(&d, "app;rare", true);
	assert_true(fabs(c.noise / (3 * sqrt(2.0 * 2) * 25000) - 1) < 1e-3);
	c = change_at(&d, "app;gemm", true);
	assert_true(c.noise == 0);
	c = change_at(&d, "app", false);
	assert_true(fabs(c.noise / (3 * sqrt(2 * (1e8 + 1.25e9))) - 1) < 1e-3);
	af_difference_close(&d);

	const struct af_difference_side measured = {&t, 0, -1, -1, 0};
	af_difference_open(&d, &measured, &measured, false);
	assert_true(d.look.quantum[0] == 0 && d.look.quantum[1] == 0);
	af_difference_close(&d);
	af_tree_close(&t);
}

/* An event of a length under a function. */
static void put_event(struct af_tree *t, const char *name, uint64_t ns)
{
	uint32_t root = af_tree_child(t, 0, af_tree_name(t, "app", 3, AF_FRAME_PROCESS, 0));
	uint32_t node =
	    af_tree_child(t, root, af_tree_name(t, name, strlen(name), AF_FRAME_NATIVE, 0));

	af_tree_add(t, node, 0, ns);
	af_tree_vary(t, node, (double)ns * (double)ns);
}

static void events_scatter_by_their_squares(void **state)
{
	struct af_tree t;
	struct af_difference d;

	(void)state;
	af_tree_open(&t, timed, 1);
	put_event(&t, "long", 9000000000);
	for (int i = 0; i < 100; i++)
		put_event(&t, "short", 1000);
	af_tree_finish(&t);
	const struct af_difference_side x = {
	    .tree = &t, .samples = -1, .measured = -1, .events = true};
	af_difference_open(&d, &x, &x, false);
	assert_true(d.look.events);
	struct af_change c = change_at(&d, "app;long", true);
	assert_true(fabs(c.noise / (3 * sqrt(2.0) * 9e9) - 1) < 1e-3);
	/* The least of them is more than none, however long the longest is. */
	c = change_at(&d, "app;short", true);
	assert_true(c.noise > 3 * sqrt(2.0 * 100) * 1000 * 0.9);
	c = change_at(&d, "app", false);
	assert_true(fabs(c.noise / (3 * sqrt(2.0) * 9e9) - 1) < 1e-3);
	assert_false(c.certain);
	af_difference_close(&d);
	af_tree_close(&t);
}

static double dice(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005 + 1442695040888963407;
	return ((double)(*seed >> 33) + 0.5) / 0x1p31;
}

enum { FUNCTIONS = 3000, WAITS = 50 };

/* As long as waits come by chance, of lengths that are chance, too. */
static void run_of_waits(struct af_tree *t, uint64_t seed)
{
	char name[16];

	af_tree_open(t, timed, 1);
	for (int i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof name, "f%d", i);
		for (double at = -log(dice(&seed)); at < WAITS; at += -log(dice(&seed)))
			put_event(t, name, (uint64_t)(-log(dice(&seed)) * 1e6) + 1);
	}
	af_tree_finish(t);
}

static void chance_alone_seldom_looks_certain(void **state)
{
	struct af_tree a, b;
	struct af_difference d;
	uint32_t nr = 0;

	(void)state;
	run_of_waits(&a, 1);
	run_of_waits(&b, 2);
	const struct af_difference_side x = {
	    .tree = &a, .samples = -1, .measured = -1, .events = 1};
	const struct af_difference_side y = {
	    .tree = &b, .samples = -1, .measured = -1, .events = 1};
	af_difference_open(&d, &x, &y, false);
	for (uint32_t i = 2; i < d.tree.nr; i++)
		nr += af_difference_node(&d.look, &d.tree, i, true).certain;
	/* 8 of 3000, of a normal distribution. */
	assert_true(nr >= 1 && nr <= 24);
	af_difference_close(&d);
	af_tree_close(&a);
	af_tree_close(&b);
}

static void periods_are_no_samples(void **state)
{
	struct af_buf text = {0};
	struct af_tree t;
	struct af_difference d;

	(void)state;
	for (int i = 1; i <= 9; i++)
		af_buf_fmt(&text, "f%d %d\n", i, i * 10000);
	tree_read(&t, text.data);
	struct af_difference_side x = counts(&t);
	af_difference_open(&d, &x, &x, false);
	assert_true(d.look.quantum[0] == 10000);
	af_difference_close(&d);
	x.period = 500;
	af_difference_open(&d, &x, &x, false);
	assert_true(d.look.quantum[0] == 500);
	af_difference_close(&d);
	af_tree_close(&t);
	af_buf_free(&text);

	/* A few round numbers tell nothing. */
	d = compared("a 1000\nb 2000\n", "a 1000\n", false);
	assert_true(d.look.quantum[0] == 1);
	af_difference_close(&d);
}

static void fractions_meet_whole_numbers(void **state)
{
	struct af_difference d = compared("a 1.5\nb 2\n", "a 2\nb 2\n", false);
	struct af_change c = change_at(&d, "a", false);

	(void)state;
	assert_int_equal(d.tree.weights[0].scale, 1000000);
	assert_int_equal(c.size, 500000);
	assert_true(fabs(c.noise - 3e6 * sqrt(3.5)) < 1);
	c = change_at(&d, "b", false);
	assert_int_equal(c.size, 0);
	af_difference_close(&d);
}

static void one_program_is_one_whatever_it_is_called(void **state)
{
	struct af_tree a, b;
	struct af_difference d;

	(void)state;
	af_tree_open(&a, timed, 3);
	put(&a, "f", AF_FRAME_NATIVE, 1000, 1, 0);
	af_tree_open(&b, timed, 3);
	uint32_t root = af_tree_child(&b, 0, af_tree_name(&b, "app2", 4, AF_FRAME_PROCESS, 0));
	uint32_t node = af_tree_child(&b, root, af_tree_name(&b, "f", 1, AF_FRAME_NATIVE, 0));
	af_tree_add(&b, node, 0, 3000);
	af_tree_finish(&a);
	af_tree_finish(&b);
	const struct af_difference_side x = {&a, 0, 1, 2, 0}, y = {&b, 0, 1, 2, 0};
	af_difference_open(&d, &x, &y, false);
	assert_int_equal(d.tree.nr, 3);
	struct af_change c = change_at(&d, "app2;f", false);
	assert_int_equal(c.kind, AF_CHANGE_GREW);
	af_difference_close(&d);
	af_tree_close(&a);
	af_tree_close(&b);
}

static void stripped_names_are_the_same_in_both(void **state)
{
	struct af_difference d =
	    compared("f (a.py:12);[lib+0x7f00];ns::x 5\nk.cu:17 2\n0x12;a:b 1\n",
	             "f (a.py:19);[lib+0x8e10];ns::x 5\nk.cu:9 2\n0xabc;a:b 1\n", true);

	(void)state;
	assert_true(node_of(&d.tree, "f (a.py);[lib+0x...];ns::x"));
	assert_true(node_of(&d.tree, "k.cu"));
	assert_true(node_of(&d.tree, "0x...;a:b"));
	for (uint32_t i = 0; i < d.tree.nr; i++) {
		struct af_change c = af_difference_node(&d.look, &d.tree, i, false);
		assert_int_equal(c.kind, AF_CHANGE_NONE);
	}
	af_difference_close(&d);
}

static void only_what_one_side_has_is_kept(void **state)
{
	struct af_difference d =
	    compared("m;both 5\nm;gone;x 7\nm;gone 1\n", "m;both 9\nm;new 3\n", false);

	(void)state;
	af_difference_only(&d, AF_CHANGE_VANISHED);
	assert_int_equal(d.tree.total[0][0], 8);
	assert_int_equal(d.tree.total[1][0], 0);
	assert_int_equal(d.tree.total[0][node_of(&d.tree, "m;both")], 0);
	af_difference_close(&d);
}

static const struct af_table *table_of(const struct af_tables *f, const char *name)
{
	for (const struct af_table *t = f->first; t; t = t->next)
		if (!strcmp(t->name, name))
			return t;
	fail_msg("no table %s", name);
	return NULL;
}

static void functions_add_up_and_recursion_counts_once(void **state)
{
	struct af_difference d =
	    compared("m;r;r;r 100\nm;x 50\n", "m;r;r 300\nm;x 50\nm;r;y;r 20\n", false);
	struct af_tables f = {0};
	int64_t own = 0;

	(void)state;
	af_difference_tables(&d, &f, &(const struct af_difference_shown){.all = true});
	const struct af_table *t = table_of(&f, "functions");
	for (uint32_t r = 0; r < t->nr_rows; r++) {
		const struct af_cell *c = &t->cells[(size_t)r * t->nr_columns];
		own += c[3].less ? -(int64_t)c[3].value : (int64_t)c[3].value;
		if (strcmp(c[0].text, "r") != 0)
			continue;
		assert_int_equal(c[6].value, 100);
		assert_int_equal(c[7].value, 320);
		assert_string_equal(c[12].text, "grew");
	}
	assert_int_equal(own, 220);
	t = table_of(&f, "new");
	assert_int_equal(t->nr_rows, 1);
	assert_string_equal(t->cells[5].text, "m;r;y");
	t = table_of(&f, "vanished");
	assert_int_equal(t->nr_rows, 1);
	assert_string_equal(t->cells[5].text, "m;r;r;r");
	af_tables_free(&f);
	af_difference_close(&d);
}

static void worse_is_what_grew_beyond_noise_and_limit(void **state)
{
	struct af_difference d =
	    compared("m;a 1000\nm;b 10\nm;c 1000\n", "m;a 1200\nm;b 30\nm;c 700\n", false);
	struct af_tables f = {0};

	(void)state;
	/* All in all it is 80 less; a grew by 9.95 %, b by 1 % and within noise. */
	struct af_table *t = af_difference_worse(&d, &f, 5);
	assert_int_equal(t->nr_rows, 1);
	assert_string_equal(t->cells[0].text, "a");
	t = af_difference_worse(&d, &f, 10);
	assert_int_equal(t->nr_rows, 0);
	t = af_difference_worse(&d, &f, 0);
	assert_int_equal(t->nr_rows, 2);
	af_tables_free(&f);
	af_difference_close(&d);
}

static void steps_may_be_numbered(void **state)
{
	(void)state;
	assert_true(af_steps_are("step", "step", 4));
	assert_true(af_steps_are("step", "step 12", 7));
	assert_true(af_steps_are("ProfilerStep", "ProfilerStep#3", 14));
	assert_true(af_steps_are("ProfilerStep#", "ProfilerStep#3", 14));
	assert_false(af_steps_are("step", "stepper", 7));
	assert_false(af_steps_are("step", "step 1 of 2", 11));
	assert_false(af_steps_are("step 1", "step 12", 7));
	assert_false(af_steps_are("step", "ste", 3));
	assert_false(af_steps_are("step", "step ", 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(of_the_same_there_is_none),
	    cmocka_unit_test(turned_around_it_is_the_opposite),
	    cmocka_unit_test(sums_are_exact),
	    cmocka_unit_test(counts_scatter_by_their_root),
	    cmocka_unit_test(scales_make_sides_comparable),
	    cmocka_unit_test(time_scatters_by_samples_unless_it_was_measured),
	    cmocka_unit_test(events_scatter_by_their_squares),
	    cmocka_unit_test(chance_alone_seldom_looks_certain),
	    cmocka_unit_test(periods_are_no_samples),
	    cmocka_unit_test(fractions_meet_whole_numbers),
	    cmocka_unit_test(one_program_is_one_whatever_it_is_called),
	    cmocka_unit_test(stripped_names_are_the_same_in_both),
	    cmocka_unit_test(only_what_one_side_has_is_kept),
	    cmocka_unit_test(functions_add_up_and_recursion_counts_once),
	    cmocka_unit_test(worse_is_what_grew_beyond_noise_and_limit),
	    cmocka_unit_test(steps_may_be_numbered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
