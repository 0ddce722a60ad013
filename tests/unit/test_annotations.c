/* Ranges that no honest program makes; what honest ones make is in tests/golden/analyse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "analyse/world/world.h"

enum { PROCESS = 1, TID = 7, MANY = 300000 };

static void feed(struct af_world *w, uint32_t tid, uint32_t edge, const char *domain,
                 const char *name)
{
	uint8_t payload[2048];
	struct af_ev_range fixed = {.edge = edge};
	size_t domain_size = strlen(domain) + 1, name_size = strlen(name) + 1;

	memcpy(payload, &fixed, sizeof fixed);
	memcpy(payload + sizeof fixed, domain, domain_size);
	memcpy(payload + sizeof fixed + domain_size, name, name_size);
	struct af_event ev = {
	    .kind = AF_KIND_RANGE,
	    .time_ns = 1,
	    .process = PROCESS,
	    .tid = tid,
	    .payload = payload,
	    .payload_size = (uint32_t)(sizeof fixed + domain_size + name_size),
	};
	af_world_event(w, &ev);
}

static void feed_operation(struct af_world *w, uint32_t process, uint64_t sequence)
{
	struct af_ev_operation fixed = {.sequence = sequence, .callpath = 1};
	struct af_event ev = {
	    .kind = AF_KIND_OPERATION,
	    .time_ns = 1,
	    .process = process,
	    .tid = TID,
	    .payload = (const uint8_t *)&fixed,
	    .payload_size = sizeof fixed,
	};
	af_world_event(w, &ev);
}

/* The names of what the thread is inside of, joined by blanks. */
static const char *inside(const struct af_world *w)
{
	static char text[64 * 300];
	const char *names[AF_ANNOTATIONS_DEEP];
	uint32_t doing = af_annotations_now(&w->annotations, PROCESS, TID);
	uint32_t nr = af_annotations_names(&w->annotations,
	                                   af_annotations_get(&w->annotations, doing).nest, names);
	size_t used = 0;

	text[0] = 0;
	for (uint32_t i = 0; i < nr; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "",
		                         names[i]);
	return text;
}

static void ranges_end_in_any_order_of_domains(void **state)
{
	struct af_world w = {.annotations.apart = true};

	(void)state;
	feed(&w, TID, AF_RANGE_POP, "", "");
	feed(&w, TID, AF_RANGE_PUSH, "", "a");
	feed(&w, TID, AF_RANGE_PUSH, "d", "b");
	feed(&w, TID, AF_RANGE_POP, "none", "");
	feed(&w, TID, AF_RANGE_PUSH, "", "c");
	assert_string_equal(inside(&w), "a b c");
	feed(&w, TID, AF_RANGE_POP, "d", "");
	assert_string_equal(inside(&w), "a c");
	feed(&w, TID, AF_RANGE_POP, "", "");
	feed(&w, TID, AF_RANGE_POP, "", "");
	assert_int_equal(af_annotations_now(&w.annotations, PROCESS, TID), 0);
	af_world_close(&w);
}

static void a_depth_of_any_number_is_left_again(void **state)
{
	struct af_world w = {.annotations.apart = true};

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		feed(&w, TID, AF_RANGE_PUSH, "", i % 2 ? "x" : "y");
	assert_int_equal(strlen(inside(&w)), 2 * AF_ANNOTATIONS_DEEP - 1);
	for (uint32_t i = 0; i < MANY - 1; i++)
		feed(&w, TID, AF_RANGE_POP, "", "");
	assert_string_equal(inside(&w), "y");
	af_world_close(&w);
}

static void names_of_any_number_are_bounded(void **state)
{
	struct af_world w = {.annotations.apart = true};
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < AF_ANNOTATIONS_NESTS + 10; i++) {
		snprintf(name, sizeof name, "step %u", i);
		feed(&w, TID, AF_RANGE_PUSH, "", name);
		feed(&w, TID, AF_RANGE_POP, "", "");
	}
	assert_int_equal(w.annotations.nr_nests, AF_ANNOTATIONS_NESTS);
	feed(&w, TID, AF_RANGE_PUSH, "", "one too many");
	assert_string_equal(inside(&w), "");
	feed(&w, TID, AF_RANGE_PUSH, "", "step 5");
	assert_string_equal(inside(&w), "step 5");
	af_world_close(&w);
}

static void names_are_cut_between_characters_and_before_numbers(void **state)
{
	struct af_world w = {.annotations.apart = true};
	char name[600] = "ab";

	(void)state;
	for (size_t at = 2; at < 500; at += 3)
		memcpy(name + at, "\xe4\xbd\xa0", 4);
	feed(&w, TID, AF_RANGE_PUSH, "", name);
	assert_int_equal(strlen(inside(&w)), 2 + 84 * 3);
	feed(&w, TID, AF_RANGE_POP, "", "");
	feed(&w, TID, AF_RANGE_PUSH, "", "aten::mm, seq = 12, op_id = 9, sizes = [[2]]");
	assert_string_equal(inside(&w), "aten::mm");
	feed(&w, TID, AF_RANGE_PUSH, "", "");
	assert_string_equal(inside(&w), "aten::mm");
	af_world_close(&w);
}

static void what_is_inside_is_reported_by_the_whole_name(void **state)
{
	struct af_world w = {.annotations = {.apart = true, .only = "step"}};

	(void)state;
	assert_false(af_annotations_inside(&w.annotations, 0));
	feed(&w, TID, AF_RANGE_PUSH, "", "steps");
	assert_false(af_annotations_inside(&w.annotations,
	                                   af_annotations_now(&w.annotations, PROCESS, TID)));
	feed(&w, TID, AF_RANGE_PUSH, "", "step");
	feed(&w, TID, AF_RANGE_PUSH, "", "more");
	assert_true(af_annotations_inside(&w.annotations,
	                                  af_annotations_now(&w.annotations, PROCESS, TID)));
	assert_false(af_annotations_inside(&w.annotations,
	                                   af_annotations_now(&w.annotations, PROCESS, TID + 1)));
	af_world_close(&w);
}

static void operations_of_any_number_of_processes_are_bounded(void **state)
{
	struct af_world w = {0};

	(void)state;
	for (uint32_t p = 1; p < 2 * AF_ANNOTATIONS_PROCESSES; p++)
		feed_operation(&w, p, UINT64_MAX);
	assert_int_equal(w.annotations.nr_sequences, AF_ANNOTATIONS_PROCESSES);
	feed(&w, TID, AF_RANGE_PUSH, "", "autograd::engine::evaluate_function: X");
	feed(&w, TID, AF_RANGE_PUSH, "", "X, seq = 99999999999999999999999");
	feed(&w, TID, AF_RANGE_PUSH, "", "X, seq = ");
	feed(&w, TID, AF_RANGE_PUSH, "", "X, seq = -1");
	assert_int_equal(af_annotations_now(&w.annotations, PROCESS, TID), 0);
	af_world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ranges_end_in_any_order_of_domains),
	    cmocka_unit_test(a_depth_of_any_number_is_left_again),
	    cmocka_unit_test(names_of_any_number_are_bounded),
	    cmocka_unit_test(names_are_cut_between_characters_and_before_numbers),
	    cmocka_unit_test(what_is_inside_is_reported_by_the_whole_name),
	    cmocka_unit_test(operations_of_any_number_of_processes_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
