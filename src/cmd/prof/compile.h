/*
 * Sources of `aflame prof` as objects: runs the compiler, as many at once as there are processors.
 */
#ifndef AF_CMD_PROF_COMPILE_H
#define AF_CMD_PROF_COMPILE_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/options/command.h"

struct af_err;

struct af_compile {
	const char *jit;    /* "cc": $CC, or cc; "tcc" */
	const char *level;  /* -O, NULL: 2 */
	const char *folder; /* where objects go */
	struct af_strings includes, macros;
};

/* Is @file C, which the compiler makes an object of? */
bool af_compiles(const char *file);

/*
 * Puts the name of an object or archive for each of @files into @objects (the caller frees them):
 * a source's in @how->folder, any other file's as it is. "-" is C on standard input. 0; the status
 * of a compiler that failed, which has printed why; or -errno with a message.
 */
int af_compile(const struct af_compile *how, int nr_files, char **files, char **objects,
               struct af_err *err);

#endif
