/* The recorder copies JIT code of a process: here of the test itself. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/scope.h"
#include "base/system/clock.h"
#include "base/system/fs.h"
#include "collect/jit/watch.h"
#include "emulated.h"
#include "trace/metadata.h"
#include "trace/read/reader.h"
#include "trace/write/stream.h"

enum { PROCESS = 7 };

/* GDB's JIT interface, whose names are fixed. */
struct jit_code_entry {
	struct jit_code_entry *next_entry, *prev_entry;
	const char *symfile_addr;
	uint64_t symfile_size;
};

extern struct jit_descriptor {
	uint32_t version, action_flag;
	struct jit_code_entry *relevant_entry, *first_entry;
} __jit_debug_descriptor;
struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};

static struct {
	char dir[64], map[64];
	int dir_fd;
	struct af_stream stream;
	struct af_jit_watch watch;
	struct af_buf text;    /* of all PERF_MAP */
	struct af_buf objects; /* "there" or "gone" of all JIT_IMAGE, a line each */
} t;

static int begin(void **state)
{
	strcpy(t.dir, "/tmp/aflame-test-XXXXXX");
	if (!mkdtemp(t.dir))
		return -1;
	t.dir_fd = open(t.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(t.map, sizeof t.map, "/tmp/perf-%d.map", (int)getpid());
	unlink(t.map);
	__jit_debug_descriptor.first_entry = __jit_debug_descriptor.relevant_entry = NULL;
	return af_metadata_write(t.dir_fd, 0, 0, NULL, NULL) ||
	       af_stream_open_file(&t.stream, af_create_private(t.dir_fd, "recorder"), 1, 0);
}

static int end(void **state)
{
	unlink(t.map);
	af_jit_watch_close(&t.watch);
	af_buf_free(&t.text);
	af_buf_free(&t.objects);
	close(t.dir_fd);
	return af_remove_tree(t.dir);
}

static void poll_once(void)
{
	const struct af_jit_trace trace = {&t.stream, t.dir_fd};
	const struct af_jit_process p = {PROCESS, getpid(), (uint32_t)getpid(), 0};

	usleep(2000); /* a list rests between two walks, 0.1 ms for each entry */
	af_jit_watch_poll(&t.watch, &trace, &p, af_clock_ns(CLOCK_MONOTONIC));
}

static void say(const char *text, int flags)
{
	scope_close int fd = open(t.map, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Reads the copies back. */
static void see(void)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_jit_image image;
	struct af_ev_perf_map map;
	struct af_trace *trace;
	struct af_event ev;

	assert_int_equal(af_stream_close(&t.stream), 0);
	assert_int_equal(af_trace_open(&trace, t.dir,
	                               1ull << AF_KIND_PERF_MAP | 1ull << AF_KIND_JIT_IMAGE, NULL),
	                 0);
	while (af_trace_next(trace, &ev)) {
		if (ev.kind == AF_KIND_PERF_MAP) {
			assert_true(af_event_decode(&ev, &map, sizeof map, tails));
			assert_int_equal(map.process, PROCESS);
			af_buf_fmt(&t.text, "%.*s", (int)tails[0].len, (const char *)tails[0].data);
		} else {
			assert_true(af_event_decode(&ev, &image, sizeof image, tails));
			assert_int_equal(image.process, PROCESS);
			af_buf_fmt(&t.objects, "%s\n",
			           *(const char *)tails[0].data ? "there" : "gone");
		}
	}
	af_trace_close(trace);
}

static void whole_lines_are_copied_once(void **state)
{
	poll_once(); /* there is no map yet */
	say("1000 10 one\n2000 1", O_APPEND);
	poll_once();
	poll_once();
	say("0 two\n", O_APPEND);
	poll_once();
	poll_once();
	see();
	assert_string_equal(t.text.data, "1000 10 one\n2000 10 two\n");
}

static void a_map_written_anew_is_copied_again(void **state)
{
	say("1000 10 one\n", 0);
	poll_once();
	say("1000 10 two\n", O_TRUNC);
	poll_once();
	/* Another file under the name. */
	assert_int_equal(unlink(t.map), 0);
	say("1000 10 six\n", 0);
	poll_once();
	see();
	assert_string_equal(t.text.data, "1000 10 one\n1000 10 two\n1000 10 six\n");
}

static void the_last_lines_are_copied_at_the_end(void **state)
{
	const struct af_jit_trace trace = {&t.stream, t.dir_fd};

	say("1000 10 one\n", 0);
	poll_once();
	say("2000 10 two\n", O_APPEND);
	assert_int_equal(unlink(t.map), 0); /* the file stays open */
	af_jit_watch_end(&t.watch, &trace, PROCESS, af_clock_ns(CLOCK_MONOTONIC));
	see();
	assert_string_equal(t.text.data, "1000 10 one\n2000 10 two\n");
}

/* A reader must not wait for what is no file, and believes no other user. */
static void maps_of_others_and_what_is_no_file_are_left_alone(void **state)
{
	assert_int_equal(mkfifo(t.map, 0600), 0);
	poll_once();
	assert_int_equal(unlink(t.map), 0);
	if (!geteuid()) {
		say("1000 10 foreign\n", 0);
		assert_int_equal(chown(t.map, 65534, 65534), 0);
		poll_once();
	}
	see();
	assert_null(t.text.data);
}

static void files_in_gdbs_list_are_kept_while_they_are_there(void **state)
{
	SKIP_EMULATED("/proc/PID/exe is the emulator");
	static char bytes[] = "not even an ELF file";
	struct jit_code_entry two = {NULL, NULL, bytes, sizeof bytes};
	struct jit_code_entry one = {&two, NULL, bytes, sizeof bytes};

	__jit_debug_descriptor.first_entry = __jit_debug_descriptor.relevant_entry = &two;
	poll_once();
	__jit_debug_descriptor.first_entry = __jit_debug_descriptor.relevant_entry = &one;
	poll_once();
	bytes[0] = 'N'; /* another file at the same place */
	poll_once();
	__jit_debug_descriptor.first_entry = NULL;
	poll_once();
	see();
	assert_string_equal(t.objects.data, "there\nthere\nthere\ngone\ngone\n");
}

static void a_hostile_list_ends(void **state)
{
	SKIP_EMULATED("/proc/PID/exe is the emulator");
	static char bytes[] = "x";
	struct jit_code_entry ring = {.symfile_addr = bytes, .symfile_size = sizeof bytes};
	struct jit_code_entry wild = {
	    .next_entry = (void *)8, .symfile_addr = (void *)-4096, .symfile_size = UINT64_MAX};

	ring.next_entry = &ring;
	__jit_debug_descriptor.first_entry = &ring;
	poll_once();
	__jit_debug_descriptor.first_entry = &wild;
	poll_once();
	see();
	assert_string_equal(t.objects.data, "there\ngone\n");
}

static void a_line_that_is_too_long_keeps_no_others_back(void **state)
{
	struct af_buf line = {0};

	say("1000 10 first\n", 0);
	poll_once();
	af_buf_str(&line, "2000 10 ");
	for (int i = 0; i < 40000; i++)
		af_buf_char(&line, 'x');
	af_buf_char(&line, 0);
	say(line.data, O_APPEND);
	poll_once();
	say("yyy\n3000 10 last\n", O_APPEND);
	poll_once();
	say("4000 10 later\n", O_APPEND);
	poll_once();
	af_buf_free(&line);
	see();
	assert_string_equal(t.text.data, "1000 10 first\n3000 10 last\n4000 10 later\n");
}

int main(void)
{
#define watch_test(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
	    watch_test(whole_lines_are_copied_once),
	    watch_test(a_map_written_anew_is_copied_again),
	    watch_test(the_last_lines_are_copied_at_the_end),
	    watch_test(a_line_that_is_too_long_keeps_no_others_back),
	    watch_test(maps_of_others_and_what_is_no_file_are_left_alone),
	    watch_test(files_in_gdbs_list_are_kept_while_they_are_there),
	    watch_test(a_hostile_list_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
