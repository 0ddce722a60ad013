/* Which launches are measured, and by which group of metrics. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cmd/devices/devices.h"
#include "collect/session/session.h"
#include "collect/zet/metrics.h"

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
static int group_probe(bool strict, struct af_session_options *s, struct af_err *err)
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
	if (*s->launch_metrics_why && strict)
		return af_fail_plain(err, -ENOTSUP, "--launch-metrics does not work here: %s",
		                     s->launch_metrics_why);
	return 0;
}

int af_choose_launch_metrics(const char *how, bool strict, struct af_session_options *s,
                             struct af_err *err)
{
	const char *at = strrchr(how, '@');
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
	return group_probe(strict, s, err);
}
