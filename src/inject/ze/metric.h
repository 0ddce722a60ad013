/*
 * Counters over single launches (`--launch-metrics`): a metric group of the device is read by a
 * query that begins before a kernel and ends after it. For that, barriers and the query are added
 * to the program's list, so a measured kernel runs alone on it. Nothing is added otherwise.
 *
 *	metric.c    the group and its metrics: COUNTER
 *	query.c     queries around launches: WORK_READING
 *	values.c    a driver's values as whole numbers
 *
 * A query that is in flight is a piece of work of its lane (work.c), whose event the query's end
 * signals. All that fails is noted once, and no more launches of that context are measured.
 */
#ifndef AF_INJECT_ZE_METRIC_H
#define AF_INJECT_ZE_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/ze/ze_abi.h"

struct af_ze_call;
struct af_ze_launched;
struct af_ze_list;

enum {
	AF_ZE_METRICS_MAX = 512, /* of a group */
	AF_ZE_PER_FLOAT = 1000000,
};

/* A metric: its COUNTER, and how much of a value is one of its unit. */
struct af_ze_metric {
	uint32_t counter, per;
};

/* The group of a device, which is never given back. */
struct af_ze_group {
	uint32_t device; /* its id in the trace */
	void *handle;    /* NULL: the device has none of this name */
	uint32_t nr;
	struct af_ze_metric metrics[AF_ZE_METRICS_MAX];
};

/*
 * The event-based group @name of the device @handle, with a COUNTER for each of its metrics; NULL:
 * there is none, and @why says so. One thread at a time. Specification: Level Zero, Tools,
 * "Metrics".
 */
const struct af_ze_group *af_ze_group(void *handle, const char *name, char *why, size_t size);

/*
 * The values of @metrics as whole numbers: two each, counter and value, into @pairs. Negative ones,
 * those that are no numbers and those beyond 64 bits are left out and counted in *@left_out.
 * Returns how many values there are.
 */
uint32_t af_ze_values(const struct af_ze_metric *metrics, uint32_t nr,
                      const struct af_ze_value *values, uint64_t *pairs, uint32_t *left_out);

/* Are launches to be measured? */
bool af_ze_measures(void);

/* Queries of a context and a device; NULL: there are none, or launches are not measured. */
struct af_ze_queries *af_ze_queries(void *context, void *device);

/*
 * Before a kernel is appended to c->list, behind @waits events: begin a query, if it is this
 * kernel's turn. After it: end the query; false: there is none, or nothing comes of it.
 */
void af_ze_query_begin(struct af_ze_call *c, uint32_t nr_waits, void **waits);
bool af_ze_query_end(struct af_ze_call *c, bool failed);

/* The query of @w has ended: write its WORK_READING, and give it back where the list does not. */
void af_ze_query_read(const struct af_ze_launched *w);

/* At the end: a NOTE of what was left out. */
void af_ze_queries_report(void);

/* @query is free, when it has been reset; and before the list with it runs again. */
void af_ze_query_give(struct af_ze_queries *q, void *query);
void af_ze_query_again(void *query);

/* Before the program destroys @context, when none of its queries is in flight. */
void af_ze_queries_end(void *context);

/* Forget the parent's state, in a forked child. */
void af_ze_groups_after_fork(void);
/* The same for queries. */
void af_ze_queries_after_fork(void);

#endif
