/*
 * setns_unshare [SCALE]: calls that the kernel refuses to a process with more than one thread.
 *
 * Truth: 300 ms of CPU in work, one thread by /proc/self/task, then unshare() of user and mount
 * namespace succeeds, and so does setns() into that mount namespace. Both want a process of one
 * thread that shares its file system state with nobody: a helper thread that a profiler leaves
 * behind makes them fail with EINVAL.
 *
 * Exit status: 0; 1 when it is not alone or a call says EINVAL; 77 when this kernel or container
 * allows nobody a user namespace.
 */
#include "burn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

BURN_SINK;

BURN_FUNCTION(work, BURN_A)

static int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	int nr = 0;

	while (tasks && (entry = readdir(tasks)))
		nr += entry->d_name[0] != '.';
	if (tasks)
		closedir(tasks);
	return nr;
}

int main(int argc, char **argv)
{
	int nr_threads, fd;

	work((unsigned long)(300000 * burn_scale(argc, argv)));
	nr_threads = count_threads();
	truth_number("threads", nr_threads);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) {
		printf("unshare: %s\n", strerror(errno));
		return errno == EINVAL ? 1 : 77;
	}
	fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (setns(fd, CLONE_NEWNS)) {
		printf("setns: %s\n", strerror(errno));
		return 1;
	}
	return nr_threads != 1;
}
