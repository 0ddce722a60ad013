/*
 * Launches and samples of parts of a trace that are read beside one another are those of the whole,
 * wherever its borders are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/join/launches.h"
#include "analyse/world/samples.h"

enum { LAUNCH = 1, SYNC, GRAPH_LAUNCH, COPY };
enum { EVENTS = 64, PAYLOAD = 96, TAKEN = 256 };

#define SECOND_NS UINT64_C(1000000000)

/* The works that were handed over, in an order that does not depend on when it was. */
struct taken {
	uint64_t key, of[6];
};

struct script {
	struct af_world world;
	struct af_event events[EVENTS];
	uint8_t payloads[EVENTS][PAYLOAD];
	uint32_t nr;
	uint64_t now_ns;
	struct taken taken[TAKEN];
	uint32_t nr_taken;
};

static struct taken *take(void *arg)
{
	struct script *s = arg;

	assert_true(s->nr_taken < TAKEN);
	return &s->taken[s->nr_taken++];
}

static void take_work(void *arg, struct af_work *work)
{
	*take(arg) = (struct taken){work->start_ns,
	                            {work->launched, work->tid, work->call_start_ns,
	                             work->call_end_ns, work->function, work->node}};
}

static void take_sample(void *arg, const struct af_sample *s)
{
	*take(arg) = (struct taken){
	    s->time_ns, {s->weight_ns, s->tid, s->at.path, s->at.kstack, s->in_kernel, s->doing}};
}

static int taken_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct taken));
}

static void add(struct script *s, uint32_t kind, uint32_t tid, const void *payload, size_t size)
{
	assert_true(s->nr < EVENTS && size <= PAYLOAD);
	memcpy(s->payloads[s->nr], payload, size);
	s->events[s->nr] = (struct af_event){.kind = (uint16_t)kind,
	                                     .time_ns = s->now_ns,
	                                     .process = 1,
	                                     .tid = tid,
	                                     .stream = tid,
	                                     .payload = s->payloads[s->nr],
	                                     .payload_size = (uint32_t)size};
	if (af_world_learns_kind((uint16_t)kind))
		af_world_event(&s->world, &s->events[s->nr]);
	s->nr++;
	s->now_ns += 10;
}

static void function(struct script *s, uint32_t id, uint32_t category)
{
	struct {
		struct af_ev_function is;
		char name[2];
	} __attribute__((packed)) f = {{id, AF_API_CUDA, category}, "f"};

	add(s, AF_KIND_FUNCTION, 1, &f, sizeof f);
}

static struct script *script_open(void)
{
	struct script *s = calloc(1, sizeof *s);

	s->now_ns = SECOND_NS;
	function(s, LAUNCH, AF_CATEGORY_LAUNCH);
	function(s, SYNC, AF_CATEGORY_SYNC);
	function(s, GRAPH_LAUNCH, AF_CATEGORY_GRAPH_LAUNCH);
	function(s, COPY, AF_CATEGORY_COPY);
	for (uint32_t tid = 1; tid < 4; tid++)
		for (uint32_t id = 1; id < 9; id++) {
			struct af_ev_callpath c = {.callpath = id};
			add(s, AF_KIND_CALLPATH, tid, &c, sizeof c);
		}
	s->nr = 0; /* all parts know these */
	return s;
}

static void script_close(struct script *s)
{
	af_world_close(&s->world);
	free(s);
}

static void call(struct script *s, uint32_t tid, uint32_t correlation, uint8_t of)
{
	struct af_ev_call c = {.callpath = 1 + correlation % 8,
	                       .correlation = correlation,
	                       .function = of,
	                       .duration_ns = af_u24_make(7)};

	add(s, AF_KIND_CALL, tid, &c, sizeof c);
}

static void work(struct script *s, uint32_t correlation, uint32_t node)
{
	struct af_ev_gpu_work w = {
	    .correlation = correlation, .start_ns = s->now_ns, .busy_ns = 5, .node = node};

	add(s, AF_KIND_GPU_WORK, 3, &w, sizeof w);
}

static void launch(struct script *s, uint32_t tid, uint64_t correlation)
{
	struct af_ev_launch l = {.callpath = 1, .correlation = (uint32_t)correlation};

	add(s, AF_KIND_LAUNCH, tid, &l, sizeof l);
}

