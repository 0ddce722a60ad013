/*
 * A piece of device work, whichever kind of event told of it and of whatever API, and the call that
 * asked for it. launches.h joins the two and hands them to passes; ids are the world's already, so
 * nobody needs the events.
 */
#ifndef AF_ANALYSE_WORLD_WORK_H
#define AF_ANALYSE_WORLD_WORK_H

#include <stdbool.h>
#include <stdint.h>

struct af_event;
struct af_world;

struct af_work {
	uint32_t process; /* ordinal */
	uint32_t api;     /* enum af_api: of OpenCL or of CUDA */
	uint32_t shape;   /* index of the world, 0: the trace does not have it */
	int32_t status;   /* 0, or the runtime's error: it did not complete */
	uint64_t id; /* of its call, unique in process and API; until joined of CUDA's 32 bits */
	/* As the device gave them, until af_work_place(); 0: not given. CUDA has only the last two.
	 */
	uint64_t queued_ns, submit_ns, start_ns, end_ns;
	uint32_t node_id; /* of its graph, as in the event; 0: it was launched by itself */

	/* From here on by launches.c: 0 in what af_work_read() leaves. */
	bool launched;     /* the trace has its call */
	uint32_t tid;      /* who called */
	uint32_t path;     /* where: call path of the world, 0 not known */
	uint32_t function; /* what: function of the world, 0 not known (OpenCL) */
	uint32_t node;     /* w->nodes: the definition that held at the call, 0 for none */
	uint32_t doing;    /* of w->doings: what the caller said it was doing, 0 nothing */
	uint64_t call_start_ns, call_end_ns; /* on the trace's clock; OpenCL: both the same */
	bool aside; /* it began before the time that is asked for, and is no launch in it */

	/* From here on by match.c. */
	uint32_t matched;   /* function of the world: a call seen from outside that is this one's by
	                       time, and has its path; 0: nothing here is a guess */
	bool matched_again; /* so is other work, which came before */
};

/* A call of a device API, as its thread was back from it. */
struct af_call {
	uint32_t process, tid;
	uint32_t stream;   /* that it was read from */
	uint32_t path;     /* call path of the world, 0 not known */
	uint32_t function; /* function of the world, 0 not known */
	uint32_t correlation;
	int32_t status; /* 0, or the runtime's error */
	uint64_t start_ns, end_ns;
	bool aside; /* as of work: by af_within_call() */
};

/* False when @ev is not device work, or malformed. @w has seen @ev. */
bool af_work_read(const struct af_world *w, const struct af_event *ev, struct af_work *work);

/* False when @ev is neither CALL nor CALL_LONG, or malformed. @w has seen @ev. */
bool af_call_read(const struct af_world *w, const struct af_event *ev, struct af_call *call);

/*
 * False when @ev is not CALL_SEEN, or malformed. Start and end are both when it began: nothing
 * tells how long it took. @w has seen @ev.
 */
bool af_call_seen_read(const struct af_world *w, const struct af_event *ev, struct af_call *call);

/*
 * Make the stamps of @work times of the trace; end stays exactly as long after start as the device
 * had it. Needs w->clocks, and the shape and the queue in @w. False, and nothing is changed, when
 * the trace does not have the clock. *@uncertainty_ns (may be NULL) is how far off they may be.
 * Once for each copy of a work.
 */
bool af_work_place(const struct af_world *w, struct af_work *work, uint64_t *uncertainty_ns);

/* The device of @work as its process numbers them, 0 when not known. */
uint32_t af_work_device(const struct af_world *w, const struct af_work *work);

/* end less start, 0 when the stamps are missing or turned round. */
static inline uint64_t af_work_busy_ns(const struct af_work *w)
{
	return w->start_ns && w->end_ns > w->start_ns ? w->end_ns - w->start_ns : 0;
}

#endif
