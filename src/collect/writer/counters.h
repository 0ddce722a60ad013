/*
 * Counters of devices, and what they were read as, as events of process 0: COUNTER and READING, in
 * the stream of an af_event_writer. One thread. Calls in order, after af_event_writer_open():
 *
 *	af_source_counters_number()
 *	{ af_event_writer_is_new(): af_source_counters_define() → af_reading_write()* }*
 */
#ifndef AF_COLLECT_WRITER_COUNTERS_H
#define AF_COLLECT_WRITER_COUNTERS_H

#include <stdint.h>

#include "collect/writer/writer.h"

/* A counter as its COUNTER has it, but for the number. */
struct af_source_counter {
	uint32_t device, flags;
	uint64_t per;
	const char *name, *unit, *group;
};

struct af_source_counters {
	const struct af_source_counter *all;
	uint32_t nr;
	uint32_t first; /* number of the first counter in the trace, by _number() */
};

/* One value of a reading; @counter is its place in af_source_counters. */
struct af_source_value {
	uint32_t counter;
	uint64_t value;
};

/* Numbers of counters are the process's, and the recorder may have some that read them. */
void af_source_counters_number(struct af_event_writer *w, struct af_source_counters *c);

/* COUNTER of all of them. */
void af_source_counters_define(struct af_event_writer *w, const struct af_source_counters *c);

/* READING with @nr values of the @span_ns before @time_ns; more than fit into one are several. */
void af_reading_write(struct af_event_writer *w, const struct af_source_counters *c,
                      uint64_t time_ns, uint64_t span_ns, const struct af_source_value *values,
                      uint32_t nr);

/* LOST: so many readings are missing, and why: AF_LOST_LATE, or AF_LOST_DROPPED by a driver. */
void af_readings_lost(struct af_event_writer *w, enum af_lost reason, uint64_t count);

#endif