static void cl_work(struct script *s, uint32_t correlation)
{
	struct af_ev_work_long w = {
	    .correlation = correlation, .start_ns = s->now_ns, .end_ns = s->now_ns + 3};

	add(s, AF_KIND_WORK_LONG, 3, &w, sizeof w);
}

static void node(struct script *s, uint32_t tid, uint32_t id)
{
	struct af_ev_graph_node n = {.node = id, .graph = 1, .callpath = 1};

	add(s, AF_KIND_GRAPH_NODE, tid, &n, sizeof n);
}

/* The sums of launches, behind what was handed over. */
static void launches_finish(struct script *s, struct af_launches *l)
{
	af_launches_end(l, &s->world);
	*take(s) = (struct taken){
	    UINT64_MAX,
	    {l->unfinished, l->unlaunched, l->failed, l->unstamped, l->unknown, l->seen_alone}};
	assert_false(l->unfit);
	af_launches_free(l);
}

/* Read the events in the parts that end before the events @ends. */
static void launches_read(struct script *s, const uint32_t *ends, uint32_t nr_ends)
{
	struct af_launches whole = {.take = take_work, .arg = s}, nodes = {0};
	uint32_t i = 0;

	s->nr_taken = 0;
	for (uint32_t n = 0; n <= nr_ends; n++) {
		struct af_launches part = {.take = take_work, .arg = s, .in_part = nr_ends != 0};
		struct af_launches *l = nr_ends ? &part : &whole;
		if (nr_ends)
			af_launches_captured(&part, nodes.captured_ns, nodes.nr_streams);
		for (; i < (n < nr_ends ? ends[n] : s->nr); i++) {
			af_launches_event(l, &s->world, &s->events[i]);
			if (s->events[i].kind == AF_KIND_GRAPH_NODE)
				af_launches_event(&nodes, &s->world, &s->events[i]);
		}
		if (nr_ends)
			af_launches_merge(&whole, &s->world, &part);
	}
	af_launches_free(&nodes);
	launches_finish(s, &whole);
}

static void samples_read(struct script *s, const uint32_t *ends, uint32_t nr_ends)
{
	struct af_samples whole = {.take = take_sample, .arg = s};
	uint32_t i = 0;

	s->nr_taken = 0;
	for (uint32_t n = 0; n <= nr_ends; n++) {
		struct af_samples part = {.take = take_sample, .arg = s, .in_part = nr_ends != 0};
		for (; i < (n < nr_ends ? ends[n] : s->nr); i++)
			af_samples_event(nr_ends ? &part : &whole, &s->world, &s->events[i]);
		if (nr_ends)
			af_samples_merge(&whole, &part);
	}
	*take(s) = (struct taken){UINT64_MAX, {af_samples_end(&whole, &s->world)}};
	af_samples_free(&whole);
}

typedef void script_read(struct script *s, const uint32_t *ends, uint32_t nr_ends);

/* The whole, and two, three and four parts with borders anywhere. */
static void check(struct script *s, script_read *read)
{
	struct taken whole[TAKEN];
	uint32_t nr;

	read(s, NULL, 0);
	qsort(s->taken, s->nr_taken, sizeof *s->taken, taken_order);
	memcpy(whole, s->taken, sizeof whole);
	nr = s->nr_taken;
	for (uint32_t a = 0; a <= s->nr; a++)
		for (uint32_t b = a; b <= s->nr; b++) {
			const uint32_t ends[] = {a, b, b + (s->nr - b) / 2};
			read(s, ends, 1 + (a + b) % 3);
			qsort(s->taken, s->nr_taken, sizeof *s->taken, taken_order);
			assert_int_equal(s->nr_taken, nr);
			assert_memory_equal(s->taken, whole, nr * sizeof *whole);
		}
}

static void works_are_near_their_calls_and_far_away(void **state)
{
	struct script *s = script_open();

	(void)state;
	for (uint32_t i = 1; i < 6; i++)
		call(s, i % 2 + 1, i, i == 3 ? SYNC : LAUNCH);
	work(s, 2, 0);
	work(s, 9, 0);  /* before its call */
	work(s, 77, 0); /* never has one */
	work(s, 1, 0);
	call(s, 1, 8, LAUNCH); /* its work is lost */
	call(s, 2, 9, COPY);
	work(s, 10, 0);
	work(s, 10, 0);
	call(s, 2, 10, COPY);
	work(s, 5, 0);
	work(s, 4, 0);
	check(s, launches_read);
	script_close(s);
}

