#include "analyse/work.h"

#include "trace/reader.h"

static bool work_read_short(const struct af_event *ev, struct af_work *w)
{
	struct af_ev_work f;

	if (!af_event_decode(ev, &f, sizeof f, NULL))
		return false;
	uint64_t submit = f.queued_ns + f.submit_after_ns;
	*w = (struct af_work){
	    .shape = f.shape,
	    .correlation = f.correlation,
	    .queued_ns = f.queued_ns,
	    .submit_ns = submit,
	    .start_ns = submit + f.start_after_ns,
	    .end_ns = submit + f.start_after_ns + f.busy_ns,
	};
	return true;
}

static bool work_read_long(const struct af_event *ev, struct af_work *w)
{
	struct af_ev_work_long f;

	if (!af_event_decode(ev, &f, sizeof f, NULL))
		return false;
	*w = (struct af_work){
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

bool af_work_read(const struct af_event *ev, struct af_work *w)
{
	if (ev->kind == AF_KIND_WORK)
		return work_read_short(ev, w);
	return ev->kind == AF_KIND_WORK_LONG && work_read_long(ev, w);
}
