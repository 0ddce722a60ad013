/*
 * Processes' use of GPUs by /proc/PID/fdinfo: read from a tree of files that looks like it, with
 * the texts that Linux's documentation of drm-usage-stats has for its drivers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/telemetry/private.h"

enum { MS = 1000000 };

static char top[64], sys_root[96], proc_root[96];
static struct telemetry_source source;
static struct telemetry_processes processes;
static uint64_t time_ns;

static void write_file(const char *path, const char *text)
{
	char name[400];

	snprintf(name, sizeof name, "%s/%s", top, path);
	for (char *at = strchr(name + strlen(top) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = 0;
		mkdir(name, 0700);
		*at = '/';
	}
	FILE *f = fopen(name, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* A descriptor of a process, whose text is @text; a link of /proc/PID/fd says what it is of. */
static void descriptor(int pid, int number, const char *of, const char *text)
{
	char path[200], link[300];

	snprintf(path, sizeof path, "proc/%d/fdinfo/%d", pid, number);
	write_file(path, text);
	snprintf(path, sizeof path, "proc/%d/comm", pid);
	write_file(path, "train\n");
	snprintf(link, sizeof link, "%s/proc/%d/fd", top, pid);
	mkdir(link, 0700);
	snprintf(link, sizeof link, "%s/proc/%d/fd/%d", top, pid, number);
	unlink(link);
	assert_int_equal(symlink(of, link), 0);
}

static void closed(int pid, int number)
{
	char path[300];

	snprintf(path, sizeof path, "%s/proc/%d/fd/%d", top, pid, number);
	unlink(path);
	/* The kernel's file of a descriptor that was closed is empty for those who hold it. */
	snprintf(path, sizeof path, "%s/proc/%d/fdinfo/%d", top, pid, number);
	assert_int_equal(truncate(path, 0), 0);
	unlink(path);
}

static void recorded(int pid)
{
	processes.pids[processes.nr++] = pid;
	processes.list++;
}

/* The next tick, 10 ms later. */
static void tick(void)
{
	source.ops->refresh(&source);
	source.now.nr_levels = source.now.nr_amounts = 0;
	source.now.again = !time_ns;
	time_ns += 10ull * MS;
	source.now.time_ns = time_ns;
	source.ops->read(&source, &source.now);
}

/* The same, with new descriptors at once and not in a second. */
static void tick_and_refresh(void)
{
	processes.list++;
	tick();
}

static const struct af_source_value *value_of(const char *name)
{
	const struct telemetry_reading *now = &source.now;

	for (uint32_t i = 0; i < now->nr_amounts; i++)
		if (!strcmp(source.all[now->amounts[i].counter].name, name))
			return &now->amounts[i];
	for (uint32_t i = 0; i < now->nr_levels; i++)
		if (!strcmp(source.all[now->levels[i].counter].name, name))
			return &now->levels[i];
	return NULL;
}

static void expect_read(const char *name, uint64_t value)
{
	const struct af_source_value *is = value_of(name);

	if (!is)
		fail_msg("%s was not read", name);
	assert_int_equal(is->value, value);
}

