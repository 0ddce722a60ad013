/*
 * The ranges of one kind that a thread has open, for interfaces whose ends may be missing, come
 * twice, or come in another order than the beginnings. One thread, no lock.
 */
#ifndef AF_INJECT_NVTX_NESTING_H
#define AF_INJECT_NVTX_NESTING_H

#include <stdbool.h>
#include <stdint.h>

enum { AF_NESTING_DEEP = 64 };

struct af_nesting_open {
	uint64_t key;
	bool written; /* its beginning is in the trace */
};

struct af_nesting {
	uint32_t nr;
	uint32_t beyond;              /* more are open than are followed */
	struct af_nesting_open *open; /* AF_NESTING_DEEP of them while nr is not 0; else NULL */
};

/* A range of @key begins, within those that are open. False: there are too many, it is counted. */
bool af_nesting_push(struct af_nesting *n, uint64_t key, bool written);

/* Where the innermost range of @key is, or -1: it did not begin here. */
int32_t af_nesting_find(const struct af_nesting *n, uint64_t key);

/* Forget the range at @at. True: its beginning is in the trace, so its end should be. */
bool af_nesting_remove(struct af_nesting *n, uint32_t at);

#endif
