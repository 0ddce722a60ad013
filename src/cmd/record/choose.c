#include "cmd/record/choose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cmd/devices/devices.h"
#include "cmd/record/record.h"
#include "collect/probe/collect.h"
#include "collect/session/session.h"

enum {
	LAUNCHES_MOST = 1000000,
	CUDA_BUFFER_LEAST = 16 << 10, /* CUPTI wants room for a record with its name */
	CUDA_BUFFER_MOST = 16 << 20,
};

const char *af_cpu_sampler_of(const struct af_record_options *o)
{
	return af_cpu_sampler_named(o->sample);
}

int af_choose_sampler(const struct af_record_options *o, struct af_session_options *s, char *why,
                      size_t size, struct af_err *err)
{
	const struct af_collector_ops *c;
	char words[256] = "";

	const char *sample = af_cpu_sampler_of(o);

	if (!strcmp(sample, "none")) {
		snprintf(why, size, "off");
		return 0;
	}
	if (!o->rate || o->rate > 20000)
		return af_fail_plain(err, -EINVAL, "--rate takes 1 to 20000 samples a second");
	s->sample_period_ns = o->period_ns ? o->period_ns : 1000000000u / o->rate;
	s->samples_most = o->samples_most;
	s->stack_depth = o->stack_depth;
	if (strcmp(sample, "auto") || o->wall) {
		c = af_collector_find(o->wall ? "timer" : sample);
		int rc = c->probe(words, sizeof words, err);
		if (rc)
			return af_while(err, rc == -EINVAL ? -ENOTSUP : rc,
			                "--sample %s does not work here", sample);
		snprintf(why, size, "%s: as asked; %s", c->name,
		         o->wall ? "by the wall clock" : words);
	} else {
		c = af_collector_best_cpu(why, size);
	}
	if (!c)
		return 0;
	s->cpu_mode = (enum af_cpu_mode)c->cpu_mode;
	size_t used = strlen(why);
	snprintf(why + used, size - used, ", %llu a second", (unsigned long long)o->rate);
	return 0;
}

/* "1/N" */
static int choose_launches(const char *how, struct af_session_options *s, struct af_err *err)
{
	char *end = "";
	unsigned long every = 0;

	if (!strncmp(how, "1/", 2) && how[2] >= '1' && how[2] <= '9')
		every = strtoul(how + 2, &end, 10);
	if (!every || every > LAUNCHES_MOST || *end)
		return af_fail_plain(err, -EINVAL,
		                     "--launches takes 1/N: the stack of one launch in N, with N "
		                     "from 1 to %u, not \"%s\"",
		                     (unsigned)LAUNCHES_MOST, how);
	s->launches_every = (uint32_t)every;
	return 0;
}

static int choose_cuda_buffer(uint64_t bytes, struct af_session_options *s, struct af_err *err)
{
	const uint64_t page = 4096;

	if (!bytes)
		return 0;
	if (!(s->flags & AF_SESSION_CUDA))
		return af_fail_plain(err, -EINVAL, "--cuda-buffer needs --api cuda");
	if (bytes < CUDA_BUFFER_LEAST || bytes > CUDA_BUFFER_MOST)
		return af_fail_plain(err, -EINVAL, "--cuda-buffer takes 16K to 16M");
	s->cuda_buffer_bytes = (uint32_t)((bytes + page - 1) / page * page);
	return 0;
}

int af_choose_apis(const struct af_record_options *o, struct af_session_options *s,
                   struct af_err *err)
{
	int rc = af_choose_calls(o, s, err);

	if (rc)
		return rc;
	for (int i = 0; af_collectors[i]; i++) {
		const struct af_collector_ops *c = af_collectors[i];
		if (!c->cpu_mode && af_api_is_chosen(o->api, c->name))
			s->flags |= c->flags;
	}
	if (s->flags & AF_SESSION_ITT && af_api_is_traced_by(o->api, "itt"))
		s->flags |= AF_SESSION_ITT_OPENMP;
	if (o->cuda_graphs && !strcmp(o->cuda_graphs, "whole"))
		s->flags |= AF_SESSION_GRAPHS_WHOLE;
	if (o->autograd && !(s->flags & AF_SESSION_CUDA))
		return af_fail_plain(err, -EINVAL, "--autograd needs --api cuda");
	if (o->launches)
		rc = choose_launches(o->launches, s, err);
	if (!rc)
		rc = choose_cuda_buffer(o->cuda_buffer_bytes, s, err);
	if (!rc && o->launch_metrics)
		rc = af_choose_launch_metrics(o->launch_metrics, o->strict, s, err);
	rc = rc ? rc : af_choose_devices(o->sample, o->gpu_samples, s, err);
	return rc || !o->telemetry ? rc : af_choose_telemetry(o->telemetry, o->strict, s, err);
}
