/* Questions to foreign libraries, which print, crash, end the process and change what is shared. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "collect/probe/ask.h"
#include "trace/write/session.h"

struct answer {
	int here, streams, recorded;
	pid_t pid;
	char text[70000]; /* more than a pipe holds */
};

static int is_null(int fd)
{
	struct stat is, null;

	return !fstat(fd, &is) && !stat("/dev/null", &null) && is.st_rdev == null.st_rdev;
}

static void ask_prints(void *to)
{
	struct answer *a = to;

	printf("a driver's words\n");
	fflush(stdout);
	fprintf(stderr, "a driver's warning\n");
	a->here = 42;
	a->streams = is_null(0) + is_null(1) + is_null(2);
	a->recorded = getenv(AF_SESSION_ENV) != NULL;
	a->pid = getpid();
	memset(a->text, 'x', sizeof a->text - 1);
}

static void ask_breaks(void *to)
{
	struct answer *a = to;

	a->here = 1;
	raise(SIGSEGV);
}

static void ask_ends(void *to)
{
	(void)to;
	_exit(3);
}

static void ask_leaves(void *to)
{
	(void)to;
	_exit(0);
}

static int ask(void (*question)(void *answer), struct answer *a, struct af_err *err)
{
	return af_ask(question, a, sizeof *a, "a driver", "see dmesg", err);
}

static void an_answer_comes_whole_and_alone(void **state)
{
	static struct answer a;
	struct af_err err = {0};

	(void)state;
	setenv(AF_SESSION_ENV, "here", 1);
	assert_int_equal(ask(ask_prints, &a, &err), 0);
	assert_int_equal(a.here, 42);
	assert_int_equal(a.streams, 3);
	assert_int_equal(a.recorded, 0);
	assert_int_not_equal(a.pid, getpid());
	assert_int_equal(strlen(a.text), sizeof a.text - 1);
	assert_string_equal(getenv(AF_SESSION_ENV), "here");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

static void who_failed_and_how_is_reported(void **state)
{
	static const struct {
		void (*question)(void *answer);
		const char *how;
	} all[] = {
	    {ask_breaks, "Segmentation fault"},
	    {ask_ends, "did not say why"},
	    {ask_leaves, "no whole answer"},
	};
	static struct answer a;

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct af_err err = {0};
		assert_int_equal(ask(all[i].question, &a, &err), -EIO);
		assert_int_equal(a.here, 0); /* what broke has no part of an answer */
		assert_non_null(strstr(err.msg, "a driver crashed when asked for its devices"));
		assert_non_null(strstr(err.msg, all[i].how));
		assert_non_null(strstr(err.msg, ": see dmesg"));
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void descriptors_stay_as_they_are(void **state)
{
	static struct answer a;
	int before = open("/dev/null", O_RDONLY);

	(void)state;
	close(before);
	for (int i = 0; i < 3; i++) {
		struct af_err err = {0};
		ask(i % 2 ? ask_breaks : ask_prints, &a, &err);
	}
	int after = open("/dev/null", O_RDONLY);
	assert_int_equal(after, before);
	close(after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_answer_comes_whole_and_alone),
	    cmocka_unit_test(who_failed_and_how_is_reported),
	    cmocka_unit_test(descriptors_stay_as_they_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
