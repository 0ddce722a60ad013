/* Slices as columns of report.html: what is joined still adds up, lies in order and nests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/tree/tree.h"
#include "render/html/columns.h"
#include "render/html/nodes.h"
#include "render/html/pack.h"

enum { MOST = 20000 };

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static uint32_t read_columns(const struct html_columns *c, struct html_slice *out)
{
	struct html_columns_reader reader = {0};
	uint32_t nr = 0;

	while (nr < MOST && html_columns_next(c, &reader, &out[nr]))
		nr++;
	assert_int_equal(nr, c->nr);
	return nr;
}

static struct html_slice random_slice(uint64_t start_ns, uint64_t length_ns)
{
	return (struct html_slice){
	    .start_ns = start_ns,
	    .length_ns = length_ns,
	    .weight_ns = next_random() % 3 ? length_ns : length_ns + next_random() % 100,
	    .count = next_random() % 5 ? 1 : next_random() % 4,
	    .flow = next_random() % 2 ? 1 + (next_random() >> 12) : 0,
	    .what = (uint32_t)(next_random() % 7),
	};
}

static void columns_hold_what_was_added(void **state)
{
	static struct html_slice put[MOST], got[MOST];
	struct html_columns c = {0};
	uint64_t at_ns = 0;

	for (int i = 0; i < MOST; i++) {
		put[i] = random_slice(at_ns, next_random() % 50 * (next_random() % 50));
		at_ns += put[i].length_ns + next_random() % 100;
		html_columns_add(&c, &put[i], 0);
	}
	html_columns_end(&c);
	assert_int_equal(read_columns(&c, got), MOST);
	for (uint32_t i = 0; i < MOST; i++) {
		assert_int_equal(got[i].start_ns, put[i].start_ns);
		assert_int_equal(got[i].length_ns, put[i].length_ns);
		assert_int_equal(got[i].weight_ns, put[i].weight_ns);
		assert_int_equal(got[i].count, put[i].count);
		assert_int_equal(got[i].flow, put[i].flow);
		assert_int_equal(got[i].what, put[i].what);
	}
	assert_int_equal(c.depth, 1);
	html_columns_free(&c);
}

static void columns_that_say_nothing_are_left_out(void **state)
{
	struct html_columns c = {0};
	struct html_slice s = {.length_ns = 5, .weight_ns = 5, .count = 1, .what = 1};

	html_columns_add(&c, &s, 0);
	assert_int_equal(c.columns[COLUMN_WEIGHT].planes[0].len, 0);
	assert_int_equal(c.columns[COLUMN_COUNT].planes[0].len, 0);
	assert_int_equal(c.columns[COLUMN_FLOW].planes[0].len, 0);
	s.start_ns = 10;
	s.count = 0;
	s.weight_ns = 7;
	html_columns_add(&c, &s, 0);
	assert_memory_equal(c.columns[COLUMN_WEIGHT].planes[0].data, "\5\7", 2);
	assert_memory_equal(c.columns[COLUMN_COUNT].planes[0].data, "\1\0", 2);
	assert_int_equal(c.columns[COLUMN_FLOW].planes[0].len, 0);
	html_columns_free(&c);
}

struct sums {
	uint64_t length_ns[100], weight_ns[100], count[100]; /* by what */
};

static void sums_add(struct sums *sums, const struct html_slice *s)
{
	sums->length_ns[s->what] += s->length_ns;
	sums->weight_ns[s->what] += s->weight_ns;
	sums->count[s->what] += s->count;
}

