/*
 * gen_launches DIR LAUNCHES [cuda|sampled]: a trace with so many launches from 500 call paths on 4
 * threads, each with its piece of device work, as a training run makes them: of OpenCL, or of CUDA,
 * where another thread writes works as buffers of 8192 fill, every tenth call is a wait, and a
 * graph of 32 kernels is launched for every 1000 launches. Sampled, launches are 10 us apart
 * instead of 100 ns, and every 50 ms 4000 instructions were found with two stall reasons each. For
 * tests/bench/launches.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "trace/metadata.h"
#include "trace/write/stream.h"

enum { STREAMS = 4, PATHS = 500, KERNELS = 40, DEPTH = 40, BUFFER = 8192, NODES = 32 };
enum { INSNS = 100, REASONS = 16, WINDOW = 5000 };
enum { LAUNCH = 1, WAIT, GRAPH_LAUNCH };

static struct af_stream streams[STREAMS], names, buffers, samples;
static uint64_t step_ns = 100;

static void define_paths(struct af_stream *s, uint64_t now)
{
	for (uint32_t p = 1; p <= PATHS; p++) {
		uint64_t pcs[DEPTH];
		for (uint32_t d = 0; d < DEPTH; d++)
			pcs[DEPTH - 1 - d] = 0x10000 + d * 64 + (p >> (d / 6)) % 64;
		struct af_ev_stack stack = {.stack = p, .epoch = 1};
		struct af_tail tail = {pcs, sizeof pcs, 8};
		af_stream_put_tail(s, AF_KIND_STACK, now, &stack, sizeof stack, &tail, 1);
		af_stream_put(s, callpath, now, p, p, 0);
	}
}

static void define_descriptors(struct af_stream *s, uint64_t now)
{
	for (uint32_t p = 1; p <= PATHS; p++)
		af_stream_put(s, descriptor, now, .descriptor = p, .op = AF_OP_KERNEL, .queue = 1,
		              .kernel = 1 + p % KERNELS, .global_x = p);
}

static void define_names(uint64_t now)
{
	char text[64];

	for (uint32_t i = 0; i < DEPTH * 64; i++) {
		uint32_t frame[3] = {i + 1, 0, 0};
		struct af_ev_string string = {.string = i + 1};
		snprintf(text, sizeof text, "function_%u_of_depth_%u", i % 64, i / 64);
		struct af_tail tail = {text, (uint32_t)strlen(text), 0};
		af_stream_put_tail(&names, AF_KIND_STRING, now, &string, sizeof string, &tail, 1);
		struct af_ev_symbol symbol = {
		    .process = 1, .address = 0x10000 + i, .source = AF_SYMBOL_SYMTAB};
		struct af_tail frames = {frame, sizeof frame, 4};
		af_stream_put_tail(&names, AF_KIND_SYMBOL, now, &symbol, sizeof symbol, &frames, 1);
	}
	for (uint32_t k = 1; k <= KERNELS; k++) {
		struct af_ev_kernel kernel = {.kernel = k};
		snprintf(text, sizeof text, "kernel_%u", k);
		struct af_tail tail = {text, (uint32_t)strlen(text), 0};
		af_stream_put_tail(&streams[0], AF_KIND_KERNEL, 1000, &kernel, sizeof kernel, &tail,
		                   1);
	}
}

static void define_function(uint32_t id, uint32_t category, const char *name)
{
	struct af_ev_function function = {.function = id, .api = AF_API_CUDA, .category = category};
	struct af_tail tail = {name, (uint32_t)strlen(name), 0};

	af_stream_put_tail(&streams[0], AF_KIND_FUNCTION, 1000, &function, sizeof function, &tail,
	                   1);
}

static void define_cuda(void)
{
	define_function(LAUNCH, AF_CATEGORY_LAUNCH, "cuLaunchKernel");
	define_function(WAIT, AF_CATEGORY_SYNC, "cuStreamSynchronize");
	define_function(GRAPH_LAUNCH, AF_CATEGORY_GRAPH_LAUNCH, "cuGraphLaunch");
	for (uint32_t n = 1; n <= NODES; n++) {
		af_stream_put(&streams[0], graph_node, 1000, n, 1, 0, n);
		af_stream_put(&streams[0], graph_node, 1000, NODES + n, 2, n, 0);
	}
}

static void define_samples(void)
{
	char text[64];

	for (uint32_t i = 1; i <= REASONS; i++) {
		struct af_ev_stall stall = {.stall = i, .device = 1};
		snprintf(text, sizeof text, "reason_%u", i);
		struct af_tail tail = {text, (uint32_t)strlen(text), 0};
		af_stream_put_tail(&samples, AF_KIND_STALL, 1000, &stall, sizeof stall, &tail, 1);
	}
	for (uint32_t k = 1; k <= KERNELS; k++) {
		struct af_ev_code code = {.code = k, .crc = 1};
		snprintf(text, sizeof text, "kernel_%u", k);
		struct af_tail tail = {text, (uint32_t)strlen(text), 0};
		af_stream_put_tail(&samples, AF_KIND_CODE, 1000, &code, sizeof code, &tail, 1);
	}
}

/* Work that ran in the last WINDOW launches, written as it ends. */
static void put_samples(uint64_t n)
{
	uint64_t now = 2000 + n * step_ns;
	uint32_t window = (uint32_t)(n / WINDOW);

	for (uint32_t i = 0; i < KERNELS * INSNS; i++) {
		uint32_t counts[] = {1 + i % REASONS, 3, 1 + (i + 5) % REASONS, 1};
		struct af_ev_gpu_sample sample = {
		    .window = window, .code = 1 + i / INSNS, .offset = i % INSNS * 16};
		struct af_tail tail = {counts, sizeof counts, 4};
		af_stream_put_tail(&samples, AF_KIND_GPU_SAMPLE, now, &sample, sizeof sample, &tail,
		                   1);
	}
	af_stream_put(&samples, gpu_window, now, .window = window, .device = 1,
	              .start_ns = now - WINDOW * step_ns, .end_ns = now, .period_cycles = 4096,
	              .samples = 4 * KERNELS * INSNS);
}

