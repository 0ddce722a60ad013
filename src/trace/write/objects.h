/*
 * The object store: files in the trace's objects/, each named by the SHA-256 of its bytes, so that
 * a code object captured by many processes is kept once. Writing uses libc only and takes no lock,
 * so a target may write while others do. Not for signal handlers.
 *
 * The traces of a job have a store for all of them, objects/ beside AF_JOB_FILE. A file there and
 * those of the traces are one file with several names (link(2)): it takes its room once, and each
 * trace is still whole by itself, wherever it is copied to. Where the file system has no such links
 * each trace keeps its own.
 */
#ifndef AF_TRACE_WRITE_OBJECTS_H
#define AF_TRACE_WRITE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"

struct af_err;
struct af_file;

#define AF_OBJECTS_DIR "objects"
/* In a folder of ranks: "aflame job KEY" */
#define AF_JOB_FILE ".job"

/*
 * Keep @size bytes in the trace directory @trace_dirfd; makes objects/ when it is missing. No
 * reader sees half an object, and no crash leaves one. Fills @name with the name that PROGRAM
 * events carry: 64 hexadecimal digits. 0 or -errno; @name is valid either way.
 */
int af_object_put(int trace_dirfd, const void *data, size_t size, char name[AF_SHA256_HEX]);

/*
 * The trace in @trace_dirfd gets the object @name from the store of its job, if that has one of
 * @size bytes. 0, or -errno: the caller writes the object.
 */
int af_object_link(int trace_dirfd, const char *name, uint64_t size);

/* The other way round. That it fails does no harm. */
void af_object_share(int trace_dirfd, const char *name);

/* Whether @name can be the name of an object; anything else (a path!) is never opened. */
bool af_object_name_ok(const char *name);

/*
 * Map the object @name of the trace directory @trace_dirfd. -EBADMSG: its bytes do not have that
 * digest. -ELOOP: it is a link.
 */
int af_object_map(struct af_file *f, int trace_dirfd, const char *name, struct af_err *err);

/* The same as a descriptor for reading, or -errno. */
int af_object_open(int trace_dirfd, const char *name);

#endif
