/*
 * Names for instructions of device code: source lines with inlined functions, and text. Objects are
 * opened when they are first needed.
 *
 *	af_code_names_open → { af_code_names_… }* → af_code_names_close
 */
#ifndef AF_ANALYSE_WORLD_CODE_NAMES_H
#define AF_ANALYSE_WORLD_CODE_NAMES_H

#include <stdint.h>

#include "base/map.h"
#include "sym/device/code_store.h"

struct af_world;

struct af_code_names {
	const char *dir;
	struct af_code_store *store;

	/* private: by code of the world; texts by object */
	struct code_name *codes;
	uint32_t nr_codes;
	struct af_map listings;
};

/* For the trace in @dir, a string that outlives it. Nothing is read yet. */
void af_code_names_open(struct af_code_names *n, const char *dir);
void af_code_names_close(struct af_code_names *n);

/* Objects of the trace; NULL when there cannot be any. */
struct af_code_store *af_code_names_store(struct af_code_names *n);

/* The function of @code, NULL when the trace does not have its object. */
const struct af_code_function *af_code_names_function(struct af_code_names *n,
                                                      const struct af_world *w, uint32_t code);

/*
 * May the kernel @name run @code: is it the code itself, the kernel that contains it, or, for a
 * function that any kernel may call, one of the same object? False when the trace does not have the
 * object.
 */
bool af_code_names_runs(struct af_code_names *n, const struct af_world *w, uint32_t code,
                        const char *name);

/*
 * Frames of the instruction at @offset of @code, an index of w->codes: see af_code_frames(). 0: no
 * line is known.
 */
uint32_t af_code_names_frames(struct af_code_names *n, const struct af_world *w, uint32_t code,
                              uint64_t offset, struct af_code_frame *frames, uint32_t most);

/*
 * The text of that instruction, NULL when it is not known; may run a disassembler. Lives as long as
 * @n.
 */
const char *af_code_names_text(struct af_code_names *n, const struct af_world *w, uint32_t code,
                               uint64_t offset);

#endif
