/* Files that become shorter while they are mapped. */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096, PAGES = 64 };

static char path[] = "/tmp/aflame-test-files-XXXXXX";

/* A file of PAGES pages of 'x' under @path; its descriptor. */
static int make_file(void)
{
	static char page[PAGE];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	memset(page, 'x', sizeof page);
	for (int i = 0; i < PAGES; i++)
		assert_int_equal(af_write_all(fd, page, sizeof page), 0);
	return fd;
}

/* Make the file and map it. cmocka takes the handler away at the end of each test. */
static int map_in(struct af_file *f)
{
	static struct sigaction handler;
	static bool known;
	int fd = make_file();

	assert_int_equal(af_file_map(f, path, NULL), 0);
	sigaction(SIGBUS, known ? &handler : NULL, known ? NULL : &handler);
	known = true;
	return fd;
}

static bool all_are(const uint8_t *data, size_t size, char what)
{
	for (size_t i = 0; i < size; i++)
		if (data[i] != what)
			return false;
	return true;
}

/* What a child that has @handler and runs @work ends with: its status, or -signal. */
static int status_of(void (*handler)(int), void (*work)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (signal(SIGBUS, handler) == SIG_ERR)
			_exit(99);
		work();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void read_foreign_map(void)
{
	struct af_file f;
	int fd = map_in(&f);
	volatile char *foreign = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	if (ftruncate(fd, 0))
		_exit(1);
	_exit(foreign[0] == 0 ? 2 : 3);
}

static void be_sent_one(void)
{
	struct af_file f;

	map_in(&f);
	kill(getpid(), SIGBUS);
}

static void exit_by_handler(int signo)
{
	_exit(signo == SIGBUS ? 77 : 1);
}

static void look_at_handler(void)
{
	struct af_file f;
	struct sigaction now;

	map_in(&f);
	sigaction(SIGBUS, NULL, &now);
	_exit(now.sa_handler == SIG_IGN ? 66 : 1);
}

/* First, before anything here maps a file: the handler is installed once. */
static void other_signals_go_where_they_went_before(void **state)
{
	assert_int_equal(status_of(SIG_DFL, read_foreign_map), -SIGBUS);
	assert_int_equal(status_of(SIG_DFL, be_sent_one), -SIGBUS);
	assert_int_equal(status_of(exit_by_handler, read_foreign_map), 77);
	assert_int_equal(status_of(exit_by_handler, be_sent_one), 77);
	assert_int_equal(status_of(SIG_IGN, look_at_handler), 66);
}

static void what_is_cut_off_reads_as_zeros(void **state)
{
	struct af_file f, again;
	int fd = map_in(&f);

	assert_true(all_are(f.data, f.size, 'x'));
	assert_null(af_file_cut());
	errno = 5;
	assert_int_equal(ftruncate(fd, 10 * PAGE + 7), 0);
	assert_true(all_are(f.data, 10 * PAGE + 7, 'x'));
	assert_true(all_are(f.data + 10 * PAGE + 7, f.size - 10 * PAGE - 7, 0));
	assert_int_equal(errno, 5);
	assert_string_equal(af_file_cut(), path);

	/* Once more, and in front of what is zeros already. */
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(f.data[5 * PAGE], 0);
	assert_true(all_are(f.data, f.size, 0));
	af_file_unmap(&f);
	close(fd);

	/* It stays known, and costs the next file nothing. */
	fd = map_in(&again);
	assert_true(all_are(again.data, again.size, 'x'));
	assert_string_equal(af_file_cut(), path);
	af_file_unmap(&again);
	close(fd);
}

static void *read_all(void *data)
{
	const struct af_file *f = data;
	uint64_t sum = 0;

	for (size_t i = 0; i < f->size; i++)
		sum += ((const volatile uint8_t *)f->data)[i];
	return (void *)(uintptr_t)(sum == (uint64_t)'x' * PAGE);
}

static void threads_may_meet_the_end_together(void **state)
{
	struct af_file f;
	pthread_t threads[8];
	int fd = map_in(&f);

	assert_int_equal(ftruncate(fd, PAGE), 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_all, &f), 0);
	for (int i = 0; i < 8; i++) {
		void *right;
		pthread_join(threads[i], &right);
		assert_non_null(right);
	}
	af_file_unmap(&f);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(other_signals_go_where_they_went_before),
	    cmocka_unit_test(what_is_cut_off_reads_as_zeros),
	    cmocka_unit_test(threads_may_meet_the_end_together),
	};
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return rc;
}
