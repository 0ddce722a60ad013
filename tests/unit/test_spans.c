/* Stretches of time laid over one another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/join/spans.h"

#define NR(array) ((uint32_t)(sizeof(array) / sizeof *(array)))

/* The report of a walk, added up by the names of spans. */
struct reported {
	uint64_t first_ns[8], second_ns[8];
	uint32_t nr;
};

static void tell(void *arg, bool first, const struct af_span *span, uint64_t ns)
{
	struct reported *t = arg;

	(first ? t->first_ns : t->second_ns)[span->what] += ns;
	t->nr++;
}

static void spans_that_overlap_are_the_first_ones(void **state)
{
	struct af_span s[] = {{20, 60, 0, 2}, {10, 40, 0, 1}, {50, 55, 0, 3}};

	(void)state;
	assert_int_equal(af_spans_tidy(s, 0, NR(s)), 2);
	assert_int_equal(s[0].what, 1);
	assert_int_equal(s[0].end_ns, 40);
	assert_int_equal(s[1].what, 2);
	assert_int_equal(s[1].start_ns, 40);
	assert_int_equal(s[1].end_ns, 60);
}

static void of_spans_that_begin_together_the_longest_counts(void **state)
{
	struct af_span s[] = {{10, 20, 0, 1}, {10, 30, 0, 2}};

	(void)state;
	assert_int_equal(af_spans_tidy(s, 0, NR(s)), 1);
	assert_int_equal(s[0].what, 2);
}

static void empty_and_turned_round_spans_are_nothing(void **state)
{
	struct af_span s[] = {{10, 10, 0, 1}, {30, 20, 0, 2}, {UINT64_MAX, 0, 0, 3}, {5, 6, 0, 4}};

	(void)state;
	assert_int_equal(af_spans_tidy(s, 0, NR(s)), 1);
	assert_int_equal(s[0].what, 4);
	assert_int_equal(af_spans_tidy(NULL, 0, 0), 0);
}

static void tidying_twice_changes_nothing(void **state)
{
	struct af_span s[] = {{0, 5, 0, 1}, {5, 9, 0, 2}, {8, 12, 0, 3}};

	(void)state;
	assert_int_equal(af_spans_tidy(s, 0, NR(s)), 3);
	assert_int_equal(s[2].start_ns, 9);
	assert_int_equal(af_spans_tidy(s, 3, 3), 3);
	assert_int_equal(s[2].start_ns, 9);
}

static void what_comes_behind_tidy_spans_is_as_good_as_there_before(void **state)
{
	struct af_span late[] = {{0, 5, 0, 1}, {5, 9, 0, 2}, {20, 25, 0, 3}, {3, 22, 0, 4}};
	struct af_span behind[] = {{0, 5, 0, 1}, {5, 9, 0, 2}, {9, 9, 0, 3}, {9, 12, 0, 4}};

	(void)state;
	assert_int_equal(af_spans_tidy(late, 3, NR(late)), 3);
	assert_int_equal(late[1].what, 4);
	assert_int_equal(late[1].start_ns, 5);
	assert_int_equal(late[2].what, 3);
	assert_int_equal(late[2].start_ns, 22);
	assert_int_equal(af_spans_tidy(behind, 2, NR(behind)), 3);
	assert_int_equal(behind[2].what, 4);
	assert_int_equal(af_spans_tidy(behind, 3, 3), 3);
}

static void a_span_holds_its_start_and_not_its_end(void **state)
{
	const struct af_span s[] = {{10, 20, 0, 1}, {20, 30, 0, 2}};

	(void)state;
	assert_null(af_spans_has(s, NR(s), 9));
	assert_int_equal(af_spans_has(s, NR(s), 10)->what, 1);
	assert_int_equal(af_spans_has(s, NR(s), 20)->what, 2);
	assert_null(af_spans_has(s, NR(s), 30));
	assert_null(af_spans_has(NULL, 0, 10));
}

/* From wherever the search begins, it finds what the search from the start finds. */
static void a_search_from_anywhere_finds_the_same(void **state)
{
	struct af_span s[40];

	(void)state;
	for (uint32_t i = 0; i < NR(s); i++)
		s[i] = (struct af_span){10 * i, 10 * i + 1 + i % 9, 0, i};
	for (uint32_t from = 0; from <= NR(s) + 1; from++)
		for (uint64_t at_ns = 0; at_ns < 420; at_ns++) {
			uint32_t near = from, other = from;
			uint32_t found = af_spans_after_near(s, NR(s), at_ns, &near);
			assert_int_equal(found, af_spans_after(s, NR(s), at_ns));
			assert_int_equal(near, found);
			assert_ptr_equal(af_spans_has_near(s, NR(s), at_ns, &other),
			                 af_spans_has(s, NR(s), at_ns));
		}
	uint32_t near = 7;
	assert_int_equal(af_spans_after_near(NULL, 0, 10, &near), 0);
}

