/*
 * Finds the files of GTs that have numbers to be read over time. Source: Linux,
 * Documentation/ABI/testing/sysfs-driver-intel-xe, and drivers/gpu/drm/xe: xe_gt_freq.c,
 * xe_gt_idle.c, xe_gt_throttle.c.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/system/proc.h"
#include "collect/xe/oa_open.h"
#include "collect/xe_oa/private.h"

enum { TILES_MOST = 8, SHARE_PER = 1000, KHZ_PER_MHZ = 1000, PATH_ROOM = 120 };

/* A GT whose files are looked for. */
struct gt {
	struct oa_counters *c;
	uint32_t device, id;
	const struct af_xe_card *card;
	const struct oa_pmu *pmu;
	const struct af_xe_roots *roots;
	uint64_t heartbeat_ns;
	char folder[PATH_ROOM];
};

static void source_add(struct gt *gt, enum oa_how how, const char *file, const char *name,
                       const char *unit, uint64_t per)
{
	struct oa_counters *c = gt->c;
	struct oa_source s = {.how = how};
	char text[32];

	snprintf(s.path, sizeof s.path, "%s/%.64s", gt->folder, file);
	if (c->nr >= OA_COUNTERS_MOST || !af_read_text(s.path, text, sizeof text))
		return;
	snprintf(s.group, sizeof s.group, "GT %u", gt->id);
	snprintf(s.name, sizeof s.name, "%s %.40s", s.group, name);
	c->sources[c->nr] = s;
	c->all[c->nr++] =
	    (struct af_source_counter){.device = gt->device, .per = per, .unit = unit};
}

static int by_name(const void *left, const void *right)
{
	return strcmp(left, right);
}

/* The reasons differ by GPU: freq0/throttle/reason_pl1, reason_thermal, … */
static void reasons_find(struct gt *gt)
{
	enum { REASONS_MOST = 32, NAME = 32 };
	static const char prefix[] = "reason_";
	char names[REASONS_MOST][NAME], path[PATH_ROOM + 32], file[64], name[64];
	const struct dirent *e;
	uint32_t nr = 0;

	snprintf(path, sizeof path, "%s/freq0/throttle", gt->folder);
	DIR *folder = opendir(path);
	while (folder && nr < REASONS_MOST && (e = readdir(folder)))
		if (!strncmp(e->d_name, prefix, sizeof prefix - 1) && strlen(e->d_name) < NAME)
			strcpy(names[nr++], e->d_name);
	if (folder)
		closedir(folder);
	AF_SORT(names, nr, by_name);
	for (uint32_t i = 0; i < nr; i++) {
		snprintf(file, sizeof file, "freq0/throttle/%.31s", names[i]);
		snprintf(name, sizeof name, "throttled: %.24s", names[i] + sizeof prefix - 1);
		source_add(gt, OA_LEVEL, file, name, "", 1);
	}
}

/* Keep the line that fixes the first refusal. */
static void engine_refused(struct oa_counters *c, int rc)
{
	size_t used = strlen(c->why);

	if (!c->refused && (rc == -EACCES || rc == -EPERM))
		snprintf(c->why + used, sizeof c->why - used, "%s%s", used ? "; " : "",
		         "activity of engines is for root: run `sysctl "
		         "kernel.perf_event_paranoid=0` as root, or give aflame CAP_PERFMON");
	c->refused = true;
}

/* How many engines of the GT tell how busy they are. */
static uint32_t engines_find(struct gt *gt)
{
	struct oa_counters *c = gt->c;
	char engine[16];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < gt->card->nr_engines && c->nr < OA_COUNTERS_MOST; i++) {
		const struct af_xe_engine *e = &gt->card->engines[i];
		struct oa_source *s = &c->sources[c->nr];
		if (e->gt != gt->id || !*oa_engine_name(e, engine, sizeof engine))
			continue;
		*s = (struct oa_source){.how = OA_BUSY};
		int rc = oa_pmu_open(gt->pmu, e, s);
		if (rc) {
			engine_refused(c, rc);
			continue;
		}
		snprintf(s->group, sizeof s->group, "GT %u", gt->id);
		snprintf(s->name, sizeof s->name, "%s %s busy", s->group, engine);
		c->all[c->nr++] =
		    (struct af_source_counter){.device = gt->device, .per = SHARE_PER, .unit = "%"};
		nr++;
	}
	return nr;
}