static uint32_t path_of(uint64_t n)
{
	return 1 + (uint32_t)(n * 2654435761u >> 12) % PATHS;
}

static void put_opencl(uint64_t n)
{
	struct af_stream *s = &streams[n / 64 % STREAMS];
	uint32_t path = path_of(n);

	af_stream_put(s, launch, 2000 + n * 100, path, n + 1);
	if (n >= 512) /* the device is some way behind */
		af_stream_put(s, work, 2000 + n * 100, path, n - 511, n * 100, 10, 20, 70);
}

static uint32_t cuda_function(uint64_t n)
{
	return n % 1000 == 999 ? GRAPH_LAUNCH : n % 11 == 10 ? WAIT : LAUNCH;
}

static void put_cuda(uint64_t n)
{
	uint64_t now = 2000 + n * step_ns;
	uint32_t first = (uint32_t)n - 2 * BUFFER, busy_ns = (uint32_t)(step_ns * 7 / 10);

	af_stream_put(&streams[n / 64 % STREAMS], call, now, path_of(n), (uint32_t)n,
	              (uint8_t)cuda_function(n), af_u24_make(90));
	if (n % BUFFER || n < 2 * BUFFER)
		return;
	for (uint32_t i = first; i < first + BUFFER; i++) {
		uint32_t function = cuda_function(i);
		if (function == LAUNCH)
			af_stream_put(&buffers, gpu_work, now, path_of(i), i, i * step_ns, busy_ns,
			              0);
		for (uint32_t k = 1; k <= NODES && function == GRAPH_LAUNCH; k++)
			af_stream_put(&buffers, gpu_work, now, k, i, i * step_ns, busy_ns,
			              NODES + k);
	}
}

static int open_streams(int dir)
{
	struct af_stream *all[] = {&streams[0], &streams[1], &streams[2], &streams[3],
	                           &buffers,    &samples,    &names};
	char name[16];

	for (uint32_t i = 0; i < STREAMS + 3; i++) {
		snprintf(name, sizeof name, "s%u", i);
		int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0 || af_stream_open_file(all[i], fd, i + 1, all[i] != &names))
			return -1;
	}
	return 0;
}

/* The device that works; its clock began just before the first launch. */
static void define_device(struct af_stream *s, bool of_cuda)
{
	struct af_ev_device device = {
	    .device = 1, .type = AF_DEVICE_GPU, .api = of_cuda ? AF_API_CUDA : AF_API_OPENCL};
	struct af_tail tails[] = {{"Mock", 4, 0}, {"aflame", 6, 0}, {"1", 1, 0}};

	af_stream_put_tail(s, AF_KIND_DEVICE, 2000, &device, sizeof device, tails, 3);
	af_stream_put(s, queue, 2000, .queue = 1, .device = 1, .context = 1);
	af_stream_put(s, clock, 2000, .clock = AF_CLOCK_DEVICE, .device = 1, .mono_ns = 2000,
	              .foreign = 1, .uncertainty_ns = 10);
}

int main(int argc, char **argv)
{
	uint64_t nr = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	bool sampled = argc > 3 && !strcmp(argv[3], "sampled");
	bool cuda = sampled || (argc > 3 && !strcmp(argv[3], "cuda"));
	struct af_err err = {0};

	if (!nr || (argc > 3 && !cuda) || mkdir(argv[1], 0700)) {
		fprintf(stderr, "gen_launches DIR LAUNCHES [cuda|sampled] (no DIR yet)\n");
		return 2;
	}
	int dir = open(argv[1], O_RDONLY | O_DIRECTORY);
	if (af_metadata_write(dir, 0, 0, NULL, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	if (open_streams(dir)) {
		perror(argv[1]);
		return 1;
	}
	for (uint32_t i = 0; i < STREAMS; i++) {
		define_paths(&streams[i], 1000);
		define_descriptors(&streams[i], 1000);
	}
	define_descriptors(&buffers, 1000);
	if (cuda)
		define_cuda();
	if (sampled) {
		step_ns = 10000;
		define_samples();
	}
	define_names(2000 + nr * step_ns);
	define_device(&streams[0], cuda);
	for (uint64_t n = 0; n < nr; n++) {
		if (cuda)
			put_cuda(n);
		else
			put_opencl(n);
		if (sampled && n && n % WINDOW == 0)
			put_samples(n);
	}
	int rc = af_stream_close(&buffers) | af_stream_close(&names) | af_stream_close(&samples);
	for (uint32_t i = 0; i < STREAMS; i++)
		rc |= af_stream_close(&streams[i]);
	return rc ? 1 : 0;
}
