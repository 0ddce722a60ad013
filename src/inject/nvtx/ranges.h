/*
 * Ranges and marks of the program, whoever hands them over (NVTX's functions, those of
 * aflame/region.h), as RANGE events, and as steps of `record --steps`.
 */
#ifndef AF_INJECT_NVTX_RANGES_H
#define AF_INJECT_NVTX_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/core/inject.h"

struct af_regs;
struct af_thread_context;

/* Bytes of a name that are kept. */
enum { AF_RANGE_NAME = 1024 };

/* The beginning or end of a range, or a mark. */
struct af_annotation {
	enum af_range_edge edge;
	bool paused;  /* written also while recording is paused */
	bool counted; /* not written at all: an end of a step, perhaps */
	const struct af_regs
	    *regs; /* of the caller, where PyTorch's operations are linked; or NULL */
	const char *domain, *text; /* @text may be NULL */
	uint32_t domain_len, len, color;
	uint64_t range; /* of START and END */
	int32_t depth;  /* of PUSH and POP: ranges of the domain that are open around it */
};

/*
 * Write it. Any thread. False: recording is off or paused, the thread is inside of a hook, or the
 * recorder is behind (counted).
 */
bool af_range_put(const struct af_annotation *a);

/* A number for a START and its END. */
uint64_t af_range_new(void);

/* The calling thread ends, and @t is its entered context: end the regions that are open there. */
void af_regions_thread_ends(struct af_thread_context *t);

#endif