static void a_walk_shares_out_every_instant_once(void **state)
{
	const struct af_span calls[] = {{10, 20, 0, 1}, {40, 50, 0, 2}};
	const struct af_span waits[] = {{5, 45, 0, 3}, {48, 70, 0, 4}};
	const struct af_spans s = {calls, waits, NR(calls), NR(waits), NULL, NULL};
	struct reported t = {.nr = 0};

	(void)state;
	assert_int_equal(af_spans_walk(&s, 0, 100, tell, &t), 5 + 30);
	assert_int_equal(t.first_ns[1], 10);
	assert_int_equal(t.first_ns[2], 10);
	assert_int_equal(t.second_ns[3], 5 + 20);
	assert_int_equal(t.second_ns[4], 20);
}

static void a_walk_keeps_to_its_stretch(void **state)
{
	const struct af_span calls[] = {{10, 20, 0, 1}, {40, 50, 0, 2}};
	const struct af_span waits[] = {{0, 100, 0, 3}};
	const struct af_spans s = {calls, waits, NR(calls), NR(waits), NULL, NULL};
	struct reported t = {.nr = 0};

	(void)state;
	assert_int_equal(af_spans_walk(&s, 15, 42, tell, &t), 0);
	assert_int_equal(t.first_ns[1], 5);
	assert_int_equal(t.first_ns[2], 2);
	assert_int_equal(t.second_ns[3], 20);
}

static void what_calls_hold_wholly_is_no_wait(void **state)
{
	const struct af_span calls[] = {{0, 100, 0, 1}},
			     waits[] = {{20, 30, 0, 2}, {99, 100, 0, 3}};
	const struct af_spans s = {calls, waits, NR(calls), NR(waits), NULL, NULL};
	struct reported t = {.nr = 0};

	(void)state;
	assert_int_equal(af_spans_walk(&s, 0, 100, tell, &t), 0);
	assert_int_equal(t.nr, 1);
	assert_int_equal(t.first_ns[1], 100);
}

static void an_empty_stretch_has_nothing(void **state)
{
	const struct af_span calls[] = {{0, 100, 0, 1}};
	const struct af_spans s = {calls, calls, 1, 1, NULL, NULL};
	struct reported t = {.nr = 0};

	(void)state;
	assert_int_equal(af_spans_walk(&s, 50, 50, tell, &t), 0);
	assert_int_equal(af_spans_walk(&s, 60, 50, tell, &t), 0);
	assert_int_equal(t.nr, 0);
}

static void times_at_the_end_of_the_world_add_up(void **state)
{
	const struct af_span calls[] = {{0, 1, 0, 1}, {UINT64_MAX - 1, UINT64_MAX, 0, 2}};
	const struct af_spans s = {calls, NULL, NR(calls), 0, NULL, NULL};
	struct reported t = {.nr = 0};

	(void)state;
	assert_int_equal(af_spans_walk(&s, 0, UINT64_MAX, tell, &t), UINT64_MAX - 2);
	assert_int_equal(t.first_ns[1], 1);
	assert_int_equal(t.first_ns[2], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(spans_that_overlap_are_the_first_ones),
	    cmocka_unit_test(of_spans_that_begin_together_the_longest_counts),
	    cmocka_unit_test(empty_and_turned_round_spans_are_nothing),
	    cmocka_unit_test(tidying_twice_changes_nothing),
	    cmocka_unit_test(what_comes_behind_tidy_spans_is_as_good_as_there_before),
	    cmocka_unit_test(a_span_holds_its_start_and_not_its_end),
	    cmocka_unit_test(a_search_from_anywhere_finds_the_same),
	    cmocka_unit_test(a_walk_shares_out_every_instant_once),
	    cmocka_unit_test(a_walk_keeps_to_its_stretch),
	    cmocka_unit_test(what_calls_hold_wholly_is_no_wait),
	    cmocka_unit_test(an_empty_stretch_has_nothing),
	    cmocka_unit_test(times_at_the_end_of_the_world_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
