/*
 * The function that calls a device's API: the nearest one of a call path that people know as
 * theirs, in Python or else in machine code.
 *
 *	af_callers_open → af_callers_find* → af_callers_close
 */
#ifndef AF_ANALYSE_FRAMES_CALLER_H
#define AF_ANALYSE_FRAMES_CALLER_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/frames/last.h"
#include "analyse/tree/tree.h"
#include "analyse/world/world.h"

struct af_caller {
	bool is_known;
	uint32_t runtime; /* the function of the CUDA runtime that the path ends in, or 0 */
	uint32_t caller;  /* 0: nobody is known; both are nodes of af_callers.paths */
};

struct af_callers {
	struct af_tree paths;
	/* private */
	const struct af_world *w;
	struct af_frames_last last;
	struct af_caller *all; /* by path of the world */
	uint8_t *dull;         /* by name of paths */
	uint32_t cap, cap_dull;
};

/* @w is complete, and stays. */
void af_callers_open(struct af_callers *c, const struct af_world *w);

/* The caller of @path, a call path of the world or 0. Until the next call. */
const struct af_caller *af_callers_find(struct af_callers *c, uint32_t path);

/* Frees all that find() returned. */
void af_callers_close(struct af_callers *c);

#endif
