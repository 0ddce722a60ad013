#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/join/launches.h"
#include "analyse/join/launches_table.h"

enum { LAUNCH = 1, SYNC, GRAPH_LAUNCH, COPY };

/* One process whose events are made by hand, and what was handed over. */
struct rig {
	struct af_world world;
	struct af_launches launches;
	uint64_t now_ns, nr, launched;
	struct af_work last;
	uint32_t *call_of; /* by start of the work: duration of its call, if wanted */
};

static void rig_take(void *arg, struct af_work *work)
{
	struct rig *r = arg;

	r->last = *work;
	r->nr++;
	r->launched += work->launched;
	if (r->call_of)
		r->call_of[work->start_ns] = (uint32_t)(work->call_end_ns - work->call_start_ns);
}

static void rig_event(struct rig *r, uint32_t kind, const void *payload, size_t size)
{
	struct af_event ev = {.kind = (uint16_t)kind,
	                      .time_ns = r->now_ns,
	                      .process = 1,
	                      .pid = 100,
	                      .tid = 101,
	                      .payload = payload,
	                      .payload_size = (uint32_t)size};

	af_world_event(&r->world, &ev);
	if (af_kind_bit(kind) & AF_LAUNCHES_WANTS)
		af_launches_event(&r->launches, &r->world, &ev);
}

static void rig_function(struct rig *r, uint32_t id, uint32_t category)
{
	struct {
		struct af_ev_function is;
		char name[2];
	} __attribute__((packed)) function = {{id, AF_API_CUDA, category}, "f"};

	rig_event(r, AF_KIND_FUNCTION, &function, sizeof function);
}

static struct rig *rig_open(void)
{
	struct rig *r = calloc(1, sizeof *r);

	r->launches.take = rig_take;
	r->launches.arg = r;
	r->now_ns = 1000000000;
	rig_function(r, LAUNCH, AF_CATEGORY_LAUNCH);
	rig_function(r, SYNC, AF_CATEGORY_SYNC);
	rig_function(r, GRAPH_LAUNCH, AF_CATEGORY_GRAPH_LAUNCH);
	rig_function(r, COPY, AF_CATEGORY_COPY);
	return r;
}

static void rig_close(struct rig *r)
{
	af_launches_free(&r->launches);
	af_world_close(&r->world);
	free(r);
}

static void call(struct rig *r, uint32_t correlation, uint8_t function, uint32_t duration_ns)
{
	struct af_ev_call c = {.correlation = correlation,
	                       .function = function,
	                       .duration_ns = af_u24_make(duration_ns)};

	rig_event(r, AF_KIND_CALL, &c, sizeof c);
}

static void work(struct rig *r, uint32_t correlation, uint64_t start_ns, uint32_t node)
{
	struct af_ev_gpu_work w = {
	    .correlation = correlation, .start_ns = start_ns, .busy_ns = 5, .node = node};

	rig_event(r, AF_KIND_GPU_WORK, &w, sizeof w);
}

static void node(struct rig *r, uint32_t id, uint32_t original, uint32_t callpath)
{
	struct af_ev_graph_node n = {
	    .node = id, .graph = id / 10, .original = original, .callpath = callpath};

	rig_event(r, AF_KIND_GRAPH_NODE, &n, sizeof n);
}

static void callpath(struct rig *r, uint32_t id)
{
	struct af_ev_callpath c = {.callpath = id};

	rig_event(r, AF_KIND_CALLPATH, &c, sizeof c);
}

static void work_after_its_call_and_before_it(void **state)
{
	struct rig *r = rig_open();

	(void)state;
	call(r, 7, LAUNCH, 70);
	assert_int_equal(r->nr, 0);
	work(r, 7, 1, 0);
	assert_int_equal(r->nr, 1);
	assert_true(r->last.launched);
	assert_int_equal(r->last.call_end_ns, r->now_ns);
	assert_int_equal(r->last.call_start_ns, r->now_ns - 70);

	work(r, 9, 2, 0);
	work(r, 8, 3, 0);
	work(r, 9, 4, 0);
	assert_int_equal(r->nr, 1);
	call(r, 9, COPY, 90);
	assert_int_equal(r->nr, 3);
	assert_int_equal(r->last.start_ns, 4);
	assert_int_equal(r->world.functions[r->last.function].id, COPY);
	call(r, 8, COPY, 80);
	assert_int_equal(r->nr, 4);
	assert_int_equal(r->last.start_ns, 3);
	af_launches_end(&r->launches, &r->world);
	assert_int_equal(r->launched, 4);
	assert_int_equal(r->launches.unlaunched, 0);
	assert_int_equal(r->launches.unfinished, 0);
	rig_close(r);
}

