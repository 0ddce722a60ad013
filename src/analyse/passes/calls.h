/* Shared by the files of the pass `calls`: calls of device APIs, added up. */
#ifndef AF_ANALYSE_PASSES_CALLS_H
#define AF_ANALYSE_PASSES_CALLS_H

#include <stdint.h>

#include "base/keys.h"
#include "trace/layout.h"

struct af_results;
struct af_world;

/* Where it is known from that a call was made. */
enum call_source {
	CALL_TIMED, /* recorded in the program, with its times */
	CALL_SEEN,  /* by the kernel alone: it has no times */
	CALL_PROBED /* by the kernel, of a function that the user named; some have times */
};

/* All calls of one function in one process. */
struct call_sum {
	uint32_t process, function;
	enum call_source source;
	uint64_t count, failed, time_ns, min_ns, max_ns;
	uint64_t timed; /* of PROBED ones: those that were seen to return */
};

struct call_cost {
	uint64_t count, time_ns;
};

struct calls {
	struct call_sum *sums; /* in the order of their first calls */
	uint32_t nr, cap;
	struct af_keys by_key;
	uint32_t *last; /* by function: index plus 1 of the sum of its last timed call */
	uint32_t cap_last;
	uint64_t nr_twice; /* calls that the program and the kernel both recorded */
	struct call_cost cost[AF_OVERHEAD_END]; /* 0: of kinds that this version does not know */
};

/* calls_tables.c: "calls", "overhead", "calls_twice", "calls_seen", "functions_called". */
void calls_tables(const struct calls *c, const struct af_world *w, struct af_results *out);

#endif
