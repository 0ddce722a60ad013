/* The metric group that launches are measured by: found by its name, its metrics as COUNTERs. */
#include "inject/ze/metric.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "inject/core/inject.h"
#include "inject/ze/ze.h"

enum { GROUPS_MAX = 1024 };

static struct af_ze_group *groups; /* by device, AF_ZE_DEVICES of them */
static uint32_t nr_groups;

static uint32_t counter_define(const struct af_ze_group *g, const struct af_ze_metric_properties *p,
                               uint32_t per, const char *name)
{
	bool amount = p->type == AF_ZE_METRIC_DURATION || p->type == AF_ZE_METRIC_EVENT ||
	              p->type == AF_ZE_METRIC_EVENT_RANGE;
	struct af_ev_counter ev = {.counter = af_inject_new_id(AF_ID_COUNTER),
	                           .device = g->device,
	                           .flags = amount ? AF_COUNTER_AMOUNT : 0,
	                           .per = per};
	struct af_tail tail[] = {{p->name, (uint32_t)strnlen(p->name, sizeof p->name), 0},
	                         {p->units, (uint32_t)strnlen(p->units, sizeof p->units), 0},
	                         {name, (uint32_t)strlen(name), 0}};
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return ev.counter;
	af_stream_put_tail(&t->stream, AF_KIND_COUNTER, af_now_ns(), &ev, sizeof ev, tail, 3);
	af_thread_leave(t);
	return ev.counter;
}

/* Floating-point values are millionths: the same for all metrics, so that they add up exactly. */
static bool metrics_define(struct af_ze_group *g, void *group, const char *name)
{
	void *metrics[AF_ZE_METRICS_MAX] = {0};
	uint32_t nr = 0;

	if (af_ze_next.zetMetricGet(group, &nr, NULL) || !nr || nr > AF_ZE_METRICS_MAX ||
	    af_ze_next.zetMetricGet(group, &nr, metrics) || !nr || nr > AF_ZE_METRICS_MAX)
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		struct af_ze_metric_properties p = {.stype = AF_ZE_STYPE_METRIC_PROPERTIES};
		if (af_ze_next.zetMetricGetProperties(metrics[i], &p))
			return false;
		bool is_float =
		    p.value_type == AF_ZE_VALUE_FLOAT32 || p.value_type == AF_ZE_VALUE_FLOAT64;
		g->metrics[i].per = is_float ? AF_ZE_PER_FLOAT : 1;
		g->metrics[i].counter = counter_define(g, &p, g->metrics[i].per, name);
	}
	g->nr = nr;
	g->handle = group;
	return true;
}

/* The handle of the event-based group @name, or NULL. */
static void *group_find(void *device, const char *name)
{
	void *handles[GROUPS_MAX] = {0};
	uint32_t nr = 0;

	if (af_ze_next.zetMetricGroupGet(device, &nr, NULL) || !nr)
		return NULL;
	nr = nr < GROUPS_MAX ? nr : GROUPS_MAX;
	if (af_ze_next.zetMetricGroupGet(device, &nr, handles))
		return NULL;
	for (uint32_t i = 0; i < nr && i < GROUPS_MAX; i++) {
		struct af_ze_group_properties p = {.stype = AF_ZE_STYPE_GROUP_PROPERTIES};
		if (!handles[i] || af_ze_next.zetMetricGroupGetProperties(handles[i], &p))
			continue;
		if (p.sampling & AF_ZE_EVENT_BASED && !strncmp(p.name, name, sizeof p.name))
			return handles[i];
	}
	return NULL;
}

static struct af_ze_group *group_of(uint32_t device)
{
	if (!groups)
		groups = af_pages(AF_ZE_DEVICES * sizeof *groups, MAP_NORESERVE);
	for (uint32_t i = 0; groups && i < nr_groups; i++)
		if (groups[i].device == device)
			return &groups[i];
	return NULL;
}

const struct af_ze_group *af_ze_group(void *handle, const char *name, char *why, size_t size)
{
	const struct af_ze_device *d = af_ze_device(handle);
	struct af_ze_group *g = d ? group_of(d->id) : NULL;

	if (d && !g && groups && nr_groups < AF_ZE_DEVICES) {
		g = &groups[nr_groups++];
		*g = (struct af_ze_group){.device = d->id};
		void *group = group_find(handle, name);
		if (!group || !metrics_define(g, group, name))
			g->handle = NULL;
	}
	if (g && g->handle)
		return g;
	snprintf(why, size,
	         "a device has no event-based metric group %.100s (`aflame doctor --metrics` lists "
	         "them)",
	         name);
	return NULL;
}

void af_ze_groups_after_fork(void)
{
	if (groups)
		munmap(groups, AF_ZE_DEVICES * sizeof *groups);
	groups = NULL;
	nr_groups = 0;
}
