/*
 * Samples of addresses: whose code lay there, on which device, and when; what waits, and what is
 * known never.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/attribution/attribution.h"
#include "analyse/pass/pass.h"
#include "analyse/world/work.h"
#include "analyse/world/world.h"

#define SECOND 1000000000ull
#define MS 1000000ull
#define HEAP 0x8000fffd0000ull

enum { KERNEL = 1, OTHER, ALL = AF_WINDOW_ADDRESS_32 };

/* Two processes with two devices each, all on the trace's clock; kernels "k" and "o". */
struct rig {
	struct af_world world;
	struct af_attribution a;
	uint64_t now_ns;
	uint32_t windows, calls;
};

static void rig_event(struct rig *r, uint32_t process, uint32_t kind, const void *payload,
                      size_t size)
{
	struct af_event ev = {.kind = (uint16_t)kind,
	                      .time_ns = r->now_ns,
	                      .process = process,
	                      .pid = 100 + process,
	                      .tid = 100 + process,
	                      .payload = payload,
	                      .payload_size = (uint32_t)size};

	af_world_event(&r->world, &ev);
	af_clocks_event(&r->world.clocks, &ev);
	if (af_kind_bit((uint16_t)kind) & AF_ATTRIBUTION_WANTS)
		af_attribution_event(&r->a, &r->world, &ev);
}

static void rig_kernel(struct rig *r, uint32_t process, uint32_t id, uint32_t queue, char letter)
{
	struct {
		struct af_ev_kernel is;
		char name[2];
	} __attribute__((packed)) kernel = {{.kernel = id}, {letter}};
	struct {
		struct af_ev_code is;
		char name[2];
	} __attribute__((packed)) code = {{.code = id}, {letter}};
	struct af_ev_descriptor descriptor = {
	    .descriptor = id, .op = AF_OP_KERNEL, .queue = queue, .kernel = id};

	rig_event(r, process, AF_KIND_KERNEL, &kernel, sizeof kernel);
	rig_event(r, process, AF_KIND_CODE, &code, sizeof code);
	rig_event(r, process, AF_KIND_DESCRIPTOR, &descriptor, sizeof descriptor);
}

static void rig_device(struct rig *r, uint32_t process, uint32_t id)
{
	struct {
		struct af_ev_device is;
		char texts[3];
	} __attribute__((packed))
	device = {{.device = id, .type = AF_DEVICE_GPU, .api = AF_API_LEVEL_ZERO}, ""};
	struct af_ev_queue queue = {.queue = id, .device = id, .context = 1};
	struct af_ev_clock clock = {.clock = AF_CLOCK_DEVICE,
	                            .device = id,
	                            .mono_ns = SECOND,
	                            .foreign = SECOND,
	                            .uncertainty_ns = 1};

	rig_event(r, process, AF_KIND_DEVICE, &device, sizeof device);
	rig_event(r, process, AF_KIND_QUEUE, &queue, sizeof queue);
	if (process)
		rig_event(r, process, AF_KIND_CLOCK, &clock, sizeof clock);
}

/* Devices 1 to @devices of the recorder; each process has the same. */
static struct rig *rig_open(uint32_t devices)
{
	struct rig *r = calloc(1, sizeof *r);

	r->now_ns = SECOND;
	for (uint32_t process = 0; process <= 2; process++)
		for (uint32_t device = 1; device <= devices; device++)
			rig_device(r, process, device);
	af_clocks_build(&r->world.clocks);
	for (uint32_t process = 1; process <= 2; process++) {
		rig_kernel(r, process, KERNEL, 1, 'k');
		rig_kernel(r, process, OTHER, devices, 'o');
	}
	return r;
}

static void rig_close(struct rig *r)
{
	af_attribution_free(&r->a);
	af_world_close(&r->world);
	free(r);
}

