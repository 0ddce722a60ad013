#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/attribution/attribution.h"
#include "analyse/pass/pass.h"
#include "analyse/world/work.h"
#include "analyse/world/world.h"

#define SECOND 1000000000ull

enum { KERNEL = 1, OTHER };

/* One process with one device, whose clock is the trace's, and two kernels with their codes. */
struct rig {
	struct af_world world;
	struct af_attribution a;
	uint64_t now_ns;
	uint32_t windows, calls;
};

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
	af_clocks_event(&r->world.clocks, &ev);
	if (af_kind_bit(kind) & AF_ATTRIBUTION_WANTS)
		af_attribution_event(&r->a, &r->world, &ev);
}

static void rig_kernel(struct rig *r, uint32_t id, char letter)
{
	struct {
		struct af_ev_kernel is;
		char name[2];
	} __attribute__((packed)) kernel = {{.kernel = id}, {letter}};
	struct {
		struct af_ev_code is;
		char name[2];
	} __attribute__((packed)) code = {{.code = id, .crc = 7}, {letter}};
	struct af_ev_descriptor descriptor = {
	    .descriptor = id, .op = AF_OP_KERNEL, .queue = 1, .kernel = id};

	rig_event(r, AF_KIND_KERNEL, &kernel, sizeof kernel);
	rig_event(r, AF_KIND_CODE, &code, sizeof code);
	rig_event(r, AF_KIND_DESCRIPTOR, &descriptor, sizeof descriptor);
}

static struct rig *rig_open(void)
{
	struct rig *r = calloc(1, sizeof *r);
	struct {
		struct af_ev_device is;
		char texts[3];
	} __attribute__((packed)) device = {{.device = 1, .api = AF_API_CUDA}, ""};
	struct af_ev_queue queue = {.queue = 1, .device = 1, .context = 1};
	struct af_ev_clock clock = {.clock = AF_CLOCK_DEVICE,
	                            .device = 1,
	                            .mono_ns = SECOND,
	                            .foreign = SECOND,
	                            .uncertainty_ns = 1};

	r->now_ns = SECOND;
	rig_event(r, AF_KIND_DEVICE, &device, sizeof device);
	rig_event(r, AF_KIND_QUEUE, &queue, sizeof queue);
	rig_event(r, AF_KIND_CLOCK, &clock, sizeof clock);
	af_clocks_build(&r->world.clocks);
	rig_kernel(r, KERNEL, 'k');
	rig_kernel(r, OTHER, 'o');
	return r;
}

static void rig_close(struct rig *r)
{
	af_attribution_free(&r->a);
	af_world_close(&r->world);
	free(r);
}

/* The kernel ran, launched from a call path of this number; its record comes now. */
static void rig_work(struct rig *r, uint32_t kernel, uint32_t path, uint64_t start_ns,
                     uint64_t end_ns)
{
	struct af_work work = {.process = 1,
	                       .api = AF_API_CUDA,
	                       .descriptor = kernel,
	                       .id = ++r->calls,
	                       .start_ns = start_ns,
	                       .end_ns = end_ns,
	                       .path = path};

	af_attribution_work(&r->a, &r->world, &work);
}

static void rig_window(struct rig *r, uint64_t start_ns, uint64_t end_ns, uint32_t flags)
{
	struct af_ev_gpu_window window = {.window = ++r->windows,
	                                  .device = 1,
	                                  .flags = flags,
	                                  .start_ns = start_ns,
	                                  .end_ns = end_ns};

	rig_event(r, AF_KIND_GPU_WINDOW, &window, sizeof window);
}

/* Samples of the window last begun. */
static void rig_sample(struct rig *r, uint32_t code, uint32_t offset, uint32_t call, uint32_t count)
{
	struct {
		struct af_ev_gpu_sample is;
		uint32_t nr, counts[2];
	} __attribute__((packed))
	sample = {{.window = r->windows, .code = code, .offset = offset, .correlation = call},
	          2,
	          {0, count}};

	rig_event(r, AF_KIND_GPU_SAMPLE, &sample, sizeof sample);
}

