#include "cmd/prof/folder.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/fs.h"

enum {
	GUARD_FDS = 1024, /* descriptors that a kernel before 5.9 closes one by one */
	GUARD_TRIES = 50,
	GUARD_REST_US = 100000,
};

/* Waits for a byte, which means that the folder is gone, or for the end of the command. */
static _Noreturn void guard_run(const char *folder, int fd)
{
	char byte;
	ssize_t n;

	/* A reader of our output must not wait for this process. */
	dup2(fd, STDIN_FILENO);
	if (syscall(SYS_close_range, 1u, ~0u, 0u))
		for (int i = 1; i < GUARD_FDS; i++)
			close(i);
	prctl(PR_SET_NAME, "aflame-guard");
	do
		n = read(STDIN_FILENO, &byte, 1);
	while (n < 0 && errno == EINTR);
	/* Compilers that still run may make a file meanwhile. */
	for (int i = 0; !n && i < GUARD_TRIES && af_remove_tree(folder); i++)
		usleep(GUARD_REST_US);
	_exit(0);
}

/* A session of its own gets no signal from the terminal. */
static void guard_start(struct af_prof_folder *f)
{
	int fds[2];

	f->guard_pid = f->guard = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return;
	f->guard_pid = fork();
	if (!f->guard_pid) {
		close(fds[1]);
		setsid();
		guard_run(f->path, fds[0]);
	}
	close(fds[0]);
	f->guard = fds[1];
}

int af_prof_folder_make(struct af_prof_folder *f, struct af_err *err)
{
	/* A program's image is mapped from there. */
	int rc = af_private_folder(f->path, sizeof f->path, "aflame-prof", true);

	if (rc)
		return af_fail(err, rc,
		               "no place for the objects: name a directory in $TMPDIR that is not "
		               "mounted noexec");
	guard_start(f);
	return 0;
}

void af_prof_folder_remove(struct af_prof_folder *f)
{
	af_remove_tree(f->path);
	if (f->guard < 0)
		return;
	send(f->guard, "", 1, MSG_NOSIGNAL);
	close(f->guard);
	while (f->guard_pid > 0 && waitpid(f->guard_pid, NULL, 0) < 0 && errno == EINTR)
		;
}
