/*
 * maps_drivers FILE PROCESSES: many processes that have FILE mapped as code.
 *
 * Waits for a line on standard input, maps FILE, and forks PROCESSES that sleep for four seconds
 * and are gone; it computes for six seconds itself.
 *
 * Truth: cpu_ms, its CPU time.
 *
 * Exit status: 0, or 1 when FILE cannot be mapped or a process not be made.
 */
#include "burn.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

BURN_SINK;

BURN_FUNCTION(spin, BURN_A)

int main(int argc, char **argv)
{
	const struct timespec life = {.tv_sec = 4};
	int fd = argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return 1;
	getchar();
	if (mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 1;
	for (int i = atoi(argv[2]); i--;) {
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (!pid) {
			nanosleep(&life, NULL);
			_exit(0);
		}
	}
	for (const int64_t end = burn_clock_ns(CLOCK_MONOTONIC) + 6000000000;
	     burn_clock_ns(CLOCK_MONOTONIC) < end;)
		spin(10000);
	while (wait(NULL) > 0)
		;
	truth_number("cpu_ms", burn_thread_ns() / 1000000);
	return 0;
}
