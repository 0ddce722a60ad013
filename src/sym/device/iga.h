/*
 * Intel's disassembler, IGA, as a library: libiga64 comes with Intel's compiler of device code, and
 * so with its drivers. aflame has prototypes of its own for the functions that all versions have
 * (iga.h and kv.h of intel-graphics-compiler), so it takes whichever library is there.
 */
#ifndef AF_SYM_DEVICE_IGA_H
#define AF_SYM_DEVICE_IGA_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_buf;
struct af_err;

/*
 * The path of the @nth libiga64 that the system's loader knows, the newest first; false when there
 * are no more.
 */
bool af_iga_find(char path[PATH_MAX], unsigned nth);

/*
 * Append the instructions in the @size bytes at @bytes for the platform @name ("xehpc") to @out, in
 * the form of `iga64 -d -Xprint-pc`. The library does it in a child process, because the bytes are
 * hostile and it is not made for that. Takes as long as @seconds. 0, or -errno with a message:
 * -ENOTSUP when the library does not know the platform. The calling thread must not wait for other
 * children meanwhile.
 */
int af_iga_run(const char *path, const char *name, const void *bytes, size_t size, unsigned seconds,
               struct af_buf *out, struct af_err *err);

#endif
