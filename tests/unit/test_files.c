/* Files that become shorter while they are mapped, and names of what is no file. */
#include "base/system/fs.h"
#include "base/write.h"
#include "emulated.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
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

/* The end of a child that has @handler and runs @work: its status, or -signal. */
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

static int errno_of(int rc)
{
	if (rc >= 0)
		close(rc);
	return rc >= 0 ? 0 : -rc;
}

/* Whether somebody has the pipe open for reading shows in what its writer gets. */
static void nothing_but_a_regular_file_is_opened(void **state)
{
	char dir[] = "/tmp/aflame-test-opens-XXXXXX", name[64], link[64];
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(name, sizeof name, "%s/pipe", dir);
	snprintf(link, sizeof link, "%s/link", dir);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_int_equal(symlink(name, link), 0);
	assert_int_equal(errno_of(af_open_regular(AT_FDCWD, name, 0)), EINVAL);
	assert_int_equal(errno_of(af_open_regular(AT_FDCWD, link, 0)), EINVAL);
	assert_int_equal(errno_of(af_open_regular(AT_FDCWD, link, O_NOFOLLOW)), ELOOP);
	assert_int_equal(errno_of(af_open_regular(AT_FDCWD, dir, 0)), EISDIR);
	assert_int_equal(errno_of(af_open_regular(AT_FDCWD, "/dev/null", 0)), EINVAL);
	assert_int_equal(errno_of(af_open_regular(AT_FDCWD, "/dev/tty", 0)), EINVAL);
	unlink(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	snprintf(at.sun_path, sizeof at.sun_path, "%s", name);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	close(fd);
	assert_int_equal(errno_of(af_open_regular(AT_FDCWD, name, 0)), EINVAL);
	unlink(name);
	assert_int_equal(errno_of(af_open_regular(AT_FDCWD, link, 0)), ENOENT);
	close(make_file());
	assert_int_equal(errno_of(af_open_regular(AT_FDCWD, path, O_NOFOLLOW)), 0);
	assert_int_equal(errno_of(af_open_regular_of((unsigned)getpid(), path)), 0);
	assert_int_equal(errno_of(af_open_regular_of((unsigned)getpid(), "/dev/null")), EINVAL);
	unlink(link);
	rmdir(dir);
}

/* An absolute path, or one that goes up, starts from that directory. */
static void no_link_leads_out_of_a_root(void **state)
{
	SKIP_EMULATED("there is no openat2");
	char dir[] = "/tmp/aflame-test-roots-XXXXXX", name[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	close(make_file());
	snprintf(name, sizeof name, "%s/tmp", dir);
	int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(errno_of(af_open_regular_in(root, path)), ENOENT);
	assert_int_equal(symlink("/tmp", name), 0);
	assert_int_equal(errno_of(af_open_regular_in(root, path)), ELOOP);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(symlink("../../../../tmp", name), 0);
	assert_int_equal(errno_of(af_open_regular_in(root, path)), ELOOP);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(symlink("/proc/self/root/tmp", name), 0);
	assert_int_equal(errno_of(af_open_regular_in(root, path)), ENOENT);
	assert_int_equal(unlink(name), 0);
	close(root);
	rmdir(dir);
}

/* As a kernel before Linux 5.6, or a container's filter, has it. */
static void forbid_openat2(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof code / sizeof *code, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(77);
}

/* In a child, which cannot take the filter off again: 0 where all is as it has to be. */
static int below_without_openat2(const char *dir)
{
	char byte;

	forbid_openat2();
	int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = af_open_regular_in(root, "/in//a/./file");
	if (fd < 0 || read(fd, &byte, 1) != 1 || byte != 'x')
		return 1;
	if (errno_of(af_open_regular_in(root, "in/../in/a/file")) != EXDEV)
		return 2;
	if (af_open_regular_in(root, "link/a/file") >= 0)
		return 3;
	if (af_open_regular_in(root, "in/a/link") >= 0 || af_open_regular_in(root, "in/a") >= 0)
		return 4;
	return errno_of(af_open_regular_in(root, "in/b")) == ENOENT ? 0 : 5;
}

static void without_openat2_no_link_is_followed_at_all(void **state)
{
	char dir[] = "/tmp/aflame-test-below-XXXXXX", name[80];
	int status;

	(void)state;
	assert_non_null(mkdtemp(dir));
	int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(root, "in", 0700), 0);
	assert_int_equal(mkdirat(root, "in/a", 0700), 0);
	snprintf(name, sizeof name, "%s/in/a/file", dir);
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	assert_int_equal(symlinkat("in", root, "link"), 0);
	assert_int_equal(symlinkat("file", root, "in/a/link"), 0);
	int pid = fork();
	if (!pid)
		_exit(below_without_openat2(dir));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(root);
	af_remove_tree(dir);
	if (status == 77 << 8)
		skip(); /* no filters here */
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(other_signals_go_where_they_went_before),
	    cmocka_unit_test(what_is_cut_off_reads_as_zeros),
	    cmocka_unit_test(threads_may_meet_the_end_together),
	    cmocka_unit_test(nothing_but_a_regular_file_is_opened),
	    cmocka_unit_test(no_link_leads_out_of_a_root),
	    cmocka_unit_test(without_openat2_no_link_is_followed_at_all),
	};
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return rc;
}