/* Calls and works in an order that is mixed within a few hundred, across 2^32. */
static void ids_wrap(void **state)
{
	enum { N = 200000, FAR = 300 };
	struct rig *r = rig_open();
	uint32_t *order = malloc(2 * N * sizeof *order);
	uint64_t seed = 1;

	(void)state;
	r->call_of = calloc(N, sizeof *r->call_of);
	for (uint32_t i = 0; i < 2 * N; i++)
		order[i] = i;
	for (uint32_t i = 0; i + FAR < 2 * N; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint32_t k = i + (uint32_t)(seed >> 40) % FAR, t = order[i];
		order[i] = order[k];
		order[k] = t;
	}
	for (uint32_t i = 0; i < 2 * N; i++) {
		uint32_t n = order[i] / 2, low = UINT32_MAX - N / 2 + n;
		r->now_ns++;
		if (order[i] % 2)
			work(r, low, n, 0);
		else
			call(r, low, LAUNCH, n);
	}
	af_launches_end(&r->launches, &r->world);
	assert_int_equal(r->launched, N);
	assert_int_equal(r->launches.unfinished, 0);
	for (uint32_t n = 0; n < N; n++)
		assert_int_equal(r->call_of[n], n);
	free(r->call_of);
	free(order);
	rig_close(r);
}

/* A kernel that runs while millions of other calls come and go. */
static void work_may_come_very_late(void **state)
{
	struct rig *r = rig_open();

	(void)state;
	call(r, 1, LAUNCH, 11);
	call(r, 2, GRAPH_LAUNCH, 12);
	work(r, 2, 1, 0);
	for (uint32_t i = 3; i < 1000000; i++) {
		call(r, i, LAUNCH, 1);
		work(r, i, 2, 0);
	}
	work(r, 1, 3, 0);
	assert_true(r->last.launched);
	assert_int_equal(r->last.call_end_ns - r->last.call_start_ns, 11);
	af_launches_end(&r->launches, &r->world);
	assert_int_equal(r->launches.unfinished, 0);
	assert_int_equal(r->launches.unlaunched, 0);
	rig_close(r);
}

static void works_of_a_graph_come_in_pieces(void **state)
{
	struct rig *r = rig_open();

	(void)state;
	for (uint32_t i = 0; i < 3000; i++)
		work(r, 5, 1, 0);
	call(r, 5, GRAPH_LAUNCH, 50);
	assert_int_equal(r->launched, 3000);
	for (uint32_t k = 0; k < 4; k++) {
		for (uint32_t i = 0; i < 50000; i++) {
			call(r, 6 + k * 50000 + i, LAUNCH, 1);
			work(r, 6 + k * 50000 + i, 1, 0);
		}
		uint64_t before = r->launched;
		for (uint32_t i = 0; i < 3000; i++)
			work(r, 5, 1, 0);
		assert_int_equal(r->launched, before + 3000);
		assert_int_equal(r->last.call_end_ns - r->last.call_start_ns, 50);
	}
	rig_close(r);
}

static void calls_without_work_do_not_pile_up(void **state)
{
	struct rig *r = rig_open();

	(void)state;
	for (uint32_t i = 1; i < 1000000; i++)
		call(r, i, SYNC, 1);
	assert_int_equal(r->launches.tables[0].side_cap, 0);
	af_launches_end(&r->launches, &r->world);
	assert_int_equal(r->launches.unfinished, 0);
	rig_close(r);
}

/* As when the driver dropped all its records: what is forgotten is counted, once. */
static void launches_without_work_are_bounded_and_counted(void **state)
{
	enum { N = 3000000 };
	struct rig *r = rig_open();

	(void)state;
	for (uint32_t i = 1; i <= N; i++)
		call(r, i, LAUNCH, 1);
	assert_true(r->launches.tables[0].side_cap <= 2 * AF_LAUNCHES_WAITING);
	work(r, 1, 1, 0);
	work(r, N, 1, 0);
	af_launches_end(&r->launches, &r->world);
	assert_int_equal(r->launched, 1);
	assert_int_equal(r->launches.unlaunched, 1);
	assert_int_equal(r->launches.unfinished, N - 1);
	rig_close(r);
}

static void work_waits_for_its_call_so_long_and_no_longer(void **state)
{
	struct rig *r = rig_open();

	(void)state;
	work(r, 1, 1, 0);
	r->now_ns += AF_LAUNCHES_EARLY_NS / 2;
	work(r, 2, 2, 0);
	r->now_ns += AF_LAUNCHES_EARLY_NS / 2 + 1;
	call(r, 2, COPY, 1);
	assert_int_equal(r->nr, 2);
	assert_int_equal(r->launched, 1);
	assert_int_equal(r->launches.unlaunched, 1);
	call(r, 1, COPY, 1);
	assert_int_equal(r->nr, 2);
	rig_close(r);
}

static void only_so_many_works_wait(void **state)
{
	enum { MORE = 1000 };
	struct rig *r = rig_open();

	(void)state;
	for (uint32_t i = 0; i < AF_LAUNCHES_EARLY + MORE; i++)
		work(r, 1 + i % 30000, i, 0);
	assert_int_equal(r->nr, MORE);
	assert_int_equal(r->last.start_ns, MORE - 1);
	for (uint32_t i = 0; i < 30000; i++)
		call(r, 1 + i, COPY, 1);
	assert_int_equal(r->nr, AF_LAUNCHES_EARLY + MORE);
	assert_int_equal(r->launched, AF_LAUNCHES_EARLY);
	rig_close(r);
}

