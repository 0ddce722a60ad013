#include "collect/xe/oa_open.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/proc.h"
#include "base/system/rights.h"
#include "collect/xe/private.h"
#include "collect/xe/uapi.h"

enum { NS_PER_S = 1000000000, EXPONENT_MOST = 31, XE2 = 20 };

/* This config counts nothing: reports have their heads whatever is counted. */
#define CONFIG_UUID "7d1b3f52-2d0e-4f7c-9c43-1a5f6be0a7c9"
enum { EU_PERF_CNTL0 = 0xe458 }; /* a register that configs of all GPUs may set */

bool af_xe_oa_is_wide(const struct af_xe_card *card)
{
	for (uint32_t i = 0; i < card->nr_gts; i++)
		if (!card->gts[i].media && card->gts[i].major >= XE2)
			return true;
	return false;
}

/* The config as another recording left it: its id, 0: there is none. */
static uint64_t config_known(const struct af_xe_card *card, const struct af_xe_roots *roots)
{
	char folder[256], path[PATH_MAX], text[32];
	const struct dirent *e;
	uint64_t id = 0;

	snprintf(folder, sizeof folder, "%s/%s/device/drm", roots->drm, card->node);
	DIR *cards = opendir(folder);
	while (cards && !id && (e = readdir(cards))) {
		snprintf(path, sizeof path, "%s/%s/metrics/" CONFIG_UUID "/id", folder, e->d_name);
		if (!strncmp(e->d_name, "card", 4) && af_read_text(path, text, sizeof text))
			id = strtoull(text, NULL, 10);
	}
	if (cards)
		closedir(cards);
	return id;
}

static int observe(const struct af_xe_card *card, uint64_t operation, const void *param)
{
	struct xe_observation o = {
	    .type = XE_OBSERVE_OA, .operation = operation, .param = (uintptr_t)param};

	return xe_ioctl(card->fd, XE_OBSERVATION_CALL, &o);
}

/* Its id, or -errno. */
static int64_t config_add(const struct af_xe_card *card)
{
	const uint32_t registers[] = {EU_PERF_CNTL0, 0};
	struct xe_oa_config config = {.nr = 1, .registers = (uintptr_t)registers};

	memcpy(config.uuid, CONFIG_UUID, sizeof config.uuid);
	return observe(card, XE_ADD_CONFIG, &config);
}

/* The longest of the driver's periods that is not above @period_ns. */
static uint64_t exponent_of(const struct af_xe_oa_unit *unit, uint64_t period_ns)
{
	uint64_t exponent = 0;

	while (exponent < EXPONENT_MOST && (double)(UINT64_C(4) << exponent) * NS_PER_S <=
	                                       (double)period_ns * (double)unit->stamp_hz)
		exponent++;
	return exponent;
}

static int stream_open(const struct af_xe_card *card, const struct af_xe_oa_unit *unit,
                       uint64_t config, uint64_t period_ns)
{
	struct xe_property properties[] = {
	    {.property = XE_OA_PROPERTY_UNIT, .value = unit->id},
	    {.property = XE_OA_PROPERTY_SAMPLE, .value = 1},
	    {.property = XE_OA_PROPERTY_CONFIG, .value = config},
	    {.property = XE_OA_PROPERTY_FORMAT,
	     .value = af_xe_oa_is_wide(card) ? XE_OA_FORMAT_PEC : XE_OA_FORMAT_OAG},
	    {.property = XE_OA_PROPERTY_EXPONENT, .value = exponent_of(unit, period_ns)},
	};

	for (size_t i = 0; i + 1 < sizeof properties / sizeof *properties; i++)
		properties[i].next = (uintptr_t)&properties[i + 1];
	return observe(card, XE_STREAM_OPEN, properties);
}

int af_xe_oa_open(const struct af_xe_card *card, const struct af_xe_oa_unit *unit,
                  const struct af_xe_roots *roots, uint64_t period_ns)
{
	scope_rights(AF_RIGHTS_KERNEL);
	uint64_t config = config_known(card, roots);
	int64_t added = config ? 0 : config_add(card);

	if (added < 0)
		return (int)added;
	config = config ? config : (uint64_t)added;
	int fd = stream_open(card, unit, config, period_ns);
	/* The stream holds it, and whoever comes next adds it again. */
	if (added)
		observe(card, XE_REMOVE_CONFIG, &config);
	return xe_stream_adopt(fd);
}

void af_xe_oa_why(const struct af_xe_card *card, const struct af_xe_roots *roots, int rc, char *why,
                  size_t size)
{
	if (rc == -EACCES || rc == -EPERM || rc == -EBUSY)
		xe_stream_why(card, roots, rc, why, size);
	else
		snprintf(why, size, "the driver opens no stream of it: %s", strerror(-rc));
}