static void begin(bool are_new)
{
	const struct telemetry_roots roots = {sys_root, proc_root};

	memset(&processes, 0, sizeof processes);
	pthread_mutex_init(&processes.lock, NULL);
	processes.are_new = are_new;
	time_ns = 0;
	telemetry_source_open(&source, &telemetry_drm, &roots);
	source.processes = &processes;
	assert_true(source.grows);
	tick();
	assert_int_equal(source.nr, 0);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(top, "/tmp/aflame-drm-XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(sys_root, sizeof sys_root, "%s/sys", top);
	snprintf(proc_root, sizeof proc_root, "%s/proc", top);
	write_file("sys/class/drm/renderD128/dev", "226:128\n");
	return 0;
}

static int tear_down(void **state)
{
	char command[100];
	(void)state;

	telemetry_source_free(&source);
	pthread_mutex_destroy(&processes.lock);
	snprintf(command, sizeof command, "rm -rf '%s'", top);
	return system(command);
}

#define I915(id, render, video, bytes)                                                             \
	"pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t412\ndrm-driver:\ti915\n"                   \
	"drm-client-id:\t" id "\ndrm-pdev:\t0000:00:02.0\ndrm-total-system0:\t99 MiB\n"            \
	"drm-resident-system0:\t" bytes "\ndrm-memory-system0:\t77 MiB\n"                          \
	"drm-engine-render:\t" render " ns\ndrm-engine-video:\t" video " ns\n"                     \
	"drm-engine-capacity-video:\t2\n"

static void engines_and_memory_are_those_of_the_process(void **state)
{
	(void)state;
	begin(true);
	recorded(100);
	descriptor(100, 3, "/dev/dri/renderD128", I915("7", "5000000", "0", "64 KiB"));
	descriptor(100, 4, "/dev/null", I915("8", "7000000", "0", "64 KiB"));
	descriptor(100, 5, "/dev/dri/card0", "pos:\t0\n");
	tick_and_refresh();
	/* A client of a new process counts from its beginning, not from when it was first seen. */
	expect_read("render busy of train (100)", 5000000);
	expect_read("video busy of train (100)", 0);
	expect_read("system0 memory of train (100)", 64 << 10);
	assert_int_equal(source.now.since_ns[0], 10 * MS);
	assert_int_equal(source.nr, 3);
	assert_int_equal(source.nr_devices, 1);
	assert_string_equal(source.devices[0].pci, "0000:00:02.0");
	assert_string_equal(source.devices[0].name, "GPU 0000:00:02.0 (i915)");
	descriptor(100, 3, "/dev/dri/renderD128", I915("7", "9000000", "250", "3 MiB"));
	tick();
	expect_read("render busy of train (100)", 4000000);
	expect_read("video busy of train (100)", 250);
	expect_read("system0 memory of train (100)", 3 << 20);
}

static void a_client_counts_once_whatever_its_descriptors(void **state)
{
	(void)state;
	begin(true);
	recorded(100);
	recorded(101);
	for (int pid = 100; pid <= 101; pid++)
		for (int number = 3; number <= 4; number++)
			descriptor(pid, number, "/dev/dri/renderD128",
			           I915("7", "1000", "10", "1 KiB"));
	descriptor(101, 9, "/dev/dri/renderD128", I915("8", "300", "0", "2 KiB"));
	descriptor(100, 9, "/dev/dri/renderD128", I915("9", "20", "0", "4 KiB"));
	tick_and_refresh();
	expect_read("render busy of train (100)", 1020);
	expect_read("render busy of train (101)", 300);
	expect_read("system0 memory of train (100)", 5 << 10);
	expect_read("system0 memory of train (101)", 2 << 10);
	/* It is closed here and goes on there: nothing is counted again. */
	closed(100, 3);
	for (int pid = 100; pid <= 101; pid++)
		descriptor(pid, 4, "/dev/dri/renderD128", I915("7", "1500", "10", "1 KiB"));
	tick();
	expect_read("render busy of train (100)", 0);
	tick_and_refresh();
	expect_read("render busy of train (100)", 500);
}

static void a_number_that_another_client_has_now_is_not_the_old_one(void **state)
{
	(void)state;
	begin(true);
	recorded(100);
	descriptor(100, 3, "/dev/dri/renderD128", I915("7", "1000", "0", "1 KiB"));
	tick_and_refresh();
	expect_read("render busy of train (100)", 1000);
	descriptor(100, 3, "/dev/dri/renderD128", I915("8", "50", "0", "1 KiB"));
	tick();
	assert_null(value_of("render busy of train (100)"));
	tick_and_refresh();
	expect_read("render busy of train (100)", 50);
}

#define XE(busy, passed)                                                                           \
	"drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\ndrm-resident-vram0:\t0\n"    \
	"drm-cycles-ccs:\t" busy "\ndrm-total-cycles-ccs:\t" passed "\n"

static void busy_cycles_are_time(void **state)
{
	(void)state;
	begin(true);
	recorded(100);
	descriptor(100, 3, "/dev/dri/renderD128", XE("1000", "5000000"));
	tick_and_refresh();
	expect_read("ccs busy of train (100)", 0);
	/* 200,000 cycles in 10 ms: one takes 50 ns. */
	descriptor(100, 3, "/dev/dri/renderD128", XE("51000", "5200000"));
	tick();
	expect_read("ccs busy of train (100)", 51000 * 50);
	descriptor(100, 3, "/dev/dri/renderD128", XE("151000", "5400000"));
	tick();
	expect_read("ccs busy of train (100)", 5 * MS);
}

static void what_a_process_did_before_is_not_of_the_recording(void **state)
{
	(void)state;
	begin(false);
	recorded(100);
	descriptor(100, 3, "/dev/dri/renderD128", I915("7", "1000", "0", "1 KiB"));
	descriptor(100, 4, "/dev/dri/renderD129", XE("1000", "5000000"));
	tick_and_refresh();
	assert_null(value_of("render busy of train (100)"));
	descriptor(100, 3, "/dev/dri/renderD128", I915("7", "1030", "0", "1 KiB"));
	descriptor(100, 4, "/dev/dri/renderD129", XE("101000", "5200000"));
	tick();
	expect_read("render busy of train (100)", 30);
	expect_read("ccs busy of train (100)", 5 * MS);
}

static void a_process_that_ends_leaves_nothing_open(void **state)
{
	(void)state;
	begin(true);
	recorded(100);
	int before = dup(0);
	close(before);
	descriptor(100, 3, "/dev/dri/renderD128", I915("7", "1000", "0", "1 KiB"));
	tick_and_refresh();
	expect_read("render busy of train (100)", 1000);
	closed(100, 3);
	processes.nr = 0;
	tick_and_refresh();
	assert_int_equal(source.now.nr_amounts + source.now.nr_levels, 0);
	int after = dup(0);
	close(after);
	assert_int_equal(after, before);
}

static void texts_that_make_no_sense_do_no_harm(void **state)
{
	static const char *const texts[] = {
	    "drm-driver:",
	    "drm-driver:\tx\ndrm-client-id:\t-1\ndrm-engine-:\t5 ns\ndrm-engine-a",
	    ("drm-driver:\tx\ndrm-engine-a:\t99999999999999999999999 ns\ndrm-resident-m:\t"
	     "18446744073709551615 GiB\n"),
	    "drm-driver:\tx\ndrm-cycles-a:\t5\ndrm-total-cycles-a:\t0\ndrm-total-cycles-a:\t0\n",
	    "drm-driver:\tx\ndrm-engine-0123456789012345678901234567890123456789012345678:\t5 ns\n",
	};
	char many[8000] = "drm-driver:\tx\n";
	(void)state;

	for (int i = 0; i < 200; i++)
		snprintf(many + strlen(many), sizeof many - strlen(many), "drm-engine-e%d:\t5\n",
		         i);
	begin(true);
	recorded(100);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		descriptor(100, (int)i, "/dev/dri/renderD128", texts[i]);
	descriptor(100, 50, "/dev/dri/renderD128", many);
	tick_and_refresh();
	tick_and_refresh();
	/* One client has 24 values at most. */
	assert_in_range(source.nr, 24, 30);
	expect_read("m memory of train (100)", UINT64_MAX);
}

static void without_a_gpu_the_reason_is_given(void **state)
{
	char path[200];
	(void)state;

	snprintf(path, sizeof path, "%s/none", top);
	const struct telemetry_roots roots = {path, proc_root};
	pthread_mutex_init(&processes.lock, NULL);
	telemetry_source_open(&source, &telemetry_drm, &roots);
	assert_false(source.grows);
	assert_non_null(strstr(source.why, "has no renderD*"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    T(engines_and_memory_are_those_of_the_process),
	    T(a_client_counts_once_whatever_its_descriptors),
	    T(a_number_that_another_client_has_now_is_not_the_old_one),
	    T(busy_cycles_are_time),
	    T(what_a_process_did_before_is_not_of_the_recording),
	    T(a_process_that_ends_leaves_nothing_open),
	    T(texts_that_make_no_sense_do_no_harm),
	    T(without_a_gpu_the_reason_is_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
