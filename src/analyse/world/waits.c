#include "analyse/world/waits.h"

#include "analyse/world/world.h"

bool af_wait_read(const struct af_world *w, const struct af_event *ev, struct af_wait *wait)
{
	struct af_ev_offcpu o;

	if (ev->kind != AF_KIND_OFFCPU || !af_event_decode(ev, &o, sizeof o, NULL))
		return false;
	*wait = (struct af_wait){
	    .at = af_place_of(w, ev, o.callpath, o.kstack),
	    .tid = ev->tid,
	    .state = o.state < AF_STATE_END ? o.state : AF_STATE_END,
	    .blocked_ns = o.blocked_ns,
	    .queued_ns = o.queued_ns,
	    .wake = o.wake,
	};
	uint64_t woken_ns = ev->time_ns - (o.queued_ns < ev->time_ns ? o.queued_ns : ev->time_ns);
	uint64_t start_ns = woken_ns - (o.blocked_ns < woken_ns ? o.blocked_ns : woken_ns);
	const struct af_time_range *in = &w->time_range;
	wait->blocked_at_ns = start_ns > in->from_ns ? start_ns : in->from_ns;
	wait->queued_at_ns = woken_ns > in->from_ns ? woken_ns : in->from_ns;
	wait->blocked_out_of_range = !af_time_range_began(in, start_ns);
	wait->queued_out_of_range = !af_time_range_began(in, woken_ns);
	wait->blocked_ns = af_time_range_ns(in, start_ns, woken_ns);
	wait->queued_ns = af_time_range_ns(in, woken_ns, ev->time_ns);
	return true;
}

const char *af_wait_frame(uint32_t state)
{
#define AF_S(number, NAME, name) [number] = "[" name "]",
	static const char *const frames[] = {AF_STATES(AF_S)};
#undef AF_S
	return state < AF_STATE_END ? frames[state] : "[off CPU]";
}
