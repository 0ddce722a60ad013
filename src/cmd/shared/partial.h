/* Writing a file so that nobody ever sees half of it, and nobody else reads it unless asked. */
#ifndef AF_CMD_SHARED_PARTIAL_H
#define AF_CMD_SHARED_PARTIAL_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/options/command.h"

struct af_err;

/* Where a command writes. All that it writes holds what traces hold: names, paths, arguments. */
struct af_output {
	const char *file; /* "-": standard output */
	bool public;      /* the umask says who may read a new file; else only its owner */
};

/* The row of a writing command's option table. */
#define AF_PUBLIC_OPTION(type, member)                                                             \
	{                                                                                          \
		AF_OPT_FLAG, "public", 0, NULL,                                                    \
		    "let others read the new file, as the umask says (only you can)",              \
		    offsetof(type, member)                                                         \
	}

/* Writes all there is to write to @fd: 0, or what it fails with. */
typedef int af_partial_write_all(int fd, void *arg, struct af_err *err);

/*
 * Have @write write to @to. A file is replaced only when all of it could be written: it keeps its
 * mode where it is the user's own, and a link is replaced, never followed. A device or a pipe is
 * written to, but for a pipe that another user put there.
 */
int af_partial_write(const struct af_output *to, af_partial_write_all *write, void *arg,
                     struct af_err *err);

#endif
