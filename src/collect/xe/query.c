/* The answers of DRM_IOCTL_XE_DEVICE_QUERY: hostile bytes, as other drivers may be named "xe". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/scope.h"
#include "collect/xe/private.h"
#include "collect/xe/uapi.h"

enum { ANSWER_MOST = 1 << 20 };

/* The answer and its size; the caller frees it. NULL: *@rc says why. */
static void *query(const struct af_xe_card *card, uint32_t what, size_t *size, int *rc)
{
	struct xe_query q = {.query = what};

	*rc = xe_ioctl(card->fd, XE_QUERY_CALL, &q);
	if (!*rc && (!q.size || q.size > ANSWER_MOST))
		*rc = -EINVAL;
	if (*rc)
		return NULL;
	scope_free uint8_t *answer = af_xcalloc(q.size, 1);
	uint32_t room = q.size;
	q.data = (uintptr_t)answer;
	*rc = xe_ioctl(card->fd, XE_QUERY_CALL, &q);
	*size = q.size < room ? q.size : room;
	return *rc ? NULL : give(answer);
}

static void config_take(struct af_xe_card *card, const void *answer, size_t size)
{
	const struct xe_query_config *c = answer;

	if (size >= sizeof *c + 8 && c->nr)
		card->device_id = c->info[0] & 0xffff;
}

static void engines_take(struct af_xe_card *card, const void *answer, size_t size)
{
	const struct xe_query_engines *l = answer;

	if (size < sizeof *l)
		return;
	for (uint32_t i = 0; i < l->nr && card->nr_engines < AF_XE_ENGINES_MOST; i++) {
		if (size < sizeof *l + (i + 1ull) * sizeof *l->engines)
			return;
		const struct xe_query_engine *e = &l->engines[i];
		card->engines[card->nr_engines++] =
		    (struct af_xe_engine){.class = e->class, .instance = e->instance, .gt = e->gt};
	}
}

static void units_take(struct af_xe_card *card, const uint8_t *answer, size_t size)
{
	struct xe_query_oa_units l;
	size_t at = sizeof l, one = sizeof(struct xe_query_oa_unit);

	if (size < sizeof l)
		return;
	memcpy(&l, answer, sizeof l);
	for (uint32_t i = 0; i < l.nr && size - at >= one; i++) {
		const struct xe_query_oa_unit *u = (const void *)(answer + at);
		if (u->nr_engines > (size - at - one) / sizeof *u->engines)
			return;
		at += one + u->nr_engines * sizeof *u->engines;
		if (u->type == XE_OA_UNIT_OAG && u->stamp_hz && card->nr_units < AF_XE_UNITS_MOST)
			card->units[card->nr_units++] =
			    (struct af_xe_oa_unit){.id = u->id,
			                           .gt = u->nr_engines ? u->engines[0].gt : u->gt,
			                           .stamp_hz = u->stamp_hz};
	}
}

static void gts_take(struct af_xe_card *card, const void *answer, size_t size)
{
	const struct xe_query_gt_list *l = answer;

	if (size < sizeof *l)
		return;
	for (uint32_t i = 0; i < l->nr && card->nr_gts < AF_XE_GTS_MOST; i++) {
		if (size < sizeof *l + (i + 1ull) * sizeof *l->gts)
			return;
		const struct xe_query_gt *gt = &l->gts[i];
		bool media = gt->type != XE_GT_MAIN;
		card->gts[card->nr_gts++] = (struct af_xe_gt){.id = gt->gt,
		                                              .tile = gt->tile,
		                                              .media = media,
		                                              .optional = media,
		                                              .major = gt->ip_major,
		                                              .minor = gt->ip_minor};
	}
}

static void mask_take(struct af_xe_card *card, uint32_t gt, const uint8_t *mask, uint32_t nr_bytes)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < nr_bytes; i++)
		nr += (uint32_t)__builtin_popcount(mask[i]);
	/* Units for geometry and for compute are the same, or one of the masks is empty. */
	for (uint32_t i = 0; i < card->nr_gts; i++)
		if (card->gts[i].id == gt && nr > card->gts[i].nr_xecores)
			card->gts[i].nr_xecores = nr;
}

