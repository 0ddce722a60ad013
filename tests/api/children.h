/*
 * One child process a call: `PROGRAM all OUT` runs `PROGRAM FUNCTION WAY OUT` for every function
 * that the generated source has, in each of CHILDREN_WAYS or only in NOTE_WAY (in the environment),
 * and notes how each child ended.
 */
#ifndef AF_TESTS_API_CHILDREN_H
#define AF_TESTS_API_CHILDREN_H

#include <fcntl.h>
#include <sys/wait.h>

#include "note.h"

struct callee {
	const char *name;
	void (*call)(enum note_way way, FILE *to);
};

extern const struct callee callees[];

static void child_run(const char *self, const char *name, unsigned way, const char *path)
{
	char number[12];
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(null, 1);
		dup2(null, 2);
		snprintf(number, sizeof number, "%u", way);
		execl(self, self, name, number, path, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	FILE *out = fopen(path, "ae");
	fprintf(out, "{\"child\": %d, \"way\": \"%s\", \"callee\": \"%s\", \"status\": %d}\n",
	        (int)pid, note_ways[way], name, status);
	fclose(out);
}

/* The program's main(). */
static int children_main(int argc, char **argv)
{
	const char *only = getenv("NOTE_WAY");

	if (argc == 3 && !strcmp(argv[1], "all")) {
		for (const struct callee *c = callees; c->name; c++)
			for (unsigned way = 0; way < CHILDREN_WAYS; way++)
				if (!only || !strcmp(only, note_ways[way]))
					child_run("/proc/self/exe", c->name, way, argv[2]);
		return 0;
	}
	for (const struct callee *c = callees; argc == 4 && c->name; c++) {
		if (strcmp(c->name, argv[1]))
			continue;
		FILE *out = fopen(argv[3], "ae");
		c->call((enum note_way)atoi(argv[2]), out);
		return fclose(out) != 0;
	}
	fprintf(stderr, "usage: %s all OUT | FUNCTION WAY OUT\n", argv[0]);
	return 2;
}

#endif
