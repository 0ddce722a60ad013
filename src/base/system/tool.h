/*
 * Runs another program, never by a shell: for its output, with limits on its time and its output
 * and nothing of it left behind; or so that it stays, as a browser does.
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
	/*
	 * Instead of a program: what a child of ours does, whose standard output is taken; not 0
	 * for failure. The child has one thread, and ends by it. @path is its name for people.
	 */
	int (*call)(void *arg);
	void *arg;
	int input; /* open descriptor that the program gets as AF_TOOL_INPUT_FD, -1 for none */
	unsigned seconds; /* the program is killed after as many */
	size_t most;      /* bytes of output; the program is killed when it prints more */
};

/*
 * Run it; its standard output is added to @out. -ETIMEDOUT and -EFBIG when it broke its limits,
 * -EIO when it failed: @err then has its last words, or the signal that ended it. Any thread; the
 * caller must not wait for other children meanwhile.
 */
int af_tool_run(const struct af_tool *t, struct af_buf *out, struct af_err *err);

/*
 * Start a program that may outlive us: argv[0], looked up in $PATH, without our terminal and in a
 * session of its own. It is not heard. Waits for it no longer than @ms. Its exit status, 0 also if
 * it still runs, 128 if a signal ended it; -errno where it cannot be started.
 */
int af_tool_start(const char *const *argv, unsigned ms);

#endif
