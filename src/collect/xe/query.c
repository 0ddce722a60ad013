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
	/* Eight bytes more, so that a member of a short answer is read as zeros. */
	scope_free uint8_t *answer = af_xcalloc(q.size + 8, 1);
	uint32_t room = q.size;
	q.data = (uintptr_t)answer;
	*rc = xe_ioctl(card->fd, XE_QUERY_CALL, &q);
	*size = q.size < room ? q.size : room;
	return *rc ? NULL : give(answer);
}

static void config_read(struct af_xe_card *card)
{
	size_t size;
	int rc;
	scope_free struct xe_query_config *c = query(card, XE_QUERY_CONFIG, &size, &rc);

	if (c && size >= sizeof *c + 8 && c->nr)
		card->device_id = c->info[0] & 0xffff;
}

static int gts_read(struct af_xe_card *card)
{
	size_t size;
	int rc;
	scope_free struct xe_query_gt_list *l = query(card, XE_QUERY_GT_LIST, &size, &rc);

	if (!l)
		return rc;
	for (uint32_t i = 0; i < l->nr && card->nr_gts < AF_XE_GTS_MOST; i++) {
		if (size < sizeof *l + (i + 1ull) * sizeof *l->gts)
			break;
		const struct xe_query_gt *gt = &l->gts[i];
		card->gts[card->nr_gts++] = (struct af_xe_gt){.id = gt->gt,
		                                              .tile = gt->tile,
		                                              .media = gt->type != XE_GT_MAIN,
		                                              .optional = gt->type != XE_GT_MAIN,
		                                              .major = gt->ip_major,
		                                              .minor = gt->ip_minor};
	}
	return card->nr_gts ? 0 : -ENODEV;
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

static void topology_read(struct af_xe_card *card)
{
	size_t size, at = 0;
	int rc;
	scope_free uint8_t *masks = query(card, XE_QUERY_GT_TOPOLOGY, &size, &rc);
	struct xe_query_topology t;

	while (masks && size - at >= sizeof t) {
		memcpy(&t, masks + at, sizeof t);
		at += sizeof t;
		if (t.nr_bytes > size - at)
			return;
		if (t.type == XE_TOPOLOGY_DSS_GEOMETRY || t.type == XE_TOPOLOGY_DSS_COMPUTE)
			mask_take(card, t.gt, masks + at, t.nr_bytes);
		at += t.nr_bytes;
	}
}

static int card_refuse(struct af_xe_card *card, int rc, const char *why)
{
	card->error = rc;
	snprintf(card->why, sizeof card->why, "%s", why);
	return rc;
}

static int stalls_read(struct af_xe_card *card)
{
	size_t size;
	int rc;
	scope_free struct xe_query_eu_stall *s = query(card, XE_QUERY_EU_STALL, &size, &rc);

	if (rc == -ENODEV)
		return card_refuse(card, rc,
		                   "this GPU has no sampler of EU stalls: Ponte Vecchio has, and "
		                   "Xe2 (Lunar Lake, Battlemage) and later");
	if (!s)
		return card_refuse(card, rc,
		                   "this kernel's xe driver does not sample EU stalls: Linux 6.15 "
		                   "or later is needed");
	if (size < sizeof *s + 8 || s->row_bytes != AF_XE_ROW_BYTES)
		return card_refuse(card, -EPROTO,
		                   "the driver's rows are not of 64 bytes: a newer aflame is "
		                   "needed for this GPU");
	card->buffer_bytes = s->buffer_bytes;
	for (uint64_t i = 0; i < s->nr_rates && card->nr_rates < AF_XE_RATES_MOST; i++)
		if (size >= sizeof *s + (i + 1) * 8 && s->rates[i])
			card->rates[card->nr_rates++] = s->rates[i];
	return card->nr_rates ? 0 : card_refuse(card, -EPROTO, "the driver names no rates");
}

/*
 * The rows are those of the card's graphics. GPUs from before versions were kept in the hardware
 * (GMD_ID) have none in the answer; of these only Ponte Vecchio has the sampler.
 */
static int layout_find(struct af_xe_card *card)
{
	for (uint32_t i = 0; i < card->nr_gts && !card->layout; i++) {
		const struct af_xe_gt *gt = &card->gts[i];
		if (!gt->media)
			card->layout =
			    gt->major ? af_xe_layout_of(gt->major, gt->minor) : AF_XE_PVC;
	}
	return card->layout ? 0
	                    : card_refuse(card, -ENODEV,
	                                  "rows of this GPU's version are not known to aflame");
}

void xe_card_query(struct af_xe_card *card)
{
	config_read(card);
	int rc = gts_read(card);
	if (rc) {
		card_refuse(card, rc, "the driver does not tell which GTs the GPU has");
		return;
	}
	topology_read(card);
	if (!stalls_read(card))
		layout_find(card);
}
