/*
 * Binds our calls of libc to libc itself. Libraries that stand between a program and libc, such as
 * the runtimes of sanitizers, treat our calls as the program's: they would report races and signals
 * of ours, and they are not made to be entered from a signal handler.
 */
#ifndef AF_INJECT_CORE_LIBC_CALLS_H
#define AF_INJECT_CORE_LIBC_CALLS_H

/*
 * Bind this library's imports of libc anew where another library defines them. Memory functions are
 * left alone, because the library that allocates must free. In the constructor, while there is one
 * thread.
 */
void af_libc_calls_bind(void);

/* libc's own function @name, which has one version. Works before any constructor has run. */
void *af_libc_find(const char *name);

#endif
