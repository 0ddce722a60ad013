/*
 * Stacks of perf record --call-graph dwarf: samples have the registers of the process and a copy
 * of its stack, and nobody has unwound it yet. That is done here, by the files that were mapped,
 * as far as they are at hand and those by their build-ids.
 *
 *	perf_unwind_open → { perf_unwind }* → perf_unwind_close
 */
#ifndef AF_EXCHANGE_PERF_UNWIND_H
#define AF_EXCHANGE_PERF_UNWIND_H

#include "exchange/perf/images.h"
#include "sym/elf/unwind_copy.h"

enum { PERF_UNWIND_PAGES = 1 << 12 };

struct perf_unwinder {
	struct perf_images *images;
	struct perf_file *file;
	bool able; /* the machine's registers are known here */
	struct perf_unwind_file **files;
	uint32_t nr_files, cap_files;
	struct af_map by_file; /* path and build-id → index + 1 */
	/* What was found last on a page of a process. */
	struct perf_unwind_page {
		uint64_t space, page;
		struct af_unwind_code code;
	} pages[PERF_UNWIND_PAGES];
	uint64_t stacks, cut, missing; /* unwound; beyond the copy; a file is not at hand */
};

/* What of @s an unwinder needs, of the event @a; false: there is none. Bytes are those of @s. */
bool perf_stack_copy(const struct perf_attr *a, const struct perf_sample *s,
                     struct af_stack_copy *c);

/* @images tell what is mapped at a moment. */
struct perf_unwinder *perf_unwind_open(struct perf_images *images, struct perf_file *f);
void perf_unwind_close(struct perf_unwinder *u); /* NULL is fine */

/* The stack of the process @pid as it is now: as af_unwind_copy(), 0 when that cannot be. */
uint32_t perf_unwind(struct perf_unwinder *u, uint32_t pid, const struct af_stack_copy *c,
                     uint64_t *pcs, uint32_t most, enum af_stop *stop);

#endif
