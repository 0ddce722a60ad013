/* In builds without clang, bpftool or libbpf. */
#include "collect/bpf/bpf.h"

#include <errno.h>
#include <stdio.h>

#include "base/err.h"
#include "collect/session/watcher.h"

int af_bpf_probe(char *words, size_t size, struct af_err *err)
{
	(void)words;
	(void)size;
	return af_fail_plain(err, -EOPNOTSUPP,
	                     "this build was made without it: clang, bpftool or libbpf (0.8 or "
	                     "later) was missing: run ./setup again");
}

int af_bpf_prepare(const struct af_watch_options *o, uint64_t period_ns, char *words, size_t size,
                   struct af_err *err)
{
	(void)o;
	(void)period_ns;
	return af_bpf_probe(words, size, err);
}

bool af_bpf_drivers_probe(char *words, size_t size)
{
	snprintf(words, size, "bpf does not work (see above)");
	return false;
}

static int watcher_open(void **self, struct af_recording *r, struct af_err *err)
{
	(void)self;
	(void)r;
	return af_bpf_probe(NULL, 0, err);
}

const struct af_watcher_ops af_bpf_watcher = {.open = watcher_open};
