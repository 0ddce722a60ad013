/*
 * attacks FOLDER PROCESSES BESIDE: processes that are made to cost whoever records them, as many as
 * BESIDE at a time. attacks spin: 5 ms of CPU time.
 *
 * Each of PROCESSES maps FOLDER/libcuda.so.1 as code, writes a perf map (/tmp/perf-PID.map; one in
 * 200 of 8 MB), has a name with a terminal's escapes, and executes FOLDER/v0 to v7 by turns with
 * "spin": copies of this program whose unwind tables somebody changed.
 *
 * Truth: made, the processes that were executed.
 *
 * Exit status: 0, or 1 when one could not be made.
 */
#include "burn.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { VARIANTS = 8, MAP_LINES = 1000, LONG_EVERY = 200, LONG_TIMES = 200 };

BURN_SINK;

BURN_FUNCTION(spin, BURN_A)

static void map_driver(const char *folder)
{
	char path[512];

	snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		mmap(NULL, 16384, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
}

static void perf_map_write(int nth)
{
	char path[64];

	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	FILE *f = fopen(path, "wex");
	if (!f)
		return;
	for (int i = 0; i < MAP_LINES * (nth % LONG_EVERY ? 1 : LONG_TIMES); i++)
		fprintf(f, "%x ffffffff \033[2J;%d a name that takes some room\n", i * 16, i);
	fclose(f);
}

static void attack(const char *folder, int nth)
{
	char path[512];

	prctl(PR_SET_NAME, "\033[2J;\n<b>");
	map_driver(folder);
	perf_map_write(nth);
	snprintf(path, sizeof path, "%s/v%d", folder, nth % VARIANTS);
	execl(path, path, "spin", NULL);
	_exit(1);
}

static int wait_one(int *failed)
{
	char path[64];
	int status;
	pid_t pid = wait(&status);

	if (pid <= 0)
		return 0;
	*failed += status != 0;
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)pid);
	unlink(path);
	return 1;
}

int main(int argc, char **argv)
{
	int beside = 0, failed = 0;

	if (argc == 2 && !strcmp(argv[1], "spin")) {
		while (burn_thread_ns() < 5000000)
			spin(1000);
		return 0;
	}
	if (argc != 4)
		return 1;
	for (int i = 0; i < atoi(argv[2]); i++) {
		if (beside == atoi(argv[3]))
			beside -= wait_one(&failed);
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (!pid)
			attack(argv[1], i);
		beside++;
	}
	while (wait_one(&failed))
		;
	truth_number("made", atoi(argv[2]) - failed);
	return failed != 0;
}
