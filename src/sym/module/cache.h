/*
 * Names that were looked up before, on disk: a file for each build-id in
 * $XDG_CACHE_HOME/aflame/symbols-1 (~/.cache when it is not set; XDG Base Directory
 * Specification). Only what this user alone can write is read, nothing in it is trusted, and what
 * is of another version or damaged is as if it were not there. Of all files the ones used last are
 * kept, up to 256 MiB.
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
 * The names of one file. @key stands for all that they were made of: a cache of another key is not
 * used.
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
 * Open the cache below @base, or below what the environment says when it is NULL; makes the
 * folders. A cache that cannot be had, or that others can write to, is empty and takes nothing.
 */
void af_cache_open(struct af_cache *c, const char *base);

/* Removes what is too much of it. */
void af_cache_close(struct af_cache *c);

/* What is known of the file with @build_id; empty when nothing is. Any thread. */
void af_cache_load(const struct af_cache *c, struct af_cache_names *n, const uint8_t *build_id,
                   uint32_t len, uint64_t key);
void af_cache_unload(struct af_cache_names *n);

/* The answer for @vaddr; its strings live as long as @n. symbol_offset is not kept. */
bool af_cache_find(const struct af_cache_names *n, uint64_t vaddr, struct af_sym_answer *answer);

/*
 * Keep the answers that @next gives, and those of @n for other addresses. @next fills in an answer
 * and its address, in ascending order of these, until it returns false; its strings live until the
 * next call. A failure is no matter: the next time is as slow as this one.
 */
void af_cache_save(const struct af_cache *c, const struct af_cache_names *n,
                   bool (*next)(void *arg, uint64_t *vaddr, struct af_sym_answer *answer),
                   void *arg);

#endif
