/* Times and samples of a run do not depend on the order in which they come, nor on its parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/phases/blocks.h"
#include "analyse/phases/mix.h"
#include "analyse/world/samples.h"

enum { PATHS = 3, CALLS = 400000, SAMPLES = 3 << 20 };

static uint64_t random_next(uint64_t *r)
{
	*r = *r * 6364136223846793005u + 1442695040888963407u;
	return *r >> 20;
}

static void times_equal(const struct phase_times *a, const struct phase_times *b)
{
	assert_int_equal(a->nr, b->nr);
	assert_int_equal(a->thin, b->thin);
	assert_int_equal(a->kept, b->kept);
	assert_memory_equal(a->at_ns, b->at_ns, a->kept * sizeof *a->at_ns);
}

static uint64_t time_of(uint32_t i, uint64_t *r)
{
	return 1000000 + i * 1000ull + random_next(r) % 1500;
}

static void times_of_parts_are_those_of_the_whole(void **state)
{
	struct phase_times whole = {0}, sum = {0}, later = {0}, back = {0};
	uint64_t *all = calloc(CALLS, sizeof *all), r = 1;

	(void)state;
	for (uint32_t i = 0; i < CALLS; i++) {
		all[i] = time_of(i, &r);
		phase_times_add(&whole, all[i]);
	}
	for (uint32_t from = 0, to; from < CALLS; from = to) {
		struct phase_times part = {0};
		to = from + 1 + (uint32_t)(random_next(&r) % (CALLS / 3));
		for (uint32_t i = from; i < to && i < CALLS; i++)
			phase_times_add(&part, all[i]);
		phase_times_merge(&sum, &part);
		if (from)
			phase_times_merge(&later, &part);
		free(part.at_ns);
	}
	for (uint32_t i = CALLS; i-- > 0;)
		phase_times_add(&back, all[i]);
	assert_true(whole.thin == 7 && later.nr < whole.nr);
	phase_times_sort(&whole);
	phase_times_sort(&sum);
	phase_times_sort(&back);
	times_equal(&sum, &whole);
	times_equal(&back, &whole);
	assert_int_equal(whole.at_ns[0], whole.first_ns);
	assert_int_equal(whole.at_ns[whole.kept - 1], whole.last_ns);
	assert_in_range(whole.kept, CALLS / 8 - 1000, CALLS / 8 + 1000);
	free(all);
	free(whole.at_ns);
	free(sum.at_ns);
	free(later.at_ns);
	free(back.at_ns);
}

static void all_at_one_time_are_not_kept_apart(void **state)
{
	struct phase_times t = {0};

	(void)state;
	for (uint32_t i = 0; i < CALLS; i++)
		phase_times_add(&t, 5);
	phase_times_sort(&t);
	assert_int_equal(t.nr, CALLS);
	assert_int_equal(t.at_ns[0], 5);
	assert_int_equal(phase_times_span(&t), 0);
	free(t.at_ns);
}

static void calls_of_parts_are_added_by_path(void **state)
{
	struct phase_calls whole = {0}, sum = {0}, parts[2] = {0};
	struct phase_steps a, b;

	(void)state;
	for (uint32_t i = 0; i < 300; i++) {
		uint64_t ns = 1000 + i * 500ull;
		phase_calls_add(&whole, 1, 1 + i % PATHS, ns);
		phase_calls_add(&parts[i >= 100], 1, 1 + i % PATHS, ns);
	}
	phase_calls_merge(&sum, &parts[0]);
	phase_calls_merge(&sum, &parts[1]);
	phase_calls_sort(&whole);
	phase_calls_sort(&sum);
	assert_true(phase_calls_find(&whole, &a));
	assert_true(phase_calls_find(&sum, &b));
	assert_int_equal(a.paths, PATHS);
	assert_int_equal(b.paths, PATHS);
	assert_int_equal(a.median_ns, 1500);
	assert_int_equal(b.median_ns, 1500);
	times_equal(b.anchor, a.anchor);
	phase_calls_free(&whole);
	phase_calls_free(&sum);
	phase_calls_free(&parts[0]);
	phase_calls_free(&parts[1]);
}

/* A run has @nr calls from @paths paths and one with a high number, in one and in parts. */
static void calls_compare(uint32_t nr, uint32_t paths, uint32_t part_most)
{
	enum { FAR = 200000, FAR_EVERY = 90000 };
	struct phase_calls whole = {0}, sum = {0};
	uint64_t r = 5;

	for (uint32_t from = 0, to; from < nr; from = to) {
		struct phase_calls part = {0};
		to = from + 1 + (uint32_t)(random_next(&r) % part_most);
		for (uint32_t i = from; i < to && i < nr; i++) {
			uint64_t ns = time_of(i, &r);
			uint32_t path =
			    i % FAR_EVERY ? 1 + (uint32_t)(random_next(&r) % paths) : FAR;
			phase_calls_add(&whole, 1 + path % 2, path, ns);
			phase_calls_add(&part, 1 + path % 2, path, ns);
		}
		phase_calls_merge(&sum, &part);
		phase_calls_free(&part);
	}
	phase_calls_sort(&whole);
	phase_calls_sort(&sum);
	assert_int_equal(whole.nr, paths + 1);
	assert_int_equal(sum.nr, whole.nr);
	for (uint32_t i = 0; i < whole.nr; i++) {
		struct phase_path *a = &whole.paths[i], *b = &sum.paths[i];
		uint64_t from_ns = 1000000 + 1000ull * i * 1000, to_ns = from_ns + 300000000;
		uint64_t between = phase_calls_between(&sum, b, from_ns, to_ns);
		assert_int_equal(a->process, b->process);
		assert_int_equal(a->calls.nr, b->calls.nr);
		assert_int_equal(phase_calls_between(&whole, a, from_ns, to_ns), between);
		phase_calls_load(&whole, a);
		phase_calls_load(&sum, b);
		times_equal(&b->calls, &a->calls);
		assert_int_equal(phase_calls_between(&whole, a, from_ns, to_ns), between);
	}
	phase_calls_free(&whole);
	phase_calls_free(&sum);
}

