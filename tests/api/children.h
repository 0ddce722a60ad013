/*
 * Calls of all functions in child processes: `PROGRAM all OUT` runs `PROGRAM FUNCTION WAY OUT`,
 * which calls CHILDREN_BATCH functions (also a number in the environment) from FUNCTION on, until
 * the generated source has no more, in each of CHILDREN_WAYS or only in NOTE_WAY (in the
 * environment).
 * A call that ends its process ends no other: the next process begins with the function after it.
 * How each call left its process is noted: a row with its status.
 */
#ifndef AF_TESTS_API_CHILDREN_H
#define AF_TESTS_API_CHILDREN_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "note.h"

enum { CHILDREN_BATCH = 64, CHILDREN_FD = 100 };

struct callee {
	const char *name;
	void (*call)(enum note_way way, FILE *to);
};

extern const struct callee callees[];

/* How many calls of a batch have begun; a process writes it to the file CHILDREN_FD. */
static unsigned child_begun(void)
{
	unsigned begun = 0;

	if (pread(CHILDREN_FD, &begun, sizeof begun, 0) != sizeof begun)
		begun = 0;
	return begun;
}

static void child_begins(unsigned begun)
{
	if (pwrite(CHILDREN_FD, &begun, sizeof begun, 0) != sizeof begun)
		return; /* nobody waits for it: a program that was started by hand */
}

/* Runs a batch that begins with @first, and returns how many of its calls were made. */
static unsigned child_run(const char *self, const struct callee *first, unsigned way,
                          const char *path)
{
	char number[12];
	int status = 0;

	child_begins(0);
	pid_t pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(null, 1);
		dup2(null, 2);
		snprintf(number, sizeof number, "%u", way);
		execl(self, self, first->name, number, path, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	unsigned nr = child_begun();
	nr += !nr; /* it ended before the first */
	FILE *out = fopen(path, "ae");
	for (unsigned i = 0; i < nr; i++)
		fprintf(out,
		        "{\"child\": %d, \"way\": \"%s\", \"callee\": \"%s\", \"status\": %d}\n",
		        (int)pid, note_ways[way], first[i].name, i + 1 < nr ? 0 : status);
	fclose(out);
	return nr;
}

static unsigned children_batch(void)
{
	const char *text = getenv("CHILDREN_BATCH");

	return text && atoi(text) > 0 ? (unsigned)atoi(text) : CHILDREN_BATCH;
}

static int children_all(const char *path)
{
	const char *only = getenv("NOTE_WAY");
	int fd = memfd_create("begun", 0);

	if (fd < 0 || dup2(fd, CHILDREN_FD) < 0)
		return 2;
	for (unsigned way = 0; way < CHILDREN_WAYS; way++)
		for (const struct callee *c = callees; c->name;)
			c += only && strcmp(only, note_ways[way])
			         ? 1
			         : child_run("/proc/self/exe", c, way, path);
	return 0;
}

/* The program's main(). */
static int children_main(int argc, char **argv)
{
	const struct callee *c = callees;
	unsigned nr = 0;

	if (argc == 3 && !strcmp(argv[1], "all"))
		return children_all(argv[2]);
	while (argc == 4 && c->name && strcmp(c->name, argv[1]))
		c++;
	if (argc != 4 || !c->name) {
		fprintf(stderr, "usage: %s all OUT | FUNCTION WAY OUT\n", argv[0]);
		return 2;
	}
	FILE *out = fopen(argv[3], "ae");
	for (; c->name && nr < children_batch(); c++) {
		child_begins(++nr);
		c->call((enum note_way)atoi(argv[2]), out);
		fflush(out);
	}
	return fclose(out) != 0;
}

#endif
