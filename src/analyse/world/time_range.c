#include "analyse/world/time_range.h"

#include "analyse/query/query.h"
#include "analyse/world/samples.h"
#include "analyse/world/work.h"
#include "analyse/world/world.h"

void af_time_range_set(struct af_time_range *in, uint64_t start_ns, const struct af_query *query)
{
	uint64_t from_ns = query->from_ns, to_ns = query->to_ns;

	in->query = query;
	in->start_ns = start_ns;
	in->part = from_ns || to_ns || query->tid || query->device;
	if (!from_ns && !to_ns)
		return;
	/* An interval that begins before the trace belongs to the trace's first piece of time. */
	in->from_ns = from_ns && from_ns < UINT64_MAX - start_ns ? start_ns + from_ns
	              : from_ns                                  ? UINT64_MAX
	                                                         : 0;
	in->to_ns = to_ns && to_ns < UINT64_MAX - start_ns ? start_ns + to_ns : UINT64_MAX;
}

uint64_t af_time_range_ns(const struct af_time_range *in, uint64_t start_ns, uint64_t end_ns)
{
	if (in->to_ns && start_ns < in->from_ns)
		start_ns = in->from_ns;
	if (in->to_ns && end_ns > in->to_ns)
		end_ns = in->to_ns;
	return end_ns > start_ns ? end_ns - start_ns : 0;
}

bool af_time_range_moment(const struct af_time_range *in, uint64_t time_ns)
{
	return !in->to_ns || (time_ns > in->from_ns && time_ns <= in->to_ns);
}

bool af_time_range_began(const struct af_time_range *in, uint64_t start_ns)
{
	return !in->to_ns || (start_ns >= in->from_ns && start_ns < in->to_ns);
}

bool af_time_range_reaches(const struct af_time_range *in, uint64_t start_ns, uint64_t end_ns)
{
	return !in->to_ns ||
	       (start_ns < in->to_ns && (start_ns >= in->from_ns || end_ns > in->from_ns));
}

static bool thread_query(const struct af_time_range *in, uint32_t tid)
{
	return !in->query || !in->query->tid || in->query->tid == tid;
}

bool af_time_range_sample(const struct af_time_range *in, struct af_sample *s)
{
	uint64_t start_ns = s->length_ns < s->time_ns ? s->time_ns - s->length_ns : 0;

	if (!thread_query(in, s->tid) || (in->query && in->query->device))
		return false;
	if (!in->to_ns)
		return true;
	s->out_of_range = !af_time_range_moment(in, s->time_ns);
	s->length_ns = af_time_range_ns(in, start_ns, s->time_ns);
	s->weight_ns = s->weight_ns ? s->length_ns : 0;
	s->count = s->out_of_range ? 0 : s->count; /* an event has one moment */
	if (s->time_ns > in->to_ns)
		s->time_ns = in->to_ns;
	return s->length_ns || !s->out_of_range;
}

bool af_time_range_work(const struct af_time_range *in, const struct af_world *w,
                        struct af_work *work)
{
	if (!thread_query(in, work->tid))
		return false;
	if (in->query && in->query->device && af_work_device(w, work) != in->query->device)
		return false;
	if (!in->to_ns)
		return true;
	uint64_t start_ns = af_work_placed_ns(w, work), end_ns = start_ns + af_work_busy_ns(work);
	if (!start_ns)
		return false;
	if (!af_time_range_reaches(in, start_ns, end_ns))
		return false;
	work->out_of_range = !af_time_range_began(in, start_ns);
	work->placed_ns = start_ns;
	if (start_ns < in->from_ns) {
		work->start_ns += in->from_ns - start_ns;
		work->placed_ns = af_work_placed_ns(w, work);
	}
	if (end_ns > in->to_ns)
		work->end_ns -= end_ns - in->to_ns;
	return true;
}

bool af_time_range_call(const struct af_time_range *in, struct af_call *call)
{
	if (!af_time_range_reaches(in, call->start_ns, call->end_ns))
		return false;
	call->out_of_range = !af_time_range_began(in, call->start_ns);
	if (in->to_ns && call->start_ns < in->from_ns)
		call->start_ns = in->from_ns;
	if (in->to_ns && call->end_ns > in->to_ns)
		call->end_ns = in->to_ns;
	return true;
}

static bool is_whole(const struct af_time_range *in, const struct af_call *call)
{
	return !in->to_ns || (call->start_ns >= in->from_ns && call->start_ns < in->to_ns &&
	                      call->end_ns <= in->to_ns);
}

const struct af_call *af_time_range_call_at(const struct af_world *w, const struct af_event *ev,
                                            struct af_call *room)
{
	bool at_hand = w->call && w->call_payload == ev->payload;
	const struct af_call *call = at_hand ? w->call : af_call_at(w, ev, room);

	if (!call || is_whole(&w->time_range, call))
		return call;
	if (call != room)
		*room = *call;
	return af_time_range_call(&w->time_range, room) ? room : NULL;
}

bool af_time_range_event(const struct af_time_range *in, const struct af_event *ev)
{
	struct af_ev_offcpu wait;

	switch (ev->kind) {
	case AF_KIND_SUMMED: /* it has no time, and nobody knows whose it is */
		return !in->to_ns && (!in->query || (!in->query->tid && !in->query->device));
	case AF_KIND_ALLOCATED: /* of all threads */
		return (!in->query || (!in->query->tid && !in->query->device)) &&
		       af_time_range_moment(in, ev->time_ns);
	case AF_KIND_CALL:
	case AF_KIND_CALL_LONG:
		return thread_query(in, ev->tid);
	case AF_KIND_CALL_SEEN:
		return thread_query(in, ev->tid) && af_time_range_moment(in, ev->time_ns);
	case AF_KIND_OVERHEAD:
		return af_time_range_moment(in, ev->time_ns);
	case AF_KIND_OFFCPU:
		if (!thread_query(in, ev->tid) || !af_event_decode(ev, &wait, sizeof wait, NULL))
			return false;
		if (!in->to_ns)
			return true;
		uint64_t ns = wait.blocked_ns + wait.queued_ns;
		return af_time_range_reaches(in, ns < ev->time_ns ? ev->time_ns - ns : 0,
		                             ev->time_ns);
	default:
		return ev->kind < AF_KIND_API || thread_query(in, ev->tid);
	}
}
