#include "collect/session/client_poll.h"

#include "base/system/proc.h"
#include "collect/session/session.h"

enum {
	POLL_NS = 40000000,
	POLL_AT = 16, /* clients at once: some 10 us each */
};

void af_clients_poll_some(struct af_recording *r)
{
	struct af_client_polling *p = &r->client_poll;
	uint32_t nr = r->clients.nr < POLL_AT ? r->clients.nr : POLL_AT;
	uint64_t now = af_now_ns();
	char status[4096];

	if (now - p->polled_ns < POLL_NS)
		return;
	p->polled_ns = now;
	for (; nr; nr--, p->next++) {
		struct af_client *g = &r->clients.list[p->next % r->clients.nr];
		if (g->ended || g->fd < 0)
			continue;
		af_proc_read(g->pid, "status", status, sizeof status);
		af_debugger_saw(r, g, status);
		/* Another watcher looks at all threads anyway. */
		if (af_watcher_can_hold(r))
			af_filtered_saw(r, g, status);
	}
}
