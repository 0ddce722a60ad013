/*
 * Samples of addresses whose placements, windows and works are anything, mostly small numbers so
 * that they meet: code that comes, goes and lies over other code, of several processes and devices,
 * at the ends of addresses and times. Checked: all samples that went in come out, in parts and
 * whole, each once; an exact part is no more than all; what is of no code is unattributed.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/attribution/attribution.h"
#include "analyse/pass/pass.h"
#include "analyse/world/work.h"
#include "analyse/world/world.h"

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECOND 1000000000ull

enum { PROCESSES = 3, DEVICES = 2, KERNELS = 4 };

struct fuzz {
	struct input in;
	struct af_world world;
	struct af_attribution a;
	uint64_t now_ns, samples;
	uint32_t windows;
};

static void event(struct fuzz *f, uint32_t process, uint32_t kind, const void *payload, size_t size)
{
	struct af_event ev = {.kind = (uint16_t)kind,
	                      .time_ns = f->now_ns,
	                      .process = process,
	                      .payload = payload,
	                      .payload_size = (uint32_t)size};

	af_world_event(&f->world, &ev);
	af_clocks_event(&f->world.clocks, &ev);
	if (af_kind_bit((uint16_t)kind) & AF_ATTRIBUTION_WANTS)
		af_attribution_event(&f->a, &f->world, &ev);
}

/* Devices with notes or without, and kernels, of which processes have the same names. */
static void define(struct fuzz *f)
{
	static const char *const notes[] = {"pci\0a", "pci\0b", "uuid\0a", "uuid\0b"};

	for (uint32_t process = 0; process < PROCESSES; process++) {
		for (uint32_t id = 1; id <= DEVICES; id++) {
			struct {
				struct af_ev_device is;
				char texts[3];
			} __attribute__((packed)) device = {
			    {.device = id, .type = AF_DEVICE_GPU, .api = AF_API_LEVEL_ZERO}, ""};
			struct af_ev_queue queue = {.queue = id, .device = id, .context = 1};
			struct af_ev_clock clock = {.clock = AF_CLOCK_DEVICE,
			                            .device = id,
			                            .mono_ns = SECOND,
			                            .foreign = SECOND,
			                            .uncertainty_ns = 1};
			uint8_t how = take_byte(&f->in);
			char note[16] = {0};

			device.is.parent = how & 128 ? 1 : 0;
			event(f, process, AF_KIND_DEVICE, &device, sizeof device);
			event(f, process, AF_KIND_QUEUE, &queue, sizeof queue);
			if (process && how & 64)
				event(f, process, AF_KIND_CLOCK, &clock, sizeof clock);
			memcpy(note, &id, 4);
			const char *text = notes[how % 4];
			memcpy(note + 4, text, strlen(text) + 3);
			if (how & 32)
				event(f, process, AF_KIND_DEVICE_NOTE, note, 4 + strlen(text) + 3);
		}
		for (uint32_t k = 1; k <= KERNELS && process; k++) {
			struct {
				struct af_ev_kernel is;
				char name[2];
			} __attribute__((packed)) kernel = {{.kernel = k}, {(char)('j' + k), 0}};
			struct {
				struct af_ev_code is;
				char name[2];
			} __attribute__((packed)) code = {{.code = k}, {(char)('j' + k), 0}};
			struct af_ev_descriptor descriptor = {.descriptor = k,
			                                      .op = AF_OP_KERNEL,
			                                      .queue = 1 + k % DEVICES,
			                                      .kernel = k};
			event(f, process, AF_KIND_KERNEL, &kernel, sizeof kernel);
			event(f, process, AF_KIND_CODE, &code, sizeof code);
			event(f, process, AF_KIND_DESCRIPTOR, &descriptor, sizeof descriptor);
		}
	}
	af_clocks_build(&f->world.clocks);
}

/* An address of few, some near the ends of 32 and 64 bits. */
static uint64_t take_address(struct input *in)
{
	static const uint64_t bases[] = {0, 0x80000000, 0xffffff00, UINT64_MAX - 127};
	uint8_t byte = take_byte(in);

	return bases[byte % 4] + byte / 4 * 8ull;
}

