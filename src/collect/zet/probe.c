/* Whether Level Zero can sample stalls here, and where it may do so for the kernel's stream. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/xe/cards.h"
#include "collect/zet/meters.h"
#include "collect/zet/metrics.h"
#include "collect/zet/stall.h"

/* Other GPUs have no such sampler. A card whose GTs are not known may have one. */
static bool may_sample(const struct af_xe_card *card)
{
	for (uint32_t i = 0; i < card->nr_gts; i++)
		if (af_xe_layout_of(card->gts[i].major, card->gts[i].minor))
			return true;
	return card->driver == AF_XE_DRIVER_XE && !card->nr_gts;
}

bool af_zet_may_help(void)
{
	const char *drivers = getenv("ZE_ENABLE_ALT_DRIVERS");
	struct af_xe_cards cards;
	bool any = false;

	af_xe_cards_find(&cards, &af_xe_roots_usual, AF_XE_DRIVER_XE);
	for (uint32_t i = 0; i < cards.nr; i++)
		any |= may_sample(&cards.all[i]);
	af_xe_cards_free(&cards);
	return any || (drivers && *drivers);
}

static const struct af_zet_group *stall_group(const struct af_zet_device *d)
{
	for (uint32_t i = 0; i < d->nr; i++)
		if (!strcmp(d->groups[i].name, "EuStallSampling") && d->groups[i].time_based)
			return &d->groups[i];
	return NULL;
}

static void device_words(const struct af_zet_device *d, const struct af_zet_group *g, char *words,
                         size_t size)
{
	size_t used = strlen(words);

	snprintf(words + used, size - used, "%s%s: EuStallSampling with %u metrics",
	         used ? "; " : "", d->name, g->nr);
	af_terminal_text(words);
}

/* Listed once: a driver that hangs costs seconds each time. */
static int metrics_known(const struct af_zet_metrics **known, struct af_err *err)
{
	static struct af_zet_metrics m;
	static bool listed;

	*known = &m;
	int rc = listed ? 0 : af_zet_metrics_list(&m, err);
	listed |= !rc;
	return rc;
}

int af_zet_stall_probe(char *words, size_t size, struct af_err *err)
{
	const struct af_zet_metrics *m;
	const char *why = NULL;

	*words = 0;
	int rc = metrics_known(&m, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < m->nr; i++) {
		const struct af_zet_group *g = stall_group(&m->devices[i]);
		if (g)
			device_words(&m->devices[i], g, words, size);
		else if (!why)
			why = m->devices[i].why;
	}
	if (!*words)
		rc = af_fail_plain(err, -ENODEV, "%s",
		                   *m->why ? m->why
		                   : why   ? why
		                           : "no GPU has the metric group EuStallSampling: it is "
		                             "for Ponte Vecchio, Lunar Lake, Battlemage and later");
	return rc;
}

static uint32_t nr_streamable(const struct af_zet_device *d)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < d->nr; i++)
		nr += d->groups[i].time_based && strcmp(d->groups[i].name, "EuStallSampling") != 0;
	return nr;
}

int af_zet_meters_probe(char *words, size_t size, struct af_err *err)
{
	const struct af_zet_metrics *m;
	const char *why = NULL;

	*words = 0;
	int rc = metrics_known(&m, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < m->nr; i++) {
		const struct af_zet_device *d = &m->devices[i];
		uint32_t nr = nr_streamable(d);
		size_t used = strlen(words);
		if (nr)
			snprintf(words + used, size - used, "%s%s: %u group%s", used ? "; " : "",
			         d->name, nr, nr == 1 ? "" : "s");
		else if (!why)
			why = d->why;
	}
	af_terminal_text(words);
	return *words ? 0
	              : af_fail_plain(err, -ENODEV, "%s",
	                              *m->why ? m->why
	                              : why   ? why
	                                      : "no GPU has a time-based metric group beside "
	                                        "EuStallSampling");
}
