/*
 * Finds the libraries that are loaded into programs, as LD_PRELOAD can name them, and what lies
 * beside them.
 */
#ifndef AF_CMD_RECORD_LIBRARY_H
#define AF_CMD_RECORD_LIBRARY_H

#include <limits.h>

struct af_err;

/*
 * The path of libaflame.so: the one in $AFLAME_LIBRARY, or beside the running program, as in a
 * build, an installation and an unpacked tarball, wherever that lies and through whatever link it
 * was started. ld.so splits LD_PRELOAD at blanks and colons, without any way to quote. When the
 * path has one, this returns a link to it in /dev/shm/aflame-lib-UID, made when it is missing. The
 * link stays, because processes that the program starts need it. 0, or -errno with a message.
 */
int af_library_find(char path[PATH_MAX], struct af_err *err);

/* The same of the library @name beside the file @library. @records: the calls it records. */
int af_library_find_other(char path[PATH_MAX], const char *library, const char *name,
                          const char *records, struct af_err *err);

/* The path of the program aflame-guest, which lies beside libaflame.so. */
int af_library_find_program(char path[PATH_MAX], struct af_err *err);

#endif
