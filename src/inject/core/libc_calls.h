/*
 * Calls of ours go to libc itself. What stands between a program and libc, as the runtimes of
 * sanitizers do, takes note of them as the program's: they would report races and signals of ours,
 * and are not made to be entered in a signal's handler from anywhere.
 */
#ifndef AF_INJECT_CORE_LIBC_CALLS_H
#define AF_INJECT_CORE_LIBC_CALLS_H

/*
 * Bind this library's imports of libc anew where somebody else defines them; but memory, which
 * whoever made it must free. In the constructor, while there is one thread.
 */
void af_libc_calls_bind(void);

/* libc's own function @name, which has one version. Also before any constructor has run. */
void *af_libc_find(const char *name);

#endif
