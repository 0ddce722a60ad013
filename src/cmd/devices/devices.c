#include "cmd/devices/devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "collect/probe/collect.h"
#include "collect/session/session.h"
#include "collect/xe/eustall.h"
#include "collect/xe_oa/oa.h"
#include "collect/zet/meters.h"
#include "collect/zet/stall.h"

#define GPU_SAMPLES_USUAL "100k" /* without a value: cmd/record/record.h */
#define GPU_SAMPLES_LEAST 1000
#define GPU_SAMPLES_MOST 100000000
#define GPU_SAMPLES_EXACT 10000000 /* while they are taken */

enum {
	HEARTBEAT_MS_MOST = 60000,
	NS_PER_MS = 1000000,
	PERIOD_NS_LEAST = 10000,
	PERIOD_NS_MOST = 1000000000,
};

/* Ways to sample the CPU. */
static const char *const cpu_samplers[] = {"auto", "bpf", "perf", "timer", "none"};

struct device_sampler {
	const char *name;
	const struct af_devices_ops *ops;
	bool stalls; /* it samples those of instructions */
	/* Takes what stands behind the name, NULL: nothing; NULL: nothing may. */
	int (*take)(const char *value, struct af_session_options *s, struct af_err *err);
};

/* The words of a list: @len bytes at @*at, and behind it the next one. */
static const char *word_next(const char *list, size_t *len)
{
	*len = strcspn(list, ",");
	return list[*len] ? list + *len + 1 : NULL;
}

static const char *cpu_sampler_of(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof cpu_samplers / sizeof *cpu_samplers; i++)
		if (strlen(cpu_samplers[i]) == len && !strncmp(cpu_samplers[i], word, len))
			return cpu_samplers[i];
	return NULL;
}

const char *af_cpu_sampler_named(const char *sample)
{
	size_t len;

	for (const char *word = sample, *next; word; word = next) {
		next = word_next(word, &len);
		const char *cpu = cpu_sampler_of(word, len);
		if (cpu)
			return cpu;
	}
	return "auto";
}

/* Milliseconds, so that the name of the unit may be left out. */
static int heartbeat_take(const char *value, struct af_session_options *s, struct af_err *err)
{
	char *end;

	s->observe = true;
	if (!value)
		return 0;
	unsigned long ms = strtoul(value, &end, 10);
	if (!strcmp(end, "ms"))
		end += 2;
	if (*value < '0' || *value > '9' || *end || ms < 1 || ms > HEARTBEAT_MS_MOST)
		return af_fail_plain(err, -EINVAL,
		                     "--sample " AF_COLLECTOR_XE_OA
		                     "=MS takes 1 to 60000 milliseconds, not \"%s\"",
		                     value);
	s->heartbeat_ns = (uint64_t)ms * NS_PER_MS;
	return 0;
}

/* A number with a unit, or milliseconds: false where it is none, or out of range. */
static bool period_of(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e6}, {"ms", 1e6}, {"us", 1e3}, {"s", 1e9}};
	char *end;
	double number = strtod(text, &end);

	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (end == text || strcmp(end, units[i].name) != 0)
			continue;
		number *= units[i].ns;
		*ns = number >= PERIOD_NS_LEAST && number <= PERIOD_NS_MOST ? (uint64_t)number : 0;
		return *ns != 0;
	}
	return false;
}

/* GROUP, GROUP@PERIOD: names of groups have no @. */
static int group_take(const char *value, struct af_session_options *s, struct af_err *err)
{
	static char group[256]; /* as long as the program */
	const char *at = value ? strchr(value, '@') : NULL;

	if (!value || !*value || at == value)
		return af_fail_plain(err, -EINVAL,
		                     "--sample " AF_COLLECTOR_ZET_METRICS
		                     "=GROUP needs the name of a metric group: `aflame doctor "
		                     "--metrics` lists them");
	if (at && !period_of(at + 1, &s->metric_ns))
		return af_fail_plain(err, -EINVAL,
		                     "--sample " AF_COLLECTOR_ZET_METRICS
		                     "=GROUP@PERIOD takes 10us to 1s, not \"%s\"",
		                     at + 1);
	snprintf(group, sizeof group, "%.*s", at ? (int)(at - value) : (int)strlen(value), value);
	s->metric_group = group;
	return 0;
}

static const struct device_sampler device_samplers[] = {
    {AF_COLLECTOR_XE, &af_xe_eustall, true, NULL},
    {AF_COLLECTOR_I915, &af_xe_eustall, true, NULL},
    {AF_COLLECTOR_ZET, &af_zet_stall, true, NULL},
    {AF_COLLECTOR_XE_OA, &af_xe_oa, false, heartbeat_take},
    {AF_COLLECTOR_ZET_METRICS, &af_zet_meters, false, group_take},
};

enum { NR_SAMPLERS = sizeof device_samplers / sizeof *device_samplers };

