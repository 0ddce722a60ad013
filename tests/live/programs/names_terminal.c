/*
 * names_terminal FILE: what a recorder opens by a name that the program chose.
 *
 * A copy of itself is mapped as code from FILE, and a link to the other side of a terminal, which
 * is nobody's yet, is put in FILE's place. Prints the terminal's name and waits for a line on
 * standard input first; computes for 1.5 s then. Whoever opens FILE in a session without a terminal
 * gets this one, unless that is ruled out (open(2), O_NOCTTY).
 *
 * Exit status: 0, or 1 when any of that cannot be done.
 */
#include "burn.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

BURN_SINK;

BURN_FUNCTION(spin, BURN_A)

/* The number of bytes, 0: it could not be copied. */
static size_t copy_of_self(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	char part[65536];
	size_t size = 0;
	ssize_t n;

	while ((n = read(from, part, sizeof part)) > 0 && write(to, part, (size_t)n) == n)
		size += (size_t)n;
	close(from);
	close(to);
	return n ? 0 : size;
}

int main(int argc, char **argv)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	const char *side;

	if (argc != 2 || terminal < 0 || grantpt(terminal) || unlockpt(terminal) ||
	    !(side = ptsname(terminal)))
		return 1;
	puts(side);
	fflush(stdout);
	getchar();

	size_t size = copy_of_self(argv[1]);
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (!size || mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
	    unlink(argv[1]) || symlink(side, argv[1]))
		return 1;
	for (const int64_t end = burn_clock_ns(CLOCK_MONOTONIC) + 1500000000;
	     burn_clock_ns(CLOCK_MONOTONIC) < end;)
		spin(10000);
	return 0;
}
