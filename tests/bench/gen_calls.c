/*
 * gen_calls DIR CALLS: a trace of so many calls of the mock API (tests/mock_api) by 4 threads, as
 * runtimes make them: small queries and waits mostly, one launch in 16, with copies in every fourth
 * of those. For tests/bench/calls_read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "api/tables/metadata.h"
#include "base/err.h"
#include "mock_api.h"
#include "trace/metadata.h"
#include "trace/write/stream.h"

enum { STREAMS = 4 };

static struct af_stream streams[STREAMS];

/* The payloads that there are, in the order of a round of 16 calls. */
struct made {
	uint16_t kind;
	struct af_buf b;
};

static struct made wait_made = {MOCK_WAIT}, copy_made = {MOCK_COPY}, launch_made = {MOCK_LAUNCH},
		   init_made = {MOCK_INIT};

static void make(void)
{
	mock_head(&wait_made.b, 300, 0, 0);
	mock_put(&wait_made.b, 0, 4);
	mock_put(&wait_made.b, 0xe1, 8);
	mock_head(&copy_made.b, 400, 1, 0);
	mock_put(&copy_made.b, 0, 4);
	for (int i = 0; i < 4; i++)
		mock_put(&copy_made.b, 4096, 8);
	mock_head(&init_made.b, 50, 0, 0);
	mock_put(&init_made.b, 0, 4);
	mock_put(&init_made.b, 5, 4);
	mock_head(&launch_made.b, 900, 0, 0);
	mock_put(&launch_made.b, 0, 4);
	for (uint64_t i = 0; i < 5; i++)
		mock_put(&launch_made.b, 0x7ffc00002000 + i * 64, 8);
	mock_put(&launch_made.b, 3, 2);
	for (uint64_t i = 1; i <= 3; i++)
		mock_put(&launch_made.b, 65536 >> i, 8);
	af_buf_add(&launch_made.b, "saxpy", 6);
	for (int i = 0; i < 28; i++)
		mock_put(&launch_made.b, 0, 1);
	mock_put(&launch_made.b, 0xe1, 8);
}

static void put(uint64_t n, uint64_t ns)
{
	struct made *is = n % 16 == 15   ? &launch_made
	                  : n % 64 == 14 ? &copy_made
	                  : n % 2        ? &init_made
	                                 : &wait_made;
	struct af_stream *s = &streams[n / 64 % STREAMS];
	void *at = af_stream_begin(s, (enum af_kind)is->kind, 2000 + n * 1000, is->b.len);
	uint64_t took = ns + n % 97;

	if (!at)
		return;
	memcpy(at, is->b.data, is->b.len);
	memcpy((char *)at + offsetof(struct af_api_head, duration_ns), &took, 6);
	af_stream_end(s);
}

int main(int argc, char **argv)
{
	uint64_t nr = argc == 3 ? strtoull(argv[2], NULL, 0) : 0;
	struct af_err err = {0};
	struct af_buf text = {0};
	char name[16];

	if (!nr || mkdir(argv[1], 0700)) {
		fprintf(stderr, "gen_calls DIR CALLS (no DIR yet)\n");
		return 2;
	}
	int dir = open(argv[1], O_RDONLY | O_DIRECTORY);
	af_api_metadata(&text, af_apis[0]);
	if (af_metadata_write(dir, 0, 0, text.data, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	for (uint32_t i = 0; i < STREAMS; i++) {
		snprintf(name, sizeof name, "s%u", i);
		int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0 || af_stream_open_file(&streams[i], fd, i + 1, 1))
			return 1;
		streams[i].pid = 100;
		af_stream_owner(&streams[i], 100 + i);
		struct af_ev_thread thread = {100 + i};
		af_stream_put_tail(&streams[i], AF_KIND_THREAD, 1000, &thread, sizeof thread,
		                   &(struct af_tail){"worker", 6, 0}, 1);
	}
	make();
	for (uint64_t n = 0; n < nr; n++)
		put(n, 100);
	int rc = 0;
	for (uint32_t i = 0; i < STREAMS; i++)
		rc |= af_stream_close(&streams[i]);
	return rc ? 1 : 0;
}