static void unit_open(struct gt *gt, const struct af_xe_oa_unit *unit)
{
	struct oa_counters *c = gt->c;
	struct oa_source *s = &c->sources[c->nr];
	size_t used = strlen(c->why);
	char why[400];

	int fd = af_xe_oa_open(gt->card, unit, gt->roots, gt->heartbeat_ns / 2);
	if (fd < 0) {
		af_xe_oa_why(gt->card, gt->roots, fd, why, sizeof why);
		snprintf(c->why + used, sizeof c->why - used, "%sGT %u has no mean frequency: %s",
		         used ? "; " : "", gt->id, why);
		return;
	}
	*s = (struct oa_source){.how = OA_MEAN, .active = fd};
	s->clock = af_xcalloc(1, sizeof *s->clock);
	s->clock->wide = af_xe_oa_is_wide(gt->card);
	s->clock->stamp_hz = unit->stamp_hz;
	snprintf(s->group, sizeof s->group, "GT %u", gt->id);
	snprintf(s->name, sizeof s->name, "%s mean frequency", s->group);
	c->all[c->nr++] =
	    (struct af_source_counter){.device = gt->device, .per = KHZ_PER_MHZ, .unit = "MHz"};
}

static void units_find(struct gt *gt)
{
	for (uint32_t i = 0; gt->heartbeat_ns && i < gt->card->nr_units; i++)
		if (gt->card->units[i].gt == gt->id && gt->c->nr < OA_COUNTERS_MOST)
			unit_open(gt, &gt->card->units[i]);
}

/* The events keep the GT out of the idleness that the other number tells. */
static void gt_find(struct gt *gt)
{
	source_add(gt, OA_LEVEL, "freq0/act_freq", "frequency", "MHz", 1);
	source_add(gt, OA_LEVEL, "freq0/cur_freq", "frequency asked for", "MHz", 1);
	units_find(gt);
	if (!engines_find(gt))
		source_add(gt, OA_IDLE, "gtidle/idle_residency_ms", "awake", "%", SHARE_PER);
	source_add(gt, OA_LEVEL, "freq0/throttle/status", "throttled", "", 1);
	reasons_find(gt);
}

/* GTs are numbered over all tiles of a card: tile0/gt0, tile0/gt1, tile1/gt2. */
static void card_find(struct oa_counters *c, const struct af_xe_roots *roots, uint32_t card,
                      uint64_t heartbeat_ns)
{
	struct oa_pmu pmu;
	struct gt gt = {.c = c,
	                .device = card + 1,
	                .card = &c->cards.all[card],
	                .pmu = &pmu,
	                .roots = roots,
	                .heartbeat_ns = heartbeat_ns};
	char path[PATH_ROOM + 16], text[32];

	oa_pmu_find(&pmu, roots, gt.card);
	for (uint32_t tile = 0; tile < TILES_MOST; tile++) {
		for (gt.id = 0; gt.id < AF_XE_GTS_MOST; gt.id++) {
			int n = snprintf(gt.folder, sizeof gt.folder, "%s/%s/device/tile%u/gt%u",
			                 roots->drm, c->cards.all[card].node, tile, gt.id);
			snprintf(path, sizeof path, "%s/freq0/act_freq", gt.folder);
			if (n < (int)sizeof gt.folder && af_read_text(path, text, sizeof text))
				gt_find(&gt);
		}
	}
}

void oa_find(struct oa_counters *c, const struct af_xe_roots *roots, uint64_t heartbeat_ns)
{
	*c = (struct oa_counters){0};
	af_xe_cards_find(&c->cards, roots, AF_XE_DRIVER_XE);
	c->sources = af_xcalloc(OA_COUNTERS_MOST, sizeof *c->sources);
	c->all = af_xcalloc(OA_COUNTERS_MOST, sizeof *c->all);
	for (uint32_t i = 0; i < c->cards.nr; i++)
		card_find(c, roots, i, heartbeat_ns);
	/* They stay where they are from here on. */
	for (uint32_t i = 0; i < c->nr; i++) {
		c->all[i].name = c->sources[i].name;
		c->all[i].group = c->sources[i].group;
	}
	c->known = (struct af_source_counters){.all = c->all, .nr = c->nr};
}

void oa_free(struct oa_counters *c)
{
	for (uint32_t i = 0; i < c->nr; i++)
		if (c->sources[i].how == OA_BUSY)
			oa_pmu_close(&c->sources[i]);
		else if (c->sources[i].how == OA_MEAN)
			oa_stream_close(&c->sources[i]);
	af_xe_cards_free(&c->cards);
	free(c->sources);
	free(c->all);
	*c = (struct oa_counters){0};
}

void oa_describe(const struct oa_counters *c, struct af_buf *b)
{
	uint32_t device = 0;
	char name[64];

	for (uint32_t i = 0; i < c->nr; i++) {
		const struct af_source_counter *is = &c->all[i];
		if (is->device != device)
			af_buf_fmt(
			    b, "%s%s: ", device ? "; " : "",
			    af_xe_card_name(&c->cards.all[is->device - 1], name, sizeof name));
		else
			af_buf_str(b, ", ");
		device = is->device;
		af_buf_str(b, is->name);
	}
	if (device && *c->why)
		af_buf_fmt(b, "; %s", c->why);
}
