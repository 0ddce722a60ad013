/*
 * The ends of functions that libaflame.so probes in the process, for the times of calls: at each
 * exit (exits.h) the instructions that a jump can stand in for, the exit as the last of them. Only
 * where this build has Capstone.
 */
#ifndef AF_CMD_FUNCTIONS_TAILS_H
#define AF_CMD_FUNCTIONS_TAILS_H

#ifdef AF_HAVE_CAPSTONE

#include <stdbool.h>
#include <stdint.h>

#include <capstone/capstone.h>

#include "cmd/functions/exits.h"
#include "trace/write/probes.h"

/* The functions of a recording, and the probes that they have so far. */
struct functions_tails {
	csh handle;                        /* with details */
	const struct functions_code *code; /* its bytes: _part() is not called */
	struct af_probe *all;              /* those of functions first */
	uint32_t nr, most;
	const char *why; /* after a failure */
};

/*
 * Add probes of all exits of @f, whose own probe is all[number]. False, and ->why, where a jump has
 * no room at one of them: what follows is code, or something may jump there. Then it has none.
 */
bool functions_tails_add(struct functions_tails *t, const struct af_watch_function *f,
                         uint32_t number);

#endif

#endif
