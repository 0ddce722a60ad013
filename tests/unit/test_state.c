#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/system/proc.h"
#include "trace/read/state.h"
#include "trace/write/session.h"

#define ELSEWHERE "/dev/shm/aflame.abcdef\n11111111-2222-3333-4444-555555555555 "

struct place {
	char path[64];
	int fd;
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof *p);

	strcpy(p->path, "/tmp/aflame-state.XXXXXX");
	*state = p;
	return mkdtemp(p->path) && (p->fd = open(p->path, O_RDONLY | O_DIRECTORY)) >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	close(p->fd);
	af_remove_tree(p->path);
	free(p);
	return 0;
}

static int session_make(const struct place *p, const char *text)
{
	int fd = openat(p->fd, AF_SESSION_FILE, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static void session_age(int fd, long seconds)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec -= seconds;
	const struct timespec times[] = {now, now};
	assert_int_equal(futimens(fd, times), 0);
}

static struct af_trace_status status_of(const struct place *p)
{
	struct af_trace_status is;
	uint64_t now_ns = 0;

	af_trace_status(p->fd, &now_ns, &is);
	return is;
}

static int nr_entries(const struct place *p)
{
	DIR *d = af_dir_list(p->fd);
	int nr = 0;

	while (af_dir_next(d))
		nr++;
	closedir(d);
	return nr;
}

static void another_host_is_known_by_its_heartbeats(void **state)
{
	const struct place *p = *state;
	int fd = session_make(p, ELSEWHERE "node7\n");

	struct af_trace_status is = status_of(p);
	assert_int_equal(is.state, AF_TRACE_LIVE);
	assert_true(is.has_age && is.age_ns < 60000000000u);
	assert_non_null(strstr(is.why, "node7"));
	session_age(fd, 100);
	assert_int_equal(status_of(p).state, AF_TRACE_LIVE);
	session_age(fd, 200);
	is = status_of(p);
	assert_int_equal(is.state, AF_TRACE_DEAD);
	assert_true(is.age_ns > 190000000000u && is.age_ns < 300000000000u);
	/* A clock that is ahead, by years too. */
	session_age(fd, -100000000);
	is = status_of(p);
	assert_int_equal(is.state, AF_TRACE_LIVE);
	assert_int_equal(is.age_ns, 0);
	/* Finding out the time leaves nothing behind. */
	assert_int_equal(nr_entries(p), 1);
	/* A lock that is seen counts whatever the age. */
	session_age(fd, 5000);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	is = status_of(p);
	assert_int_equal(is.state, AF_TRACE_LIVE);
	assert_true(is.locked);
	close(fd);
}

static void the_time_may_be_given(void **state)
{
	const struct place *p = *state;
	int fd = session_make(p, ELSEWHERE "node7\n");
	struct af_trace_status is;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	uint64_t now_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + 500000000000u;
	af_trace_status(p->fd, &now_ns, &is);
	assert_int_equal(is.state, AF_TRACE_DEAD);
	now_ns = 0;
	af_trace_status(p->fd, &now_ns, &is);
	assert_int_equal(is.state, AF_TRACE_LIVE);
	assert_true(now_ns != 0);
	close(fd);
}

static void this_host_is_known_by_the_lock(void **state)
{
	const struct place *p = *state;
	char boot[AF_BOOT_ID_SIZE], text[256];

	af_boot_id(boot);
	if (!*boot)
		skip();
	snprintf(text, sizeof text, "/dev/shm/aflame.abcdef\n%s another-name\n", boot);
	int fd = session_make(p, text);
	assert_int_equal(status_of(p).state, AF_TRACE_UNFINISHED);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(status_of(p).state, AF_TRACE_LIVE);
	close(fd);
	assert_int_equal(status_of(p).state, AF_TRACE_UNFINISHED);
	assert_int_equal(unlinkat(p->fd, AF_SESSION_FILE, 0), 0);
	assert_int_equal(status_of(p).state, AF_TRACE_COMPLETE);
	close(openat(p->fd, AF_RECOVERED_STREAM, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(status_of(p).state, AF_TRACE_RECOVERED);
}

static void hosts_of_one_name_differ_by_boot_id(void **state)
{
	char boot[AF_BOOT_ID_SIZE], host[256] = "", text[512];

	(void)state;
	af_boot_id(boot);
	gethostname(host, sizeof host - 1);
	if (!*boot)
		skip();
	snprintf(text, sizeof text, ELSEWHERE "%s\n", host);
	assert_true(af_trace_is_elsewhere(text));
	snprintf(text, sizeof text, "/dev/shm/aflame.abcdef\n%s %s\n", boot, host);
	assert_false(af_trace_is_elsewhere(text));
	/* One that begins with the other. */
	snprintf(text, sizeof text, "/dev/shm/aflame.abcdef\n%.8s %s\n", boot, host);
	assert_true(af_trace_is_elsewhere(text));
}

static void any_text_is_read(void **state)
{
	static const char *const texts[] = {
	    "",      "\n",   "\n\n", "x", "/dev/shm/aflame.abcdef\n", "/dev/shm/../../etc\n ",
	    "\n \n", " \n a"};
	const struct place *p = *state;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		close(session_make(p, texts[i]));
		assert_int_not_equal(status_of(p).state, AF_TRACE_COMPLETE);
	}
	assert_true(af_trace_shm_open("/dev/shm/aflame.abc/ef") < 0);
	assert_true(af_trace_shm_open("/tmp/aflame.abcdef") < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(another_host_is_known_by_its_heartbeats, set_up,
	                                    tear_down),
	    cmocka_unit_test_setup_teardown(the_time_may_be_given, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(this_host_is_known_by_the_lock, set_up, tear_down),
	    cmocka_unit_test(hosts_of_one_name_differ_by_boot_id),
	    cmocka_unit_test_setup_teardown(any_text_is_read, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
