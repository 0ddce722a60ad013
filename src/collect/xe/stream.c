/* Opens stall streams, and explains why one cannot be opened. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/proc.h"
#include "base/system/rights.h"
#include "collect/xe/private.h"
#include "collect/xe/uapi.h"

/*
 * The kernel wakes us when so many rows are there, and we look every now and then for fewer: a busy
 * GPU fills a buffer of 8,192 rows for each XeCore.
 */
enum { WAIT_ROWS = 1024 };

static uint32_t wait_rows(const struct af_xe_card *card)
{
	uint64_t half = card->buffer_bytes / AF_XE_ROW_BYTES / 2;

	return half && half < WAIT_ROWS ? (uint32_t)half : WAIT_ROWS;
}

static int xe_open(const struct af_xe_card *card, const struct af_xe_gt *gt, uint64_t period_cycles)
{
	struct xe_property properties[] = {
	    {.property = XE_PROPERTY_GT, .value = gt->id},
	    {.property = XE_PROPERTY_RATE, .value = period_cycles},
	    {.property = XE_PROPERTY_WAIT_ROWS, .value = wait_rows(card)},
	};
	struct xe_observation o = {
	    .type = XE_OBSERVE_EU_STALL,
	    .operation = XE_STREAM_OPEN,
	    .param = (uintptr_t)properties,
	};

	for (size_t i = 0; i + 1 < sizeof properties / sizeof *properties; i++)
		properties[i].next = (uintptr_t)&properties[i + 1];
	return xe_ioctl(card->fd, XE_OBSERVATION_CALL, &o);
}

int xe_stream_adopt(int fd)
{
	if (fd < 0)
		return fd;
	int flags = fcntl(fd, F_GETFL);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) || flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK)) {
		int rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

int xe_stream_open(const struct af_xe_card *card, const struct af_xe_gt *gt, uint64_t period_cycles)
{
	scope_rights(AF_RIGHTS_KERNEL);
	int fd = card->driver == AF_XE_DRIVER_XE
	             ? xe_open(card, gt, period_cycles)
	             : xe_i915_open(card, gt, period_cycles, wait_rows(card));

	return xe_stream_adopt(fd);
}

/* EACCES: the sysctl, unless it is off already. */
static void why_refused(const struct af_xe_card *card, const struct af_xe_roots *roots, char *why,
                        size_t size)
{
	bool xe = card->driver == AF_XE_DRIVER_XE;
	const char *file = xe ? "xe/observation_paranoid" : "i915/perf_stream_paranoid";
	const char *name = xe ? "dev.xe.observation_paranoid" : "dev.i915.perf_stream_paranoid";
	char path[256], text[16] = "";

	snprintf(path, sizeof path, "%s/%s", roots->sysctl, file);
	af_read_text(path, text, sizeof text);
	if (*text && !atoi(text))
		snprintf(why, size,
		         "the kernel refuses observation although %s is 0: run `sysctl "
		         "kernel.perf_event_paranoid=0` as root, or give aflame CAP_PERFMON",
		         name);
	else
		snprintf(why, size,
		         "observation is for root: run `sysctl %s=0` as root, or give aflame "
		         "CAP_PERFMON (in a container: --cap-add PERFMON)",
		         name);
}

void xe_stream_why(const struct af_xe_card *card, const struct af_xe_roots *roots, int rc,
                   char *why, size_t size)
{
	if (rc == -EACCES || rc == -EPERM)
		why_refused(card, roots, why, size);
	else if (rc == -EBUSY)
		snprintf(why, size,
		         "another program observes it (a profiler, or another recording): only one "
		         "at a time can");
	else if (card->driver == AF_XE_DRIVER_I915)
		snprintf(why, size,
		         "this i915 driver does not sample EU stalls (%s): Intel's own does, "
		         "intel-i915-dkms, on Ponte Vecchio; else use the xe driver of Linux 6.15",
		         strerror(-rc));
	else if (rc == -ENODEV || rc == -EOPNOTSUPP)
		snprintf(why, size, "it has no sampler of EU stalls");
	else
		snprintf(why, size, "the driver opens no stream: %s", strerror(-rc));
}