static void rig_note(struct rig *r, uint32_t process, uint32_t device, const char *key,
                     const char *value)
{
	char payload[64] = {0};
	const struct af_ev_device_note note = {.device = device};
	size_t size = sizeof note;

	memcpy(payload, &note, sizeof note);
	memcpy(payload + size, key, strlen(key) + 1);
	size += strlen(key) + 1;
	memcpy(payload + size, value, strlen(value) + 1);
	rig_event(r, process, AF_KIND_DEVICE_NOTE, payload, size + strlen(value) + 1);
}

static void rig_work(struct rig *r, uint32_t process, uint32_t kernel, uint32_t path,
                     uint64_t start_ns, uint64_t end_ns)
{
	const struct af_work work = {.process = process,
	                             .api = AF_API_LEVEL_ZERO,
	                             .descriptor = process * 2 - 2 + kernel,
	                             .id = ++r->calls,
	                             .start_ns = start_ns,
	                             .end_ns = end_ns,
	                             .path = path};

	af_attribution_work(&r->a, &r->world, &work);
}

/* The driver gives no times. */
static void rig_launch(struct rig *r, uint32_t process, uint32_t kernel, uint32_t path,
                       uint64_t call_ns)
{
	const struct af_work work = {.process = process,
	                             .api = AF_API_LEVEL_ZERO,
	                             .descriptor = process * 2 - 2 + kernel,
	                             .id = ++r->calls,
	                             .call_start_ns = call_ns,
	                             .path = path};

	af_attribution_work(&r->a, &r->world, &work);
}

static void rig_placed(struct rig *r, uint64_t time_ns, uint32_t process, uint32_t code,
                       uint32_t device, uint64_t address, uint64_t size)
{
	const struct af_ev_code_placed placed = {
	    .code = code, .device = device, .address = address, .size = size};

	r->now_ns = time_ns;
	rig_event(r, process, AF_KIND_CODE_PLACED, &placed, sizeof placed);
}

static void rig_window(struct rig *r, uint32_t device, uint64_t start_ns, uint64_t end_ns,
                       uint32_t flags)
{
	const struct af_ev_gpu_window window = {.window = ++r->windows,
	                                        .device = device,
	                                        .flags = flags,
	                                        .start_ns = start_ns,
	                                        .end_ns = end_ns};

	r->now_ns = end_ns > r->now_ns ? end_ns : r->now_ns;
	rig_event(r, 0, AF_KIND_GPU_WINDOW, &window, sizeof window);
}

/* Samples of the window last begun. */
static void rig_sample(struct rig *r, uint64_t address, uint32_t count)
{
	struct {
		struct af_ev_address_sample is;
		uint32_t nr, counts[2];
	} __attribute__((packed))
	sample = {{.window = r->windows, .address = address}, 2, {0, count}};

	rig_event(r, 0, AF_KIND_ADDRESS_SAMPLE, &sample, sizeof sample);
}

/* Samples that were launched from @path by @process; with @path 0 the process's unattributed. */
static double rig_samples(const struct rig *r, uint32_t process, uint32_t path)
{
	uint64_t parts = 0;

	for (uint32_t j = 0; j < r->a.nr_launch_groups; j++) {
		const struct af_launch_group *g = &r->a.launch_groups[j];
		if (g->is.process == process && g->is.path == path && g->recorded == (path != 0))
			parts += g->parts;
	}
	return (double)parts / AF_ATTRIBUTION_PARTS;
}

static void rig_reported(const struct rig *r, uint64_t exact, uint64_t apportioned,
                         uint64_t unattributed)
{
	uint64_t is[3] = {0}, parts = 0;

	for (uint32_t i = 0; i < r->a.nr_devices; i++) {
		is[0] += r->a.devices[i].exact;
		is[1] += r->a.devices[i].apportioned;
		is[2] += r->a.devices[i].unattributed;
	}
	for (uint32_t i = 0; i < r->a.nr_found; i++)
		parts += r->a.found[i].parts;
	assert_int_equal(is[0], exact);
	assert_int_equal(is[1], apportioned);
	assert_int_equal(is[2], unattributed);
	assert_int_equal(parts, (exact + apportioned + unattributed) * AF_ATTRIBUTION_PARTS);
}

