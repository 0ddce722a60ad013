#include "analyse/work.h"

#include "analyse/world.h"

static bool work_read_short(const struct af_event *ev, struct af_work *work)
{
	struct af_ev_work f;

	if (!af_event_decode(ev, &f, sizeof f, NULL))
		return false;
	uint64_t submit = f.queued_ns + f.submit_after_ns;
	*work = (struct af_work){
	    .shape = f.shape,
	    .correlation = f.correlation,
	    .queued_ns = f.queued_ns,
	    .submit_ns = submit,
	    .start_ns = submit + f.start_after_ns,
	    .end_ns = submit + f.start_after_ns + f.busy_ns,
	};
	return true;
}

static bool work_read_long(const struct af_event *ev, struct af_work *work)
{
	struct af_ev_work_long f;

	if (!af_event_decode(ev, &f, sizeof f, NULL))
		return false;
	*work = (struct af_work){
	    .shape = f.shape,
	    .correlation = f.correlation,
	    .queued_ns = f.queued_ns,
	    .submit_ns = f.submit_ns,
	    .start_ns = f.start_ns,
	    .end_ns = f.end_ns,
	    .status = f.status,
	};
	return true;
}

bool af_work_read(const struct af_event *ev, struct af_work *work)
{
	if (ev->kind == AF_KIND_WORK)
		return work_read_short(ev, work);
	return ev->kind == AF_KIND_WORK_LONG && work_read_long(ev, work);
}

static struct af_clock *work_clock(const struct af_world *w, const struct af_event *ev,
                                   const struct af_work *work)
{
	uint32_t shape = af_world_shape(w, ev, work->shape);
	const struct af_queue *queue =
	    shape ? af_world_queue(w, ev->process, w->shapes[shape].is.queue) : NULL;

	return queue ? af_clocks_find(&w->clocks, ev->process, queue->device) : NULL;
}

bool af_work_place(const struct af_world *w, const struct af_event *ev, struct af_work *work,
                   uint64_t *uncertainty_ns)
{
	uint64_t *stamps[] = {&work->queued_ns, &work->submit_ns, &work->start_ns, &work->end_ns};
	struct af_clock *clock = work_clock(w, ev, work);
	uint64_t busy_ns = af_work_busy_ns(work), worst = 0, doubt;

	if (!clock)
		return false;
	for (int i = 0; i < 4; i++) {
		if (!*stamps[i])
			continue;
		*stamps[i] = af_clock_convert(clock, *stamps[i], &doubt);
		worst = doubt > worst ? doubt : worst;
	}
	if (busy_ns)
		work->end_ns = work->start_ns + busy_ns;
	if (uncertainty_ns)
		*uncertainty_ns = worst;
	return true;
}
