/*
 * A mock of a Level Zero driver that has metrics, for the real loader (ZE_ENABLE_ALT_DRIVERS). It
 * is built with the vendor's headers, so it checks ours. $MOCK_ZET names a file with lines of
 * fields that tabs separate:
 *
 *	device	NAME	PCI ("" for none)	IP_VERSION	PART_OF (0: none's)
 *	group	NAME	DESCRIPTION	SAMPLING	DOMAIN
 *	metric	NAME	DESCRIPTION	COMPONENT	UNITS	TIER	TYPE	VALUE_TYPE
 *	row	DEVICE	SET	VALUES…	as many as its last group has metrics
 *	read	DEVICE	the next rows come with the next read
 *	drop	DEVICE	the read that has the row before warns of dropped data
 *	fail	CALL	RESULT	DEVICE	TIMES	0: of all, always; or crash, or hang
 *
 * Groups are of the device before them. $MOCK_ZET_LOG names a file that gets a line for some calls.
 */
#ifndef MOCK_ZET_H
#define MOCK_ZET_H

#include <stdbool.h>
#include <stdint.h>

#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

enum {
	MOCK_MOST = 16,
	MOCK_METRICS = 16,
	MOCK_ROWS = 4096,
	MOCK_RAW_BYTES = 64,
	MOCK_TICK_NS = 52,
	MOCK_UNIT = 251
};

struct mock_metric {
	zet_metric_properties_t properties;
};

struct mock_group {
	zet_metric_group_properties_t properties;
	struct mock_device *device;
	struct mock_metric metrics[MOCK_METRICS];
};

struct mock_row {
	uint32_t set, read; /* with which read it comes */
	uint64_t values[MOCK_METRICS];
	double floats[MOCK_METRICS]; /* of metrics that are fractions */
};

struct mock_device {
	uint32_t number, part_of, ip_version;
	char name[256], pci[32];
	struct mock_group groups[MOCK_MOST];
	uint32_t nr_groups;
	struct mock_row rows[MOCK_ROWS];
	uint32_t nr_rows, nr_reads, reads_done, active;
	bool drops[MOCK_ROWS]; /* by read */
	bool is_open;
};

struct mock_fault {
	char call[80];
	char how[8]; /* fail, crash, hang */
	uint32_t result, device, times;
};

struct mock {
	struct mock_device devices[MOCK_MOST];
	uint32_t nr_devices;
	struct mock_fault faults[MOCK_MOST];
	uint32_t nr_faults;
};

/* The devices and faults of the file, read once. */
struct mock *mock_get(void);

/* The result that the file wants of @call; it may crash or never return. */
ze_result_t mock_fault(const char *call, const struct mock_device *device);

/* printf into $MOCK_ZET_LOG. */
void mock_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