static uint64_t rig_sum(const struct rig *r, size_t member)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->a.nr_devices; i++)
		sum += *(const uint64_t *)(const void *)((const char *)&r->a.devices[i] + member);
	return sum;
}

#define SUM(r, member) rig_sum(r, offsetof(struct af_sampled_device, member))

static void low_halves_of_addresses_are_enough(void **state)
{
	struct rig *r = rig_open(1);

	(void)state;
	rig_placed(r, SECOND, 1, KERNEL, 1, HEAP, 0x100);
	/* Over the end of 32 bits. */
	rig_placed(r, SECOND, 1, OTHER, 1, 0x8000ffffff80, 0x100);
	rig_work(r, 1, KERNEL, 1, 2 * SECOND, 2 * SECOND + 100);
	rig_work(r, 1, OTHER, 2, 2 * SECOND, 2 * SECOND + 100);
	rig_window(r, 1, 2 * SECOND, 2 * SECOND + 1000, ALL);
	rig_sample(r, 0xfffd0000, 1);
	rig_sample(r, 0xfffd00f8, 2);
	rig_sample(r, 0xfffd0100, 4); /* behind it */
	rig_sample(r, 0xfffcfff8, 8); /* before it */
	rig_sample(r, 0xffffff90, 16);
	rig_sample(r, 0x70, 32);
	rig_sample(r, 0x80, 64);
	/* The other half counts where it is there. */
	rig_window(r, 1, 2 * SECOND, 2 * SECOND + 1000, 0);
	rig_sample(r, HEAP + 0x10, 128);
	rig_sample(r, 0xfffd0010, 256);
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 1 + 2 + 16 + 32 + 128, 0, 4 + 8 + 64 + 256);
	assert_true(rig_samples(r, 1, 1) == 1 + 2 + 128);
	assert_true(rig_samples(r, 1, 2) == 16 + 32);
	for (uint32_t i = 0; i < r->a.nr_found; i++)
		if (r->a.found[i].parts == 32 * AF_ATTRIBUTION_PARTS)
			assert_int_equal(r->a.found[i].offset, 0xf0);
		else if (r->a.found[i].parts == 64 * AF_ATTRIBUTION_PARTS)
			assert_int_equal(r->a.found[i].offset, 0x80);
	rig_close(r);
}

/* Two processes with one kernel's name at different addresses; then at equal ones. */
static void each_process_has_its_own(void **state)
{
	struct rig *r = rig_open(1);

	(void)state;
	rig_placed(r, SECOND, 1, KERNEL, 1, HEAP, 0x100);
	rig_placed(r, SECOND, 2, KERNEL, 1, HEAP + 0x1000, 0x100);
	rig_work(r, 1, KERNEL, 1, 2 * SECOND, 2 * SECOND + 300);
	rig_work(r, 2, KERNEL, 1, 2 * SECOND, 2 * SECOND + 100);
	rig_window(r, 1, 2 * SECOND, 2 * SECOND + 1000, ALL);
	rig_sample(r, 0xfffd0010, 3);
	rig_sample(r, 0xfffd1010, 5);
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 8, 0, 0);
	assert_true(rig_samples(r, 1, 1) == 3 && rig_samples(r, 2, 1) == 5);
	rig_close(r);
}

