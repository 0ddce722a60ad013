/*
 * The call paths that allocate, each with its counters: added by whichever thread meets one first,
 * found by all. Stacks are known by 64 bits with the process's secret, as those of core/callpath.h
 * are, and their addresses are kept until they are written. Zeroed memory is an empty table.
 */
#ifndef AF_INJECT_ALLOC_SITES_H
#define AF_INJECT_ALLOC_SITES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/core/thread.h"

enum {
	AF_SITES = 1 << 17,
	AF_SITES_INDEX = 1 << 18,
	AF_SITES_WORDS = 8 << 20, /* of all stacks: 64 MB of addresses */
};

/* A stack, native or Python's. */
struct af_site_stack {
	uint64_t hash;
	uint64_t at; /* its first word */
	uint32_t nr, stop, epoch;
	_Atomic uint32_t plain; /* the site of a native one without Python's, 0: none yet */
};

struct af_site {
	uint64_t hash;
	uint32_t stack, py; /* 0: none */
	_Atomic uint64_t allocations, bytes, frees, freed_bytes;
	/* As they were written last; only the thread that writes reads and changes these. */
	uint64_t had_allocations, had_bytes, had_frees, had_freed_bytes;
	/* The call path, and the stream in which it was defined. */
	uint64_t instance;
	uint32_t callpath;
};

/* Number 0 is none, and number 1 the site without a stack. */
struct af_sites {
	_Atomic uint32_t lock;
	_Atomic uint32_t nr_stacks, nr_sites;
	uint64_t nr_words;
	_Atomic uint64_t no_room; /* allocations that were given site 1, as a table was full */
	_Atomic uint32_t stack_index[AF_SITES_INDEX], site_index[AF_SITES_INDEX];
	struct af_site_stack stacks[AF_SITES];
	struct af_site sites[AF_SITES];
	uint64_t words[AF_SITES_WORDS];
};

enum { AF_SITE_UNKNOWN = 1 };

/* The number of a stack of @nr words, added where it is new. 0: there is no room. */
uint32_t af_sites_stack(struct af_sites *s, const uint64_t *words, uint32_t nr, enum af_stop stop,
                        uint32_t epoch);

/* The site of a native stack and one of Python (0: none). AF_SITE_UNKNOWN: there is no room. */
uint32_t af_sites_site(struct af_sites *s, uint32_t stack, uint32_t py);

/* How many sites there are, from 1 on; number 1 always is. */
uint32_t af_sites_nr(const struct af_sites *s);

/* Fill @c with the stacks of @site. False: it has none. */
bool af_sites_capture(const struct af_sites *s, const struct af_site *site, struct af_capture *c);

#endif
