/*
 * Samples of addresses to call paths: rows a second, beside a pass over the same events that only
 * adds their counts up; and how long rows take that came before it was known what lies where, and
 * the memory that they had. For tests/bench/addresses.
 *	addresses [ROWS [known|late]]
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyse/attribution/attribution.h"
#include "analyse/pass/pass.h"
#include "analyse/world/work.h"
#include "analyse/world/world.h"
#include "base/hash.h"

#define SECOND 1000000000ull
#define HEAP 0x800080000000ull

enum { KERNELS = 64, INSNS = 512, REASONS = 3, PATHS = 4, WINDOW_EVENTS = 8192 };

struct bench {
	struct af_world world;
	struct af_attribution a;
	uint64_t now_ns;
	uint32_t windows;
	bool reads_only;
	uint64_t sum; /* of samples, then */
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void read_only(struct bench *b, const struct af_event *ev)
{
	struct af_ev_address_sample fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (ev->kind != AF_KIND_ADDRESS_SAMPLE || !af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	for (uint32_t i = 1; i < tails[0].len; i += 2) {
		uint32_t count;
		memcpy(&count, tails[0].data + i * sizeof count, sizeof count);
		b->sum += count;
	}
}

static void event(struct bench *b, uint32_t process, uint32_t kind, const void *payload,
                  size_t size)
{
	struct af_event ev = {.kind = (uint16_t)kind,
	                      .time_ns = b->now_ns,
	                      .process = process,
	                      .payload = payload,
	                      .payload_size = (uint32_t)size};

	if (b->reads_only) {
		read_only(b, &ev);
		return;
	}
	if (kind != AF_KIND_ADDRESS_SAMPLE)
		af_world_event(&b->world, &ev);
	if (af_kind_bit((uint16_t)kind) & AF_ATTRIBUTION_WANTS)
		af_attribution_event(&b->a, &b->world, &ev);
}

static void define(struct bench *b)
{
	struct {
		struct af_ev_device is;
		char texts[3];
	} __attribute__((packed)) device = {{.device = 1, .api = AF_API_LEVEL_ZERO}, ""};
	struct af_ev_queue queue = {.queue = 1, .device = 1, .context = 1};
	struct af_ev_clock clock = {.clock = AF_CLOCK_DEVICE,
	                            .device = 1,
	                            .mono_ns = SECOND,
	                            .foreign = SECOND,
	                            .uncertainty_ns = 1};
	struct af_event anchor = {.kind = AF_KIND_CLOCK,
	                          .time_ns = SECOND,
	                          .process = 1,
	                          .payload = (const uint8_t *)&clock,
	                          .payload_size = sizeof clock};

	b->now_ns = SECOND;
	event(b, 1, AF_KIND_DEVICE, &device, sizeof device);
	event(b, 1, AF_KIND_QUEUE, &queue, sizeof queue);
	event(b, 1, AF_KIND_CLOCK, &clock, sizeof clock);
	af_clocks_event(&b->world.clocks, &anchor);
	af_clocks_build(&b->world.clocks);
	for (uint32_t k = 1; k <= KERNELS; k++) {
		struct {
			struct af_ev_kernel is;
			char name[8];
		} __attribute__((packed)) kernel = {.is = {.kernel = k}};
		struct {
			struct af_ev_code is;
			char name[8];
		} __attribute__((packed)) code = {.is = {.code = k}};
		struct af_ev_descriptor descriptor = {
		    .descriptor = k, .op = AF_OP_KERNEL, .queue = 1, .kernel = k};
		snprintf(kernel.name, sizeof kernel.name, "k%06u", k);
		memcpy(code.name, kernel.name, sizeof code.name);
		event(b, 1, AF_KIND_KERNEL, &kernel, sizeof kernel);
		event(b, 1, AF_KIND_CODE, &code, sizeof code);
		event(b, 1, AF_KIND_DESCRIPTOR, &descriptor, sizeof descriptor);
	}
}

static void place(struct bench *b)
{
	for (uint32_t k = 1; k <= KERNELS; k++) {
		const struct af_ev_code_placed placed = {
		    .code = k, .device = 1, .address = HEAP + k * 0x10000ull, .size = INSNS * 16};
		event(b, 1, AF_KIND_CODE_PLACED, &placed, sizeof placed);
	}
}

/* Most samples are in loops: seven of eight in a sixteenth of the instructions. */
static uint64_t insn_of(uint64_t i)
{
	uint64_t mix = i * 0x9e3779b97f4a7c15u;

	mix ^= mix >> 29;
	return mix % 8 ? mix / 8 % (KERNELS * INSNS / 16) * 16 + mix / 8 % 4
	               : mix / 8 % (KERNELS * INSNS);
}

/* A window of 10 ms, with all kernels, and its rows in no order. */
static uint64_t window(struct bench *b, uint64_t at)
{
	struct af_ev_gpu_window win = {.window = ++b->windows,
	                               .device = 1,
	                               .flags = AF_WINDOW_ADDRESS_32,
	                               .start_ns = b->now_ns,
	                               .end_ns = b->now_ns + SECOND / 100};
	struct {
		struct af_ev_address_sample is;
		uint32_t nr, counts[2 * REASONS];
	} __attribute__((packed)) row = {.is = {.window = b->windows}, .nr = 2 * REASONS};

	for (uint32_t k = 1; k <= KERNELS && af_attribution_active(&b->a); k++) {
		const struct af_work work = {.process = 1,
		                             .api = AF_API_LEVEL_ZERO,
		                             .descriptor = k,
		                             .id = b->windows * KERNELS + k,
		                             .path = 1 + k % PATHS,
		                             .start_ns = b->now_ns + k * 1000,
		                             .end_ns = b->now_ns + k * 1000 + 900};
		af_attribution_work(&b->a, &b->world, &work);
	}
	b->now_ns += SECOND / 100;
	for (uint32_t i = 0; i < WINDOW_EVENTS; i++) {
		uint64_t insn = insn_of(at + i);
		row.is.address =
		    (uint32_t)(HEAP + (1 + insn / INSNS) * 0x10000 + insn % INSNS * 16);
		for (uint32_t r = 0; r < REASONS; r++) {
			row.counts[2 * r] = 1 + (uint32_t)(insn + r) % 10;
			row.counts[2 * r + 1] = 1 + r;
		}
		event(b, 0, AF_KIND_ADDRESS_SAMPLE, &row, sizeof row);
	}
	event(b, 0, AF_KIND_GPU_WINDOW, &win, sizeof win);
	return at + WINDOW_EVENTS;
}

/* The same rows, only decoded and added up. */
static void measure_reading(uint64_t rows)
{
	struct bench *b = calloc(1, sizeof *b);
	uint64_t nr = rows / REASONS / WINDOW_EVENTS * WINDOW_EVENTS;
	double begin = seconds();

	b->reads_only = true;
	for (uint64_t at = 0; at < nr;)
		at = window(b, at);
	double end = seconds();
	printf("%.3g rows only read: %.1f million a second (%llu samples)\n", (double)nr * REASONS,
	       (double)nr * REASONS / (end - begin) / 1e6, (unsigned long long)b->sum);
	free(b);
}

/* A hash of all results: two versions that give the same ones print the same. */
static uint64_t results_hash(const struct af_attribution *a)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < a->nr_found; i++) {
		const struct af_attributed *f = &a->found[i];
		const uint64_t words[] = {f->launch_group, f->code,    f->stall,
		                          f->offset,       f->parts,   f->exact_parts,
		                          f->samples,      f->time_ns, f->latency_parts};
		hash = hash * 31 + af_hash(words, sizeof words);
	}
	for (uint32_t i = 0; i < a->nr_devices; i++)
		hash = hash * 31 + af_hash(&a->devices[i], sizeof a->devices[i]);
	return hash;
}

