#include "collect/xe/cards.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system/proc.h"
#include "collect/xe/private.h"
#include "collect/xe/uapi.h"

enum { TRIES_MOST = 1000 }; /* of a call that is to be repeated: drmIoctl() has no end */

const struct af_xe_roots af_xe_roots_usual = {"/dev/dri", "/sys/class/drm", "/proc/sys/dev",
                                              "/sys/bus/event_source/devices"};

int xe_ioctl(int fd, unsigned long call, void *argument)
{
	int rc, tries = 0;

	do
		rc = ioctl(fd, call, argument);
	while (rc < 0 && (errno == EINTR || errno == EAGAIN) && ++tries < TRIES_MOST);
	return rc < 0 ? -errno : rc;
}

/* The last part of a link in the device's directory of sysfs: its driver, its bus; "": no such. */
static void link_read(const struct af_xe_roots *roots, const char *node, const char *link,
                      char *name, size_t size)
{
	char path[PATH_MAX], to[PATH_MAX];

	*name = 0;
	snprintf(path, sizeof path, "%s/%s/device%s%s", roots->drm, node, *link ? "/" : "", link);
	ssize_t n = readlink(path, to, sizeof to - 1);
	if (n <= 0)
		return;
	to[n] = 0;
	const char *slash = strrchr(to, '/');
	snprintf(name, size, "%.*s", (int)size - 1, slash ? slash + 1 : to);
}

/*
 * Opening a node may wake the device up, so PCI devices of other drivers are left alone. A device
 * that sysfs does not show is opened: its driver tells.
 */
static bool may_be(const struct af_xe_roots *roots, const char *node, const char *driver)
{
	char bus[64], name[64];

	link_read(roots, node, "subsystem", bus, sizeof bus);
	link_read(roots, node, "driver", name, sizeof name);
	return strcmp(bus, "pci") != 0 || !*name || !strcmp(name, driver);
}

/* DRM_IOCTL_VERSION: is it the driver @name? */
static bool version_read(struct af_xe_card *card, const char *name)
{
	char is[32] = "";
	struct drm_version v = {.name = is, .name_size = sizeof is - 1};

	if (xe_ioctl(card->fd, DRM_VERSION_CALL, &v))
		return false;
	is[sizeof is - 1] = 0;
	snprintf(card->driver_is, sizeof card->driver_is, "%s %d.%d.%d", is, v.major, v.minor,
	         v.patch);
	return !strcmp(is, name);
}

static void card_sysfs(struct af_xe_card *card, const struct af_xe_roots *roots)
{
	char path[PATH_MAX], bus[64], text[64];

	link_read(roots, card->node, "subsystem", bus, sizeof bus);
	link_read(roots, card->node, "", text, sizeof text);
	if (!strcmp(bus, "pci") && strlen(text) < sizeof card->pci)
		strcpy(card->pci, text);
	snprintf(path, sizeof path, "%s/%s/device/device", roots->drm, card->node);
	if (af_read_text(path, text, sizeof text))
		card->device_id = (uint32_t)strtoul(text, NULL, 16) & 0xffff;
}

/* Documentation/ABI/testing/sysfs-driver-intel-xe: freq0/max_freq, in MHz. */
void xe_clock_read(struct af_xe_card *card, const struct af_xe_roots *roots)
{
	char path[PATH_MAX], text[64];

	for (uint32_t i = 0; i < card->nr_gts; i++) {
		const struct af_xe_gt *gt = &card->gts[i];
		if (gt->media)
			continue;
		snprintf(path, sizeof path, "%s/%s/device/tile%u/gt%u/freq0/max_freq", roots->drm,
		         card->node, gt->tile, gt->id);
		unsigned long mhz =
		    af_read_text(path, text, sizeof text) ? strtoul(text, NULL, 10) : 0;
		if (mhz > card->max_mhz && mhz < 100000)
			card->max_mhz = (uint32_t)mhz;
	}
}

