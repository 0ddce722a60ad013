/* Shared by the files of the pass `tally`: calls while a trace is read. */
#ifndef AF_ANALYSE_TALLY_PRIVATE_H
#define AF_ANALYSE_TALLY_PRIVATE_H

#include <stdint.h>

#include "analyse/tally/tally.h"
#include "base/keys.h"
#include "base/map.h"

struct af_api_function;
struct af_tables;
struct af_world;

/* Kinds of API calls get small numbers as they are first seen, from 1. */
enum { TALLY_KINDS = 0x10000 - 0x1000 };

/* A function of the tables. */
struct tally_function {
	uint16_t kind;
	uint16_t bytes_at;
	uint8_t bytes_len; /* 0: it has none */
};

/* By the number of the function: index plus 1 of the sum, 0 for none yet. */
struct tally_thread {
	uint32_t process, tid;
	uint32_t *of;
	uint32_t cap_of;
};

/* The thread that a stream's events are of at the moment. */
struct tally_stream {
	uint32_t process, tid;
	uint32_t thread; /* index plus 1, 0: not known yet */
};

struct tally_sum {
	struct af_call_stats stats;
	uint32_t thread;   /* index */
	uint32_t kind;     /* of an API's function, from AF_KIND_API on; 0: it is the next */
	uint32_t function; /* of the world */
	uint32_t path;     /* call path of the world, 0 not known or of no interest */
	uint32_t op;       /* enum af_op of AF_TALLY_ENQUEUED */
	enum af_tally_source source;
	uint32_t next; /* with the same path: index plus 1 */
};

struct tally {
	struct tally_sum *sums;
	uint32_t nr, cap;
	uint16_t numbers[TALLY_KINDS]; /* of kinds, 0 for none yet */
	struct tally_function *functions;
	uint32_t nr_functions, cap_functions;
	struct tally_thread *threads;
	uint32_t nr_threads, cap_threads;
	struct af_map by_thread; /* process and tid → index */
	struct tally_stream *streams;
	uint32_t cap_streams;
	uint32_t *by_path; /* index plus 1 of a path's first sum */
	uint32_t cap_by_path;
	uint64_t nr_open;
};

/* join.c: does @group keep rows apart by what @key is? */
bool tally_has_key(enum af_tally_group group, enum af_tally_group key);

/* rows.c: the sums become rows of the query's tally @to, which gets their histograms. */
void tally_rows(struct tally *t, const struct af_world *w, struct af_tally *to);

#endif
