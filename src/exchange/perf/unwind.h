/*
 * Unwinds the stacks of perf record --call-graph dwarf, whose samples have the registers of the
 * process and a copy of its stack. The unwinder uses the mapped files, as far as they are found,
 * and checks them by their build-ids.
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
	bool able; /* the registers of the recorded machine are known here */
	struct perf_unwind_file **files;
	uint32_t nr_files, cap_files;
	struct af_map by_file; /* path and build-id → index + 1 */
	/* The last lookup on each page of a process. */
	struct perf_unwind_page {
		uint64_t space, page;
		struct af_unwind_code code;
	} pages[PERF_UNWIND_PAGES];
	/* unwound; cut, because the copy ends; a file was not found */
	uint64_t stacks, cut, missing;
};

/*
 * The part of @s that an unwinder needs, for the event @a. False: there is none. The bytes stay
 * those of @s.
 */
bool perf_stack_copy(const struct perf_attr *a, const struct perf_sample *s,
                     struct af_stack_copy *c);

/* @images has the mappings at a moment. */
struct perf_unwinder *perf_unwind_open(struct perf_images *images, struct perf_file *f);
void perf_unwind_close(struct perf_unwinder *u); /* NULL is fine */

/*
 * Unwind the stack of the process @pid with its current mappings: as af_unwind_copy(), 0 when that
 * is not possible.
 */
uint32_t perf_unwind(struct perf_unwinder *u, uint32_t pid, const struct af_stack_copy *c,
                     uint64_t *pcs, uint32_t most, enum af_stop *stop);

#endif
