/*
 * Inside src/collect/zet: what its processes say to each other. A driver of Level Zero may crash,
 * hang, print and overwrite memory, so it lives in a child, which writes messages into a pipe. The
 * parent believes none of them.
 */
#ifndef AF_COLLECT_ZET_PRIVATE_H
#define AF_COLLECT_ZET_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "collect/xe/rows.h"
#include "collect/zet/abi.h"

struct af_err;

enum {
	ZET_DEVICES_MOST = 64,   /* with sub-devices */
	ZET_GROUPS_MOST = 1024,  /* of a device */
	ZET_METRICS_MOST = 4096, /* of a group */
	ZET_MESSAGE_MOST = 4096, /* bytes, with its head */
	ZET_SECONDS = 10,        /* for a driver to start and to list what it has */
};

/* Messages: a head, then as many bytes as it says. Kind, name, payload. */
#define ZET_MESSAGES(M)                                                                            \
	M(1, CALL, call)       /* a call into the driver begins */                                 \
	M(2, FAILED, failed)   /* a call failed */                                                 \
	M(3, MISSING, missing) /* libraries that the driver needs */                               \
	M(4, DEVICE, device)                                                                       \
	M(5, GROUP, group)   /* of the device before it */                                         \
	M(6, METRIC, metric) /* of the group before it */                                          \
	M(7, DONE, done)                                                                           \
	M(8, STREAM, stream)    /* a device whose stalls can be sampled */                         \
	M(9, READY, done)       /* no more of them */                                              \
	M(10, SAMPLES, samples) /* of the next window */                                           \
	M(11, WINDOW, window)                                                                      \
	M(12, METER, meter)   /* a group that can be streamed: the last one, with its metrics */   \
	M(13, VALUES, values) /* of a report, or some of them */                                   \
	M(14, SUMS, sums)     /* of a while */

enum zet_kind {
#define M(number, NAME, name) ZET_##NAME = number,
	ZET_MESSAGES(M)
#undef M
};

struct zet_head {
	uint32_t kind, size;
};

struct zet_call {
	uint32_t call; /* enum af_zet_call */
};

struct zet_failed {
	uint32_t call, result;
	uint32_t device; /* 0: of none */
};

enum { ZET_NO_LOADER = 1, ZET_NO_DISCOVERY = 2, ZET_NO_LIBRARY = 4 };

struct zet_missing {
	uint32_t flags;
};

struct zet_device {
	uint32_t device; /* from 1 */
	uint32_t parent; /* whose part it is, 0: none's */
	uint32_t vendor, id, ip_version, clock_mhz;
	uint32_t processors; /* Xe cores */
	uint32_t tick_ns;    /* of its timer, 0: not known */
	uint8_t uuid[16];
	char pci[16]; /* 0000:03:00.0, or "" */
	char name[AF_ZET_TEXT];
};

struct zet_group {
	uint32_t device, sampling, domain;
	char name[AF_ZET_TEXT], description[AF_ZET_TEXT];
};

struct zet_metric {
	uint32_t tier, type, value_type;
	char name[AF_ZET_TEXT], description[AF_ZET_TEXT], component[AF_ZET_TEXT],
	    units[AF_ZET_TEXT];
};

struct zet_done {
	uint32_t nothing;
};

struct zet_stream {
	uint32_t device;
	uint32_t layout;        /* enum af_xe_layout, for how many bits addresses have */
	uint32_t period_cycles; /* that are asked for */
	uint32_t notify_reports;
	uint32_t nr_unknown; /* metrics whose names are not known */
};

struct zet_sample {
	uint64_t address;
	uint32_t counts[AF_XE_NR_REASONS];
};

enum { ZET_SAMPLES_MOST = 80 };

struct zet_samples {
	uint32_t device, nr;
	struct zet_sample samples[ZET_SAMPLES_MOST];
};

struct zet_window {
	uint32_t device;
	uint32_t dropped; /* how often the driver warned */
	uint32_t cut;     /* how often its values made no sense */
	uint32_t rows;
	uint64_t start_ns, end_ns;
	uint64_t period_cycles; /* that the driver gives */
	uint64_t other;         /* counts without an address */
};

struct zet_meter {
	uint32_t device, period_ns; /* asked for */
	uint32_t nr_metrics;
};

struct zet_value {
	uint32_t metric; /* its place in the group */
	uint32_t nothing;
	uint64_t value;
};

enum { ZET_VALUES_MOST = 240 };

struct zet_values {
	uint32_t device, part; /* part: of a device that has some */
	uint32_t nr, nothing;
	uint64_t time_ns, span_ns;
	struct zet_value values[ZET_VALUES_MOST];
};

_Static_assert(sizeof(struct zet_head) + sizeof(struct zet_values) <= ZET_MESSAGE_MOST,
               "a message has room for values");

struct zet_sums {
	uint32_t device, period_ns; /* that the driver gave */
	uint32_t dropped;           /* how often the driver warned */
	uint32_t cut;               /* how often reports made no sense */
	uint32_t reports;
	uint32_t left_out; /* values: negative, no number, too large */
};

