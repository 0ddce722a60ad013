/*
 * A piece of device work, from any kind of event and any API, and the call that launched it.
 * launches.h joins the two and hands them to passes. Ids are the world's already, so nobody needs
 * the events.
 */
#ifndef AF_ANALYSE_WORLD_WORK_H
#define AF_ANALYSE_WORLD_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/world/world.h"

struct af_event;

struct af_work {
	uint32_t process;    /* ordinal */
	uint32_t api;        /* enum af_api: of OpenCL or of CUDA */
	uint32_t descriptor; /* index of the world, 0: not in the trace */
	int32_t status;      /* 0, or the runtime's error: it did not complete */
	uint64_t id; /* of its call, unique in process and API; CUDA's 32 bits until joined */
	/*
	 * As the device gave them, until af_work_place(); 0: not given. CUDA has only the last two.
	 */
	uint64_t queued_ns, submit_ns, start_ns, end_ns;
	uint32_t node_id; /* of its graph, as in the event; 0: it was launched by itself */

	/* Set by launches.c; 0 after af_work_read(). */
	uint32_t tid;      /* the calling thread */
	uint32_t path;     /* call path of the world, 0 not known */
	uint32_t function; /* called function of the world, 0 not known (OpenCL) */
	uint32_t node;     /* w->nodes: the definition that held at the call, 0 for none */
	uint32_t doing;    /* of w->annotations: the caller's annotation context, 0 none */
	/*
	 * For passes, from analyse.c: start_ns on the trace's clock; 0: it is not known, or the
	 * trace's clocks were not read
	 */
	uint64_t placed_ns;
	/*
	 * Set by match.c: function of the world: a call seen from outside that is this one's by
	 * time, and has its path; 0: nothing here is a guess
	 */
	uint32_t matched;
	uint64_t call_start_ns, call_end_ns; /* on the trace's clock; OpenCL: both the same */
	bool launched;                       /* the trace has its call */
	bool first; /* it is the first of its call's to be joined: a graph has many */
	/* It began before the time range, and does not count as a launch in it. */
	bool out_of_range;
	bool matched_again; /* set by match.c: earlier work matched the same call */
};

/* A call of a device API, recorded when its thread returned from it. */
struct af_call {
	uint32_t process, tid;
	uint32_t stream;   /* that it was read from */
	uint32_t path;     /* call path of the world, 0 not known */
	uint32_t function; /* function of the world, 0 not known */
	uint32_t correlation;
	int32_t status; /* 0, or the runtime's error */
	uint64_t start_ns, end_ns;
	bool out_of_range; /* as for work: by af_time_range_call() */
	bool is_hip;       /* by its kind, also where the function is not known */
};

/* False when @ev is not device work, or malformed. @w has seen @ev. */
bool af_work_read(const struct af_world *w, const struct af_event *ev, struct af_work *work);

/* False when @ev is neither CALL nor CALL_LONG, or malformed. @w has seen @ev. */
bool af_call_read(const struct af_world *w, const struct af_event *ev, struct af_call *call);

/* The same without a copy of the call at hand: that one, or *@room; NULL for false. */
const struct af_call *af_call_at(const struct af_world *w, const struct af_event *ev,
                                 struct af_call *room);

/* Read @ev, if it is a call, into @room, and make it the world's call at hand: else it has none. */
void af_call_take(struct af_world *w, const struct af_event *ev, struct af_call *room);

/*
 * Is @function, an index of the world or 0, one of an API whose calls are made of calls of a
 * device's: CUDA's runtime? Where both are recorded, theirs are the same times.
 */
bool af_call_of_runtime(const struct af_world *w, uint32_t function);

/*
 * Is @function one of no API, which the user named (--uprobe)? Its calls are the program's own
 * doing, and not time in an API.
 */
bool af_call_of_program(const struct af_world *w, uint32_t function);

/*
 * False when @ev is not CALL_SEEN, or malformed. Start and end are both the time when it began,
 * because its length is not known. @w has seen @ev.
 */
bool af_call_seen_read(const struct af_world *w, const struct af_event *ev, struct af_call *call);

/*
 * Convert the stamps of @work to times of the trace; end stays exactly as long after start as the
 * device had it. Needs w->clocks, and the descriptor and the queue in @w. False, and nothing is
 * changed, when the trace does not have the clock. *@uncertainty_ns (may be NULL) is the possible
 * error. Once for each copy of a work.
 */
bool af_work_place(const struct af_world *w, struct af_work *work, uint64_t *uncertainty_ns);

/* start_ns of @work on the trace's clock, as af_work_place() would have it; 0: not known. */
uint64_t af_work_placed_ns(const struct af_world *w, const struct af_work *work);

/*
 * The API whose numbers a call's correlation is one of: HIP, or that of its function in a
 * process with devices of Level Zero's, else CUDA. Works have the same in `api`.
 */
uint32_t af_call_api(const struct af_world *w, const struct af_call *call);

/* Slow path of what follows: by the queue. */
uint32_t af_work_find_device(const struct af_world *w, const struct af_work *work);

/*
 * The device of @work as its process numbers them, 0 when not known. Several threads may find it;
 * they find the same.
 */
static inline uint32_t af_work_device(const struct af_world *w, const struct af_work *work)
{
	if (!work->descriptor)
		return 0;
	const struct af_work_descriptor *d = &w->descriptors[work->descriptor];
	uint32_t device = __atomic_load_n(&d->device, __ATOMIC_RELAXED);

	return device ? device : af_work_find_device(w, work);
}

/* end less start, 0 when the stamps are missing or turned round. */
static inline uint64_t af_work_busy_ns(const struct af_work *w)
{
	return w->start_ns && w->end_ns > w->start_ns ? w->end_ns - w->start_ns : 0;
}

#endif