static int devices_add(struct af_session_options *s, const struct af_devices_ops *ops,
                       struct af_err *err)
{
	for (int i = 0; i < AF_DEVICES_MOST; i++) {
		if (s->devices[i] == ops)
			return af_fail_plain(err, -EINVAL, "--sample names a collector twice");
		if (!s->devices[i]) {
			s->devices[i] = ops;
			return 0;
		}
	}
	return af_fail_plain(err, -EINVAL, "--sample names too many collectors");
}

static int no_such(const char *word, struct af_err *err)
{
	return af_fail_plain(
	    err, -EINVAL,
	    "--sample takes one of auto, bpf, perf, timer and none, and xe-eustall, "
	    "i915-eustall, zet-stall, xe-oa[=MS], zet-metrics=GROUP[@PERIOD], not \"%s\"",
	    word);
}

/* Somebody who names a collector wants it to work. */
static int sampler_take(const struct device_sampler *d, const char *value,
                        struct af_session_options *s, struct af_err *err)
{
	char words[600];
	int rc;

	if (value && !d->take)
		return af_fail_plain(err, -EINVAL, "--sample %s takes no value", d->name);
	rc = d->take ? d->take(value, s, err) : 0;
	if (!rc)
		rc = devices_add(s, d->ops, err);
	if (rc)
		return rc;
	rc = af_collector_find(d->name)->probe(words, sizeof words, err);
	return rc ? af_while(err, rc == -EINVAL ? -ENOTSUP : rc, "--sample %s does not work here",
	                     d->name)
	          : 0;
}

struct named {
	bool cpu, stalls;
};

static int word_take(const char *from, size_t len, struct named *named,
                     struct af_session_options *s, struct af_err *err)
{
	char word[300];

	snprintf(word, sizeof word, "%.*s", (int)len, from);
	if (cpu_sampler_of(from, len)) {
		if (named->cpu)
			return af_fail_plain(err, -EINVAL,
			                     "--sample names two ways to sample the CPU");
		named->cpu = true;
		return 0;
	}
	char *value = strchr(word, '=');
	if (value)
		*value++ = 0;
	for (int i = 0; i < NR_SAMPLERS; i++) {
		const struct device_sampler *d = &device_samplers[i];
		if (strcmp(word, d->name) != 0)
			continue;
		if (d->stalls && named->stalls)
			return af_fail_plain(err, -EINVAL,
			                     "--sample names two samplers of instructions");
		named->stalls |= d->stalls;
		return sampler_take(d, value, s, err);
	}
	return no_such(word, err);
}

/* "exact", or samples a second: 100000, 100k, 1M. */
static int choose_rate(const char *how, struct af_session_options *s, struct af_err *err)
{
	char *end;
	double rate;

	if (!strcmp(how, "exact")) {
		s->flags |= AF_SESSION_GPU_EXACT;
		s->gpu_samples_second = GPU_SAMPLES_EXACT;
		return 0;
	}
	rate = strtod(how, &end);
	if (*end == 'k' || *end == 'M')
		rate *= *end++ == 'k' ? 1e3 : 1e6;
	if (end == how || *end || !(rate >= GPU_SAMPLES_LEAST && rate <= GPU_SAMPLES_MOST))
		return af_fail_plain(err, -EINVAL,
		                     "--gpu-samples takes 1k to 100M samples a second, or exact, "
		                     "not \"%s\"",
		                     how);
	s->gpu_samples_second = (uint64_t)rate;
	/* By default Intel's driver chooses, since all its rates are far higher. */
	if (strcmp(how, GPU_SAMPLES_USUAL) != 0)
		s->device_samples_second = s->gpu_samples_second;
	return 0;
}

/*
 * NVIDIA's GPUs are sampled in the program, Intel's from here. Their absence harms nobody. Counters
 * of GPUs that are sampled are read as well: that costs next to nothing.
 */
static int choose_gpu_samples(const char *how, bool named, struct af_session_options *s,
                              struct af_err *err)
{
	bool xe = af_xe_is_there();

	if (!named && !(s->flags & AF_SESSION_CUDA) && !xe && !af_zet_may_help())
		return af_fail_plain(err, -EINVAL,
		                     "--gpu-samples needs --api cuda, or a GPU of Intel's with the "
		                     "xe driver (aflame doctor)");
	s->flags |= s->flags & AF_SESSION_CUDA ? AF_SESSION_GPU_SAMPLES : 0;
	int rc = named ? 0 : devices_add(s, &af_zet_behind_xe, err);
	if (!rc && xe)
		devices_add(s, &af_xe_oa, &(struct af_err){0});
	return rc ? rc : choose_rate(how ? how : GPU_SAMPLES_USUAL, s, err);
}

int af_choose_devices(const char *sample, const char *gpu_samples, struct af_session_options *s,
                      struct af_err *err)
{
	struct named named = {0};
	size_t len;

	for (const char *word = sample, *next; word; word = next) {
		next = word_next(word, &len);
		int rc = word_take(word, len, &named, s, err);
		if (rc)
			return rc;
	}
	return gpu_samples || named.stalls ? choose_gpu_samples(gpu_samples, named.stalls, s, err)
	                                   : 0;
}