static void equal_addresses_are_divided_by_busy_time(void **state)
{
	struct rig *r = rig_open(1);

	(void)state;
	rig_placed(r, SECOND, 1, KERNEL, 1, HEAP, 0x100);
	rig_placed(r, SECOND, 2, KERNEL, 1, HEAP - 0x10, 0x100);
	rig_work(r, 1, KERNEL, 1, 2 * SECOND, 2 * SECOND + 300);
	rig_work(r, 2, KERNEL, 1, 2 * SECOND, 2 * SECOND + 100);
	rig_window(r, 1, 2 * SECOND, 2 * SECOND + 1000, ALL);
	rig_sample(r, 0xfffd0010, 6);
	/* Here only one of them ran: its samples are added to the others. */
	rig_work(r, 1, KERNEL, 1, 4 * SECOND, 4 * SECOND + 300);
	rig_window(r, 1, 4 * SECOND, 4 * SECOND + 1000, ALL);
	rig_sample(r, 0xfffd0010, 2);
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 2, 6, 0);
	assert_int_equal(SUM(r, shared), 6);
	assert_true(rig_samples(r, 1, 1) == 4.5 + 2 && rig_samples(r, 2, 1) == 1.5);
	assert_int_equal(r->a.nr_found, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct af_attributed *f = &r->a.found[i];
		uint32_t process = r->a.launch_groups[f->launch_group].is.process;
		assert_int_equal(f->offset, process == 1 ? 0x10 : 0x20);
		assert_int_equal(r->world.codes[f->code].process, process);
		assert_int_equal(f->exact_parts, process == 1 ? 2 * AF_ATTRIBUTION_PARTS : 0);
	}
	assert_int_equal(r->a.found[0].samples + r->a.found[1].samples, 8);
	rig_close(r);
}

/* The other process's kernel ran right after the window: it may be late, but the first is not. */
static void who_ran_in_the_window_comes_first(void **state)
{
	struct rig *r = rig_open(1);

	(void)state;
	for (uint32_t process = 1; process <= 2; process++) {
		rig_placed(r, SECOND, process, KERNEL, 1, HEAP, 0x100);
		rig_work(r, process, KERNEL, 1, 2 * SECOND + process * 2000,
		         2 * SECOND + process * 2000 + 500);
	}
	rig_window(r, 1, 2 * SECOND, 2 * SECOND + 3000, ALL);
	rig_sample(r, 0xfffd0010, 5);
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 5, 0, 0);
	assert_true(rig_samples(r, 1, 1) == 5);
	rig_close(r);
}

static void an_address_is_used_again(void **state)
{
	struct rig *r = rig_open(1);

	(void)state;
	/* One goes away, and another comes without a word. */
	rig_placed(r, SECOND, 1, KERNEL, 1, HEAP, 0x100);
	rig_placed(r, 3 * SECOND, 1, KERNEL, 1, HEAP, 0);
	rig_placed(r, 3 * SECOND + MS, 1, OTHER, 1, HEAP - 0x20, 0x100);
	rig_placed(r, 5 * SECOND, 1, KERNEL, 1, HEAP, 0x100);
	for (uint64_t s = 2; s <= 6; s += 2) {
		rig_work(r, 1, KERNEL, 1, s * SECOND, s * SECOND + 300);
		rig_work(r, 1, OTHER, 2, s * SECOND, s * SECOND + 300);
		rig_window(r, 1, s * SECOND, s * SECOND + 1000, ALL);
		rig_sample(r, 0xfffd0010, (uint32_t)s);
	}
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 12, 0, 0);
	assert_true(rig_samples(r, 1, 1) == 2 + 6 && rig_samples(r, 1, 2) == 4);
	for (uint32_t i = 0; i < r->a.nr_found; i++)
		assert_int_equal(r->a.found[i].offset,
		                 r->a.found[i].parts == 4 * AF_ATTRIBUTION_PARTS ? 0x30 : 0x10);
	assert_int_equal(SUM(r, shared), 0);
	rig_close(r);
}

/* Code goes away at once after it ran, before its samples are read. */
static void what_went_away_just_before_counts(void **state)
{
	struct rig *r = rig_open(1);

	(void)state;
	rig_placed(r, SECOND, 1, KERNEL, 1, HEAP, 0x100);
	rig_work(r, 1, KERNEL, 1, 2 * SECOND - MS, 2 * SECOND - 1000);
	rig_placed(r, 2 * SECOND - 10, 1, KERNEL, 1, HEAP, 0);
	rig_window(r, 1, 2 * SECOND, 2 * SECOND + MS, ALL);
	rig_sample(r, 0xfffd0010, 7);
	rig_window(r, 1, 3 * SECOND, 3 * SECOND + MS, ALL);
	rig_sample(r, 0xfffd0010, 9);
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 0, 7, 9); /* not exact: the work was near, too */
	rig_close(r);
}

