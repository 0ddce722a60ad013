/* A tmpfs of a test's own, small enough to be filled, at /dev/shm. */
#ifndef AF_TESTS_SMALL_TMPFS_H
#define AF_TESTS_SMALL_TMPFS_H

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Runs @in in a child, which gives 0 or the step that failed. @size: tmpfs(5)'s option. */
static void in_small_tmpfs(const char *size, int (*in)(void))
{
	enum { FORBIDDEN = 77 };
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (unshare(CLONE_NEWNS) || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", "/dev/shm", "tmpfs", 0, size))
			_exit(FORBIDDEN);
		_exit(in());
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == FORBIDDEN)
		skip(); /* no right to mount a file system */
	assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
