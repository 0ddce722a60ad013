/*
 * Data of another profiler as a trace: waits and calls by the stacks that they were in, memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/fs.h"
#include "exchange/builder/builder.h"
#include "trace/read/reader.h"

enum { IDS_MAX = 64 };

struct rig {
	char dir[64];
	struct af_builder builder;
	uint32_t process, thread;
	struct af_trace *trace;
	char strings[IDS_MAX][32];   /* by id */
	uint32_t names[IDS_MAX];     /* by frame: address / 16 → string */
	uint64_t stacks[IDS_MAX][8]; /* by id: addresses, leaf first; 0 ends */
};

static int make_rig(void **state)
{
	struct rig *r = calloc(1, sizeof *r);

	*state = r;
	strcpy(r->dir, "/tmp/aflame-test-XXXXXX");
	if (!mkdtemp(r->dir))
		return -1;
	af_builder_open(&r->builder);
	r->process = af_builder_process(&r->builder, 1, 100);
	r->thread = af_builder_thread(&r->builder, r->process, 101);
	return 0;
}

static int remove_rig(void **state)
{
	struct rig *r = *state;

	af_trace_close(r->trace);
	af_builder_close(&r->builder);
	af_remove_tree(r->dir);
	free(r);
	return 0;
}

static uint32_t name(struct rig *r, const char *text)
{
	return af_builder_name(&r->builder, text, strlen(text));
}

static void slice(struct rig *r, enum af_builder_slice_kind kind, uint64_t start_ns,
                  uint64_t busy_ns, const char *text, uint32_t external)
{
	struct af_builder_slice s = {.start_ns = start_ns,
	                             .busy_ns = busy_ns,
	                             .name = name(r, text),
	                             .thread = r->thread,
	                             .external = external};

	if (kind == AF_BUILDER_BACK)
		s.correlation = UINT32_MAX;
	af_builder_slice(&r->builder, kind, &s);
}

static void written(struct rig *r)
{
	struct af_err err = {0};
	int dir = open(r->dir, O_RDONLY | O_DIRECTORY);

	assert_int_equal(af_builder_write(&r->builder, dir, &err), 0);
	close(dir);
	assert_int_equal(af_trace_open(&r->trace, r->dir, 0, &err), 0);
}

static void learn(struct rig *r, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_string string;
	struct af_ev_symbol symbol;
	struct af_ev_stack stack;

	if (ev->kind == AF_KIND_STRING) {
		assert_true(af_event_decode(ev, &string, sizeof string, tails));
		assert_in_range(string.string, 1, IDS_MAX - 1);
		snprintf(r->strings[string.string], sizeof *r->strings, "%.*s", (int)tails[0].len,
		         (const char *)tails[0].data);
	} else if (ev->kind == AF_KIND_SYMBOL) {
		assert_true(af_event_decode(ev, &symbol, sizeof symbol, tails));
		assert_in_range(symbol.address / 16, 0, IDS_MAX - 1);
		memcpy(&r->names[symbol.address / 16], tails[0].data, 4);
	} else if (ev->kind == AF_KIND_STACK) {
		assert_true(af_event_decode(ev, &stack, sizeof stack, tails));
		assert_in_range(stack.stack, 1, IDS_MAX - 1);
		assert_in_range(tails[0].len, 1, 7);
		memset(r->stacks[stack.stack], 0, sizeof *r->stacks);
		memcpy(r->stacks[stack.stack], tails[0].data, tails[0].len * 8);
	}
}

/* The next event of @kind; what comes before is known then. */
static bool next(struct rig *r, enum af_kind kind, struct af_event *ev)
{
	while (af_trace_next(r->trace, ev)) {
		learn(r, ev);
		if (ev->kind == kind)
			return true;
	}
	return false;
}

/* From the leaf. */
static const char *stack_text(const struct rig *r, uint32_t stack, char text[256])
{
	size_t len = 0;

	*text = 0;
	for (int i = 0; i < 8 && r->stacks[stack][i]; i++)
		len += (size_t)snprintf(text + len, 256 - len, "%s%s", i ? "<" : "",
		                        r->strings[r->names[r->stacks[stack][i] / 16]]);
	return text;
}

static void off(struct rig *r, uint64_t back_ns, uint64_t blocked_ns, const char *stack)
{
	struct af_ev_offcpu o;
	struct af_event ev;
	char text[256];

	assert_true(next(r, AF_KIND_OFFCPU, &ev));
	assert_true(af_event_decode(&ev, &o, sizeof o, NULL));
	assert_int_equal(ev.time_ns, back_ns);
	assert_int_equal(ev.tid, 101);
	assert_int_equal(o.blocked_ns, blocked_ns);
	assert_int_equal(o.queued_ns, 0);
	assert_int_equal(o.state, UINT32_MAX);
	assert_string_equal(stack_text(r, o.callpath, text), stack);
}

