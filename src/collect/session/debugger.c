#include "collect/session/debugger.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "base/system/proc.h"
#include "collect/session/session.h"

static void debugger_comes(struct af_recording *r, struct af_client *g)
{
	af_client_poll(g);
	g->debugged = true;
	g->debugged_user_ns = g->user_ns;
	if (af_watcher_can_hold(r))
		g->held = af_watcher_hold(r, g);
	else
		g->held = !ioctl(g->fd, PERF_EVENT_IOC_DISABLE, 0);
	af_session_note(r, "debugger", "was attached to process %u: %s while it was", g->ns_pid,
	                af_watcher_can_hold(r) ? "sampled from outside" : "not sampled");
}

/* Its event counted in user mode only. */
void af_debuggers_leave(struct af_recording *r, struct af_client *g)
{
	uint64_t period_ns = r->control->sample_period_ns;

	if (!g->debugged)
		return;
	g->debugged = false;
	if (af_watcher_can_hold(r) || !g->held)
		return;
	uint64_t lost = (g->user_ns - g->debugged_user_ns) / period_ns;
	if (lost)
		af_stream_put(&r->stream, lost, af_now_ns(), .reason = AF_LOST_DEBUGGER,
		              .count = lost);
}

static void debugger_goes(struct af_recording *r, struct af_client *g)
{
	af_client_poll(g);
	af_debuggers_leave(r, g);
	if (!g->held)
		return;
	g->held = false;
	if (af_watcher_can_hold(r))
		af_watcher_resume(r, g);
	else
		ioctl(g->fd, PERF_EVENT_IOC_ENABLE, 0);
}

void af_debugger_saw(struct af_recording *r, struct af_client *g, const char *status)
{
	bool traced = af_status_is_traced(status);

	if (traced && !g->debugged)
		debugger_comes(r, g);
	else if (!traced && g->debugged)
		debugger_goes(r, g);
}