static void devices_have_pci_addresses(void **state)
{
	static const char *const pci[] = {"0000:03:00.0", "0000:04:00.0"};
	struct rig *r = rig_open(2);

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		rig_note(r, 0, 1 + i, "pci", pci[i]);
		rig_note(r, 0, 1 + i, "uuid", i ? "aa02" : "aa01");
		rig_note(r, 1, 1 + i, "pci", pci[!i]); /* the other way round */
		rig_note(r, 1, 1 + i, "uuid", i ? "aa02" : "aa01");
		rig_note(r, 2, 1 + i, "uuid", i ? "aa02" : "aa01");
	}
	for (uint32_t process = 1; process <= 2; process++) {
		rig_placed(r, SECOND, process, KERNEL, 1, HEAP + process * 0x1000, 0x100);
		rig_placed(r, SECOND, process, OTHER, 2, HEAP + process * 0x1000, 0x100);
		rig_work(r, process, KERNEL, 1, 2 * SECOND, 2 * SECOND + 300);
		rig_work(r, process, OTHER, 2, 2 * SECOND, 2 * SECOND + 300);
	}
	rig_window(r, 1, 2 * SECOND, 2 * SECOND + 1000, 0);
	rig_sample(r, HEAP + 0x1000, 1);
	rig_sample(r, HEAP + 0x2000, 2);
	rig_window(r, 2, 2 * SECOND, 2 * SECOND + 1000, 0);
	rig_sample(r, HEAP + 0x1000, 4);
	rig_sample(r, HEAP + 0x2000, 8);
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 15, 0, 0);
	assert_true(rig_samples(r, 1, 2) == 1 && rig_samples(r, 1, 1) == 4);
	assert_true(rig_samples(r, 2, 1) == 2 && rig_samples(r, 2, 2) == 8);
	rig_close(r);
}

/* Nothing tells the devices apart: with one GPU it is that one, with two it is none. */
static void one_device_needs_no_notes(void **state)
{
	(void)state;
	for (uint32_t devices = 1; devices <= 2; devices++) {
		struct rig *r = rig_open(devices);
		rig_placed(r, SECOND, 1, KERNEL, 1, HEAP, 0x100);
		rig_work(r, 1, KERNEL, 1, 2 * SECOND, 2 * SECOND + 300);
		rig_window(r, 1, 2 * SECOND, 2 * SECOND + 1000, 0);
		rig_sample(r, HEAP, 3);
		af_attribution_end(&r->a, &r->world);
		rig_reported(r, devices == 1 ? 3 : 0, 0, devices == 1 ? 0 : 3);
		rig_close(r);
	}
}

/* Half a minute after its samples it is known whose code it was, and works are forgotten. */
static void samples_wait_for_their_code(void **state)
{
	struct rig *r = rig_open(1);

	(void)state;
	rig_window(r, 1, 2 * SECOND, 2 * SECOND + 1000, ALL);
	rig_sample(r, 0xfffd0010, 8);
	rig_sample(r, 0xdead0000, 5);
	rig_work(r, 1, KERNEL, 1, 2 * SECOND, 2 * SECOND + 300);
	rig_work(r, 1, KERNEL, 2, 2 * SECOND, 2 * SECOND + 100);
	for (int i = 0; i < 40; i++)
		rig_window(r, 1, r->now_ns, r->now_ns + SECOND, ALL);
	rig_placed(r, r->now_ns, 1, KERNEL, 1, HEAP, 0x100);
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 0, 8, 5);
	assert_true(rig_samples(r, 1, 1) == 6 && rig_samples(r, 1, 2) == 2);
	assert_true(rig_samples(r, 0, 0) == 5);
	for (uint32_t i = 0; i < r->a.nr_found; i++)
		if (!r->a.found[i].code)
			assert_int_equal(r->a.found[i].offset, 0xdead0000);
	rig_close(r);
}

