/* Shared by the files of this room. */
#ifndef AF_CMD_FUNCTIONS_PRIVATE_H
#define AF_CMD_FUNCTIONS_PRIVATE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/functions/exits.h"
#include "cmd/functions/functions.h"
#include "unwind/cfi.h"
#include "unwind/elf_file.h"

/* One --uprobe, taken apart; @lib and @function are malloc'd. */
struct functions_word {
	char *lib, *function;
	uint32_t every;
	bool returns; /* times of calls are wanted */
};

/* A file with functions; @root is put before paths to reach it, "" for none. */
struct functions_file {
	char root[32];
	char path[PATH_MAX]; /* below @root */
};

/* A file whose functions are timed. */
struct functions_around {
	const struct af_elf *elf;
	struct af_cfi cfi;
	struct af_watch_part *cold; /* pieces of functions, by their symbols; malloc'd */
	uint32_t nr_cold, cap_cold;
};

/* One more function that has less than was wanted. */
void functions_less_add(struct af_functions_less *l, const char *name, const char *why);

/* The place in the file of the code at @address; false: it has none there. */
bool functions_offset(const struct af_elf *e, uint64_t address, uint64_t *offset);

/* Give @f its exits, in @to's memory. -EINVAL with a message where they cannot be found. */
int functions_time(struct af_functions *to, struct af_watch_function *f,
                   const struct functions_around *around, struct af_err *err);

/* Find the file that @lib is for @of: 0, or -EINVAL with a message. */
int functions_file_find(struct functions_file *file, const char *lib,
                        const struct af_functions_of *of, struct af_err *err);

/* Add the functions of @file that @word names to @to: 0, or -EINVAL with a message. */
int functions_find_in(struct af_functions *to, const struct functions_file *file,
                      const struct functions_word *word, struct af_err *err);

#endif
