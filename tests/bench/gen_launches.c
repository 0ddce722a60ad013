/*
 * gen_launches DIR LAUNCHES: a trace with so many launches from 500 call paths on 4 threads, each
 * with its piece of device work, as a training run makes them. For tests/bench/launches.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "trace/metadata.h"
#include "trace/stream.h"

enum { STREAMS = 4, PATHS = 500, KERNELS = 40, DEPTH = 40 };

static struct af_stream streams[STREAMS], names;

static void define_paths(struct af_stream *s, uint64_t now)
{
	for (uint32_t p = 1; p <= PATHS; p++) {
		uint64_t pcs[DEPTH];
		for (uint32_t d = 0; d < DEPTH; d++)
			pcs[DEPTH - 1 - d] = 0x10000 + d * 64 + (p >> (d / 6)) % 64;
		struct af_ev_stack stack = {.stack = p, .generation = 1};
		struct af_tail tail = {pcs, sizeof pcs, 8};
		af_stream_put_tail(s, AF_KIND_STACK, now, &stack, sizeof stack, &tail, 1);
		af_stream_put(s, callpath, now, p, p, 0);
		af_stream_put(s, shape, now, .shape = p, .op = AF_OP_KERNEL, .queue = 1,
		              .kernel = 1 + p % KERNELS, .global_x = p);
	}
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

int main(int argc, char **argv)
{
	uint64_t nr = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	struct af_err err = {0};
	char name[16];

	if (!nr || mkdir(argv[1], 0700)) {
		fprintf(stderr, "gen_launches DIR LAUNCHES (DIR must not exist)\n");
		return 2;
	}
	int dir = open(argv[1], O_RDONLY | O_DIRECTORY);
	if (af_metadata_write(dir, 0, 0, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	for (uint32_t i = 0; i <= STREAMS; i++) {
		snprintf(name, sizeof name, "s%u", i);
		int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		af_stream_open_file(i < STREAMS ? &streams[i] : &names, fd, i + 1, i < STREAMS);
		if (i < STREAMS)
			define_paths(&streams[i], 1000);
	}
	define_names(2000 + nr * 100);
	for (uint64_t n = 0; n < nr; n++) {
		struct af_stream *s = &streams[n / 64 % STREAMS];
		uint32_t path = 1 + (uint32_t)(n * 2654435761u >> 12) % PATHS;
		af_stream_put(s, launch, 2000 + n * 100, path, n + 1);
		if (n >= 512) /* the device is some way behind */
			af_stream_put(s, work, 2000 + n * 100, path, n - 511, n * 100, 10, 20, 70);
	}
	int rc = 0;
	for (uint32_t i = 0; i < STREAMS; i++)
		rc |= af_stream_close(&streams[i]);
	return rc | af_stream_close(&names) ? 1 : 0;
}