/* A work of half a minute is recorded when it ends; its code was known all the time. */
static void samples_wait_for_their_work(void **state)
{
	struct rig *r = rig_open(1);

	(void)state;
	rig_placed(r, SECOND, 1, KERNEL, 1, HEAP, 0x100);
	rig_window(r, 1, 2 * SECOND, 2 * SECOND + 1000, ALL);
	rig_sample(r, 0xfffd0010, 8);
	for (int i = 0; i < 30; i++)
		rig_window(r, 1, r->now_ns, r->now_ns + SECOND, ALL);
	rig_work(r, 1, KERNEL, 1, 2 * SECOND, 32 * SECOND);
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 8, 0, 0);
	rig_close(r);
}

/* More rows than stay apart, in many windows, of half of which the code is known at the end. */
static void many_rows_wait(void **state)
{
	enum { WINDOWS = 200, ROWS = 4000 };
	struct rig *r = rig_open(1);

	(void)state;
	for (uint32_t i = 0; i < WINDOWS; i++) {
		uint64_t at_ns = 2 * SECOND + i * SECOND / 2;
		rig_work(r, 1, KERNEL, 1, at_ns, at_ns + 300);
		rig_work(r, 1, KERNEL, 2, at_ns, at_ns + 100);
		rig_window(r, 1, at_ns, at_ns + SECOND / 4, ALL);
		for (uint32_t k = 0; k < ROWS; k++)
			rig_sample(r, 0xfffd0000 + k * 8, 1);
	}
	rig_placed(r, r->now_ns, 1, KERNEL, 1, HEAP, ROWS * 8 / 2);
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 0, WINDOWS * ROWS / 2, WINDOWS * ROWS / 2);
	assert_float_equal(rig_samples(r, 1, 1), WINDOWS * ROWS / 2 * 0.75, 1e-3);
	assert_float_equal(rig_samples(r, 1, 2), WINDOWS * ROWS / 2 * 0.25, 1e-3);
	rig_close(r);
}

static void launches_count_where_there_are_no_times(void **state)
{
	struct rig *r = rig_open(1);

	(void)state;
	rig_placed(r, SECOND, 1, KERNEL, 1, HEAP, 0x100);
	rig_placed(r, SECOND, 1, OTHER, 1, HEAP + 0x100, 0x100);
	rig_launch(r, 1, KERNEL, 1, 2 * SECOND);
	rig_launch(r, 1, KERNEL, 1, 2 * SECOND + 10);
	rig_launch(r, 1, KERNEL, 2, 2 * SECOND + 20);
	rig_launch(r, 1, KERNEL, 2, 3 * SECOND); /* after the window */
	rig_launch(r, 1, OTHER, 3, 2 * SECOND);
	rig_window(r, 1, 2 * SECOND, 2 * SECOND + MS, ALL);
	rig_sample(r, 0xfffd0010, 9);
	rig_sample(r, 0xfffd0110, 4);
	/* Long after all of them: any may still have run. */
	rig_window(r, 1, 9 * SECOND, 9 * SECOND + MS, ALL);
	rig_sample(r, 0xfffd0010, 8);
	af_attribution_end(&r->a, &r->world);
	rig_reported(r, 4, 17, 0);
	assert_int_equal(SUM(r, by_launches), 17);
	assert_float_equal(rig_samples(r, 1, 1), 6 + 4, 1e-5);
	assert_float_equal(rig_samples(r, 1, 2), 3 + 4, 1e-5);
	assert_true(rig_samples(r, 1, 3) == 4);
	rig_close(r);
}

