/* Opens the stream of a GT's observation unit (OA), for the heads of its reports. */
#ifndef AF_COLLECT_XE_OA_OPEN_H
#define AF_COLLECT_XE_OA_OPEN_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/xe/cards.h"

/* Are the reports of the card those of Xe2 and later (192 bytes, heads of 64-bit numbers)? */
bool af_xe_oa_is_wide(const struct af_xe_card *card);

/*
 * Open the stream of @unit, enabled, not blocking and closed by exec, with a report at least each
 * @period_ns: its descriptor, or -errno. One stream of a unit can exist on the machine. CAP_PERFMON
 * is put into effect where we have it. Interface: DRM_IOCTL_XE_OBSERVATION with
 * DRM_XE_OBSERVATION_TYPE_OA (Linux 6.11, drivers/gpu/drm/xe/xe_oa.c).
 */
int af_xe_oa_open(const struct af_xe_card *card, const struct af_xe_oa_unit *unit,
                  const struct af_xe_roots *roots, uint64_t period_ns);

/* Why it failed with @rc, and the line that fixes it. */
void af_xe_oa_why(const struct af_xe_card *card, const struct af_xe_roots *roots, int rc, char *why,
                  size_t size);

#endif