static void joined_slices_add_up_and_do_not_overlap(void **state)
{
	static struct html_slice got[MOST];
	struct html_columns c = {0};
	struct sums put = {0};
	uint64_t at_ns = 0, end_ns = 0, nr = MOST;

	for (int i = 0; i < MOST; i++) {
		struct html_slice s = random_slice(at_ns, next_random() % 3000);
		sums_add(&put, &s);
		at_ns += s.length_ns + next_random() % 2000;
		html_columns_add(&c, &s, i < MOST / 2 ? 0 : 1000);
	}
	for (uint64_t step_ns = 4000; step_ns < 10000000; step_ns *= 4) {
		struct sums sums = {0};
		html_columns_coarsen(&c, step_ns);
		html_columns_end(&c);
		assert_true(c.nr < nr);
		nr = c.nr;
		end_ns = 0;
		read_columns(&c, got);
		for (uint32_t i = 0; i < nr; i++) {
			assert_true(got[i].start_ns >= end_ns);
			end_ns = got[i].start_ns + got[i].length_ns;
			sums_add(&sums, &got[i]);
		}
		assert_memory_equal(&sums, &put, sizeof put);
		assert_int_equal(c.taken, MOST);
	}
	html_columns_free(&c);
}

/* A device that is busy for a tenth of the time all the time, by two kernels in turn. */
static void joined_slices_leave_no_end_of_their_time_empty(void **state)
{
	static struct html_slice got[MOST];
	struct html_columns c = {0};

	for (uint64_t i = 0; i < 1000; i++) {
		struct html_slice s = {i * 1000, 100, 100, 1, 0, (uint32_t)(i % 2)};
		html_columns_add(&c, &s, 0);
	}
	html_columns_coarsen(&c, 2000000);
	html_columns_end(&c);
	assert_int_equal(read_columns(&c, got), 2);
	assert_int_equal(got[0].start_ns, 0);
	assert_int_equal(got[1].start_ns, 999100 / 2);
	assert_int_equal(got[1].length_ns, 500 * 100);
	html_columns_free(&c);
}

/* A thread that calls two functions in turn all the time: each step of time has both, once. */
static void every_step_is_joined(void **state)
{
	static struct html_slice got[MOST];
	struct html_columns c = {0};

	for (uint64_t i = 0; i < 10000; i++) {
		struct html_slice s = {i * 100, 90, 90, 1, 0, (uint32_t)(i % 2)};
		html_columns_add(&c, &s, i < 5000 ? 0 : 4000);
		if (i == 4999)
			html_columns_coarsen(&c, 4000);
	}
	html_columns_end(&c);
	assert_int_equal(read_columns(&c, got), 2 * 1000000 / 4000);
	for (uint32_t i = 0; i < c.nr; i++) {
		assert_int_equal(got[i].start_ns / 4000, i / 2);
		assert_int_equal(got[i].count, 20);
	}
	assert_int_equal(c.depth, 1);
	html_columns_free(&c);
}

/* Rows of slices, some with shorter ones in them; none so long that it separates others. */
static void steps_are_known_to_leave_as_many_as_they_do(void **state)
{
	for (uint32_t level = 0; level < 8; level++) {
		uint64_t merged[HTML_STEPS] = {0}, left = 0, at_ns = 0;
		struct html_columns c = {0};

		for (int i = 0; i < MOST; i++) {
			struct html_slice s = random_slice(at_ns, 20 + next_random() % 900);
			html_columns_add(&c, &s, 0);
			if (i % 3 == 0) {
				s.start_ns += 5;
				s.length_ns -= 10;
				html_columns_add(&c, &s, 0);
			}
			at_ns += s.length_ns + 20 + next_random() % 20000;
		}
		html_columns_count(&c, merged);
		for (uint32_t i = 0; i <= level; i++)
			left -= merged[i];
		left += c.nr;
		html_columns_coarsen(&c, html_step_ns(level));
		html_columns_end(&c);
		assert_int_equal(c.nr, left);
		html_columns_free(&c);
	}
}

