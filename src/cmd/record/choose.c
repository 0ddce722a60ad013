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
#include "collect/zet/metrics.h"

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

/* Has a device the event-based metric group @name? */
static bool has_group(const struct af_zet_metrics *m, const char *name)
{
	for (uint32_t i = 0; i < m->nr; i++)
		for (uint32_t k = 0; k < m->devices[i].nr; k++) {
			const struct af_zet_group *g = &m->devices[i].groups[k];
			if (g->event_based && !strcmp(g->name, name))
				return true;
		}
	return false;
}

/*
 * A driver may fail, or crash, for the variable that turns metrics on, so a process of ours tries
 * it first: the program gets the variable only where the group is there.
 */
static int group_probe(const struct af_record_options *o, struct af_session_options *s,
                       struct af_err *err)
{
	struct af_zet_metrics m;
	int rc = af_zet_metrics_list(&m, err);
	const char *why = m.nr && m.devices[0].why ? m.devices[0].why : m.why;

	if (rc)
		return rc;
	if (!has_group(&m, s->launch_metrics)) {
		snprintf(s->launch_metrics_why, sizeof s->launch_metrics_why,
		         "no device has an event-based metric group %s%s%.400s (aflame doctor "
		         "--metrics)",
		         s->launch_metrics, *why ? ": " : "", why);
		*s->launch_metrics = 0;
	}
	af_zet_metrics_free(&m);
	if (*s->launch_metrics_why && o->strict)
		return af_fail_plain(err, -ENOTSUP, "--launch-metrics does not work here: %s",
		                     s->launch_metrics_why);
	return 0;
}

/* "GROUP", or "GROUP@1/N". */
static int choose_launch_metrics(const struct af_record_options *o, struct af_session_options *s,
                                 struct af_err *err)
{
	const char *how = o->launch_metrics, *at = strrchr(how, '@');
	size_t len = at ? (size_t)(at - how) : strlen(how);
	unsigned long every = 1;
	char *end = "";

	if (at)
		every = strncmp(at, "@1/", 3) ? 0 : strtoul(at + 3, &end, 10);
	if (!len || len >= sizeof s->launch_metrics || !every || every > UINT32_MAX || *end)
		return af_fail_plain(err, -EINVAL,
		                     "--launch-metrics takes the name of a metric group, or "
		                     "GROUP@1/N for one launch in N, not \"%s\"",
		                     how);
	if (!(s->flags & AF_SESSION_ZE))
		return af_fail_plain(err, -EINVAL,
		                     "--launch-metrics measures launches of Level Zero, which "
		                     "--api leaves out");
	snprintf(s->launch_metrics, sizeof s->launch_metrics, "%.*s", (int)len, how);
	s->launch_metrics_every = (uint32_t)every;
	return group_probe(o, s, err);
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
	if (o->cuda_graphs && !strcmp(o->cuda_graphs, "whole"))
		s->flags |= AF_SESSION_GRAPHS_WHOLE;
	if (o->autograd && !(s->flags & AF_SESSION_CUDA))
		return af_fail_plain(err, -EINVAL, "--autograd needs --api cuda");
	rc = o->launch_metrics ? choose_launch_metrics(o, s, err) : 0;
	return rc ? rc : af_choose_devices(o->sample, o->gpu_samples, s, err);
}
