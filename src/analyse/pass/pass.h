/*
 * A pass answers one question. It sees each wanted event of the whole trace once, in order of time,
 * and leaves its results when the trace ends. It holds no file, prints nothing and knows no
 * collector: it uses only the event and the world.
 */
#ifndef AF_ANALYSE_PASS_PASS_H
#define AF_ANALYSE_PASS_PASS_H

#include <stddef.h>
#include <stdint.h>

#include "analyse/attribution/attribution.h"
#include "analyse/coverage/coverage.h"
#include "analyse/pass/phases.h"
#include "analyse/query/query.h"
#include "analyse/table/table.h"
#include "analyse/tree/tree.h"
#include "analyse/world/samples.h"
#include "analyse/world/work.h"
#include "analyse/world/world.h"

struct af_code_names;
struct af_sampled;
struct af_err;

/*
 * A part of a node's self weight by time: that of one process, by the ordinal of any of its images.
 */
struct af_cpu_part {
	uint32_t node, process;
	uint64_t ns;
};

/* The cost of recording, as recorders noted it; run_ns: how long they ran. */
struct af_cost {
	uint64_t handler_ns, handler_calls, recorder_ns, run_ns, replay_hits, replay_wrong;
};

/* Sampled time whose stacks are not whole, and all of it. */
struct af_stack_losses {
	uint64_t sampled_ns, cut_ns, middle_ns, pointers_ns, none_ns;
};

/* A tree of one member of a set, for a page that shows single ranks beside all of them. */
struct af_member_tree {
	const char *label; /* "rank 3" */
	struct af_tree tree;
};

/* The results of all passes together. */
struct af_results {
	struct af_query query;
	uint64_t members; /* of a set, whose results these are together; 0: of one trace */
	struct af_member_tree *member_trees;
	uint32_t nr_member_trees;
	uint32_t *looked_at; /* members of a set that one would look at first: indexes in the set */
	uint32_t nr_looked_at;
	/*
	 * Finished when all passes are. AF_VIEW_ALL is left empty when it would equal another
	 * requested view.
	 */
	struct af_tree trees[AF_VIEWS];
	/*
	 * Bits of the tree's weights that were not zero, requested or not; known for trees whose
	 * pass ran.
	 */
	uint32_t has[AF_VIEWS];
	/*
	 * The processes of the time in the tree of AF_VIEW_CPU, because its frames do not tell two
	 * processes of one name apart. Only when all tables are requested.
	 */
	struct af_cpu_part *cpu_parts;
	uint32_t nr_cpu_parts, cap_cpu_parts;
	/* Names of Python files, without folders, that are the program's own; for findings. */
	struct af_strtab own_python;
	char count_unit[48]; /* unit of the weight count, where a trace tells it */
	bool summed;         /* the trace has sums of another profiler: see SUMMED */
	struct af_cost cost;
	struct af_tables tables;
	struct af_tables annotated;  /* kernels, each with the tables of af_annotate() */
	struct af_coverage coverage; /* for the tables, the top, and AF_ANSWER_COVERAGE */
	/* Launches and work that could not be joined, when a pass takes work: see launches.h. */
	uint64_t launches_unfinished, works_failed, works_unlaunched, works_unstamped,
	    works_unknown, works_matched, calls_seen_alone;
	uint64_t works_stackless; /* whose launches have no stack, by --launches */
	/*
	 * Instruction samples of all devices, when a pass asks for them. The first two are for
	 * finish() alone; NULL when there are no samples.
	 */
	const struct af_attribution *attribution;
	struct af_code_names *code_names;
	struct af_sampled_device sampled; /* the sums */
	/*
	 * Instruction samples by kernel (annotate/sampled.h), instead of annotated kernels, where
	 * the query merges; and the function that frees them.
	 */
	struct af_sampled *kernels;
	void (*kernels_close)(struct af_sampled *kernels);
	struct af_phases phases; /* when all tables are requested */
	const char *dir;         /* of the trace, for commands; of the tables */
	uint64_t start_ns;       /* of the trace; times are shown relative to it */
	uint64_t shown_ns;       /* length of the requested time, without gaps in the recording */
	uint64_t nr_events;      /* that were read */
	struct af_stack_losses stacks;
	uint64_t lost[AF_LOST_END]; /* from the trace, by reason */
	char damage[768];           /* of the trace, in one line; "" for none */
};

struct af_pass_ops {
	const char *name;
	const char *question;
	/* As in struct af_query: the pass runs only if one of these is requested */
	uint32_t answers;
	uint32_t attributes; /* for which of these finish() uses instruction samples */
	uint32_t works_for;  /* for which of these work() is of use; 0: for all */
	bool works_fast;     /* work() takes no longer than handing work to another thread does */
	bool settles;        /* see merge() */
	bool of_runs;        /* the pass has no results for a time range: it does not run then */
	size_t state_size;   /* zeroed and passed as @self */
	uint64_t wants;      /* bits 1 << AF_KIND_… for event(); the world's kinds come anyway */
	uint64_t takes;      /* of these, those that event() does anything with; 0: all */
	/* Those of them that hold on: a part of the trace begins with all that came before it. */
	uint64_t holds;
	/*
	 * No part gets these: a state of its own gets them for the whole trace, and in the end
	 * those of the parts are added to it. They are none of AF_KINDS_MOMENTARY.
	 */
	uint64_t whole;

