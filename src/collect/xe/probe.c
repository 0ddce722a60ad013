/* Whether stalls of Intel's GPUs can be sampled here, and what stands in the way. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/xe/eustall.h"
#include "collect/xe/private.h"

static const char *layout_name(enum af_xe_layout layout)
{
	return layout == AF_XE_PVC ? "PVC" : layout == AF_XE_XE3P ? "Xe3p" : "Xe2";
}

/* The number of its GTs that can be sampled; else *@rc and @why. */
static uint32_t card_try(const struct af_xe_card *card, int *rc, char *why, size_t size)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < card->nr_gts; i++) {
		int fd = xe_stream_open(card, &card->gts[i], card->rates[card->nr_rates - 1]);
		if (fd >= 0) {
			close(fd);
			nr++;
		} else if (!nr && !card->gts[i].optional) {
			*rc = fd;
			xe_stream_why(card, &af_xe_roots_usual, fd, why, size);
		}
	}
	return nr;
}

static void card_words(const struct af_xe_card *card, uint32_t nr_gts, char *words, size_t size)
{
	size_t used = strlen(words);
	char name[64];

	snprintf(words + used, size - used, "%s%s: %u GT%s, rows of %s, every %llu to %llu cycles",
	         used ? "; " : "", af_xe_card_name(card, name, sizeof name), nr_gts,
	         nr_gts == 1 ? "" : "s", layout_name(card->layout),
	         (unsigned long long)card->rates[0],
	         (unsigned long long)card->rates[card->nr_rates - 1]);
}

/* A card that works decides; else the first that does not. */
static int cards_try(const struct af_xe_cards *cards, char *words, size_t size, struct af_err *err)
{
	char first[500] = "", why[400], name[64];
	int rc = 0;

	*words = 0;
	for (uint32_t i = 0; i < cards->nr; i++) {
		const struct af_xe_card *card = &cards->all[i];
		int failed = card->error;
		snprintf(why, sizeof why, "%s", card->why);
		uint32_t nr = failed ? 0 : card_try(card, &failed, why, sizeof why);
		if (nr)
			card_words(card, nr, words, size);
		if (nr || rc)
			continue;
		rc = failed;
		snprintf(first, sizeof first, "%s: %s", af_xe_card_name(card, name, sizeof name),
		         why);
	}
	return *words ? 0 : af_fail_plain(err, rc, "%s", first);
}

int af_xe_eustall_probe(char *words, size_t size, struct af_err *err)
{
	struct af_xe_cards cards;
	int rc;

	af_xe_cards_find(&cards, &af_xe_roots_usual, AF_XE_DRIVER_XE);
	if (cards.nr)
		rc = cards_try(&cards, words, size, err);
	else
		rc = af_fail_plain(err, -ENODEV,
		                   "no GPU with the xe driver (/dev/dri): it is for Ponte Vecchio, "
		                   "Lunar Lake, Battlemage and later, on Linux 6.15 or later; a "
		                   "container needs --device /dev/dri");
	af_xe_cards_free(&cards);
	return rc;
}

int af_i915_eustall_probe(char *words, size_t size, struct af_err *err)
{
	struct af_xe_cards cards;
	int rc;

	af_xe_cards_find(&cards, &af_xe_roots_usual, AF_XE_DRIVER_I915);
	if (cards.nr)
		rc = cards_try(&cards, words, size, err);
	else
		rc = af_fail_plain(err, -ENODEV,
		                   "no GPU with the i915 driver (/dev/dri): it is for Ponte "
		                   "Vecchio with Intel's own i915, intel-i915-dkms");
	af_xe_cards_free(&cards);
	return rc;
}