static void what_a_graph_captured_and_what_failed_is_not_missed(void **state)
{
	struct rig *r = rig_open();
	struct af_ev_call_long failed = {.correlation = 3, .function = LAUNCH, .status = 701};

	(void)state;
	node(r, 1, 0, 1);
	r->now_ns += 10;
	call(r, 1, LAUNCH, 20);
	r->now_ns += 100;
	call(r, 2, LAUNCH, 20);
	rig_event(r, AF_KIND_CALL_LONG, &failed, sizeof failed);
	af_launches_end(&r->launches, &r->world);
	assert_int_equal(r->launches.unfinished, 1);
	assert_int_equal(r->launches.failed, 1);
	rig_close(r);
}

static void opencl_and_cuda_count_apart(void **state)
{
	struct rig *r = rig_open();
	struct af_ev_launch l = {.correlation = 1};
	struct af_ev_work w = {.correlation = 1, .queued_ns = 3};

	(void)state;
	call(r, 1, LAUNCH, 70);
	rig_event(r, AF_KIND_WORK, &w, sizeof w);
	assert_int_equal(r->nr, 0);
	rig_event(r, AF_KIND_LAUNCH, &l, sizeof l);
	assert_int_equal(r->launched, 1);
	assert_int_equal(r->last.api, AF_API_OPENCL);
	work(r, 1, 1, 0);
	assert_int_equal(r->launched, 2);
	assert_int_equal(r->last.api, AF_API_CUDA);
	rig_close(r);
}

/* 11 is a clone of 1; later it is updated from 2. */
static void node_is_what_it_was_at_the_call(void **state)
{
	struct rig *r = rig_open();

	(void)state;
	for (uint32_t i = 1; i <= 2; i++) {
		callpath(r, i);
		node(r, i, 0, i);
	}
	node(r, 11, 1, 0);
	node(r, 11, 1, 0); /* a repetition */
	r->now_ns += 1000;
	call(r, 1, GRAPH_LAUNCH, 10);
	r->now_ns += 1000;
	node(r, 11, 2, 0);
	r->now_ns += 1000;
	call(r, 2, GRAPH_LAUNCH, 10);
	work(r, 1, 1, 11);
	uint32_t first = af_world_node_path(&r->world, r->last.node);
	work(r, 2, 1, 11);
	uint32_t second = af_world_node_path(&r->world, r->last.node);
	assert_int_equal(r->world.nr_nodes, 1 + 4);
	assert_int_equal(first, 1);
	assert_int_equal(second, 2);
	work(r, 2, 1, 99);
	assert_int_equal(r->last.node, 0);
	rig_close(r);
}

static void originals_that_go_round_end(void **state)
{
	struct rig *r = rig_open();

	(void)state;
	node(r, 1, 2, 0);
	node(r, 2, 1, 0);
	node(r, 3, 3, 0);
	assert_int_equal(af_world_node_path(&r->world, 1), 0);
	assert_int_equal(af_world_node_path(&r->world, 3), 0);
	rig_close(r);
}

/* Rubbish ids: no crash, nothing lost, nothing twice. */
static void any_ids_are_survived(void **state)
{
	struct rig *r = rig_open();
	uint64_t seed = 3, works = 0;

	(void)state;
	for (uint32_t i = 0; i < 300000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint32_t id = (uint32_t)(seed >> 32) & (i % 3 ? UINT32_MAX : 0xffff0000);
		r->now_ns += i % 7;
		if (seed >> 20 & 1) {
			work(r, id, 1, id % 5);
			works++;
		} else {
			call(r, id, (uint8_t)(seed >> 24) % 6, 3);
		}
	}
	af_launches_end(&r->launches, &r->world);
	assert_int_equal(r->nr, works);
	assert_int_equal(r->launched + r->launches.unlaunched, works);
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(work_after_its_call_and_before_it),
	    cmocka_unit_test(ids_wrap),
	    cmocka_unit_test(work_may_come_very_late),
	    cmocka_unit_test(works_of_a_graph_come_in_pieces),
	    cmocka_unit_test(calls_without_work_do_not_pile_up),
	    cmocka_unit_test(launches_without_work_are_bounded_and_counted),
	    cmocka_unit_test(work_waits_for_its_call_so_long_and_no_longer),
	    cmocka_unit_test(only_so_many_works_wait),
	    cmocka_unit_test(what_a_graph_captured_and_what_failed_is_not_missed),
	    cmocka_unit_test(opencl_and_cuda_count_apart),
	    cmocka_unit_test(node_is_what_it_was_at_the_call),
	    cmocka_unit_test(originals_that_go_round_end),
	    cmocka_unit_test(any_ids_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
