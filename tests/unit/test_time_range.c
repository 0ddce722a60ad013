/* Times that lie next to each other have everything once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyse/pass/pass.h"
#include "analyse/world/time_range.h"

enum { SPAN = 40, PIECES = 5 };

static struct af_time_range piece_of(struct af_query *query, uint64_t start_ns, uint64_t from_ns,
                                     uint64_t to_ns)
{
	struct af_time_range in = {0};

	*query = (struct af_query){.from_ns = from_ns, .to_ns = to_ns};
	af_time_range_set(&in, start_ns, query);
	return in;
}

/* All pairs of a start and an end, instants too, in pieces that begin everywhere. */
static void pieces_of_a_call_are_the_call(void **state)
{
	const uint64_t start_ns = 1000;

	(void)state;
	for (uint64_t cut = 1; cut <= SPAN / PIECES; cut++)
		for (uint64_t from = 0; from < SPAN; from++)
			for (uint64_t to = from; to < SPAN; to++) {
				uint64_t ns = 0, count = 0;
				for (int i = 0; i < PIECES; i++) {
					struct af_query query;
					struct af_time_range in =
					    piece_of(&query, start_ns, i * cut,
					             i + 1 < PIECES ? (i + 1) * cut : 0);
					struct af_call call = {.start_ns = start_ns + from,
					                       .end_ns = start_ns + to};
					if (!af_time_range_call(&in, &call))
						continue;
					ns += call.end_ns - call.start_ns;
					count += !call.out_of_range;
				}
				assert_int_equal(ns, to - from);
				assert_int_equal(count, 1);
			}
}

static void pieces_of_a_sample_are_the_sample(void **state)
{
	(void)state;
	for (uint64_t cut = 1; cut <= SPAN / PIECES; cut++)
		for (uint64_t at = 1; at < SPAN; at++) {
			uint64_t ns = 0, count = 0;
			for (int i = 0; i < PIECES; i++) {
				struct af_query query;
				struct af_time_range in = piece_of(
				    &query, 1000, i * cut, i + 1 < PIECES ? (i + 1) * cut : 0);
				struct af_sample s = {
				    .time_ns = 1000 + at, .weight_ns = 11, .length_ns = 11};
				if (!af_time_range_sample(&in, &s))
					continue;
				ns += s.weight_ns;
				count += !s.out_of_range;
			}
			assert_int_equal(ns, 11);
			assert_int_equal(count, 1);
		}
}

static void all_of_the_trace_is_nobodys_piece(void **state)
{
	struct af_time_range in = {0};
	struct af_call call = {.start_ns = 5, .end_ns = 9, .out_of_range = true};

	(void)state;
	assert_true(af_time_range_call(&in, &call));
	assert_false(call.out_of_range);
	assert_int_equal(call.end_ns - call.start_ns, 4);
	assert_true(af_time_range_began(&in, 0));
	assert_true(af_time_range_moment(&in, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pieces_of_a_call_are_the_call),
	    cmocka_unit_test(pieces_of_a_sample_are_the_sample),
	    cmocka_unit_test(all_of_the_trace_is_nobodys_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
