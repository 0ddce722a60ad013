/*
 * heirs children NUMBER MS: so many children, one after the other, that run this program and work
 * for so long each in `work`.
 * heirs daemon MS: a child that goes on when its parent has ended, and works.
 *
 * heirs work MS: what they do.
 */
#include "burn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

BURN_SINK;
BURN_FUNCTION(work, BURN_A)

static int children(char *self, int number, char *ms)
{
	for (int i = 0; i < number; i++) {
		pid_t pid = fork();
		if (!pid) {
			execl(self, self, "work", ms, (char *)NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "children"))
		return children(argv[0], atoi(argv[2]), argv[3]);
	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "daemon")) {
		work(50000);
		if (fork())
			return 0;
		setsid();
	}
	work(strtoul(argv[2], NULL, 10) * 1000);
	return 0;
}
