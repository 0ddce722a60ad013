/* Shared by the files of this room. */
#ifndef AF_CMD_FUNCTIONS_PRIVATE_H
#define AF_CMD_FUNCTIONS_PRIVATE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/functions/functions.h"

/* One --uprobe, taken apart; @lib and @function are malloc'd. */
struct functions_word {
	char *lib, *function;
	uint32_t every;
};

/* A file with functions; @root is put before paths to reach it, "" for none. */
struct functions_file {
	char root[32];
	char path[PATH_MAX]; /* below @root */
};

/* Find the file that @lib is for @of: 0, or -EINVAL with a message. */
int functions_file_find(struct functions_file *file, const char *lib,
                        const struct af_functions_of *of, struct af_err *err);

/* Add the functions of @file that @word names to @to: 0, or -EINVAL with a message. */
int functions_find_in(struct af_functions *to, const struct functions_file *file,
                      const struct functions_word *word, struct af_err *err);

#endif
