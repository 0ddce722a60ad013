#include "collect/session/client_poll.h"

#include "base/system/proc.h"
#include "collect/session/session.h"

enum {
	POLL_NS = 40000000,
	POLL_AT = 16, /* clients at once: some 10 us each */
	POLL_LONGEST_NS = 1000000000,
	POLL_JIT_NS = 20000000, /* how exact the times of code are */
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

static struct af_jit_trace jit_trace(struct af_recording *r)
{
	return (struct af_jit_trace){&r->stream, r->place.dir_fd};
}

/* Processes that were there before the recording are known to the watcher alone. */
static void jit_poll_watched(struct af_recording *r, const struct af_jit_trace *trace,
                             uint64_t now_ns)
{
	const struct af_watch_options *o = &r->options->watch;

	for (uint32_t i = 0; i < o->nr_pids && i < POLL_AT; i++) {
		struct af_jit_process p = {.process = af_watcher_process_of(r, (int)o->pids[i]),
		                           .pid = (int)o->pids[i],
		                           .own_pid = o->pids[i]};
		if (p.process)
			af_jit_watch_poll(&r->jit, trace, &p, now_ns);
	}
}

void af_clients_poll_jit(struct af_recording *r)
{
	struct af_client_polling *p = &r->client_poll;
	uint32_t nr = r->clients.nr < POLL_AT ? r->clients.nr : POLL_AT;
	const struct af_jit_trace trace = jit_trace(r);
	uint64_t now_ns = af_now_ns();

	if (now_ns - p->jit_ns < POLL_JIT_NS)
		return;
	p->jit_ns = now_ns;
	jit_poll_watched(r, &trace, now_ns);
	for (; nr; nr--, p->jit_next++) {
		const struct af_client *g = &r->clients.list[p->jit_next % r->clients.nr];
		const struct af_jit_process is = {g->process, g->pid, g->ns_pid, g->registered_ns};

		if (!g->ended)
			af_jit_watch_poll(&r->jit, &trace, &is, now_ns);
	}
}

void af_clients_end_jit(struct af_recording *r, uint32_t process)
{
	const struct af_jit_trace trace = jit_trace(r);

	af_jit_watch_end(&r->jit, &trace, process, af_now_ns());
}