static void topology_take(struct af_xe_card *card, const uint8_t *masks, size_t size)
{
	struct xe_query_topology t;

	for (size_t at = 0; size - at >= sizeof t; at += t.nr_bytes) {
		memcpy(&t, masks + at, sizeof t);
		at += sizeof t;
		if (t.nr_bytes > size - at)
			return;
		if (t.type == XE_TOPOLOGY_DSS_GEOMETRY || t.type == XE_TOPOLOGY_DSS_COMPUTE)
			mask_take(card, t.gt, masks + at, t.nr_bytes);
	}
}

static int card_refuse(struct af_xe_card *card, int rc, const char *why)
{
	card->error = rc;
	snprintf(card->why, sizeof card->why, "%s", why);
	return rc;
}

static void stalls_take(struct af_xe_card *card, const void *answer, size_t size)
{
	const struct xe_query_eu_stall *s = answer;

	if (size < sizeof *s + 8 || s->row_bytes != AF_XE_ROW_BYTES) {
		card_refuse(card, -EPROTO,
		            "the driver's rows are not of 64 bytes: a newer aflame is needed for "
		            "this GPU");
		return;
	}
	uint64_t nr = (size - sizeof *s) / sizeof *s->rates;
	nr = s->nr_rates < nr ? s->nr_rates : nr;
	card->buffer_bytes = s->buffer_bytes;
	for (uint64_t i = 0; i < nr && card->nr_rates < AF_XE_RATES_MOST; i++)
		if (s->rates[i])
			card->rates[card->nr_rates++] = s->rates[i];
	if (!card->nr_rates)
		card_refuse(card, -EPROTO, "the driver names no rates");
}

/*
 * The rows are those of the card's graphics. GPUs from before versions were kept in the hardware
 * (GMD_ID) have none in the answer; of these only Ponte Vecchio has the sampler.
 */
static void layout_find(struct af_xe_card *card)
{
	for (uint32_t i = 0; i < card->nr_gts && !card->layout; i++) {
		const struct af_xe_gt *gt = &card->gts[i];
		if (!gt->media)
			card->layout =
			    gt->major ? af_xe_layout_of(gt->major, gt->minor) : AF_XE_PVC;
	}
	if (!card->layout)
		card_refuse(card, -ENODEV, "rows of this GPU's version are not known to aflame");
}

void xe_answer_take(struct af_xe_card *card, uint32_t what, const void *answer, size_t size)
{
	if (what == XE_QUERY_ENGINES)
		engines_take(card, answer, size);
	else if (what == XE_QUERY_CONFIG)
		config_take(card, answer, size);
	else if (what == XE_QUERY_GT_LIST)
		gts_take(card, answer, size);
	else if (what == XE_QUERY_GT_TOPOLOGY)
		topology_take(card, answer, size);
	else if (what == XE_QUERY_OA_UNITS)
		units_take(card, answer, size);
	else if (what == XE_QUERY_EU_STALL)
		stalls_take(card, answer, size);
}

static int ask(struct af_xe_card *card, uint32_t what)
{
	size_t size;
	int rc;
	scope_free void *answer = query(card, what, &size, &rc);

	if (answer)
		xe_answer_take(card, what, answer, size);
	return rc;
}

void xe_card_query(struct af_xe_card *card)
{
	ask(card, XE_QUERY_CONFIG);
	ask(card, XE_QUERY_ENGINES);
	ask(card, XE_QUERY_OA_UNITS);
	int rc = ask(card, XE_QUERY_GT_LIST);
	if (!card->nr_gts) {
		card_refuse(card, rc ? rc : -EPROTO,
		            "the driver does not tell which GTs the GPU has");
		return;
	}
	ask(card, XE_QUERY_GT_TOPOLOGY);
	rc = ask(card, XE_QUERY_EU_STALL);
	if (rc == -ENODEV)
		card_refuse(card, rc,
		            "this GPU has no sampler of EU stalls: Ponte Vecchio has, and Xe2 "
		            "(Lunar Lake, Battlemage) and later");
	else if (rc)
		card_refuse(card, rc,
		            "this kernel's xe driver does not sample EU stalls: Linux 6.15 or "
		            "later is needed");
	if (!card->error)
		layout_find(card);
}
