/*
 * Data of a file that gives way and goes into the next: definitions, and counts of the rest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "collect/disk/checkpoint.h"
#include "trace/write/stream.h"

static char dir[64];
static int dir_fd_memory;

static int make_dir(void **state)
{
	strcpy(dir, "/tmp/aflame-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	dir_fd_memory = open(dir, O_RDONLY | O_DIRECTORY);
	*state = &dir_fd_memory;
	return dir_fd_memory < 0;
}

static int remove_dir(void **state)
{
	(void)state;
	close(dir_fd_memory);
	af_remove_tree(dir);
	return 0;
}

static void put_stack(struct af_stream *s, uint32_t id, uint64_t pc)
{
	struct af_ev_stack ev = {.stack = id};
	struct af_tail tail = {&pc, 8, 8};

	assert_true(af_stream_put_tail(s, AF_KIND_STACK, pc, &ev, sizeof ev, &tail, 1));
}

static void file_open(int dir_fd, struct af_stream *s)
{
	assert_int_equal(af_stream_open_file(s, openat(dir_fd, "f", O_RDWR | O_CREAT, 0600), 7, 1),
	                 0);
}

static unsigned count_kind(const struct af_checkpoint *c, uint16_t kind)
{
	unsigned nr = 0;
	struct af_event_header h;

	for (size_t at = 0; at < c->len; at += h.size) {
		memcpy(&h, c->data + at, sizeof h);
		nr += h.kind == kind;
	}
	return nr;
}

static void the_last_definition_is_carried_and_events_are_counted(void **state)
{
	int dir_fd = *(int *)*state;
	struct af_stream s;
	struct af_checkpoint c;

	file_open(dir_fd, &s);
	put_stack(&s, 1, 100);
	af_stream_put(&s, callpath, 101, 1, 1, 0);
	for (int i = 0; i < 3; i++)
		af_stream_put(&s, sample, 102, 1, 0, 10);
	af_stream_flush(&s);
	af_stream_put(&s, lost, 103, AF_LOST_BUSY, 5);
	put_stack(&s, 1, 200);
	assert_int_equal(af_stream_close(&s), 0);

	assert_int_equal(af_checkpoint_read(&c, dir_fd, "f"), 0);
	assert_int_equal(c.events, 3);
	assert_int_equal(c.lost[AF_LOST_BUSY], 5);
	assert_int_equal(c.last.seq, 1);
	assert_int_equal(count_kind(&c, AF_KIND_STACK), 1);
	assert_int_equal(count_kind(&c, AF_KIND_CALLPATH), 1);
	assert_int_equal(count_kind(&c, AF_KIND_SAMPLE), 0);
	assert_int_equal(c.first_ns, 101); /* the first STACK was replaced */
	af_checkpoint_free(&c);
}

static void ids_that_begin_anew_end_those_before(void **state)
{
	int dir_fd = *(int *)*state;
	struct af_stream s;
	struct af_checkpoint c;

	file_open(dir_fd, &s);
	for (uint32_t id = 1; id <= 9; id++)
		put_stack(&s, id, 100 + id);
	af_stream_put(&s, callpath, 110, 1, 9, 0);
	put_stack(&s, 1, 200);
	put_stack(&s, 2, 201);
	assert_int_equal(af_stream_close(&s), 0);

	assert_int_equal(af_checkpoint_read(&c, dir_fd, "f"), 0);
	assert_int_equal(count_kind(&c, AF_KIND_STACK), 2);
	assert_int_equal(count_kind(&c, AF_KIND_CALLPATH), 1); /* none of its own kind came */
	af_checkpoint_free(&c);
}

/* As the drain writes: @packet behind what the stream's file holds. */
/* The id in the first field of the @index-th definition of @kind, and its second field. */
static uint32_t carried(const struct af_checkpoint *c, uint16_t kind, unsigned index,
                        uint32_t *second)
{
	struct af_event_header h;
	uint32_t fields[2] = {0};

	for (size_t at = 0; at < c->len; at += h.size) {
		memcpy(&h, c->data + at, sizeof h);
		if (h.kind != kind || index--)
			continue;
		memcpy(fields, c->data + at + sizeof h, sizeof fields);
		break;
	}
	*second = fields[1];
	return fields[0];
}

static void a_graph_keeps_the_stack_of_its_capture_when_ids_begin_anew(void **state)
{
	int dir_fd = *(int *)*state;
	struct af_stream s;
	struct af_checkpoint c;
	uint32_t second;

	file_open(dir_fd, &s);
	put_stack(&s, 1, 100);
	put_stack(&s, 2, 101);
	af_stream_put(&s, callpath, 102, 1, 1, 0);
	af_stream_put(&s, callpath, 102, 2, 2, 0);
	af_stream_put(&s, graph_node, 103, 1, 1, 0, 2);
	put_stack(&s, 1, 200); /* anew */
	af_stream_put(&s, callpath, 201, 1, 1, 0);
	put_stack(&s, 2, 202);
	af_stream_put(&s, callpath, 203, 2, 2, 0);
	af_stream_put(&s, graph_node, 204, 2, 1, 1, 0);
	assert_int_equal(af_stream_close(&s), 0);

	assert_int_equal(af_checkpoint_read(&c, dir_fd, "f"), 0);
	assert_int_equal(count_kind(&c, AF_KIND_GRAPH_NODE), 2);
	assert_int_equal(count_kind(&c, AF_KIND_CALLPATH), 3);
	assert_int_equal(count_kind(&c, AF_KIND_STACK), 3);
	assert_int_equal(c.first_ns,
	                 101); /* stack 1 of before is not needed, 2 is, and comes first */
	assert_int_equal(carried(&c, AF_KIND_CALLPATH, 0, &second), 2);
	assert_int_equal(second, 2);
	assert_int_equal(carried(&c, AF_KIND_CALLPATH, 1, &second), 1);
	af_checkpoint_free(&c);
}

static void functions_and_launch_configurations_are_carried(void **state)
{
	int dir_fd = *(int *)*state;
	struct af_stream s;
	struct af_checkpoint c;
	struct af_ev_function function = {7, AF_API_CUDA, AF_CATEGORY_LAUNCH};
	struct af_tail name = {"cuLaunchKernel", 14, 0};

	file_open(dir_fd, &s);
	af_stream_put_tail(&s, AF_KIND_FUNCTION, 100, &function, sizeof function, &name, 1);
	af_stream_put(&s, launch_config, 101, .descriptor = 3, .registers = 32);
	af_stream_put(&s, call, 102, .correlation = 1, .function = 7);
	assert_int_equal(af_stream_close(&s), 0);

	assert_int_equal(af_checkpoint_read(&c, dir_fd, "f"), 0);
	assert_int_equal(c.events, 1);
	assert_int_equal(count_kind(&c, AF_KIND_FUNCTION), 1);
	assert_int_equal(count_kind(&c, AF_KIND_LAUNCH_CONFIG), 1);
	af_checkpoint_free(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(the_last_definition_is_carried_and_events_are_counted),
	    TEST(ids_that_begin_anew_end_those_before),
	    TEST(a_graph_keeps_the_stack_of_its_capture_when_ids_begin_anew),
	    TEST(functions_and_launch_configurations_are_carried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
