/* Whether Level Zero can sample stalls here, and where it may do so for the kernel's stream. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/xe/cards.h"
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

int af_zet_stall_probe(char *words, size_t size, struct af_err *err)
{
	struct af_zet_metrics m;
	const char *why = NULL;

	*words = 0;
	int rc = af_zet_metrics_list(&m, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < m.nr; i++) {
		const struct af_zet_group *g = stall_group(&m.devices[i]);
		if (g)
			device_words(&m.devices[i], g, words, size);
		else if (!why)
			why = m.devices[i].why;
	}
	if (!*words)
		rc = af_fail_plain(err, -ENODEV, "%s",
		                   *m.why ? m.why
		                   : why  ? why
		                          : "no GPU has the metric group EuStallSampling: it is "
		                            "for Ponte Vecchio, Lunar Lake, Battlemage and later");
	af_zet_metrics_free(&m);
	return rc;
}
