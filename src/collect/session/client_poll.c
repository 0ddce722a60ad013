#include "collect/session/client_poll.h"

#include "base/system/proc.h"
#include "collect/session/session.h"

enum {
	POLL_NS = 40000000,
	POLL_AT = 16, /* clients at once: some 10 us each */
	POLL_LONGEST_NS = 1000000000,
};

/* The time since the last poll counts as what it does now. */
static void client_state(struct af_client *g, const char *status, uint64_t now_ns)
{
	uint64_t since_ns = now_ns - g->state_at_ns;

	if (g->state_at_ns && since_ns < POLL_LONGEST_NS && af_status_waits_for_disk(status)) {
		g->disk_ns += since_ns;
		g->disk_polls++;
	}
	g->state_at_ns = now_ns;
}

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
		if (g->ended || !af_proc_read(g->pid, "status", status, sizeof status))
			continue;
		client_state(g, status, now);
		if (g->fd < 0)
			continue;
		af_debugger_saw(r, g, status);
		/* Another watcher looks at all threads anyway. */
		if (af_watcher_can_hold(r))
			af_filtered_saw(r, g, status);
	}
}
