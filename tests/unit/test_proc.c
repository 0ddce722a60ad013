#include "base/system/proc.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(text_is_cut_at_the_size_given),
	    cmocka_unit_test(a_process_is_read_by_its_number),
	    cmocka_unit_test(a_tracer_is_seen_while_it_is_attached),
	    cmocka_unit_test(versions_are_compared_as_numbers),
	    cmocka_unit_test(a_wait_for_a_disk_is_a_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
