/* The library that is loaded into programs, as LD_PRELOAD can name it. */
#ifndef AF_CMD_RECORD_LIBRARY_H
#define AF_CMD_RECORD_LIBRARY_H

#include <limits.h>

struct af_err;

/*
 * The path of libaflame.so: where $AFLAME_LIBRARY says, or beside the program that runs, as it is
 * in a build, an installation and an unpacked tarball, wherever that lies and through whatever link
 * it was started. ld.so splits LD_PRELOAD at blanks and colons, without any way to quote; where the
 * path has one, the answer is a link to it in /dev/shm/aflame-lib-UID, made when it is missing. It
 * stays: what the program starts needs it as long as there is such a process.
 */
int af_library_find(char path[PATH_MAX], struct af_err *err);

#endif