/* Parts of the time add up to all of it, also where several processes share addresses. */
static void times_next_to_each_other_add_up(void **state)
{
	double whole = 0, together = 0;

	(void)state;
	for (int part = 0; part < 3; part++) {
		const struct af_query query = {.from_ns = part == 2 ? 40 * MS : 0,
		                               .to_ns = part == 1 ? 40 * MS : 0};
		struct rig *r = rig_open(1);
		af_time_range_set(&r->world.time_range, 2 * SECOND, &query);
		rig_placed(r, SECOND, 1, KERNEL, 1, HEAP, 0x1000);
		rig_placed(r, SECOND, 2, KERNEL, 1, HEAP, 0x1000);
		rig_work(r, 1, KERNEL, 1, 2 * SECOND, 2 * SECOND + 60 * MS);
		rig_work(r, 2, KERNEL, 1, 2 * SECOND + 30 * MS, 2 * SECOND + 50 * MS);
		rig_window(r, 1, 2 * SECOND, 2 * SECOND + 100 * MS, ALL);
		for (uint32_t i = 0; i < 0x1000; i += 8)
			rig_sample(r, 0xfffd0000 + i, 1 + i % 3);
		af_attribution_end(&r->a, &r->world);
		*(part ? &together : &whole) += rig_samples(r, 1, 1) + rig_samples(r, 2, 1);
		assert_int_equal(SUM(r, unattributed), 0);
		rig_close(r);
	}
	assert_true(whole > 512 && whole == together);
}

/* More reasons than lie side by side, of many instructions, in an order that mixes them. */
static void each_reason_of_each_instruction_is_counted(void **state)
{
	enum { REASONS = 40, INSNS = 500 };
	struct rig *r = rig_open(1);
	uint32_t found = 0;

	(void)state;
	for (uint32_t stall = 1; stall <= REASONS; stall++) {
		struct {
			struct af_ev_stall is;
			char name[4];
		} __attribute__((packed)) reason = {{.stall = stall}, ""};
		snprintf(reason.name, sizeof reason.name, "r%02u", stall);
		rig_event(r, 0, AF_KIND_STALL, &reason, sizeof reason);
	}
	rig_placed(r, SECOND, 1, KERNEL, 1, HEAP, INSNS * 16);
	rig_work(r, 1, KERNEL, 1, 2 * SECOND, 2 * SECOND + 100);
	rig_window(r, 1, 2 * SECOND, 2 * SECOND + 1000, ALL);
	/* 7 and 3 have no divisor in common with the numbers of what there is. */
	for (uint32_t i = 0; i < 2 * REASONS * INSNS; i++) {
		uint32_t insn = i * 7 % INSNS, stall = 1 + i / INSNS * 3 % REASONS;
		struct {
			struct af_ev_address_sample is;
			uint32_t nr, counts[2];
		} __attribute__((packed))
		sample = {{.window = r->windows, .address = (uint32_t)HEAP + insn * 16},
		          2,
		          {stall, insn + stall}};
		rig_event(r, 0, AF_KIND_ADDRESS_SAMPLE, &sample, sizeof sample);
	}
	af_attribution_end(&r->a, &r->world);
	for (uint32_t i = 0; i < r->a.nr_found; i++) {
		const struct af_attributed *f = &r->a.found[i];
		uint32_t stall = f->stall;
		assert_true(stall >= 1 && stall <= REASONS && f->offset % 16 == 0);
		assert_int_equal(f->samples, 2 * (f->offset / 16 + stall));
		found++;
	}
	assert_int_equal(found, REASONS * INSNS);
	rig_close(r);
}

