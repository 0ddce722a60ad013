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
	const struct af_machine *machine; /* that was recorded; NULL: its stacks are not unwound */
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

/* A sample's registers and stack, as perf wrote them. */
struct perf_copy {
	uint64_t registers;  /* by perf's numbers: a bit for each word that there is */
	uint32_t stack_size; /* bytes, from the stack pointer on */
	bool stack_cut;      /* there was more of the stack than was copied */
	size_t at;           /* in the caller's bytes: the words, and behind them the stack */
};

/* @images has the mappings at a moment. */
struct perf_unwinder *perf_unwind_open(struct perf_images *images, struct perf_file *f);
void perf_unwind_close(struct perf_unwinder *u); /* NULL is fine */

/*
 * Unwind the stack of the process @pid with its current mappings: @c, whose words and stack are at
 * @bytes. As af_unwind_copy(), 0 when that is not possible.
 */
uint32_t perf_unwind(struct perf_unwinder *u, uint32_t pid, const struct perf_copy *c,
                     const uint8_t *bytes, uint64_t *pcs, uint32_t most, enum af_stop *stop);

#endif
