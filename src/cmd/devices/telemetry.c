/* Which counters are read over time, beside whatever is recorded. */
#include <errno.h>

#include "base/err.h"
#include "cmd/devices/devices.h"
#include "collect/session/session.h"
#include "collect/telemetry/telemetry.h"

static int source_check(unsigned i, struct af_err *err)
{
	char words[600];
	int rc = af_telemetry_probe(i, words, sizeof words);

	return rc ? af_fail_plain(err, -ENOTSUP, "--telemetry %s does not work here: %s",
	                          af_telemetry_name(i, NULL), words)
	          : 0;
}

int af_choose_telemetry(const char *list, bool strict, struct af_session_options *s,
                        struct af_err *err)
{
	static struct af_telemetry_wanted wanted; /* as long as the program */
	int rc = af_telemetry_parse(list, &wanted, err);

	for (unsigned i = 0; !rc && af_telemetry_name(i, NULL); i++)
		if (strict && wanted.named[i])
			rc = source_check(i, err);
	if (rc)
		return rc;
	s->telemetry = &wanted;
	for (int i = 0; i < AF_DEVICES_MOST; i++) {
		if (s->devices[i])
			continue;
		s->devices[i] = &af_telemetry;
		return 0;
	}
	return af_fail_plain(err, -EINVAL, "too many collectors: leave out one of --sample");
}
