/*
 * The metric groups that the drivers of Level Zero offer here, of all GPUs and of their
 * sub-devices, time-based and event-based, with their metrics. Calls in order:
 *
 *	af_zet_metrics_list() → af_zet_metrics_free()
 */
#ifndef AF_COLLECT_ZET_METRICS_H
#define AF_COLLECT_ZET_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct af_err;

struct af_zet_metric {
	const char *name, *description, *component, *units;
	uint32_t tier;
	const char *type, *value_type; /* "duration", "uint64"; "" for one that is not known */
};

struct af_zet_group {
	const char *name, *description;
	bool time_based, event_based;
	uint32_t domain; /* groups of one domain cannot be measured together */
	struct af_zet_metric *metrics;
	uint32_t nr, cap;
};

struct af_zet_device {
	uint32_t device, parent; /* from 1; @parent: whose part it is, 0: none's */
	uint32_t vendor, id;
	const char *name, *pci, *uuid; /* @pci: 0000:03:00.0, or ""; @uuid: 32 digits */
	struct af_zet_group *groups;
	uint32_t nr, cap;
	const char *why; /* NULL, or what failed; without groups it is always there */
};

struct af_zet_metrics {
	struct af_arena arena; /* has the texts */
	struct af_zet_device *devices;
	uint32_t nr, cap;
	char why[600];  /* "", or what failed for all, with the line that fixes it */
	char also[300]; /* "", or what else is missing though nothing failed for it */
};

/*
 * List them, in a process of its own that has 10 seconds, with ZET_ENABLE_METRICS set. What the
 * driver listed before it failed, crashed or hanged is there, with m->why. -errno only if there can
 * be no process. Specification: Level Zero, Tools, "Metrics".
 */
int af_zet_metrics_list(struct af_zet_metrics *m, struct af_err *err);

/* Free all that *@m has; then it is empty. */
void af_zet_metrics_free(struct af_zet_metrics *m);

#endif
