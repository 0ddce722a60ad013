#include "collect/zet/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/clock.h"
#include "collect/zet/private.h"

enum {
	LATE_MS = 1000, /* the child ends itself before */
	GRACE_MS = 500,
	MS_PER_S = 1000,
	NS_PER_MS = 1000000,
};

struct listing {
	struct af_zet_metrics *m;
	uint32_t missing;
};

static const char *keep(struct af_zet_metrics *m, const char *text)
{
	return af_arena_strdup(&m->arena, text, strlen(text));
}

static const char *type_name(uint32_t type)
{
	switch (type) {
#define T(number, name, NAME)                                                                      \
	case number:                                                                               \
		return name;
		AF_ZET_TYPES(T)
#undef T
	}
	return "";
}

static const char *value_type_name(uint32_t type)
{
	switch (type) {
#define T(number, name, NAME)                                                                      \
	case number:                                                                               \
		return name;
		AF_ZET_VALUES(T)
#undef T
	}
	return "";
}

static void device_take(struct af_zet_metrics *m, const struct zet_device *from)
{
	char uuid[2 * sizeof from->uuid + 1];

	if (m->nr >= ZET_DEVICES_MOST)
		return;
	for (size_t i = 0; i < sizeof from->uuid; i++)
		snprintf(uuid + 2 * i, 3, "%02x", from->uuid[i]);
	AF_GROW(m->devices, m->nr, m->cap);
	struct af_zet_device *d = &m->devices[m->nr++];
	*d = (struct af_zet_device){.device = m->nr,
	                            .parent = from->parent < m->nr ? from->parent : 0,
	                            .vendor = from->vendor,
	                            .id = from->id,
	                            .name = keep(m, from->name),
	                            .pci = keep(m, from->pci),
	                            .uuid = keep(m, uuid)};
}

static struct af_zet_device *device_of(struct af_zet_metrics *m, uint32_t device)
{
	return device && device <= m->nr ? &m->devices[device - 1] : NULL;
}

static void group_take(struct af_zet_metrics *m, const struct zet_group *from)
{
	struct af_zet_device *d = device_of(m, from->device);

	if (!d || d->nr >= ZET_GROUPS_MOST)
		return;
	AF_GROW(d->groups, d->nr, d->cap);
	d->groups[d->nr++] =
	    (struct af_zet_group){.name = keep(m, from->name),
	                          .description = keep(m, from->description),
	                          .time_based = from->sampling & AF_ZET_TIME_BASED,
	                          .event_based = from->sampling & AF_ZET_EVENT_BASED,
	                          .domain = from->domain};
}

/* Metrics come behind the group that they are in. */
static struct af_zet_group *group_last(struct af_zet_metrics *m)
{
	for (uint32_t i = m->nr; i--;)
		if (m->devices[i].nr)
			return &m->devices[i].groups[m->devices[i].nr - 1];
	return NULL;
}

static void metric_take(struct af_zet_metrics *m, const struct zet_metric *from)
{
	struct af_zet_group *g = group_last(m);

	if (!g || g->nr >= ZET_METRICS_MOST)
		return;
	AF_GROW(g->metrics, g->nr, g->cap);
	g->metrics[g->nr++] =
	    (struct af_zet_metric){.name = keep(m, from->name),
	                           .description = keep(m, from->description),
	                           .component = keep(m, from->component),
	                           .units = keep(m, from->units),
	                           .tier = from->tier,
	                           .type = type_name(from->type),
	                           .value_type = value_type_name(from->value_type)};
}

/* The first failure of a device, or of all, is its reason. */
static void failure_take(struct listing *l, const struct zet_failed *f)
{
	struct af_zet_device *d = device_of(l->m, f->device);
	char why[sizeof l->m->why];

	zet_why(f, l->missing, why, sizeof why);
	if (d && !d->why)
		d->why = keep(l->m, why);
	else if (!d && !*l->m->why)
		snprintf(l->m->why, sizeof l->m->why, "%s", why);
}

static void message_take(struct listing *l, const struct zet_head *head)
{
	const void *payload = head + 1;

	switch (head->kind) {
	case ZET_MISSING:
		l->missing = ((const struct zet_missing *)payload)->flags;
		break;
	case ZET_FAILED:
		failure_take(l, payload);
		break;
	case ZET_DEVICE:
		device_take(l->m, payload);
		break;
	case ZET_GROUP:
		group_take(l->m, payload);
		break;
	case ZET_METRIC:
		metric_take(l->m, payload);
		break;
	default:
		break;
	}
}

static void messages_take(struct listing *l, struct zet_child *c)
{
	uint64_t end_ns =
	    af_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(ZET_SECONDS * MS_PER_S + LATE_MS) * NS_PER_MS;
	const struct zet_head *head;
	bool more = true;

	while (more) {
		uint64_t now = af_clock_ns(CLOCK_MONOTONIC);
		if (now >= end_ns)
			break;
		more = zet_child_read(c, (int)((end_ns - now) / NS_PER_MS) + 1);
		while ((head = zet_child_next(c)))
			message_take(l, head);
		more = more && !c->ended;
	}
}

/* Every device without groups has a reason, and so has a list without devices. */
static void reasons_add(struct listing *l)
{
	struct af_zet_metrics *m = l->m;
	char why[sizeof m->why];

	if (!m->nr && !*m->why && (l->missing & ZET_NO_LOADER))
		zet_why_missing(l->missing, m->why, sizeof m->why);
	else if (!m->nr && !*m->why)
		snprintf(m->why, sizeof m->why, "no driver of Level Zero has a GPU here");
	for (uint32_t i = 0; i < m->nr; i++) {
		if (m->devices[i].nr || m->devices[i].why)
			continue;
		zet_why_no_groups(why, sizeof why);
		m->devices[i].why = keep(m, *m->why ? m->why : why);
	}
	if (!(l->missing & ZET_NO_LOADER) && !strstr(m->why, "apt install"))
		zet_why_missing(l->missing, m->also, sizeof m->also);
}

int af_zet_metrics_list(struct af_zet_metrics *m, struct af_err *err)
{
	struct listing l = {.m = m};
	struct zet_child c;

	*m = (struct af_zet_metrics){0};
	int rc = zet_child_start(&c, zet_list, NULL, ZET_SECONDS, err);
	if (rc)
		return rc;
	messages_take(&l, &c);
	zet_child_end(&c, c.ended ? GRACE_MS : 0);
	if (!c.done)
		zet_child_why(&c, m->why, sizeof m->why);
	reasons_add(&l);
	return 0;
}

void af_zet_metrics_free(struct af_zet_metrics *m)
{
	for (uint32_t i = 0; i < m->nr; i++) {
		for (uint32_t k = 0; k < m->devices[i].nr; k++)
			free(m->devices[i].groups[k].metrics);
		free(m->devices[i].groups);
	}
	free(m->devices);
	af_arena_free(&m->arena);
	*m = (struct af_zet_metrics){0};
}