static void calls_in_blocks_are_those_that_came(void **state)
{
	(void)state;
	calls_compare(900000, 300, 150000);
	calls_compare(17500000, 3, 2000000); /* more than blocks are kept of */
}

static int by_time(const void *a, const void *b)
{
	const struct phase_sample *x = a, *y = b;

	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static void samples_of_parts_are_those_of_the_whole(void **state)
{
	struct phase_mix whole = {0}, sum = {0}, parts[3] = {0};

	(void)state;
	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct af_sample s = {.time_ns = 1000 + i * 10ull, .weight_ns = 10};
		s.at = (struct af_stack_location){.process = 1, .path = 1 + i % 7, .tid = i};
		phase_mix_sample(&whole, &s);
		phase_mix_sample(&parts[i < 10 ? 0 : i < SAMPLES / 4 ? 1 : 2], &s);
	}
	for (uint32_t i = 0; i < 3; i++)
		phase_mix_merge(&sum, &parts[i]);
	assert_true(whole.thin > 1 && parts[1].thin == 0);
	assert_int_equal(sum.thin, whole.thin);
	assert_int_equal(sum.nr, whole.nr);
	qsort(sum.samples, sum.nr, sizeof *sum.samples, by_time);
	for (uint32_t i = 0; i < sum.nr; i++) {
		const struct phase_sample *a = &sum.samples[i], *b = &whole.samples[i];
		assert_int_equal(a->at_ns, b->at_ns);
		assert_int_equal(sum.locations.all[a->location].path,
		                 whole.locations.all[b->location].path);
	}
	phase_mix_free(&whole);
	phase_mix_free(&sum);
	for (uint32_t i = 0; i < 3; i++)
		phase_mix_free(&parts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(times_of_parts_are_those_of_the_whole),
	    cmocka_unit_test(all_at_one_time_are_not_kept_apart),
	    cmocka_unit_test(calls_of_parts_are_added_by_path),
	    cmocka_unit_test(calls_in_blocks_are_those_that_came),
	    cmocka_unit_test(samples_of_parts_are_those_of_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
