/*
 * trace_speed write DIR EVENTS STREAMS	makes a trace: time of one event, to a ring and to a file
 * trace_speed read DIR			time of one event: walked, merged, merged and decoded
 *
 * CPU time of this process. Best of some runs: other work on the machine can only add.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/fs.h"
#include "trace/read/reader.h"
#include "trace/write/stream.h"

enum { RUNS = 5 };

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void row(const char *what, uint64_t events, uint64_t ns)
{
	printf("%-34s %8.1f ns an event %10.1f M events/s\n", what, (double)ns / (double)events,
	       (double)events * 1e3 / (double)ns);
}

/* The events of a launch: the smallest and the most frequent events. */
static void put_pair(struct af_stream *s, uint64_t n, uint64_t time_ns)
{
	af_stream_put(s, launch, time_ns, 7, n);
	af_stream_put(s, work, time_ns + 20, 3, n, time_ns, 400, 900, 21000);
}

/* A ring that somebody drains as fast as it fills: full slots are free at once. */
static void ring_free_slots(const struct af_stream *s)
{
	for (uint32_t i = 0; i < AF_RING_SLOTS; i++)
		if (atomic_load(&s->ring->state[i]) == AF_SLOT_FULL)
			atomic_store(&s->ring->state[i], AF_SLOT_FREE);
	atomic_fetch_add(&s->ring->nr_freed, 1);
}

static uint64_t bench_ring(uint64_t pairs, bool clock)
{
	uint64_t best = UINT64_MAX;

	for (int run = 0; run < RUNS; run++) {
		char path[64];
		struct af_stream s;
		snprintf(path, sizeof path, "/dev/shm/aflame-bench-%d", (int)getpid());
		if (af_stream_open_ring(&s, path, 1, 1, 1, 1))
			exit(1);
		unlink(path);
		uint64_t start = cpu_ns();
		for (uint64_t n = 0; n < pairs; n++) {
			put_pair(&s, n, clock ? af_now_ns() : n * 40);
			if (n % 512 == 0)
				ring_free_slots(&s);
		}
		uint64_t ns = cpu_ns() - start;
		if (s.discarded)
			exit(1);
		af_stream_close(&s);
		best = ns < best ? ns : best;
	}
	return best;
}

static void bench_write(const char *dir, uint64_t events, unsigned nr_streams)
{
	struct af_err err = {0};
	uint64_t pairs = events / 2;

	mkdir(dir, 0700);
	int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	if (dirfd < 0 || af_metadata_write(dirfd, 0, 1700000000000000000ull, NULL, &err))
		exit(1);
	row("write: ring", events, bench_ring(pairs, false));
	row("write: ring, clock read per pair", events, bench_ring(pairs, true));

	uint64_t start = cpu_ns();
	for (unsigned k = 0; k < nr_streams; k++) {
		char name[16];
		struct af_stream s;
		snprintf(name, sizeof name, "s%u", k);
		if (af_stream_open_file(&s, af_create_private(dirfd, name), k + 1, 1))
			exit(1);
		for (uint64_t n = 0; n < pairs / nr_streams; n++)
			put_pair(&s, n, 1000000000 + n * 40 * nr_streams + k * 40);
		if (af_stream_close(&s))
			exit(1);
	}
	row("write: file", events, cpu_ns() - start);
}

static uint64_t read_once(const char *dir, uint64_t wanted, bool decode, uint64_t *events)
{
	struct af_err err = {0};
	struct af_trace *t;
	struct af_event ev;
	uint64_t sum = 0, n = 0, start = cpu_ns();

	if (af_trace_open(&t, dir, wanted, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
	for (; af_trace_next(t, &ev); n++) {
		struct af_ev_work work;
		if (decode && af_event_decode(&ev, &work, sizeof work, NULL))
			sum += work.busy_ns;
		sum += ev.time_ns;
	}
	af_trace_close(t);
	uint64_t ns = cpu_ns() - start;
	/* The sum must not be thought away. */
	__asm__ volatile("" : : "r"(sum));
	*events = n;
	return ns;
}

static void bench_read(const char *dir)
{
	static const struct {
		const char *what;
		uint64_t wanted;
		bool decode;
	} ways[] = {
	    {"read: merge", 0, false},
	    {"read: merge and decode", 0, true},
	    {"read: merge, half the kinds wanted", 1ull << AF_KIND_WORK, false},
	};

	uint64_t all = 0;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		uint64_t best = UINT64_MAX, events;
		for (int run = 0; run < RUNS; run++) {
			uint64_t ns = read_once(dir, ways[i].wanted, ways[i].decode, &events);
			best = ns < best ? ns : best;
		}
		all = all ? all : events;
		row(ways[i].what, all, best);
	}
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "write")) {
		bench_write(argv[2], strtoull(argv[3], NULL, 0),
		            (unsigned)strtoul(argv[4], NULL, 0));
	} else if (argc == 3 && !strcmp(argv[1], "read")) {
		bench_read(argv[2]);
	} else {
		fprintf(stderr, "usage: trace_speed write DIR EVENTS STREAMS | read DIR\n");
		return 2;
	}
	return 0;
}
