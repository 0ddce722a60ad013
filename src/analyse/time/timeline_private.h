/*
 * Shared by the files of the timeline: its state, and handing slices over.
 */
#ifndef AF_ANALYSE_TIME_TIMELINE_PRIVATE_H
#define AF_ANALYSE_TIME_TIMELINE_PRIVATE_H

#include "analyse/flame/scratch.h"
#include "analyse/join/join.h"
#include "analyse/join/launches.h"
#include "analyse/time/timeline.h"
#include "analyse/tree/tree.h"
#include "analyse/world/samples.h"
#include "analyse/world/stack_locations.h"
#include "analyse/world/world.h"
#include "base/keys.h"

/* Rows of a process, by kind. */
enum timeline_row_kind {
	ROW_CALLS,
	ROW_RANGES,
	ROW_RUN,
	ROW_WAITS,
	ROW_QUEUE,
	ROW_STARTED,
	ROW_OVERHEAD,
	ROW_LOST
};

enum { TIMELINE_PROGRESS = 1 << 16 };
/* Powers of two. */
enum { TIMELINE_NEAR = 4096, TIMELINE_ROWS = 16, TIMELINE_FUNCTIONS = 4 };

struct timeline_group {
	struct af_launch_group_key is;
	uint32_t node; /* of the stacks; 0: none */
};

struct af_timeline {
	struct af_timeline_query query;
	const char *dir;
	af_timeline_progress *progress;
	void *progress_arg;
	uint64_t from_ns, to_ns; /* of the trace's clock */

	struct af_world world;
	struct af_call call; /* at hand, for all who read it */
	struct af_samples samples;
	struct af_launches launches;
	struct af_rows rows;
	struct af_slices_sink into; /* the rows, or what hands slices over to them */
	int rc;                     /* its error: no more slices are made */
	struct af_strtab names;
	struct af_tree stacks;
	struct af_slices all;
	char damage[768];

	struct af_stack_locations stack_locations;
	uint32_t *nodes; /* of the stacks, by number of the place; 0: not made yet */
	uint32_t cap_nodes;
	struct af_map by_doing;
	struct af_keys by_launch_group;            /* of timeline_trees.c: → node of the stacks */
	struct timeline_group near[TIMELINE_NEAR]; /* by path, node and kernel */
	struct flame_scratch scratch;
	/* By kind and number: the row of the last slice. */
	struct timeline_row {
		uint32_t process, number, depth, row;
		bool known; /* and without a domain */
	} last_rows[ROW_LOST + 1][TIMELINE_ROWS];
	uint32_t *names_of_works,
	    *names_of_functions; /* by descriptor, by function; 0: not known */
	uint32_t cap_works, cap_functions;
	struct af_map by_wait;  /* node and state → node */
	struct timeline_call {  /* by call path */
		uint32_t stack; /* its own, 0: not made yet */
		/* By function: the last that was called there, and the stack of that call. */
		uint32_t functions[TIMELINE_FUNCTIONS], stacks[TIMELINE_FUNCTIONS];
	} * calls;
	uint32_t cap_calls;
	struct af_map by_call;   /* stack and function, or stack and a node of a graph → stack */
	struct af_map by_image;  /* the last image of its process */
	struct af_keys by_track; /* process, thread or device → track */
	struct af_keys by_row;   /* key of row_of() → row */
	uint32_t nr_children;    /* ranks handed out */

	struct af_map by_run; /* process and thread → index */
	struct timeline_run *runs;
	uint32_t nr_runs, cap_runs;

	struct af_keys by_nest; /* process, thread and domain → index */
	struct timeline_nest *nests;
	uint32_t nr_nests, cap_nests;
	bool ended;             /* ranges that are open now have no end in the trace */
	struct af_join started; /* ranges with START and no END yet: what is an index */
	struct timeline_range *ranges;
	uint32_t nr_ranges, cap_ranges, free_range;

	struct af_keys by_address; /* process and address → bytes */
	struct af_keys by_counter; /* process, device and memory → index */
	struct timeline_counter *counters;
	uint32_t nr_counters, cap_counters;
	struct timeline_reading *readings; /* by index of the world's counters */
	uint32_t cap_readings;
};

static inline bool timeline_shows(const struct af_timeline *t, enum af_timeline_part part)
{
	return !t->query.parts || t->query.parts & 1u << part;
}

/* Is the process, by its ordinal, requested? */
bool timeline_of(const struct af_timeline *t, uint32_t process);

