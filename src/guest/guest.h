/*
 * The parts of aflame-guest: the program around the objects that it links. main() calls
 * guest_host(), links, guest_threads_begin(), guest_register(), and becomes the linked program.
 */
#ifndef AF_GUEST_GUEST_H
#define AF_GUEST_GUEST_H

#include "link/link.h"

/*
 * Load the library @name for --lib: "m" is libm.so or a versioned one, a name with a slash a path.
 * 0, or -ENOENT with the loader's reason.
 */
int guest_library(const char *name, struct af_err *err);

/* This process, as objects are linked into it: its libraries, its thread-local storage. */
struct af_link_host guest_host(void);

/* Put the initial values of thread-local variables where this thread and later ones have them. */
void guest_threads_begin(const struct af_link *l);

/*
 * Register the image in @fd for gdb, for perf and for unwinders; guest_unregister() removes the
 * file that perf reads, in the process that wrote it.
 */
void guest_register(const struct af_link *l, int fd);
void guest_unregister(void);

#endif
