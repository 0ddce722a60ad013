/*
 * mkcalls DIR [damaged|RANK]: a trace of two processes that call the mock API (tests/mock_api):
 * every form of a value, calls inside of calls, calls that failed, a call that did not return, and
 * calls that were added up where they happened. Its metadata describes all of it; damaged, there
 * are a payload that is cut off, a function that no table has, and calls without the one around
 * them. With a number it is the trace of that rank, on a host of its own.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/tables/metadata.h"
#include "base/err.h"
#include "mock_api.h"
#include "trace/metadata.h"
#include "trace/write/stream.h"

enum { RECORDER, TRAIN, HELPER, SERVE, STREAMS };

static struct af_stream streams[STREAMS];
static struct af_buf b;
static uint64_t now = 1000000000;

/* Write the payload that was built as a call of @kind that ended @ns after the last event. */
static void call(int stream, uint16_t kind, uint64_t ns)
{
	now += ns;
	void *at = af_stream_begin(&streams[stream], (enum af_kind)kind, now, b.len);
	if (!at)
		return;
	memcpy(at, b.data, b.len);
	af_stream_end(&streams[stream]);
}

static void note(uint32_t process, const char *key, const char *value)
{
	struct af_ev_process_note fixed = {process};
	struct af_tail tails[] = {{key, (uint32_t)strlen(key), 0},
	                          {value, (uint32_t)strlen(value), 0}};

	af_stream_put_tail(&streams[RECORDER], AF_KIND_PROCESS_NOTE, now, &fixed, sizeof fixed,
	                   tails, 2);
}

static void trace_note(const char *key, const char *value)
{
	struct af_tail tails[] = {{key, (uint32_t)strlen(key), 0},
	                          {value, (uint32_t)strlen(value), 0}};

	af_stream_put_tail(&streams[RECORDER], AF_KIND_NOTE, now, "", 0, tails, 2);
}

static void thread(int stream, uint32_t process, uint32_t pid, uint32_t tid, const char *name)
{
	struct af_stream *s = &streams[stream];
	struct af_ev_thread fixed = {tid};
	struct af_ev_process is = {.pid = pid};
	struct af_tail tails[] = {{name, (uint32_t)strlen(name), 0},
	                          {name, (uint32_t)strlen(name), 0}};

	s->process = process;
	s->pid = pid;
	af_stream_owner(s, tid);
	af_stream_put_tail(s, AF_KIND_THREAD, now, &fixed, sizeof fixed, tails, 1);
	if (pid == tid)
		af_stream_put_tail(s, AF_KIND_PROCESS, now, &is, sizeof is, tails, 2);
}

static void init(int stream, uint32_t flags, int32_t status, uint64_t ns, uint8_t depth)
{
	mock_head(&b, ns, depth, status ? AF_API_CALL_FAILED : 0);
	mock_put(&b, (uint32_t)status, 4);
	mock_put(&b, flags, 4);
	call(stream, MOCK_INIT, ns + 10);
}

static void alloc(int stream, uint64_t mem, uint64_t size, uint64_t ns)
{
	mock_head(&b, ns, 0, mem ? 0 : AF_API_CALL_FAILED);
	mock_put(&b, mem ? 0 : (uint32_t)MOCK_NO_MEMORY, 4);
	mock_put(&b, 0x7ffc00001000, 8);
	mock_put(&b, size, 8);
	mock_put(&b, mem, 8);
	call(stream, MOCK_ALLOC, ns + 10);
}

static void copy(int stream, uint64_t dst, uint64_t src, uint64_t count, uint64_t ns, uint8_t depth)
{
	mock_head(&b, ns, depth, 0);
	mock_put(&b, 0, 4);
	mock_put(&b, count, 8);
	mock_put(&b, dst, 8);
	mock_put(&b, src, 8);
	mock_put(&b, count, 8);
	call(stream, MOCK_COPY, depth ? 100 : ns + 10);
}

static void wait_for(int stream, uint64_t event, uint64_t ns, uint8_t depth)
{
	mock_head(&b, ns, depth, 0);
	mock_put(&b, 0, 4);
	mock_put(&b, event, 8);
	call(stream, MOCK_WAIT, depth ? 100 : ns + 10);
}

static void launch_payload(uint64_t ns, uint8_t flags, const char *text)
{
	static const uint8_t config[28] = {0xfe, 0xff, 0,   0, 64, 0, 0, 0,    2, 0, 0,    0,
	                                   'a',  'b',  'c', 0, 0,  0, 0, 0x3f, 0, 0, 0x20, 0xc1};

	mock_head(&b, ns, 0, flags);
	mock_put(&b, 0, 4);
	mock_put(&b, 0xc0de, 8);
	for (uint64_t p = 0; p < 4; p++)
		mock_put(&b, 0x7ffc00002000 + p * 64, 8);
	mock_put(&b, 3, 2);
	for (uint64_t n = 1; n <= 3; n++)
		mock_put(&b, 65536 >> n, 8);
	af_buf_add(&b, text, strlen(text) + 1);
	af_buf_add(&b, config, sizeof config);
	mock_put(&b, 0xe1, 8);
}

static void convert(int stream, uint64_t ns)
{
	const float single = 0.1f;
	const double real = -2.5e300;

	mock_head(&b, ns, 0, AF_API_CALL_UNREADABLE);
	mock_put(&b, 3, 4);
	mock_put(&b, 0x7ffc00003000, 8);
	af_buf_add(&b, &single, 4);
	af_buf_add(&b, &real, 8);
	mock_put(&b, 'q', 1);
	for (uint64_t i = 0; i < 16; i++)
		mock_put(&b, i, 1);
	mock_put(&b, 0, 8);
	mock_put(&b, 10, 4);
	mock_put(&b, 20, 4);
	mock_put(&b, 4, 2);
	for (uint64_t i = 1; i <= 4; i++)
		mock_put(&b, i, 8);
	call(stream, MOCK_CONVERT, ns + 10);
}

