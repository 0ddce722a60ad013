/*
 * Finds Intel GPUs and asks their driver for what is known of EU stall sampling: GTs, rates, rows.
 * A machine without such a device costs one open directory.
 */
#ifndef AF_COLLECT_XE_CARDS_H
#define AF_COLLECT_XE_CARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/xe/rows.h"

struct af_err;

/* The directories of the kernel, which tests have elsewhere. */
struct af_xe_roots {
	const char *dri;    /* /dev/dri */
	const char *drm;    /* /sys/class/drm */
	const char *sysctl; /* /proc/sys/dev */
	const char *pmu;    /* /sys/bus/event_source/devices */
};

extern const struct af_xe_roots af_xe_roots_usual;

enum {
	AF_XE_GTS_MOST = 16,
	AF_XE_RATES_MOST = 32,
	AF_XE_CARDS_MOST = 64,
	AF_XE_ENGINES_MOST = 64,
	AF_XE_UNITS_MOST = 16
};

enum af_xe_driver {
	AF_XE_DRIVER_XE = 1,
	AF_XE_DRIVER_I915,
};

struct af_xe_gt {
	uint32_t id, tile;
	bool media;
	bool optional; /* it may have no sampler of its own: media, or an engine of another's GT */
	uint32_t major, minor; /* version of its graphics or media; 0: older than versions */
	uint32_t nr_xecores;   /* 0: not known */
};

/* Class and instance as the driver's interface numbers them: DRM_XE_ENGINE_CLASS_… */
struct af_xe_engine {
	uint16_t class, instance, gt;
};

/* A unit of the GPU that counts for observers (OA), of those that are a GT's own (OAG). */
struct af_xe_oa_unit {
	uint32_t id, gt;
	uint64_t stamp_hz; /* of the time in its reports */
};

struct af_xe_card {
	enum af_xe_driver driver;
	int fd;             /* of the render node; -1: it could not be opened */
	char node[32];      /* renderD128 */
	char pci[16];       /* 0000:03:00.0, or "" where it is no PCI device */
	char driver_is[64]; /* name and version */
	uint32_t device_id; /* 0: not known */
	struct af_xe_gt gts[AF_XE_GTS_MOST];
	uint32_t nr_gts;
	struct af_xe_engine engines[AF_XE_ENGINES_MOST];
	uint32_t nr_engines;
	struct af_xe_oa_unit units[AF_XE_UNITS_MOST];
	uint32_t nr_units;
	uint32_t max_mhz;         /* of its GTs; 0: not known */
	int error;                /* -errno: its stalls cannot be sampled, and @why says why */
	char why[400];            /* with the line that fixes it */
	enum af_xe_layout layout; /* of rows */
	uint64_t buffer_bytes;    /* of each XeCore */
	uint64_t rates[AF_XE_RATES_MOST]; /* GPU cycles between samples, the fastest first */
	uint32_t nr_rates;
};

struct af_xe_cards {
	struct af_xe_card *all;
	uint32_t nr, cap;
};

/*
 * Find the cards of @driver below @roots. Cards that cannot be sampled are among them, with their
 * error. The caller frees *@cards. Interfaces: DRM_IOCTL_VERSION, DRM_IOCTL_XE_DEVICE_QUERY.
 */
void af_xe_cards_find(struct af_xe_cards *cards, const struct af_xe_roots *roots,
                      enum af_xe_driver driver);

/* Close the nodes and free the list. A zeroed struct is fine. */
void af_xe_cards_free(struct af_xe_cards *cards);

/*
 * The period, in GPU cycles, by which @card has at least @samples_second samples while all its
 * XeCores are busy: the slowest of its rates that does. 0, or a clock that is not known: the
 * driver's default, which is in the middle. The slowest rate is often faster than was wanted.
 */
uint64_t af_xe_period(const struct af_xe_card *card, uint64_t samples_second);

/* Samples a second of the whole card with @period_cycles, at its highest clock; 0: not known. */
uint64_t af_xe_samples_second(const struct af_xe_card *card, uint64_t period_cycles);

/* "GPU 0xe20b (0000:03:00.0)". */
const char *af_xe_card_name(const struct af_xe_card *card, char *text, size_t size);

#endif
