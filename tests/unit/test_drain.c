/* What the recorder does with rings that are not whole. */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/drain.h"
#include "trace/stream.h"

/* In a child with a full tmpfs of its own: 0 fine, 77 not allowed here, else the failed step. */
static int full_tmpfs_child(void)
{
	struct af_drain d;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/dev/shm", "tmpfs", 0, "size=4k"))
		return 77;
	int full = open("/dev/shm/control", O_RDWR | O_CREAT, 0600);
	if (full < 0 || fallocate(full, 0, 0, 4096))
		return 1;
	/* As a process has it that has just found no room for a ring. */
	int ring = open("/dev/shm/s1-0", O_RDWR | O_CREAT, 0600);
	if (ring < 0 || ftruncate(ring, AF_RING_BYTES))
		return 2;
	int shm = open("/dev/shm", O_RDONLY | O_DIRECTORY);
	af_drain_open(&d, shm, shm, NULL);
	af_drain_look(&d);
	uint32_t nr = d.nr;
	af_drain_close(&d);
	return nr ? 3 : 0;
}

static void ring_without_room_is_no_sigbus(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(full_tmpfs_child());
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* no right to mount a file system */
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ring_without_room_is_no_sigbus)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
