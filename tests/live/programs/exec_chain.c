/*
 * exec_chain [SCALE]: one process that becomes another program three times.
 *
 * Truth: one process id throughout. Stage 1 burns 200 ms in stage_one and replaces itself by stage
 * 2, which burns 300 ms in stage_two and replaces itself by stage 3, which burns 500 ms in
 * stage_three and prints. The argument vector names the stage.
 *
 * Exit status: 0, or 1 when the process id changed on the way.
 */
#include "burn.h"

#include <unistd.h>

BURN_SINK;

static double scale;

BURN_FUNCTION(stage_one, BURN_A)
BURN_FUNCTION(stage_two, BURN_B)
BURN_FUNCTION(stage_three, BURN_C)

static int next_stage(char *name, char *stage, long first_pid)
{
	char scale_text[32], pid_text[32];
	char *arguments[] = {name, scale_text, stage, pid_text, NULL};

	snprintf(scale_text, sizeof scale_text, "%g", scale);
	snprintf(pid_text, sizeof pid_text, "%ld", first_pid);
	execv("/proc/self/exe", arguments);
	return 127;
}

int main(int argc, char **argv)
{
	const int stage = argc > 3 ? atoi(argv[2]) : 1;
	const long pid = argc > 3 ? atol(argv[3]) : (long)getpid();

	scale = burn_scale(argc, argv);
	switch (stage) {
	case 1:
		stage_one((unsigned long)(200000 * scale));
		return next_stage(argv[0], "2", pid);
	case 2:
		stage_two((unsigned long)(300000 * scale));
		return next_stage(argv[0], "3", pid);
	default:
		stage_three((unsigned long)(500000 * scale));
	}
	printf(
	    "truth share.stage_one 0.2\ntruth share.stage_two 0.3\ntruth share.stage_three 0.5\n");
	truth_number("pid", pid);
	return pid != (long)getpid();
}
