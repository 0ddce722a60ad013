/*
 * Joins device work to the call that launched it, for every pass alike: OpenCL's LAUNCH and WORK,
 * CUDA's CALL (or, where that was lost, a CALL_SEEN with its id) and GPU_WORK become one struct
 * af_work each.
 *
 *	{ af_launches_event }* → af_launches_end → af_launches_free
 *
 * Feed it events in order of time, across all streams, after the world has seen them.
 *
 * Work comes after its call or before it (a thread that waits for a copy returns long after the
 * copy's record was written), and one call may have thousands of works: a graph. Ids count up, so
 * the latest calls of a process lie in a window by id. A call that leaves the window without work,
 * and every launch of a graph, waits on the side, where there is room for AF_LAUNCHES_WAITING.
 * Beyond that the oldest are forgotten. Work that comes before its call waits AF_LAUNCHES_EARLY_NS
 * at most. Nothing is matched by time: work without a call is handed over without one, and counted.
 *
 * CUDA's correlation ids of 32 bits are extended to 64 by nearness to the highest id so far.
 */
#ifndef AF_ANALYSE_JOIN_LAUNCHES_H
#define AF_ANALYSE_JOIN_LAUNCHES_H

#include <stdint.h>

#include "analyse/join/launches_early.h"
#include "analyse/world/work.h"
#include "analyse/world/world.h"

enum {
	AF_LAUNCHES_WINDOW = 1 << 16,     /* calls, of each process and API */
	AF_LAUNCHES_WAITING = 1 << 21,    /* calls, of each process and API */
	AF_LAUNCHES_EARLY = 1 << 16,      /* works without a call yet, of all */
	AF_LAUNCHES_EARLY_PART = 1 << 20, /* in a part of the trace */
};
#define AF_LAUNCHES_EARLY_NS 10000000000ull

struct af_coverage_launches;

/* Work that is joined; the receiver may write into it until it returns. */
typedef void af_launches_take(void *arg, struct af_work *work);
typedef struct af_work *af_launches_room(void *arg);

/* The receiver of works, and the calls and works that wait. */
struct af_launches {
	af_launches_take *take;
	af_launches_room *room; /* a place for the next work, which may be taken then; or NULL */
	void *arg;
	/*
	 * Set before the first event: this is one of several parts of the trace, and
	 * af_launches_merge() adds it to those before it.
	 */
	bool in_part;
	/*
	 * The part cannot be read by itself: too many works wait, or the kernel saw calls that
	 * libaflame recorded, too.
	 */
	bool unfit;

	/* So far; `unfinished` is right after af_launches_end(). */
	/*
	 * Launches of kernels and graphs, and all of OpenCL's, without work. Calls captured into a
	 * graph and failed calls do not count.
	 */
	uint64_t unfinished;
	uint64_t unlaunched; /* works without a call */
	uint64_t stackless;  /* works of calls whose stack was left out (AF_STOP_NOT_CHOSEN) */
	uint64_t failed;     /* works with an error, and CUDA's launches that the driver refused */
	uint64_t unstamped;  /* works without times */
	uint64_t unknown;    /* works whose descriptor the trace does not have */
	uint64_t seen_alone; /* calls that only the kernel saw, and that have a correlation id */

	/* private */
	struct af_work own;            /* the work at hand, where there is no room */
	struct launches_table *tables; /* of each process and API */
	uint32_t nr_tables, cap_tables, last_table;
	struct af_map by_table;
	struct launches_device *devices; /* of a table: what it did there */
	uint32_t nr_devices, cap_devices, last_device;
	struct af_map by_device;     /* table's index << 32 | device → index */
	struct launches_early early; /* AF_LAUNCHES_EARLY at most */
	uint64_t *captured_ns;       /* by stream: when its last node of a graph was made */
	uint32_t nr_streams;
	bool sees; /* calls of the kernel's records are among those of the tables */
};

#define AF_LAUNCHES_WANTS                                                                          \
	(1ull << AF_KIND_LAUNCH | 1ull << AF_KIND_WORK | 1ull << AF_KIND_WORK_LONG |               \
	 1ull << AF_KIND_CALL | 1ull << AF_KIND_CALL_LONG | 1ull << AF_KIND_GPU_WORK |             \
	 1ull << AF_KIND_GPU_WORK_LONG | 1ull << AF_KIND_GRAPH_NODE | 1ull << AF_KIND_CALL_SEEN |  \
	 1ull << AF_KIND_API_BIT)

/*
 * An event of AF_LAUNCHES_WANTS, after the world @w has seen it. Works that are complete go to
 * l->take.
 */
void af_launches_event(struct af_launches *l, const struct af_world *w, const struct af_event *ev);

/*
 * When a node of a graph was last made before the part that @l is of begins, by stream: a copy of
 * @captured_ns.
 */
void af_launches_captured(struct af_launches *l, const uint64_t *captured_ns, uint32_t nr_streams);

/*
 * Add @from, which is of the part that follows those that @l is of, and is empty then. Works of it
 * whose calls are in the parts before, and works of those that it has the calls of, are handed
 * over. @l becomes unfit if @from is.
 */
void af_launches_merge(struct af_launches *l, const struct af_world *w, struct af_launches *from);

/* No more will come: works that wait are handed over as they are. */
void af_launches_end(struct af_launches *l, const struct af_world *w);

/*
 * After the end: for each process, API and device its launches, and those that got work. @w tells
 * whether a process has queues on one device alone. The caller frees *@sums.
 */
uint32_t af_launches_sums(const struct af_launches *l, const struct af_world *w,
                          struct af_coverage_launches **sums);

/* Free what @l holds; works that still wait are not handed over. */
void af_launches_free(struct af_launches *l);

#endif
