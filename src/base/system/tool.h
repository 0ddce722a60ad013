/*
 * Another program, run for what it prints: never by a shell, with a limit of time and of what is
 * taken, and nothing of it left behind.
 */
#ifndef AF_BASE_SYSTEM_TOOL_H
#define AF_BASE_SYSTEM_TOOL_H

#include <stddef.h>

struct af_buf;
struct af_err;

/* Descriptor that the program finds its input under; argv can name it by AF_TOOL_INPUT. */
enum { AF_TOOL_INPUT_FD = 3 };
#define AF_TOOL_INPUT "/proc/self/fd/3"

struct af_tool {
	const char *path;        /* of the program, with a slash */
	const char *const *argv; /* ends with NULL */
	int input;               /* open descriptor that it gets as AF_TOOL_INPUT_FD, -1 for none */
	unsigned seconds;        /* it may take; then it is killed */
	size_t most;             /* bytes it may print; when it prints more it is killed */
};

/*
 * Run it; standard output is added to @out. -ETIMEDOUT and -EFBIG when it broke its limits, -EIO
 * when it failed: its last words are in @err then. Any thread; the caller does not wait for other
 * children.
 */
int af_tool_run(const struct af_tool *t, struct af_buf *out, struct af_err *err);

#endif