	/*
	 * A pass runs in one thread at a time, and not always in the same one. Before end() it uses
	 * nothing but its own state and @w; first_ns, last_ns and nr_events of @w are not right
	 * yet.
	 */
	void (*event)(void *self, const struct af_world *w, const struct af_event *ev);
	/* Whole CPU samples, in place of the events that they are joined from. */
	void (*sample)(void *self, const struct af_world *w, const struct af_sample *s);
	/*
	 * Device work of all APIs with the call that launched it, in about the order in which it
	 * ended. A pass that reads placed_ns, or calls af_work_place() on a copy, must have
	 * AF_KIND_CLOCK among its wants.
	 */
	void (*work)(void *self, const struct af_world *w, const struct af_work *work);
	/*
	 * Add @from, the state of this pass for the part of the trace that follows those of @self,
	 * to @self, which is zeroed before the first part. All are of one world, that of the whole
	 * trace; while a part is read, w->in_part. Works and samples that lie across the border
	 * came to @self before. @from stays as it is, and may be added elsewhere too. False: the
	 * parts do not tell what the whole would be, so that is read in one. NULL: the pass always
	 * takes the trace in one. Where `settles`, it is called with @from NULL at the end of each
	 * part, for its state @self, beside the others: what depends on no other part can be done.
	 */
	bool (*merge)(void *self, const struct af_world *w, const void *from);
	/* No more will come. Passes end beside one another, and finish one after the other. */
	void (*end)(void *self, const struct af_world *w);
	void (*finish)(void *self, const struct af_world *w, struct af_results *out);
	void (*close)(void *self);
};

extern const struct af_pass_ops af_pass_flame;
extern const struct af_pass_ops af_pass_wakers;
extern const struct af_pass_ops af_pass_blocked;
extern const struct af_pass_ops af_pass_annotated;
extern const struct af_pass_ops af_pass_devices;
extern const struct af_pass_ops af_pass_calls;
extern const struct af_pass_ops af_pass_memory;
extern const struct af_pass_ops af_pass_mpi;
extern const struct af_pass_ops af_pass_tally;
extern const struct af_pass_ops af_pass_python_files;
extern const struct af_pass_ops af_pass_idle;
extern const struct af_pass_ops af_pass_coverage;
extern const struct af_pass_ops af_pass_who;
extern const struct af_pass_ops af_pass_run;
extern const struct af_pass_ops af_pass_phases;
extern const struct af_pass_ops af_pass_sampled;
extern const struct af_pass_ops af_pass_usage;
extern const struct af_pass_ops af_pass_counters;
extern const struct af_pass_ops af_pass_kernel_counters;
extern const struct af_pass_ops af_pass_energy;
extern const struct af_pass_ops af_pass_limits;

/*
 * Read the trace in @dir once, and run those of @passes (NULL-terminated) that answer the query
 * @query over it, in order. @progress (may be NULL) gets bytes done and bytes in all. The caller
 * closes the results, also after a failure.
 */
int af_analyse(const char *dir, const struct af_pass_ops *const *passes,
               const struct af_query *query, struct af_results *out,
               void (*progress)(void *arg, uint64_t done, uint64_t size), void *arg,
               struct af_err *err);

/*
 * A trace that was read in parts of time, whose passes' states are kept, so that a part of the run
 * can be answered for without another reading.
 */
struct af_reading;

struct af_analyse_how {
	void (*progress)(void *arg, uint64_t done, uint64_t size);
	void *arg;
	struct af_reading **kept; /* gets the reading, if the trace was read in parts; or NULL */
};

/* The same; the caller closes what it keeps. */
int af_analyse_how(const char *dir, const struct af_pass_ops *const *passes,
                   const struct af_query *query, struct af_results *out,
                   const struct af_analyse_how *how, struct af_err *err);

/*
 * Answer @query, which has a time range and is else like the one that @r answered, by those of
 * @passes that answered that one too. False: it takes a reading of its own; @out is to be closed in
 * any case.
 */
bool af_reading_part(struct af_reading *r, const struct af_pass_ops *const *passes,
                     const struct af_query *query, struct af_results *out);

/* NULL is fine. */
void af_reading_close(struct af_reading *r);

/* Empty results for @query, as af_analyse() begins with: open trees, and nothing else. */
void af_results_open(struct af_results *r, const struct af_query *query);

/* Free the trees and tables of @r. Call it after af_analyse() failed as well. */
void af_results_close(struct af_results *r);

#endif