/* Is a slice wanted? Counts it as left out if not. Call it before its row is made. */
bool timeline_wants(struct af_timeline *t, uint64_t start_ns, uint64_t end_ns);

/* Cut a wanted slice to the time range, if the query cuts slices. */
void timeline_cut(const struct af_timeline *t, struct af_slice *s);

/* Call it before names, stacks, rows or the world grow: af_slices_sink.settle(). */
void timeline_settle(struct af_timeline *t);

/* The error of t->into, if it has one. */
void timeline_failed(struct af_timeline *t, int rc);

/* The id of a text among t->names. */
uint32_t timeline_text(struct af_timeline *t, const char *text, size_t len);

/* The id of a name among t->names; an empty one is "[unnamed]". */
uint32_t timeline_name(struct af_timeline *t, const char *text);

/* The node of a stack location among the stacks; timeline_leaf() has the name of its leaf. */
uint32_t timeline_stack(struct af_timeline *t, const struct af_stack_location *at);
/*
 * The stack of a call of a device's API, and of a node of a graph (w->nodes, 0 for none) that it
 * launched; 0 when it is not in the trace.
 */
uint32_t timeline_call_stack(struct af_timeline *t, uint32_t process, uint32_t path,
                             uint32_t function, uint32_t node);
uint32_t timeline_leaf(struct af_timeline *t, uint32_t node);

/* Tracks and rows, made at their first use. */
uint32_t timeline_process(struct af_timeline *t, uint32_t process);
uint32_t timeline_thread(struct af_timeline *t, uint32_t process, uint32_t tid);
uint32_t timeline_device(struct af_timeline *t, uint32_t process, uint32_t device);

/* Tells rows of one kind in a process apart. */
struct timeline_row_id {
	uint32_t number; /* of a thread, a queue, a device */
	uint32_t depth;  /* of ranges within one another: a row each, as their ends come in order */
	const char *domain; /* of ranges, NULL for none */
};
void timeline_put(struct af_timeline *t, enum timeline_row_kind kind, uint32_t process,
                  const struct timeline_row_id *id, struct af_slice *s);
uint32_t timeline_counter(struct af_timeline *t, uint32_t process, uint32_t device,
                          const char *name);

/* A counter of the trace. */
struct timeline_counter_like {
	const char *name, *unit;
	bool per_second; /* "/s" comes behind its unit */
	uint64_t per;    /* as in struct af_track */
};
uint32_t timeline_counter_made(struct af_timeline *t, uint32_t process, uint32_t device,
                               const struct timeline_counter_like *like);

/* By kind of event; the world has seen it. @w is a copy of t->world that may have the call. */
void timeline_call(struct af_timeline *t, const struct af_world *w, const struct af_event *ev);
void timeline_launch(struct af_timeline *t, const struct af_event *ev);
void timeline_work(void *timeline, const struct af_work *work);
void timeline_memory(struct af_timeline *t, const struct af_event *ev);
void timeline_reading(struct af_timeline *t, const struct af_event *ev);
void timeline_overhead(struct af_timeline *t, const struct af_event *ev);
void timeline_range(struct af_timeline *t, const struct af_event *ev);
void timeline_wait(struct af_timeline *t, const struct af_event *ev);
void timeline_lost(struct af_timeline *t, const struct af_event *ev);
void timeline_sample(void *timeline, const struct af_sample *s);

/* Is it requested, and in the part that the trees show? Cuts it to that part. */
void timeline_trees_open(struct af_timeline *t);
bool timeline_trees_sample(const struct af_timeline *t, struct af_sample *s);
bool timeline_trees_work(const struct af_timeline *t, struct af_work *work);
/* The node of a thread's stack location at this time, and of the launch group of @work. */
uint32_t timeline_trees_place(struct af_timeline *t, const struct af_stack_location *at,
                              uint32_t tid);
uint32_t timeline_trees_group(struct af_timeline *t, const struct af_work *work);
void timeline_trees_free(struct af_timeline *t);

/* The kinds that the second reading learns from; that reading; progress of either, 0 or 1. */
uint64_t timeline_learns(const struct af_timeline *t);
void timeline_second(struct af_timeline *t, struct af_trace *trace);
void timeline_tell(const struct af_timeline *t, uint64_t position, uint64_t size, int reading);

/* The trace has ended: ends the open ranges and runs. */
void timeline_ranges_end(struct af_timeline *t);
void timeline_runs_end(struct af_timeline *t);
void timeline_readings_end(struct af_timeline *t); /* what ends with it is a gap from then on */
void timeline_ranges_free(struct af_timeline *t);

#endif
