/*
 * late_exec: a child that its parent makes by the bare system call, and that runs this program a
 * tenth of a second later: time enough to be taken for one that nothing is loaded into.
 *
 * Truth: the child works in `work`, for half a second.
 *
 * late_exec work: what the child does.
 */
#include "burn.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

BURN_SINK;
BURN_FUNCTION(work, BURN_A)

int main(int argc, char **argv)
{
	const struct timespec tenth = {.tv_nsec = 100000000};

	if (argc > 1) {
		work(500000);
		return 0;
	}
	if (!syscall(SYS_fork)) {
		syscall(SYS_nanosleep, &tenth, NULL);
		execl(argv[0], argv[0], "work", (char *)NULL);
		_exit(1);
	}
	return wait(NULL) < 0;
}