/* Parts of all that was launched from @path, of all when 0. */
static uint64_t rig_parts(const struct rig *r, uint32_t path)
{
	uint64_t parts = 0;

	for (uint32_t j = 0; j < r->a.nr_launch_groups; j++)
		if (!path ||
		    (r->a.launch_groups[j].recorded && r->a.launch_groups[j].is.path == path))
			parts += r->a.launch_groups[j].parts;
	return parts;
}

static double rig_samples(const struct rig *r, uint32_t path)
{
	return (double)rig_parts(r, path) / AF_ATTRIBUTION_PARTS;
}

static void rig_reported(const struct rig *r, uint64_t exact, uint64_t apportioned,
                         uint64_t unattributed)
{
	uint64_t is[3] = {0};

	for (uint32_t i = 0; i < r->a.nr_devices; i++) {
		is[0] += r->a.devices[i].exact;
		is[1] += r->a.devices[i].apportioned;
		is[2] += r->a.devices[i].unattributed;
	}
	assert_int_equal(is[0], exact);
	assert_int_equal(is[1], apportioned);
	assert_int_equal(is[2], unattributed);
	assert_int_equal(rig_parts(r, 0),
	                 (exact + apportioned + unattributed) * AF_ATTRIBUTION_PARTS);
}

static void shares_add_up(void **state)
{
	uint64_t random = 1;

	for (int i = 0; i < 10000; i++) {
		uint64_t weights[16], all = 0, before = 0, sum = 0, whole;
		random = af_mix(random + (uint64_t)i);
		whole = random >> random % 60;
		for (int k = 0; k < 16; k++) {
			weights[k] = af_mix(random + (uint64_t)k) >> 8 >> random % 50;
			all += weights[k];
		}
		for (int k = 0; k < 16; k++) {
			uint64_t share = af_attribution_share(whole, before, weights[k], all);
			double fair = all ? (double)whole * (double)weights[k] / (double)all : 0;
			assert_true(all == 0 || (double)share >= fair * (1 - 1e-9) - 1);
			assert_true((double)share <= fair * (1 + 1e-9) + 1);
			before += weights[k];
			sum += share;
		}
		assert_int_equal(sum, all ? whole : 0);
	}
}

static void one_path_is_exact_and_two_share(void **state)
{
	struct rig *r = rig_open();

	rig_work(r, KERNEL, 1, 2 * SECOND, 2 * SECOND + 100);
	rig_work(r, OTHER, 2, 2 * SECOND + 100, 2 * SECOND + 200);
	rig_work(r, KERNEL, 1, 2 * SECOND + 300, 2 * SECOND + 600);
	/* A third of this is within the window. */
	rig_work(r, KERNEL, 3, 2 * SECOND + 900, 2 * SECOND + 1200);
	rig_window(r, 2 * SECOND, 2 * SECOND + 1000, 0);
	rig_sample(r, OTHER, 16, 0, 7);
	rig_sample(r, KERNEL, 16, 0, 3);
	rig_sample(r, KERNEL, 32, 0, 2);
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 7, 5, 0);
	assert_true(rig_samples(r, 2) == 7);
	assert_float_equal(rig_samples(r, 1), 4, 1e-5);
	assert_float_equal(rig_samples(r, 3), 1, 1e-5);
	rig_close(r);
}

/* A window that is due is joined; who came later than that may still have what nobody claimed. */
static void records_may_be_late(void **state)
{
	struct rig *r = rig_open();

	rig_window(r, 2 * SECOND, 3 * SECOND, 0);
	rig_sample(r, KERNEL, 16, 0, 5);
	rig_sample(r, OTHER, 16, 0, 3);
	r->now_ns = 10 * SECOND;
	rig_work(r, KERNEL, 1, 2 * SECOND, 2 * SECOND + 100);
	for (int i = 0; i < 30; i++) {
		r->now_ns += SECOND;
		rig_window(r, r->now_ns - SECOND, r->now_ns, 0);
	}
	/* It ran for half a minute, and was sampled in the first second of that. */
	rig_work(r, OTHER, 2, 2 * SECOND + 500, 32 * SECOND);
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 8, 0, 0);
	assert_true(rig_samples(r, 1) == 5);
	assert_true(rig_samples(r, 2) == 3);
	rig_close(r);
}