/* Two paths launch the kernel, each in windows of its own, and in one together. */
static void samples_are_kept_apart_by_intervals(void **state)
{
	static const struct {
		uint64_t at_ms, paths;
	} windows[] = {{10, 1}, {20, 2}, {35, 3}};
	static const double want[][2] = {{4, 0}, {0, 4}, {0, 0}, {1, 3}};
	struct rig *r = rig_open(1);
	double got[4][2] = {{0}};

	(void)state;
	r->a.apart_ns = 10 * MS;
	r->world.time_range.start_ns = SECOND;
	rig_placed(r, SECOND, 1, KERNEL, 1, HEAP, 0x100);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t end_ns = SECOND + windows[i].at_ms * MS;
		if (windows[i].paths & 1)
			rig_work(r, 1, KERNEL, 1, end_ns - MS, end_ns - MS + 100);
		if (windows[i].paths & 2)
			rig_work(r, 1, KERNEL, 2, end_ns - MS, end_ns - MS + 300);
		rig_window(r, 1, end_ns - MS, end_ns, ALL);
		rig_sample(r, 0xfffd0010, 4);
	}
	af_attribution_end(&r->a, &r->world);
	for (uint32_t i = 0; i < r->a.nr_found; i++) {
		const struct af_attributed *f = &r->a.found[i];
		uint32_t path = r->a.launch_groups[f->launch_group].is.path;
		assert_true(f->interval < 4 && (path == 1 || path == 2));
		got[f->interval][path - 1] += (double)f->parts / AF_ATTRIBUTION_PARTS;
	}
	for (uint32_t i = 0; i < 8; i++)
		assert_true(got[i / 2][i % 2] == want[i / 2][i % 2]);
	assert_int_equal(r->a.apart_ns, 10 * MS);
	rig_close(r);
}

/* More samples than are kept apart: intervals get longer, and have the samples of both. */
static void intervals_get_longer_where_samples_are_many(void **state)
{
	enum { WINDOWS = 32, ROWS = 60000 };
	struct rig *r = rig_open(1);
	uint64_t samples[WINDOWS] = {0}, exact = 0;
	uint32_t each = 1;

	(void)state;
	r->a.apart_ns = 100 * MS;
	r->world.time_range.start_ns = SECOND;
	rig_placed(r, SECOND, 1, KERNEL, 1, HEAP, ROWS * 8);
	for (uint64_t i = 0; i < WINDOWS; i++) {
		uint64_t at_ns = SECOND + i * 100 * MS;
		rig_work(r, 1, KERNEL, 1, at_ns, at_ns + 100);
		rig_work(r, 1, KERNEL, 2, at_ns, at_ns + 300);
		rig_window(r, 1, at_ns, at_ns + 100 * MS, ALL);
		for (uint32_t k = 0; k < ROWS; k++)
			rig_sample(r, (uint32_t)HEAP + k * 8, 1 + (uint32_t)i);
	}
	af_attribution_end(&r->a, &r->world);
	for (; r->a.apart_ns > each * 100 * MS; each *= 2)
		;
	assert_true(each > 1 && each < WINDOWS && r->a.apart_ns == each * 100 * MS);
	for (uint32_t i = 0; i < r->a.nr_found; i++) {
		assert_true(r->a.found[i].interval < WINDOWS / each);
		samples[r->a.found[i].interval] += r->a.found[i].samples;
	}
	for (uint32_t i = 0; i < WINDOWS / each; i++) {
		uint64_t counts = 0;
		for (uint32_t k = 0; k < each; k++)
			counts += 1 + i * each + k;
		assert_int_equal(samples[i], counts * ROWS);
		exact += samples[i];
	}
	rig_reported(r, 0, exact, 0);
	assert_float_equal(rig_samples(r, 1, 1), (double)exact / 4, 1e-3);
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(low_halves_of_addresses_are_enough),
	    cmocka_unit_test(each_process_has_its_own),
	    cmocka_unit_test(equal_addresses_are_divided_by_busy_time),
	    cmocka_unit_test(who_ran_in_the_window_comes_first),
	    cmocka_unit_test(an_address_is_used_again),
	    cmocka_unit_test(what_went_away_just_before_counts),
	    cmocka_unit_test(devices_have_pci_addresses),
	    cmocka_unit_test(one_device_needs_no_notes),
	    cmocka_unit_test(samples_wait_for_their_code),
	    cmocka_unit_test(samples_wait_for_their_work),
	    cmocka_unit_test(many_rows_wait),
	    cmocka_unit_test(launches_count_where_there_are_no_times),
	    cmocka_unit_test(times_next_to_each_other_add_up),
	    cmocka_unit_test(each_reason_of_each_instruction_is_counted),
	    cmocka_unit_test(samples_are_kept_apart_by_intervals),
	    cmocka_unit_test(intervals_get_longer_where_samples_are_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
