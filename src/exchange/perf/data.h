/*
 * Shared by the files that import perf.data. The file is read to its end, then its records are
 * replayed in order of time.
 */
#ifndef AF_EXCHANGE_PERF_DATA_H
#define AF_EXCHANGE_PERF_DATA_H

#include "base/buf.h"
#include "exchange/perf/images.h"
#include "exchange/perf/unwind.h"

#define PERF_COPIES_BYTES (4ull << 30) /* of stack memory that is kept of a file */

struct perf_kept {
	uint64_t time_ns, period;
	uint32_t pid, tid, cpu, attr;
	uint32_t chain; /* index in chains */
	uint32_t copy;  /* index + 1 in copies, 0: none */
};

/* A record about processes, kept in full until it is its turn. */
struct perf_reported {
	uint64_t time_ns;
	size_t at; /* in reported_bytes */
	uint32_t type, misc, size, number;
};

struct perf_data {
	struct af_builder *builder;
	struct perf_file file;
	struct perf_images images;
	struct perf_unwinder *unwinder; /* NULL: there is nothing to unwind */
	struct perf_kept *samples;
	struct perf_reported *reported;
	struct af_buf reported_bytes;
	uint64_t *words; /* of the chains: marks, addresses */
	struct perf_chain {
		uint64_t first;
		uint32_t nr;
	} * chains;
	struct af_map by_chain;
	struct af_map stacks; /* chain and epoch → the builder's stacks */
	uint64_t nr_samples, cap_samples, nr_reported, cap_reported, nr_words, cap_words;
	uint32_t nr_chains, cap_chains;
	struct perf_copy *copies; /* with their bytes in copied */
	struct af_buf copied;
	uint64_t nr_beyond; /* samples whose copies did not fit into PERF_COPIES_BYTES */
	uint32_t nr_copies, cap_copies;
	uint64_t last_ns; /* latest time read */
	struct perf_sums {
		uint64_t samples, chains;
		unsigned __int128 periods;
	} * sums;      /* by attr */
	uint32_t used; /* attr */
};

/*
 * Hand everything that was kept to the builder; @space as in af_builder_process(). False: no sample
 * is of the event asked for.
 */
bool perf_data_tell(struct perf_data *p, uint32_t space);

#endif