static uint64_t take_time(struct fuzz *f)
{
	uint8_t byte = take_byte(&f->in);

	if (byte == 255)
		return UINT64_MAX - take_byte(&f->in);
	return f->now_ns + byte % 16 * (byte & 128 ? SECOND : 1000);
}

static void put_placed(struct fuzz *f)
{
	uint8_t who = take_byte(&f->in), size = take_byte(&f->in);
	const struct af_ev_code_placed placed = {.code = 1 + who % (KERNELS + 1),
	                                         .device = who / 8 % (DEVICES + 1),
	                                         .address = take_address(&f->in),
	                                         .size = size == 255 ? UINT64_MAX - who
	                                                 : size % 4  ? (size / 4) * 8ull
	                                                             : 0};

	event(f, who / 64 % PROCESSES, AF_KIND_CODE_PLACED, &placed, sizeof placed);
}

static void put_window(struct fuzz *f)
{
	uint8_t how = take_byte(&f->in);
	const struct af_ev_gpu_window window = {.window = how & 128 ? f->windows : ++f->windows,
	                                        .device = how % (DEVICES + 1),
	                                        .flags = how & 64 ? AF_WINDOW_ADDRESS_32 : 0,
	                                        .start_ns = take_time(f),
	                                        .end_ns = take_time(f)};

	event(f, 0, AF_KIND_GPU_WINDOW, &window, sizeof window);
}

static void put_sample(struct fuzz *f)
{
	uint8_t nr = take_byte(&f->in);
	struct {
		struct af_ev_address_sample is;
		uint32_t nr, counts[2];
	} __attribute__((packed)) sample = {{.window = f->windows + (nr & 1)}, 2, {nr % 8, nr / 8}};

	sample.is.address = take_address(&f->in);
	f->samples += sample.counts[1];
	event(f, 0, AF_KIND_ADDRESS_SAMPLE, &sample, sizeof sample);
}

static void put_work(struct fuzz *f)
{
	uint8_t who = take_byte(&f->in), how = take_byte(&f->in);
	struct af_work work = {.process = 1 + who % (PROCESSES - 1),
	                       .api = AF_API_LEVEL_ZERO,
	                       .id = who,
	                       .path = 1 + how % 4,
	                       .call_start_ns = how & 64 ? take_time(f) : 0};

	work.descriptor = (work.process - 1) * KERNELS + 1 + who / 4 % KERNELS;
	if (how & 128) {
		work.start_ns = take_time(f);
		work.end_ns = take_time(f);
	}
	af_attribution_work(&f->a, &f->world, &work);
}

static void check(const struct fuzz *f)
{
	uint64_t parts = 0, whole = 0, reported = 0, none = 0;

	for (uint32_t i = 0; i < f->a.nr_devices; i++) {
		const struct af_sampled_device *d = &f->a.devices[i];
		reported += d->exact + d->apportioned + d->unattributed;
		if (d->by_launches > d->apportioned || d->shared > d->apportioned)
			abort();
		none += d->unattributed;
	}
	for (uint32_t i = 0; i < f->a.nr_found; i++) {
		const struct af_attributed *at = &f->a.found[i];
		bool recorded = f->a.launch_groups[at->launch_group].recorded;
		parts += at->parts;
		whole += at->samples;
		none -= recorded ? 0 : at->samples;
		if (at->exact_parts > at->parts || (recorded && !at->code) ||
		    at->code >= f->world.nr_codes + !f->world.nr_codes)
			abort();
	}
	if (reported != f->samples || whole != f->samples || none ||
	    parts != f->samples * AF_ATTRIBUTION_PARTS)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const puts[])(struct fuzz *) = {put_placed, put_window, put_sample, put_work};
	struct fuzz f = {.in = {data, size}, .now_ns = SECOND};

	define(&f);
	/* Some in intervals, which are short and long. */
	f.a.apart_ns = size % 3 ? 0 : 1ull << size % 40;
	af_attribution_expect(&f.a);
	while (f.in.left) {
		uint8_t what = take_byte(&f.in);
		puts[what % 4](&f);
		f.now_ns += what / 4 < 48 ? what / 4 * 100ull : (what / 4 - 47) * SECOND;
	}
	af_attribution_end(&f.a, &f.world);
	check(&f);
	af_attribution_free(&f.a);
	af_world_close(&f.world);
	return 0;
}