/* In the child: the loader and where messages go. */
struct zet_api {
	int out, in;           /* @in ends when the parent wants the child to end */
	enum af_zet_call call; /* the last that began */
	void *library;
#define C(name, parameters) uint32_t(*name) parameters;
	AF_ZET_CALLS(C)
#undef C
};

/* Write a message; the child ends when its parent is gone. */
void zet_send(const struct zet_api *z, enum zet_kind kind, const void *payload, size_t size);
void zet_send_call(struct zet_api *z, enum af_zet_call call);
/* The last call gave @result; @device: with which, 0: none. */
void zet_send_failed(const struct zet_api *z, uint32_t result, uint32_t device);

/* Load libze_loader.so.1, and what it has of AF_ZET_CALLS. False: a message says why. */
bool zet_load(struct zet_api *z);

/*
 * Call a function of the loader, after a message that names it. A function that this loader lacks
 * fails as one that the driver lacks does.
 */
#define ZET(z, name, ...)                                                                          \
	(zet_send_call(z, AF_ZET_CALL_##name),                                                     \
	 (z)->name ? (z)->name(__VA_ARGS__) : (uint32_t)AF_ZET_ERROR_UNSUPPORTED_FEATURE)

/* A device of the child's list. */
struct zet_place {
	void *driver, *handle;
	struct zet_device about;
};

/*
 * zeInit, and all GPUs with their sub-devices, at most @most, with a message for each. Returns how
 * many there are; a failure is a message.
 */
uint32_t zet_devices(struct zet_api *z, struct zet_place *places, uint32_t most);

/* The metric groups of a device, which the caller frees: *@nr, with a message if that fails. */
void **zet_groups(struct zet_api *z, const struct zet_place *place, uint32_t *nr);

/* The metrics of a group, in the same way. */
void **zet_metrics(struct zet_api *z, void *group, uint32_t device, uint32_t *nr);

/* Run in a child that samples stalls; @arg is a struct zet_wanted. */
struct zet_wanted {
	uint64_t samples_second; /* of a device, 0: about as the kernel's driver would */
};

/*
 * Sample all devices that can be, while the parent wants it: it writes '1' and '0' for on and off,
 * and closes the pipe at the end, after which all that is left is read.
 */
void zet_stall_run(struct zet_api *z, void *arg);

/* Run in a child that streams a metric group; @arg is a struct zet_metered. */
struct zet_metered {
	const char *group;
	uint32_t period_ns;
};

/* Stream it on all devices that have it, as zet_stall_run() does stalls. */
void zet_meter_run(struct zet_api *z, void *arg);

/* Send a group and its metrics. */
void zet_group_send(struct zet_api *z, void *group, uint32_t device);

/* Run in a child: send all groups of all devices, and their metrics. */
void zet_list(struct zet_api *z, void *arg);

/* In the parent. */
struct zet_child {
	pid_t pid;
	int from, to;
	struct af_buf got; /* what was read; @at of it was taken */
	size_t at;
	bool ended;     /* it wrote its last message, or the pipe ended */
	bool done;      /* it wrote its last message */
	bool broken;    /* it wrote nonsense */
	bool timed_out; /* zet_child_end() had to kill it */
	int status;     /* of waitpid(2), after zet_child_end() */
	uint32_t call;  /* enum af_zet_call: the last that it began */
	_Alignas(8) char message[ZET_MESSAGE_MOST]; /* that zet_child_next() gave */
};

/*
 * Start a child that runs @run(z, arg), with ZET_ENABLE_METRICS set, without rights, descriptors
 * and standard streams, and ends by itself after @seconds, 0: never. -errno with a message.
 */
int zet_child_start(struct zet_child *c, void (*run)(struct zet_api *z, void *arg), void *arg,
                    unsigned seconds, struct af_err *err);

/* Read what is there, after waiting for at most @wait_ms. False: there will be no more. */
bool zet_child_read(struct zet_child *c, int wait_ms);

/*
 * The next message that is whole, or NULL. Its payload is aligned, of the size of its kind (of
 * ZET_SAMPLES, a multiple), and its texts end within their arrays; it is valid until the next call.
 */
const struct zet_head *zet_child_next(struct zet_child *c);

/* End it, if need be after @grace_ms, and free what it has. It may be called again. */
void zet_child_end(struct zet_child *c, int grace_ms);

/* After zet_child_end(): "" if it did all it should, else what happened and where. */
void zet_child_why(const struct zet_child *c, char *why, size_t size);

/* Why a call failed, and the line that fixes it. @missing: enum of zet_missing. */
void zet_why(const struct zet_failed *f, uint32_t missing, char *why, size_t size);
void zet_why_missing(uint32_t missing, char *why, size_t size);

/* Why a device has no metric groups though nothing failed. */
void zet_why_no_groups(char *why, size_t size);

/* Names by the specification: "zeInit", "ERROR_DEVICE_LOST"; "" for numbers that are not known. */
const char *zet_call_name(uint32_t call);
const char *zet_result_name(uint32_t result);

#endif
