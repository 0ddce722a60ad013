/*
 * Atomic writes: nobody ever sees half of a file, and nobody else can read it unless the user
 * allows it.
 */
#ifndef AF_CMD_OUTPUT_ATOMIC_WRITE_H
#define AF_CMD_OUTPUT_ATOMIC_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/options/command.h"

struct af_err;

/* The output of a command. It may hold everything that a trace holds: names, paths, arguments. */
struct af_output {
	const char *file; /* "-": standard output */
	bool public;      /* the umask decides who may read a new file; else only its owner */
};

/* The row of a writing command's option table. */
#define AF_PUBLIC_OPTION(type, member)                                                             \
	{                                                                                          \
		AF_OPT_FLAG, "public", 0, NULL,                                                    \
		    "let others read the new file, as the umask says (only you can)",              \
		    offsetof(type, member)                                                         \
	}

/* -EINVAL with a message if @to is a terminal, which a file of the binary @format only garbles. */
int af_output_refuse(const struct af_output *to, const char *format, struct af_err *err);

/*
 * To somebody at a terminal, on standard error: "aflame flame: wrote x.svg (12.3 kB): @what". Not
 * of what went to standard output, a device or a pipe.
 */
void af_output_tell(const struct af_output *to, const char *who, const char *what);

/* Writes everything to @fd: 0, or -errno with a message. */
typedef int af_atomic_write_all(int fd, void *arg, struct af_err *err);

/*
 * Let @write write to @to. A file is replaced only when all of it could be written: it keeps its
 * mode if it belongs to the user, and a link is replaced, never followed. A device or a pipe is
 * written to, except a pipe that another user put there.
 */
int af_atomic_write(const struct af_output *to, af_atomic_write_all *write, void *arg,
                    struct af_err *err);

#endif