static void ids_of_32_bits_wrap(void **state)
{
	struct script *s = script_open();

	(void)state;
	for (uint32_t i = 0; i < 12; i++)
		call(s, 1, UINT32_MAX - 6 + i, LAUNCH);
	for (uint32_t i = 0; i < 12; i += 2)
		work(s, UINT32_MAX - 6 + i, 0);
	for (uint32_t i = 1; i < 14; i += 2)
		work(s, UINT32_MAX - 6 + i, 0);
	call(s, 1, 6, COPY);
	check(s, launches_read);
	script_close(s);
}

static void graphs_have_works_in_many_parts(void **state)
{
	struct script *s = script_open();

	(void)state;
	node(s, 1, 21);
	s->now_ns -= 6;
	call(s, 1, 1, LAUNCH); /* it made the node, so it has no work */
	call(s, 2, 2, LAUNCH); /* on another thread: it has */
	call(s, 1, 3, GRAPH_LAUNCH);
	work(s, 3, 21);
	work(s, 3, 21);
	call(s, 1, 4, GRAPH_LAUNCH);
	work(s, 3, 22);
	work(s, 4, 21);
	node(s, 1, 22);
	work(s, 4, 22);
	work(s, 2, 0);
	check(s, launches_read);
	assert_int_equal(s->taken[s->nr_taken - 1].of[0], 0);
	script_close(s);
}

static void opencl_and_cuda_are_apart(void **state)
{
	struct script *s = script_open();

	(void)state;
	launch(s, 1, 1);
	call(s, 1, 1, LAUNCH);
	launch(s, 2, 2);
	cl_work(s, 2);
	work(s, 1, 0);
	cl_work(s, 1);
	cl_work(s, 3);
	work(s, 2, 0);
	launch(s, 2, 3);
	call(s, 2, 2, COPY);
	check(s, launches_read);
	script_close(s);
}

/* A copy that takes longer than works wait for their calls, and one that does not. */
static void works_wait_so_long_and_no_longer(void **state)
{
	struct script *s = script_open();

	(void)state;
	work(s, 1, 0);
	work(s, 2, 0);
	s->now_ns += AF_LAUNCHES_EARLY_NS - 20;
	call(s, 1, 1, COPY); /* in time, to the nanosecond */
	call(s, 1, 3, LAUNCH);
	call(s, 1, 2, COPY);
	work(s, 3, 0);
	check(s, launches_read);
	assert_int_equal(s->taken[s->nr_taken - 1].of[1], 1);
	script_close(s);
}

static void tick(struct script *s, uint32_t tid, bool joins)
{
	struct af_ev_ksample k = {
	    .callpath = joins ? 0 : 3, .flags = joins ? AF_SAMPLE_JOINS : 0, .weight_ns = 1000};

	add(s, AF_KIND_KSAMPLE, tid, &k, sizeof k);
}

static void sample(struct script *s, uint32_t tid, uint32_t path, uint32_t flags)
{
	struct af_ev_sample u = {.callpath = path, .flags = flags, .weight_ns = 100};

	add(s, AF_KIND_SAMPLE, tid, &u, sizeof u);
}

static void ticks_get_their_user_part_across_borders(void **state)
{
	struct script *s = script_open();

	(void)state;
	sample(s, 1, 1, 0);
	tick(s, 1, true);
	tick(s, 2, true);
	tick(s, 1, true);
	tick(s, 3, false);
	sample(s, 1, 2, 0);
	sample(s, 1, 3, AF_SAMPLE_SYSCALL);
	tick(s, 1, true);
	sample(s, 3, 4, 0);
	sample(s, 2, 5, 0);
	sample(s, 1, 6, 0);
	tick(s, 2, true); /* its user part never comes */
	tick(s, 3, true);
	sample(s, 1, 7, 0);
	check(s, samples_read);
	assert_int_equal(s->taken[s->nr_taken - 1].of[0], 2);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(works_are_near_their_calls_and_far_away),
	    cmocka_unit_test(ids_of_32_bits_wrap),
	    cmocka_unit_test(graphs_have_works_in_many_parts),
	    cmocka_unit_test(opencl_and_cuda_are_apart),
	    cmocka_unit_test(works_wait_so_long_and_no_longer),
	    cmocka_unit_test(ticks_get_their_user_part_across_borders),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
