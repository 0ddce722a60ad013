/* In builds without clang, bpftool or libbpf, which the collector bpf and its unwinder take. */
#include "collect/outside/outside.h"

#include "collect/session/watcher.h"

static int watcher_open(void **self, struct af_recording *r, struct af_err *err)
{
	(void)self;
	(void)r;
	(void)err;
	return 0;
}

const struct af_watcher_ops af_outside_watcher = {.open = watcher_open};
