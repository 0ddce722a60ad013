/*
 * Telemetry: counters of the host and of its devices over time, read by the recorder from files of
 * the kernel and from vendors' libraries, beside whatever else is recorded. A source has a name, a
 * period and a thread of its own. Nothing here fails a recording: a value that cannot be read is
 * left out, and a NOTE tells.
 */
#ifndef AF_COLLECT_TELEMETRY_TELEMETRY_H
#define AF_COLLECT_TELEMETRY_TELEMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/session/devices.h"

struct af_err;

enum { AF_TELEMETRY_SOURCES = 16 }; /* at most */

/* The sources that are wanted, by their place in the list of _name(). */
struct af_telemetry_wanted {
	uint64_t period_ns[AF_TELEMETRY_SOURCES]; /* 0: this one is not wanted */
	bool named[AF_TELEMETRY_SOURCES];         /* not by "all" */
};

/* Reads what r->options->telemetry wants. */
extern const struct af_devices_ops af_telemetry;

/*
 * Add "NAME[=MS],…" to @wanted; "all": each source that has anything here. The usual period is
 * 100 ms, of nvml-links 50 ms. -EINVAL, with the names that there are.
 */
int af_telemetry_parse(const char *list, struct af_telemetry_wanted *wanted, struct af_err *err);

/* Name and summary of source @i; NULL: there are no more. */
const char *af_telemetry_name(unsigned i, const char **summary);

/*
 * Describe in @words the counters that source @i has on this machine. 0, or -ENOENT and the reason
 * in @words, with what fixes it.
 */
int af_telemetry_probe(unsigned i, char *words, size_t size);

#endif
