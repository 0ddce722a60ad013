/*
 * How busy engines are, by the events that the xe driver has since Linux 6.15: ticks in which an
 * engine was active, and ticks of all time. Source: drivers/gpu/drm/xe/xe_pmu.c.
 */
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/proc.h"
#include "collect/perf/perf_rings.h"
#include "collect/xe_oa/private.h"

/* Where a config has the engine, as the source's format/ tells. */
enum { INSTANCE_BIT = 12, CLASS_BIT = 20, GT_BIT = 60, INSTANCES_MOST = 256, GTS_MOST = 16 };

/* "event=0x02": 0 where there is no such event. */
static uint64_t event_read(const char *folder, const char *name)
{
	static const char prefix[] = "event=";
	char path[PATH_MAX], text[64];

	snprintf(path, sizeof path, "%s/events/%s", folder, name);
	if (!af_read_text(path, text, sizeof text) || strncmp(text, prefix, sizeof prefix - 1) != 0)
		return 0;
	return strtoull(text + sizeof prefix - 1, NULL, 0);
}

void oa_pmu_find(struct oa_pmu *pmu, const struct af_xe_roots *roots, const struct af_xe_card *card)
{
	char folder[256], path[PATH_MAX], text[64];

	*pmu = (struct oa_pmu){0};
	if (!*card->pci)
		return;
	int n = snprintf(folder, sizeof folder, "%s/xe_%s", roots->pmu, card->pci);
	if (n < 0 || n >= (int)sizeof folder)
		return;
	/* Colons are perf's own. */
	for (char *c = folder + strlen(roots->pmu); (c = strchr(c, ':'));)
		*c = '_';
	snprintf(path, sizeof path, "%s/type", folder);
	if (!af_read_text(path, text, sizeof text))
		return;
	pmu->type = (uint32_t)strtoul(text, NULL, 10);
	pmu->active = event_read(folder, "engine-active-ticks");
	pmu->all = event_read(folder, "engine-total-ticks");
	snprintf(path, sizeof path, "%s/cpumask", folder);
	pmu->cpu = af_read_text(path, text, sizeof text) ? atoi(text) : 0;
	if (!pmu->active || !pmu->all)
		pmu->type = 0;
}

static int event_open(const struct oa_pmu *pmu, uint64_t event, const struct af_xe_engine *engine)
{
	struct perf_event_attr attr = {
	    .type = pmu->type,
	    .size = sizeof attr,
	    .config = event | (uint64_t)engine->instance << INSTANCE_BIT |
	              (uint64_t)engine->class << CLASS_BIT | (uint64_t)engine->gt << GT_BIT,
	};

	return af_perf_event_open(&attr, -1, pmu->cpu);
}

int oa_pmu_open(const struct oa_pmu *pmu, const struct af_xe_engine *engine, struct oa_source *s)
{
	if (!pmu->type || engine->instance >= INSTANCES_MOST || engine->class >= INSTANCES_MOST ||
	    engine->gt >= GTS_MOST)
		return -ENOENT;
	s->active = event_open(pmu, pmu->active, engine);
	if (s->active < 0)
		return s->active;
	s->all = event_open(pmu, pmu->all, engine);
	if (s->all < 0)
		close(s->active);
	return s->all < 0 ? s->all : 0;
}

bool oa_pmu_read(const struct oa_source *s, uint64_t *active, uint64_t *all)
{
	return read(s->active, active, sizeof *active) == sizeof *active &&
	       read(s->all, all, sizeof *all) == sizeof *all;
}

void oa_pmu_close(const struct oa_source *s)
{
	close(s->active);
	close(s->all);
}

const char *oa_engine_name(const struct af_xe_engine *engine, char *text, size_t size)
{
	/* DRM_XE_ENGINE_CLASS_RENDER, COPY, VIDEO_DECODE, VIDEO_ENHANCE, COMPUTE */
	static const char *const classes[] = {"rcs", "bcs", "vcs", "vecs", "ccs"};

	*text = 0;
	if (engine->class < sizeof classes / sizeof *classes)
		snprintf(text, size, "%s%u", classes[engine->class], engine->instance);
	return text;
}
