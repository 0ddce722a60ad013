/*
 * One reading of a trace, for the files of this room: analyse.c reads all of it, parts.c several
 * parts beside one another.
 */
#ifndef AF_ANALYSE_PASS_ANALYSIS_H
#define AF_ANALYSE_PASS_ANALYSIS_H

#include "analyse/join/host_samples.h"
#include "analyse/join/launches.h"
#include "analyse/join/match.h"
#include "analyse/pass/deliver.h"
#include "analyse/pass/pass.h"
#include "analyse/world/code_names.h"

/* For events of a kind. */
enum {
	TODO_LEARN = 1 << 0,
	TODO_CALL = 1 << 1,
	TODO_DEVICE = 1 << 2,
	TODO_SAMPLE = 1 << 3,
	TODO_JOIN = 1 << 4,
	TODO_ATTRIBUTE = 1 << 5,
	TODO_OUTSIDE = 1 << 6, /* may be outside of the range that is asked for */
	TODO_DELIVER = 1 << 7,
	TODO_MATCH = 1 << 8,
	TODO_RANGE = 1 << 9, /* changes what a thread is doing */
};

/* One reading of a trace. */
struct analysis {
	struct deliver deliver; /* the passes that run */
	struct af_world world;
	struct af_call call; /* at hand, for all who read it */
	struct af_samples samples;
	struct af_launches launches;
	struct af_match match; /* behind it, where that is asked for */
	struct af_attribution attribution;
	struct af_code_names code_names;
	const char *dir;
	struct af_near range;
	const struct af_near *near; /* that range, or NULL: everything is read */
	bool joins;                 /* a pass takes work */
	bool attributes;            /* a pass looks at samples of instructions */
	bool needs_clocks, has_clocks;
	/* Samples of devices are in the trace; they were looked for when none had come yet. */
	bool sampled, sampled_sought;
	uint64_t wanted; /* kinds */
	uint16_t
	    todo[AF_KIND_MAX + 1]; /* by kind, the last for all from AF_KIND_API on: bits TODO_… */
	struct af_host_samples hosts;
	bool tells_hosts; /* which samples of CPUs are in device code matters, and is not read */
	struct af_trace *trace;
	/* In a part that is kept: the times of all that was handed over lie between these. */
	bool reaches;
	uint64_t lowest_ns, highest_ns;
};

static inline void analysis_reach(struct analysis *a, uint64_t start_ns, uint64_t end_ns)
{
	if (start_ns < a->lowest_ns)
		a->lowest_ns = start_ns;
	if (end_ns > a->highest_ns)
		a->highest_ns = end_ns;
}

/* The passes that answer @query; their threads are those of the query. */
void analysis_choose(struct analysis *a, const struct af_pass_ops *const *passes,
                     const struct af_query *query);

/* Samples and works that are joined go to the passes of @a. */
void analysis_connect(struct analysis *a);

/* They come here; @arg is the struct analysis. */
void analysis_sample(void *arg, const struct af_sample *s);
void analysis_work(void *arg, struct af_work *work);

/* Fill @a->todo. */
void analysis_plan(struct analysis *a);

/*
 * Read the events of @a's trace from @from_ns on and before @to_ns, of which the world has learned
 * before.
 */
void analysis_read_known(struct analysis *a, uint64_t from_ns, uint64_t to_ns);

/* No more comes: what waits is handed over, and @out gets the sums of it. */
void analysis_join_end(struct analysis *a, struct af_results *out);

/* All passes have got everything: their results go to @out. */
void analysis_finish(struct analysis *a, struct af_results *out);

/* Close the passes, and free what was joined; not the world and the trace. */
void analysis_drop(struct analysis *a);

/* Free @a, and all that it has. */
void analysis_close(struct analysis *a);

/*
 * Read the trace of @a, which is open and was not read yet, in parts, if it is large and all passes
 * can be read so: then the reading is returned, whose @a is from now on. NULL: nothing was read,
 * and the passes are as they were.
 */
struct af_reading *analysis_read_parts(struct analysis *a, const struct af_query *query,
                                       const struct af_analyse_how *how);

/* @out is what the whole has become: parts of it need its sums. */
void analysis_parts_keep(struct af_reading *reading, const struct af_results *out);

#endif