static void measure(uint64_t rows, bool late)
{
	struct bench *b = calloc(1, sizeof *b);
	uint64_t exact = 0, reported = 0, nr = rows / REASONS / WINDOW_EVENTS * WINDOW_EVENTS;

	define(b);
	if (!late)
		place(b);
	af_attribution_expect(&b->a);
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	double begin = seconds();
	for (uint64_t at = 0; at < nr;)
		at = window(b, at);
	double fed = seconds();
	/* Windows are held for 15 s: all are joined by then. */
	b->now_ns += 30 * SECOND;
	if (late) {
		struct af_ev_gpu_window last = {.window = ++b->windows, .device = 1};
		event(b, 0, AF_KIND_GPU_WINDOW, &last, sizeof last);
	}
	size_t held = mallinfo2().uordblks + mallinfo2().hblkhd - before;
	double waited = seconds();
	if (late)
		place(b);
	af_attribution_end(&b->a, &b->world);
	double end = seconds();
	for (uint32_t i = 0; i < b->a.nr_devices; i++) {
		exact += b->a.devices[i].exact;
		reported += b->a.devices[i].exact + b->a.devices[i].apportioned +
		            b->a.devices[i].unattributed;
	}
	double all = (double)nr * REASONS;
	if (late)
		printf("%.3g rows before their code: %.3f s to wait, %.3f s once it is known; "
		       "%.1f bytes held for each of %u (kernel, offset, reason)",
		       all, waited - begin, end - waited,
		       (double)held / (KERNELS * INSNS * REASONS), KERNELS * INSNS * REASONS);
	else
		printf("%.3g rows: %.1f million a second (%.3f s to take, %.3f s to join)", all,
		       all / (end - begin) / 1e6, fed - begin, end - fed);
	printf("; %.1f %% exact of %llu samples; results %016llx\n",
	       100.0 * (double)exact / (double)reported, (unsigned long long)reported,
	       (unsigned long long)results_hash(&b->a));
	af_attribution_free(&b->a);
	af_world_close(&b->world);
	free(b);
}

int main(int argc, char **argv)
{
	uint64_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;

	measure_reading(rows);
	if (argc < 3 || !strcmp(argv[2], "known"))
		measure(rows, false);
	if (argc < 3 || !strcmp(argv[2], "late"))
		measure(rows, true);
	return 0;
}