/* A long one, in it a row of short ones of which each has a shorter one in it. */
static void what_is_joined_stays_in_what_lies_around_it(void **state)
{
	static struct html_slice got[MOST];
	struct html_columns c = {0};

	for (uint64_t i = 0; i < 100; i++) {
		struct html_slice outer = {i * 100000, 50000 + i % 3, 0, 1, 0, 1};
		html_columns_add(&c, &outer, 0);
		for (uint64_t k = 0; k < 20; k++) {
			struct html_slice s = {i * 100000 + k * 2500, 2000, 0, 1, 0, 2};
			html_columns_add(&c, &s, 0);
			s = (struct html_slice){i * 100000 + k * 2500 + 500, 500, 0, 1, 0, 3};
			html_columns_add(&c, &s, 0);
		}
	}
	assert_int_equal(c.depth, 3);
	html_columns_coarsen(&c, 20000);
	html_columns_end(&c);
	uint32_t nr = read_columns(&c, got);
	uint64_t inner_ns = 0, around_ns = 0;
	for (uint32_t i = 0; i < nr; i++) {
		if (got[i].what == 1) {
			around_ns = got[i].start_ns + got[i].length_ns;
			continue;
		}
		assert_int_equal(got[i].what, 2);
		assert_true(got[i].start_ns + got[i].length_ns <= around_ns);
		inner_ns += got[i].length_ns;
	}
	assert_int_equal(c.depth, 2);
	assert_int_equal(inner_ns, 100 * 20 * 2000);
	assert_true(nr < 100 * 6);
	html_columns_free(&c);
}

static uint32_t add_frame(struct af_tree *t, uint32_t parent, const char *text, enum af_frame frame)
{
	return af_tree_child(t, parent, af_tree_name(t, text, strlen(text), frame, 0));
}

static void stacks_find_their_node_or_the_last_that_there_is(void **state)
{
	static const struct af_tree_weight one[] = {{"time", "ns"}};
	struct html_pack pack = {0};
	struct html_nodes nodes = {0};
	struct af_tree t, stacks;

	af_tree_open(&t, one, 1);
	uint32_t top = add_frame(&t, 0, "main", AF_FRAME_NATIVE);
	af_tree_add(&t, add_frame(&t, top, "b\n", AF_FRAME_NATIVE), 0, 1);
	af_tree_add(&t, add_frame(&t, top, "a", AF_FRAME_NATIVE), 0, 1);
	af_tree_finish(&t);
	html_nodes_open(&nodes, html_pack_add(&pack, &t, "cpu"));
	af_tree_open(&stacks, one, 1);
	uint32_t main_ = add_frame(&stacks, 0, "main", AF_FRAME_NATIVE);
	uint32_t b = add_frame(&stacks, main_, "b\n", AF_FRAME_NATIVE);
	uint32_t kind = add_frame(&stacks, main_, "a", AF_FRAME_KERNEL);
	uint32_t beyond = add_frame(&stacks, kind, "a", AF_FRAME_NATIVE);
	uint32_t back = add_frame(&stacks, beyond, "main", AF_FRAME_NATIVE);
	assert_int_equal(html_nodes_of(&nodes, &pack, &stacks, 0), 0);
	assert_int_equal(html_nodes_of(&nodes, &pack, &stacks, back), 1);
	assert_int_equal(html_nodes_of(&nodes, &pack, &stacks, b), 3);
	assert_int_equal(html_nodes_of(&nodes, &pack, &stacks, kind), 1);
	uint32_t a = add_frame(&stacks, main_, "a", AF_FRAME_NATIVE);
	assert_int_equal(html_nodes_of(&nodes, &pack, &stacks, a), 2);
	html_nodes_free(&nodes);
	html_pack_free(&pack);
	af_tree_close(&t);
	af_tree_close(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(columns_hold_what_was_added),
	    cmocka_unit_test(columns_that_say_nothing_are_left_out),
	    cmocka_unit_test(joined_slices_add_up_and_do_not_overlap),
	    cmocka_unit_test(joined_slices_leave_no_end_of_their_time_empty),
	    cmocka_unit_test(every_step_is_joined),
	    cmocka_unit_test(steps_are_known_to_leave_as_many_as_they_do),
	    cmocka_unit_test(what_is_joined_stays_in_what_lies_around_it),
	    cmocka_unit_test(stacks_find_their_node_or_the_last_that_there_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