static bool card_open(struct af_xe_card *card, const struct af_xe_roots *roots, const char *driver)
{
	char path[PATH_MAX], name[64];

	snprintf(path, sizeof path, "%s/%s", roots->dri, card->node);
	card->fd = open(path, O_RDWR | O_CLOEXEC);
	if (card->fd >= 0)
		return version_read(card, driver);
	int rc = -errno;
	link_read(roots, card->node, "driver", name, sizeof name);
	if (strcmp(name, driver) != 0)
		return false; /* not known to be one */
	snprintf(card->driver_is, sizeof card->driver_is, "%s", driver);
	card->error = rc;
	snprintf(card->why, sizeof card->why,
	         rc == -EACCES || rc == -EPERM
	             ? "%s may not be opened by this user: add it to the group that the file has, "
	               "`usermod -aG render $USER`"
	             : "%s cannot be opened: %s",
	         path, strerror(-rc));
	return true;
}

static void card_find(struct af_xe_cards *cards, const struct af_xe_roots *roots,
                      enum af_xe_driver driver, const char *node)
{
	const char *name = driver == AF_XE_DRIVER_XE ? "xe" : "i915";
	struct af_xe_card card = {.driver = driver, .fd = -1};

	if (strlen(node) >= sizeof card.node || cards->nr >= AF_XE_CARDS_MOST ||
	    !may_be(roots, node, name))
		return;
	strcpy(card.node, node);
	if (!card_open(&card, roots, name)) {
		if (card.fd >= 0)
			close(card.fd);
		return;
	}
	card_sysfs(&card, roots);
	if (!card.error && driver == AF_XE_DRIVER_XE)
		xe_card_query(&card);
	else if (!card.error)
		xe_card_i915(&card);
	if (!card.error && driver == AF_XE_DRIVER_XE)
		xe_clock_read(&card, roots);
	AF_GROW(cards->all, cards->nr, cards->cap);
	cards->all[cards->nr++] = card;
}

/* renderD9 before renderD128. */
static int by_node(const void *left, const void *right)
{
	const struct af_xe_card *a = left, *b = right;
	size_t la = strlen(a->node), lb = strlen(b->node);

	return la != lb ? (la < lb ? -1 : 1) : strcmp(a->node, b->node);
}

void af_xe_cards_find(struct af_xe_cards *cards, const struct af_xe_roots *roots,
                      enum af_xe_driver driver)
{
	DIR *nodes = opendir(roots->dri);
	const struct dirent *e;

	*cards = (struct af_xe_cards){0};
	while (nodes && (e = readdir(nodes)))
		if (!strncmp(e->d_name, "renderD", 7))
			card_find(cards, roots, driver, e->d_name);
	if (nodes)
		closedir(nodes);
	AF_SORT(cards->all, cards->nr, by_node);
}

void af_xe_cards_free(struct af_xe_cards *cards)
{
	for (uint32_t i = 0; i < cards->nr; i++)
		if (cards->all[i].fd >= 0)
			close(cards->all[i].fd);
	free(cards->all);
	*cards = (struct af_xe_cards){0};
}

uint64_t af_xe_samples_second(const struct af_xe_card *card, uint64_t period_cycles)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < card->nr_gts; i++)
		nr += card->gts[i].nr_xecores;
	return period_cycles ? (uint64_t)card->max_mhz * 1000000 / period_cycles * nr : 0;
}

uint64_t af_xe_period(const struct af_xe_card *card, uint64_t samples_second)
{
	uint64_t slowest = card->rates[card->nr_rates - 1];

	if (!samples_second || !af_xe_samples_second(card, slowest))
		return card->rates[card->nr_rates / 2];
	for (uint32_t i = card->nr_rates; i--;)
		if (af_xe_samples_second(card, card->rates[i]) >= samples_second)
			return card->rates[i];
	return card->rates[0];
}

const char *af_xe_card_name(const struct af_xe_card *card, char *text, size_t size)
{
	const char *at = *card->pci ? card->pci : card->node;

	if (card->device_id)
		snprintf(text, size, "GPU 0x%04x (%s)", card->device_id, at);
	else
		snprintf(text, size, "GPU %s", at);
	return text;
}
