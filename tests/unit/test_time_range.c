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

static struct af_within piece_of(struct af_asked *asked, uint64_t start_ns, uint64_t from_ns,
                                 uint64_t to_ns)
{
	struct af_within in = {0};

	*asked = (struct af_asked){.from_ns = from_ns, .to_ns = to_ns};
	af_within_set(&in, start_ns, asked);
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
					struct af_asked asked;
					struct af_within in =
					    piece_of(&asked, start_ns, i * cut,
					             i + 1 < PIECES ? (i + 1) * cut : 0);
					struct af_call call = {.start_ns = start_ns + from,
					                       .end_ns = start_ns + to};
					if (!af_within_call(&in, &call))
						continue;
					ns += call.end_ns - call.start_ns;
					count += !call.aside;
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
				struct af_asked asked;
				struct af_within in = piece_of(&asked, 1000, i * cut,
				                               i + 1 < PIECES ? (i + 1) * cut : 0);
				struct af_sample s = {
				    .time_ns = 1000 + at, .weight_ns = 11, .length_ns = 11};
				if (!af_within_sample(&in, &s))
					continue;
				ns += s.weight_ns;
				count += !s.aside;
			}
			assert_int_equal(ns, 11);
			assert_int_equal(count, 1);
		}
}

static void all_of_the_trace_is_nobodys_piece(void **state)
{
	struct af_within in = {0};
	struct af_call call = {.start_ns = 5, .end_ns = 9, .aside = true};

	(void)state;
	assert_true(af_within_call(&in, &call));
	assert_false(call.aside);
	assert_int_equal(call.end_ns - call.start_ns, 4);
	assert_true(af_within_began(&in, 0));
	assert_true(af_within_moment(&in, 0));
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