static void what_has_no_work_is_kept(void **state)
{
	struct rig *r = rig_open();

	rig_window(r, 2 * SECOND, 2 * SECOND + 100, 0);
	rig_work(r, KERNEL, 1, 2 * SECOND + 200000000, 2 * SECOND + 200000100);
	/* This near it may be the clocks; but it is not exact. */
	rig_work(r, OTHER, 2, 2 * SECOND + 300, 2 * SECOND + 400);
	rig_sample(r, KERNEL, 16, 0, 4);
	rig_sample(r, OTHER, 16, 0, 2);
	rig_sample(r, 99, 16, 0, 1);
	r->windows = 77;
	rig_sample(r, KERNEL, 16, 0, 8);
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 0, 2, 13);
	rig_close(r);
}

static void calls_are_reported_where_kernels_run_one_by_one(void **state)
{
	struct rig *r = rig_open();

	rig_work(r, KERNEL, 1, 2 * SECOND, 2 * SECOND + 100);
	rig_work(r, KERNEL, 2, 2 * SECOND + 100, 2 * SECOND + 900);
	rig_window(r, 2 * SECOND, 2 * SECOND + 1000, AF_WINDOW_SERIALIZED);
	rig_sample(r, KERNEL, 16, 1, 6);
	rig_sample(r, KERNEL, 16, 2, 3);
	rig_sample(r, KERNEL, 32, 1, 1);
	rig_sample(r, KERNEL, 32, 77, 9); /* a call that nobody knows */
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 10, 9, 0);
	assert_float_equal(rig_samples(r, 1), 7 + 1, 1e-5);
	assert_float_equal(rig_samples(r, 2), 3 + 8, 1e-5);
	rig_close(r);
}

/* More sets of call paths than are kept apart: what each has is right nevertheless. */
static void many_mixtures_add_up(void **state)
{
	struct rig *r = rig_open();
	double paths[8] = {0};

	for (uint32_t i = 0; i < 200; i++) {
		uint64_t from = (10 + i * 4) * SECOND, all = 0, busy[8] = {0};
		r->now_ns = from + SECOND;
		for (uint32_t p = 1; p < 8; p++)
			if ((i + 1) >> (p - 1) & 1) {
				busy[p] = p * 1000;
				rig_work(r, KERNEL, p, from + SECOND / 2,
				         from + SECOND / 2 + busy[p]);
			}
		for (uint32_t p = 1; p < 8; p++)
			all += busy[p];
		rig_window(r, from, from + SECOND, 0);
		rig_sample(r, KERNEL, i % 3 * 16, 0, 10);
		for (uint32_t p = 1; p < 8 && all; p++)
			paths[p] += 10.0 * (double)busy[p] / (double)all;
	}
	af_attribution_end(&r->a, &r->world);
	assert_int_equal(rig_parts(r, 0), 2000ull * AF_ATTRIBUTION_PARTS);
	for (uint32_t p = 1; p < 8; p++)
		assert_float_equal(rig_samples(r, p), paths[p], 1e-2);
	rig_close(r);
}

/* Beyond what is held, windows are joined sooner, and what then finds nothing is given up. */
enum { OFFSETS = 64, PIECES = 7 };

/* The samples of each instruction of both kernels. */
struct table {
	uint64_t parts[2][OFFSETS], samples[2][OFFSETS];
	uint64_t edge;
};

static uint32_t dice(uint32_t *seed, uint32_t sides)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 16) % sides;
}

/* Kernels of five call paths side by side in eight windows, and one in no window. */
static void run_of_many(struct rig *r, uint32_t seed)
{
	uint64_t at_ns = 2 * SECOND;

	for (uint32_t i = 0; i < 40; i++) {
		uint64_t start_ns = at_ns + dice(&seed, 800000000);
		rig_work(r, 1 + dice(&seed, 2), 1 + dice(&seed, 5), start_ns,
		         start_ns + dice(&seed, 60000000));
	}
	for (uint32_t w = 0; w < 8; w++) {
		r->now_ns = at_ns + (w + 1) * 100000000ull;
		rig_window(r, r->now_ns - 100000000, r->now_ns, 0);
		for (uint32_t k = 0; k < 100; k++)
			rig_sample(r, 1 + dice(&seed, 2), dice(&seed, OFFSETS), 0,
			           1 + dice(&seed, 5) * dice(&seed, 2));
	}
}

