/*
 * Allocations of the program, added up by call path. libaflame-alloc.so stands in for malloc() and
 * its relatives, and calls what libaflame.so lends it here:
 *
 *	p = malloc(n)       then took(p, n, regs)
 *	free(p)             before it, gone(p, &block) and freed(&block)
 *	realloc: q of p     before it, gone(p, &block); then freed(&block) and took(q, n, regs), or
 *	                    kept(p, &block) where it failed
 *
 * A block is removed before it is freed, because another thread may get its address at once. All
 * of these may be called at any time by any thread, also before libaflame.so has begun, and leave
 * errno as it is.
 */
#ifndef AF_INJECT_ALLOC_ALLOC_H
#define AF_INJECT_ALLOC_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "inject/arch/regs.h"

/* A block that is no longer in use. @site 0: it was not known. */
struct af_alloc_block {
	uint64_t bytes;
	uint32_t site;
};

/* Another number, another layout of the struct. */
enum { AF_ALLOC_SHARED_VERSION = 1 };

struct af_alloc_shared {
	void (*took)(const void *p, size_t bytes, const struct af_regs *regs);
	void (*gone)(const void *p, struct af_alloc_block *block);
	void (*freed)(const struct af_alloc_block *block);
	void (*kept)(const void *p, const struct af_alloc_block *block);
	/* malloc() is that of @file, whose calls do not come by us; NULL: it is ours. */
	void (*seen)(const char *file);
};

/* The functions that are lent; NULL where libaflame.so has another version. */
const struct af_alloc_shared *aflame_allocs(uint32_t version);

/*
 * Around the start of recording, in the constructor: allocations in between are our own. Before it
 * allocations have no stack but their caller, after it they are recorded if the session wants it.
 */
void af_alloc_start(void);
void af_alloc_started(void);

/* Write all counters, and wait for room for them: the process runs another program. */
void af_alloc_flush(void);

/* The same at the end of the process. Later allocations and frees are written one by one. */
void af_alloc_process_ends(void);

#endif
