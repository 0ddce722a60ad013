/*
 * Names that were looked up before, on disk: a file for each build-id and key in
 * $XDG_CACHE_HOME/aflame/symbols-3 (~/.cache when it is not set; XDG Base Directory Specification).
 * Only files that this user alone can write are read, and nothing in them is trusted; a file of
 * another version, or a damaged one, is ignored. The files used last are kept, up to 256 MiB.
 *
 *	af_cache_open → { af_cache_load → { af_cache_find }* → af_cache_save → af_cache_unload }*
 *	→ af_cache_close
 */
#ifndef AF_SYM_MODULE_CACHE_H
#define AF_SYM_MODULE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system/fs.h"
#include "sym/sym.h"

struct af_cache {
	int dirfd; /* -1: there is no cache */
};

/*
 * The names of one file. @key stands for everything that they were made from: a cache with another
 * key is not used.
 */
struct af_cache_names {
	struct af_file file;
	char name[160];
	uint64_t key;
	uint32_t nr, nr_frames;
	size_t strings_size;
	const uint8_t *answers, *frames; /* in the file, unaligned */
	const char *strings;
};

/*
 * Open the cache below @base, or below the directory of the environment when @base is NULL; makes
 * the folders. A cache that cannot be opened, or that others can write to, is empty and takes
 * nothing.
 */
void af_cache_open(struct af_cache *c, const char *base);

/* Close it, and remove the files beyond its size limit. */
void af_cache_close(struct af_cache *c);

/* Load the known names of the file with @build_id; empty when there are none. Any thread. */
void af_cache_load(const struct af_cache *c, struct af_cache_names *n, const uint8_t *build_id,
                   uint32_t len, uint64_t key);
void af_cache_unload(struct af_cache_names *n);

/* The answer for @vaddr; its strings live as long as @n. */
bool af_cache_find(const struct af_cache_names *n, uint64_t vaddr, struct af_sym_answer *answer);

/*
 * Save the answers of @next, and those of @n for other addresses. @next fills in an answer and its
 * address, in ascending order of addresses, until it returns false; its strings live until the next
 * call. A failure is ignored: the next run is then as slow as this one.
 */
void af_cache_save(const struct af_cache *c, const struct af_cache_names *n,
                   bool (*next)(void *arg, uint64_t *vaddr, struct af_sym_answer *answer),
                   void *arg);

#endif
