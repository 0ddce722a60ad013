/*
 * The exits of a function: all instructions by which a call of it can end. Its code is read from
 * one end to the other, and with it the pieces that a compiler has moved elsewhere (gcc's `.cold`).
 * The bytes are hostile.
 *
 *	functions_exits_find → … → functions_exits_free
 *
 * Code that is not wholly understood is refused: a probe in the middle of an instruction would
 * break the program.
 */
#ifndef AF_CMD_FUNCTIONS_EXITS_H
#define AF_CMD_FUNCTIONS_EXITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/session/watcher.h"

struct af_err;

struct functions_exits {
	struct af_watch_exit *all; /* in the order of the code; offsets are not filled in */
	uint32_t nr, cap;
	struct af_watch_part parts[AF_EXIT_PARTS];
	uint32_t nr_parts;
};

/* The file around the function. */
struct functions_code {
	/* The bytes at @address, and their number in *@left; NULL: there are none. */
	const uint8_t *(*bytes)(const void *arg, uint64_t address, uint64_t *left);
	/*
	 * Is @address, outside of the function, in a piece of it? Then that is *@part.
	 * False: another function begins there.
	 */
	bool (*part)(const void *arg, uint64_t address, struct af_watch_part *part);
	const void *arg;
};

/*
 * Find the exits of the function of @size bytes at @start, of x86-64: none, if it never returns.
 * @to begins zeroed; free it either way. -ENOTSUP with a message that says why they cannot be
 * found, without the function's name; always, where this build has no Capstone.
 */
int functions_exits_find(struct functions_exits *to, uint64_t start, uint64_t size,
                         const struct functions_code *code, struct af_err *err);
void functions_exits_free(struct functions_exits *e);

#endif
