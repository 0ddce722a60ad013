/*
 * The cost of a command: `cost COMMAND…` runs it and adds "CPU_SECONDS PEAK_KIB" to descriptor 3.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage u;
	int status;
	pid_t child = argc > 1 ? fork() : -1;

	if (child == 0) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &u) != child)
		return 126;
	dprintf(3, "%.3f %ld\n",
	        (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	            1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec),
	        u.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