static void train(void)
{
	thread(TRAIN, 1, 101, 101, "train");
	init(TRAIN, 5, 0, 500, 0);
	init(TRAIN, 0, 7, 300, 0);
	alloc(TRAIN, 0xa100, 4096, 2000);
	alloc(TRAIN, 0, 1ull << 40, 9000);
	copy(TRAIN, 0xa100, 0xa200, 4096, 1000, 0);
	copy(TRAIN, 0xa200, 0xa100, 1 << 20, 8000, 0);
	/* A launch with a copy in it, which waits. The ends come from within. */
	now += 50000;
	wait_for(TRAIN, 0xe0, 20000, 2);
	copy(TRAIN, 0xa100, 0xa100, 16, 30000, 1);
	init(TRAIN, 8, 0, 40, 1);
	launch_payload(45000, 0, "dot \"product\"\n");
	call(TRAIN, MOCK_LAUNCH, 900);
	wait_for(TRAIN, 0xe1, 700, 0);
	convert(TRAIN, 1234);
	mock_head(&b, 70, 0, 0);
	mock_put(&b, 0xf00d, 8);
	call(TRAIN, MOCK_QUEUE, 100);
	mock_head(&b, 80, 0, 0);
	mock_put(&b, 0xa100, 8);
	call(TRAIN, MOCK_FREE, 100);
}

static void damaged(void)
{
	launch_payload(800, AF_API_CALL_TRUNCATED, "cut");
	b.len -= 20;
	call(TRAIN, MOCK_LAUNCH, 900);
	mock_head(&b, 60, 0, 0);
	mock_put(&b, 1, 4);
	call(TRAIN, MOCK_UNUSED, 100);
	mock_head(&b, 60, 0, 0);
	call(TRAIN, MOCK_LAUNCH, 100);
	wait_for(TRAIN, 0xe1, 20, 3);
	wait_for(TRAIN, 0xe1, 200, 1);
}

static void helper(void)
{
	thread(HELPER, 1, 101, 102, "helper");
	alloc(HELPER, 0xa300, 1 << 20, 3000);
	copy(HELPER, 0xa300, 0xa100, 3 << 20, 90000, 0);
}

/* Another process has objects of its own under the same addresses. */
static void serve(void)
{
	struct af_ev_call_sum sum = {201, MOCK_WAIT, 1000, 3, 5000000, 1000, 70000, 0};
	uint32_t times[18] = {[10] = 900, [12] = 90, [16] = 7};
	struct af_tail tails[] = {{times, sizeof times, 4}, {times, 0, 4}};
	struct af_ev_call_open open = {201, MOCK_WAIT, now + 200, 0};
	uint64_t args[] = {0xe5};
	struct af_tail open_tail = {args, sizeof args, 8};
	/* The first parameters of mockConvert(), the last of which has no alignment of its own. */
	struct af_ev_call_open converts = {202, MOCK_CONVERT, now + 300, 0};
	static const struct {
		uint64_t value;
		float single;
		double real;
		char letter;
	} given = {0x7000, 0.5f, 0.25, 'q'};
	struct af_tail given_tail = {&given, sizeof given, 8};

	thread(SERVE, 2, 201, 201, "serve");
	alloc(SERVE, 0xa100, 100, 2500);
	copy(SERVE, 0xa100, 0xa100, 100, 700, 0);
	now += 1000;
	af_stream_put_tail(&streams[SERVE], AF_KIND_CALL_SUM, now, &sum, sizeof sum, tails, 2);
	af_stream_put_tail(&streams[SERVE], AF_KIND_CALL_OPEN, now, &open, sizeof open, &open_tail,
	                   1);
	af_stream_put_tail(&streams[SERVE], AF_KIND_CALL_OPEN, now, &converts, sizeof converts,
	                   &given_tail, 1);
}

int main(int argc, char **argv)
{
	struct af_buf text = {0};
	struct af_err err = {0};
	char name[16], host[64];
	const char *word = argc > 2 ? argv[2] : "";

	if (argc < 2 || argc > 3 || mkdir(argv[1], 0700)) {
		fprintf(stderr, "mkcalls DIR [damaged|RANK] (no DIR yet)\n");
		return 2;
	}
	int dir = open(argv[1], O_RDONLY | O_DIRECTORY);
	for (int i = 0; af_apis[i]; i++)
		af_api_metadata(&text, af_apis[i]);
	if (af_metadata_write(dir, 0, 0, text.data, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	for (uint32_t i = 0; i < STREAMS; i++) {
		snprintf(name, sizeof name, i ? "s%u" : "recorder", i);
		int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0 || af_stream_open_file(&streams[i], fd, i, 0))
			return 1;
	}
	bool is_rank = *word && strcmp(word, "damaged") != 0;
	snprintf(host, sizeof host, "node%s, Linux 6.1, 8 CPUs", is_rank ? word : "7");
	trace_note("host", host);
	if (is_rank)
		trace_note("rank", word);
	note(1, "rank", is_rank ? word : "0");
	note(2, "rank", is_rank ? word : "1");
	train();
	if (!strcmp(word, "damaged"))
		damaged();
	helper();
	serve();
	int rc = 0;
	for (uint32_t i = 0; i < STREAMS; i++)
		rc |= af_stream_close(&streams[i]);
	af_buf_free(&b);
	af_buf_free(&text);
	return rc ? 1 : 0;
}
