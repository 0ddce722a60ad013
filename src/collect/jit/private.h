/* The inside of struct af_jit_watch. */
#ifndef AF_COLLECT_JIT_PRIVATE_H
#define AF_COLLECT_JIT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/jit/watch.h"

enum {
	JIT_DESCRIPTORS = 4, /* of one process: each copy of LLVM has one */
	JIT_TAIL = 64,
};

/* A perf map that is open. */
struct jit_map {
	int fd; /* -1: none */
	uint64_t device, inode;
	uint64_t copied; /* so many bytes of it: whole lines */
	bool skips;      /* the rest of a line that is longer than an event */
	int64_t changed_s, changed_ns;
	char tail[JIT_TAIL]; /* the last of the bytes that were copied: is it still that file? */
	uint32_t tail_size;
};

/* An ELF file in the list. */
struct jit_image {
	uint64_t entry, address, size;
	uint64_t sum; /* of its ends: does another one lie there? */
	bool is_there;
};

struct jit_list {
	uint64_t descriptor; /* its address in the process */
	uint32_t action;
	uint64_t relevant, first;
	uint64_t walked_ns;
	bool changed; /* since it was walked */
	struct jit_image *images;
	uint32_t nr, cap;
};

struct jit_watched {
	struct af_jit_process of;
	uint64_t polled_ns;             /* 0: not yet */
	uint64_t searched_ns, again_ns; /* for descriptors, and the time until the next search */
	struct jit_map map;
	struct jit_list lists[JIT_DESCRIPTORS];
	uint32_t nr_lists;
};

/* A file that processes map: where it has the descriptor. */
struct jit_file {
	uint64_t descriptor; /* virtual address, 0: it has none */
	uint64_t shift;      /* virtual address of its code less the offset in the file */
};

/* Copy new lines of the perf map of @p. _close: forget the file. */
void jit_map_poll(struct af_jit_watch *w, const struct af_jit_trace *trace, struct jit_watched *p,
                  uint64_t now_ns);
void jit_map_copy(struct af_jit_watch *w, const struct af_jit_trace *trace, struct jit_watched *p,
                  uint64_t now_ns);
void jit_map_close(struct jit_map *map);

/*
 * Find descriptors in the files that @p has mapped, and add their lists. False: some files were not
 * read yet, so that nothing else waits for them; call it again soon.
 */
bool jit_descriptors_find(struct af_jit_watch *w, struct jit_watched *p);

/* Copy new files of the lists of @p. */
void jit_images_poll(struct af_jit_watch *w, const struct af_jit_trace *trace,
                     struct jit_watched *p, uint64_t now_ns);
void jit_images_close(struct jit_watched *p);

#endif