static void test_waits_are_in_what_is_open(void **state)
{
	struct rig *r = *state;
	uint32_t main_ = af_builder_node(&r->builder, 0, name(r, "main"), AF_BUILDER_NATIVE);

	slice(r, AF_BUILDER_CALL, 1000, 1000, "cudaMalloc", main_);
	slice(r, AF_BUILDER_LIBRARY, 1200, 300, "ioctl", 0);
	slice(r, AF_BUILDER_BACK, 1400, 150, "", 0);
	slice(r, AF_BUILDER_BACK, 1600, 50, "", 0);
	slice(r, AF_BUILDER_LIBRARY, 3000, 500, "poll", main_);
	slice(r, AF_BUILDER_BACK, 3400, 300, "", 0);
	slice(r, AF_BUILDER_BACK, 4000, 100, "", 0);
	written(r);
	off(r, 1400, 150, "ioctl<cudaMalloc<main");
	off(r, 1600, 50, "cudaMalloc<main");
	off(r, 3400, 300, "poll<main");
	off(r, 4000, 100, "");
}

/* A wait whose beginning is before the call's, by another clock, leaves the call as it is. */
static void test_waits_cut_nothing(void **state)
{
	struct rig *r = *state;
	struct af_ev_call call;
	struct af_event ev;

	slice(r, AF_BUILDER_CALL, 1000, 1000, "cudaFree", 0);
	slice(r, AF_BUILDER_BACK, 1500, 700, "", 0);
	slice(r, AF_BUILDER_BACK, 2000, 10, "", 0);
	written(r);
	off(r, 1500, 700, "cudaFree");
	/* At one moment, open slices have ended. */
	assert_true(next(r, AF_KIND_CALL, &ev));
	assert_true(af_event_decode(&ev, &call, sizeof call, NULL));
	assert_int_equal(ev.time_ns, 2000);
	assert_int_equal(af_u24_value(call.duration_ns), 1000);
	off(r, 2000, 10, "");
	assert_int_equal(r->builder.unused[AF_BUILDER_OVERLAPS_UNUSED], 0);
}

/* The first thing there is began when the thread left the CPU. */
static void test_waits_begin_the_trace(void **state)
{
	struct rig *r = *state;
	struct af_event ev;

	slice(r, AF_BUILDER_BACK, 900, 800, "", 0);
	written(r);
	assert_true(af_trace_next(r->trace, &ev));
	assert_int_equal(ev.time_ns, 100);
	off(r, 900, 800, "");
}

static void memory(struct rig *r, uint64_t time_ns, uint8_t category, uint8_t kind, uint64_t bytes)
{
	af_builder_memory(&r->builder, &(struct af_builder_memory){.time_ns = time_ns,
	                                                           .address = 0x7000,
	                                                           .bytes = bytes,
	                                                           .process = r->process,
	                                                           .device = 3,
	                                                           .correlation = 5,
	                                                           .category = category,
	                                                           .memory = kind});
}

static void memory_is(struct rig *r, uint32_t category, uint32_t device, uint64_t bytes)
{
	struct af_ev_memory m;
	struct af_event ev;

	assert_true(next(r, AF_KIND_MEMORY, &ev));
	assert_true(af_event_decode(&ev, &m, sizeof m, NULL));
	assert_int_equal(m.category, category);
	assert_int_equal(m.device, device);
	assert_int_equal(m.bytes, bytes);
	assert_int_equal(m.address, 0x7000);
	assert_int_equal(m.correlation, 5);
}

static void device_note_is(struct rig *r, uint32_t device, const char *key, const char *value)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_device_note n;
	struct af_event ev;

	assert_true(next(r, AF_KIND_DEVICE_NOTE, &ev));
	assert_true(af_event_decode(&ev, &n, sizeof n, tails));
	assert_int_equal(n.device, device);
	assert_string_equal((const char *)tails[0].data, key);
	assert_string_equal((const char *)tails[1].data, value);
}

/* Freed and handed out again at one moment; the host's is of no device. Devices are defined. */
static void test_memory_by_time(void **state)
{
	struct rig *r = *state;
	struct af_ev_device device;
	struct af_event ev;

	memory(r, 500, AF_CATEGORY_ALLOC, AF_MEMORY_PINNED, 64);
	memory(r, 300, AF_CATEGORY_ALLOC, AF_MEMORY_DEVICE, 32);
	memory(r, 300, AF_CATEGORY_FREE, AF_MEMORY_DEVICE, 16);
	memory(r, 200, AF_CATEGORY_ALLOC, AF_MEMORY_DEVICE, 16);
	assert_int_equal(af_builder_nr(&r->builder), 4);
	af_builder_device_note(&r->builder, 1, 3, "uuid", "GPU-1");
	af_builder_device_note(&r->builder, 1, 2, "uuid", "GPU-0");
	written(r);
	assert_true(next(r, AF_KIND_DEVICE, &ev));
	assert_true(af_event_decode(&ev, &device, sizeof device, NULL));
	assert_int_equal(device.device, 4);
	device_note_is(r, 4, "uuid", "GPU-1");
	memory_is(r, AF_CATEGORY_ALLOC, 4, 16);
	memory_is(r, AF_CATEGORY_FREE, 4, 0);
	memory_is(r, AF_CATEGORY_ALLOC, 4, 32);
	memory_is(r, AF_CATEGORY_ALLOC, 0, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_waits_are_in_what_is_open, make_rig, remove_rig),
	    cmocka_unit_test_setup_teardown(test_waits_cut_nothing, make_rig, remove_rig),
	    cmocka_unit_test_setup_teardown(test_waits_begin_the_trace, make_rig, remove_rig),
	    cmocka_unit_test_setup_teardown(test_memory_by_time, make_rig, remove_rig),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
