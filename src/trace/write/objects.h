/*
 * The object store: files in the trace's objects/, each named by the SHA-256 of its bytes, so that
 * the same code object captured by many processes is kept once. Writing is libc only and takes no
 * lock, so a target may do it while others do; it is not for signal handlers.
 */
#ifndef AF_TRACE_WRITE_OBJECTS_H
#define AF_TRACE_WRITE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sha256.h"

struct af_err;
struct af_file;

#define AF_OBJECTS_DIR "objects"

/*
 * Keep @size bytes in the trace directory @trace_dirfd; makes objects/ when it is not there. A
 * reader never sees half an object, and neither does a crash leave one. Fills @name with what
 * PROGRAM events carry: 64 hexadecimal digits. 0 or -errno; @name is valid either way.
 */
int af_object_put(int trace_dirfd, const void *data, size_t size, char name[AF_SHA256_HEX]);

/* Whether @name can be the name of an object; anything else (a path!) is never opened. */
bool af_object_name_ok(const char *name);

/*
 * Map the object @name of the trace directory @trace_dirfd. Only bytes that have that name are
 * believed: -EBADMSG. -ELOOP: it is a link.
 */
int af_object_map(struct af_file *f, int trace_dirfd, const char *name, struct af_err *err);

/* The same as a descriptor for reading, or -errno. */
int af_object_open(int trace_dirfd, const char *name);

#endif