/* Add what the run has of the time, since the trace began at 2 s. */
static void table_add(struct table *t, uint32_t seed, uint64_t from_ns, uint64_t to_ns)
{
	const struct af_query query = {.from_ns = from_ns, .to_ns = to_ns};
	struct rig *r = rig_open();

	af_time_range_set(&r->world.time_range, 2 * SECOND, &query);
	run_of_many(r, seed);
	af_attribution_end(&r->a, &r->world);
	for (uint32_t i = 0; i < r->a.nr_found; i++) {
		const struct af_attributed *f = &r->a.found[i];
		t->parts[f->code - 1][f->offset] += f->parts;
		t->samples[f->code - 1][f->offset] += f->samples;
	}
	t->edge += r->a.devices[0].edge;
	rig_close(r);
}

static void times_next_to_each_other_add_up(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed < 30; seed++) {
		struct table whole = {0}, together = {0};
		uint64_t cut_ns[PIECES + 1] = {0}, each_ns = SECOND / PIECES;
		table_add(&whole, seed, 0, 0);
		assert_int_equal(whole.edge, 0);
		for (uint32_t i = 0; i < PIECES; i++) {
			cut_ns[i + 1] = i + 1 < PIECES ? (i + 1) * each_ns - seed * 1000001 : 0;
			table_add(&together, seed, cut_ns[i], cut_ns[i + 1]);
		}
		assert_true(together.edge > 0);
		assert_memory_equal(whole.parts, together.parts, sizeof whole.parts);
		assert_memory_equal(whole.samples, together.samples, sizeof whole.samples);
		for (uint32_t k = 0; k < 2; k++)
			for (uint32_t o = 0; o < OFFSETS; o++)
				assert_int_equal(whole.parts[k][o],
				                 whole.samples[k][o] * AF_ATTRIBUTION_PARTS);
	}
}

/* A window of 100 ms, of which 30 are asked for. */
static void a_window_that_is_cut_counts_by_when_its_kernels_ran(void **state)
{
	const struct af_query query = {.from_ns = 0, .to_ns = 30000000};
	struct rig *r = rig_open();

	(void)state;
	af_time_range_set(&r->world.time_range, 2 * SECOND, &query);
	rig_work(r, KERNEL, 1, 2 * SECOND, 2 * SECOND + 20000000);
	rig_work(r, OTHER, 2, 2 * SECOND + 20000000, 2 * SECOND + 60000000);
	r->now_ns = 2 * SECOND + 100000000;
	rig_window(r, 2 * SECOND, r->now_ns, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		rig_sample(r, KERNEL, i, 0, 1);
		rig_sample(r, OTHER, i, 0, 1);
	}
	af_attribution_end(&r->a, &r->world);
	assert_int_equal(rig_parts(r, 1), 1000ull * AF_ATTRIBUTION_PARTS);
	uint64_t other = rig_parts(r, 2) / AF_ATTRIBUTION_PARTS;
	assert_true(other >= 245 && other <= 255);
	assert_int_equal(r->a.devices[0].edge, 1000 + other);
	rig_reported(r, 1000 + other, 0, 0);
	rig_close(r);
}

static void held_samples_are_bounded(void **state)
{
	struct rig *r = rig_open();
	uint64_t nr = 0;

	rig_work(r, OTHER, 1, 2 * SECOND, 3 * SECOND);
	for (uint32_t i = 0; i < AF_ATTRIBUTION_HELD / 1000 + 1000; i++) {
		r->now_ns += 1000;
		rig_window(r, r->now_ns - 1000, r->now_ns, 0);
		for (uint32_t k = 0; k < 1000; k++, nr++)
			rig_sample(r, KERNEL, k * 16, 0, 1);
	}
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 0, 0, nr);
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shares_add_up),
	    cmocka_unit_test(one_path_is_exact_and_two_share),
	    cmocka_unit_test(records_may_be_late),
	    cmocka_unit_test(what_has_no_work_is_kept),
	    cmocka_unit_test(calls_are_reported_where_kernels_run_one_by_one),
	    cmocka_unit_test(many_mixtures_add_up),
	    cmocka_unit_test(times_next_to_each_other_add_up),
	    cmocka_unit_test(a_window_that_is_cut_counts_by_when_its_kernels_ran),
	    cmocka_unit_test(held_samples_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
