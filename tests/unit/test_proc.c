#include "base/system/proc.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void text_is_cut_at_the_size_given(void **state)
{
	char small[4] = "xxx", none[8] = "xxxx";

	(void)state;
	assert_int_equal(af_read_text("/proc/self/status", small, sizeof small), 3);
	assert_string_equal(small, "Nam");
	assert_int_equal(af_read_text("/nowhere", none, sizeof none), 0);
	assert_string_equal(none, "");
}

static void a_process_is_read_by_its_number(void **state)
{
	char by_number[64], by_self[64];

	(void)state;
	assert_true(af_proc_read(getpid(), "comm", by_number, sizeof by_number) > 1);
	assert_true(af_proc_read(0, "comm", by_self, sizeof by_self) > 1);
	assert_string_equal(by_number, by_self);
}

static void a_tracer_is_seen_while_it_is_attached(void **state)
{
	int status;

	(void)state;
	pid_t pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	assert_false(af_proc_is_traced(pid));
	bool attached = !ptrace(PTRACE_ATTACH, pid, NULL, NULL);
	if (attached) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(af_proc_is_traced(pid));
		assert_int_equal(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
		assert_false(af_proc_is_traced(pid));
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (!attached)
		skip();
}

static void versions_are_compared_as_numbers(void **state)
{
	(void)state;
	assert_true(af_linux_is_at_least(2, 6));
	assert_true(af_linux_is_at_least(3, 99));
	assert_false(af_linux_is_at_least(1000, 0));
}

static void a_wait_for_a_disk_is_a_state(void **state)
{
	(void)state;
	assert_true(af_status_waits_for_disk("Name:\tx\nUmask:\t0022\nState:\tD (disk sleep)\n"));
	assert_false(af_status_waits_for_disk("Name:\tState:\tD\nState:\tS (sleeping)\n"));
	assert_false(af_status_waits_for_disk("Name:\tD\nState:\t"));
	assert_false(af_status_waits_for_disk(""));
}

static void lines_of_maps_are_read_whole(void **state)
{
	const char text[] = "1000-2000 r-xp 00000400 fd:10 77 /usr/lib/a b.so (deleted)\n"
			    "no line of maps\n"
			    "7ffff7fc5000-7ffff7fc7000 r--p 00000000 00:00 0 \n"
			    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"
			    "2000-3000 rw-s 0 0:1 5 /x";
	FILE *f = fmemopen((void *)text, sizeof text - 1, "r");
	struct af_proc_mapping m;
	char *line = NULL;
	size_t cap = 0;

	(void)state;
	assert_true(af_proc_mapping_next(f, &line, &cap, &m));
	assert_int_equal(m.start, 0x1000);
	assert_int_equal(m.end, 0x2000);
	assert_int_equal(m.offset, 0x400);
	assert_int_equal(m.inode, 77);
	assert_int_equal(m.major, 0xfd);
	assert_int_equal(m.minor, 0x10);
	assert_true(m.executable);
	assert_false(m.shared);
	assert_string_equal(m.path, "/usr/lib/a b.so (deleted)");
	assert_true(af_proc_mapping_next(f, &line, &cap, &m));
	assert_int_equal(m.start, 0x7ffff7fc5000);
	assert_false(m.executable);
	assert_string_equal(m.path, "");
	assert_true(af_proc_mapping_next(f, &line, &cap, &m));
	assert_int_equal(m.end, 0xffffffffff601000);
	assert_true(m.executable);
	assert_string_equal(m.path, "[vsyscall]");
	assert_true(af_proc_mapping_next(f, &line, &cap, &m));
	assert_string_equal(m.path, "/x");
	assert_true(m.shared);
	assert_false(af_proc_mapping_next(f, &line, &cap, &m));
	assert_false(af_proc_mapping_next(NULL, &line, &cap, &m));
	free(line);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(text_is_cut_at_the_size_given),
	    cmocka_unit_test(a_process_is_read_by_its_number),
	    cmocka_unit_test(a_tracer_is_seen_while_it_is_attached),
	    cmocka_unit_test(versions_are_compared_as_numbers),
	    cmocka_unit_test(a_wait_for_a_disk_is_a_state),
	    cmocka_unit_test(lines_of_maps_are_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
