/* Reads what lines_dump.py wrote and compares af_py_line() with it. */
#include <stdio.h>

#include "../../unit/pyline_case.h"

int main(void)
{
	char *line = NULL, why[128];
	size_t cap = 0;
	long codes = 0, instructions = 0;

	while (getline(&line, &cap, stdin) > 0) {
		long compared = pyline_check(line, why, sizeof why);
		if (compared < 0) {
			printf("# %s\n", why);
			return 1;
		}
		instructions += compared;
		codes++;
	}
	free(line);
	printf("# %ld code objects, %ld instructions are on the lines the interpreter says\n",
	       codes, instructions);
	return codes < 1000;
}
