/* Inside src/collect/xe_oa. */
#ifndef AF_COLLECT_XE_OA_PRIVATE_H
#define AF_COLLECT_XE_OA_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/xe/cards.h"
#include "collect/xe/counters.h"

struct af_buf;

enum { OA_COUNTERS_MOST = 1024 };

enum oa_how {
	OA_LEVEL, /* a number that counts at its moment */
	OA_IDLE,  /* milliseconds of idleness that add up: what is missing was activity */
};

/* One that is read by a file. Its place is that of its af_xe_counter. */
struct oa_source {
	enum oa_how how;
	char path[192], name[64], group[16];
	uint64_t was, was_ns; /* OA_IDLE: the last time; @was_ns 0: never */
	uint64_t nr_failed;   /* how often it could not be read, or made no sense */
};

/* All counters of a machine. */
struct oa_counters {
	struct af_xe_cards cards;
	struct oa_source *sources;
	struct af_xe_counter *all; /* beside them */
	uint32_t nr;
	uint64_t read_ns[AF_XE_CARDS_MOST]; /* by device: when it was read the last time */
	struct af_xe_counters known;        /* @all as the trace has it */
};

/* Find what can be read below @roots; oa_free() in any case. */
void oa_find(struct oa_counters *c, const struct af_xe_roots *roots);
void oa_free(struct oa_counters *c);

/* "GPU … (…): GT 0 frequency, …; GPU …": nothing where there is nothing. */
void oa_describe(const struct oa_counters *c, struct af_buf *b);

/*
 * Read all of them once, and write what they are: levels as of the moment, shares over the time
 * since the last call. @again: nothing is known of that time.
 */
void oa_read(struct oa_counters *c, struct af_xe_writer *w, bool again);

/* How often something could not be read. */
uint64_t oa_nr_failed(const struct oa_counters *c);

#endif
