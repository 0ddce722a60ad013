/*
 * vfork_exec [SCALE]: a program that starts many others in the cheapest way, as make and shells do.
 *
 * Truth: 300 times: vfork, exec of this same program (which exits at once with the low bits of the
 * round) and wait; and 1 ms of CPU in work between two of them. Between vfork and exec the child
 * runs in the parent's memory: whatever is done there in the child's name must not harm the parent.
 *
 * Exit status: 0, or 1 when a child's status or the parent's memory is not as it should be.
 */
#include "burn.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

BURN_SINK;

BURN_FUNCTION(work, BURN_A)

/* 1 when the child of this round did not exit with the round's low bits. */
static int round_fails(char *name, int round)
{
	char text[16];
	char *arguments[] = {name, "child", text, NULL};
	volatile int mine = round;
	int status;
	pid_t pid;

	snprintf(text, sizeof text, "%d", round & 63);
	pid = vfork();
	if (pid == 0) {
		execv("/proc/self/exe", arguments);
		_exit(127);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	       WEXITSTATUS(status) != (round & 63) || mine != round;
}

int main(int argc, char **argv)
{
	int rounds, failed = 0;

	if (argc > 2 && !strcmp(argv[1], "child"))
		return atoi(argv[2]);
	rounds = (int)(300 * burn_scale(argc, argv));
	for (int i = 0; i < rounds; i++) {
		failed += round_fails(argv[0], i);
		work(1000);
	}
	truth_number("children", rounds);
	truth_number("failed", failed);
	return failed != 0;
}
