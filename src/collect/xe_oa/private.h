/* Inside src/collect/xe_oa. */
#ifndef AF_COLLECT_XE_OA_PRIVATE_H
#define AF_COLLECT_XE_OA_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/writer/counters.h"
#include "collect/xe/cards.h"
#include "collect/xe_oa/clock.h"

struct af_buf;

enum { OA_COUNTERS_MOST = 1024 };

enum oa_how {
	OA_LEVEL, /* a number that counts at its moment */
	OA_IDLE,  /* milliseconds of idleness that add up: what is missing was activity */
	OA_MEAN,  /* the mean frequency by reports of a stream */
	OA_BUSY,  /* ticks of an engine that was active, and of all time, which add up */
};

/*
 * One that is read by a file, or by events of an engine. Its place is that of its
 * af_source_counter.
 */
struct oa_source {
	enum oa_how how;
	char path[192], name[64], group[16];
	int active, all; /* OA_BUSY: the events */
	struct af_oa_clock
	    *clock;           /* OA_MEAN: of the stream, whose descriptor is @active; -1: ended */
	uint64_t was, was_ns; /* but for OA_LEVEL, the last time; @was_ns 0: never */
	uint64_t was_all;     /* OA_BUSY */
	uint64_t nr_failed;   /* how often it could not be read, or made no sense */
};

/* All counters of a machine. */
struct oa_counters {
	struct af_xe_cards cards;
	struct oa_source *sources;
	struct af_source_counter *all; /* beside them */
	uint32_t nr;
	uint64_t read_ns[AF_XE_CARDS_MOST]; /* by device: when it was read the last time */
	struct af_source_counters known;    /* @all as the trace has it */
	bool refused;                       /* an event of an engine was */
	char why[600];                      /* "", or why something cannot be had */
};

/* The event source of a card, and what its events are. */
struct oa_pmu {
	uint32_t type; /* 0: there is none */
	uint64_t active, all;
	int cpu; /* on which they are opened */
};

/* Source: Linux 6.15, drivers/gpu/drm/xe/xe_pmu.c. */
void oa_pmu_find(struct oa_pmu *pmu, const struct af_xe_roots *roots,
                 const struct af_xe_card *card);

/* Open the events of @engine into @s: 0, or -errno. Their GT stays awake while they are open. */
int oa_pmu_open(const struct oa_pmu *pmu, const struct af_xe_engine *engine, struct oa_source *s);

/* Read both: false where one cannot be. */
bool oa_pmu_read(const struct oa_source *s, uint64_t *active, uint64_t *all);
void oa_pmu_close(const struct oa_source *s);

/* "ccs0"; "" for a class that is not known. */
const char *oa_engine_name(const struct af_xe_engine *engine, char *text, size_t size);

/* Close the stream of an OA_MEAN and free its clock. */
void oa_stream_close(const struct oa_source *s);

/* Read the stream of counter @at: a mean frequency has a span of its own. */
void oa_stream_read(struct oa_counters *c, struct af_event_writer *w, uint32_t at, bool again);

/*
 * Find what can be read below @roots; oa_free() in any case. @heartbeat_ns: streams are opened,
 * too, with two reports in so long at least; 0: none is, as only one program at a time can have
 * them.
 */
void oa_find(struct oa_counters *c, const struct af_xe_roots *roots, uint64_t heartbeat_ns);
void oa_free(struct oa_counters *c);

/* "GPU … (…): GT 0 frequency, …; GPU …": nothing where there is nothing. */
void oa_describe(const struct oa_counters *c, struct af_buf *b);

/*
 * Read all of them once, and write what they are: levels as of the moment, shares over the time
 * since the last call. @again: nothing is known of that time.
 */
void oa_read(struct oa_counters *c, struct af_event_writer *w, bool again);

/* How often something could not be read. */
uint64_t oa_nr_failed(const struct oa_counters *c);

#endif
