/*
 * The query to a trace: which trees and tables, by which weights, of which part of the trace.
 * Passes that answer none of it do not run, and results that nobody looks at are not made.
 */
#ifndef AF_ANALYSE_QUERY_QUERY_H
#define AF_ANALYSE_QUERY_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/tree/tree.h"
#include "trace/read/near.h"

enum af_view {
	AF_VIEW_CPU,    /* where threads were, on a CPU or (as a weight of its own) off it */
	AF_VIEW_GPU,    /* work of devices, under the stacks that launched it */
	AF_VIEW_ALL,    /* both in one tree */
	AF_VIEW_WAKERS, /* waits of threads, and above each the stack that ended it */
	AF_VIEW_IDLE,   /* idle time of devices, and what the threads that use them did then */
	AF_VIEWS
};

/* Weights of the trees, by column; the view of wakers has two of its own, idle only time. */
enum af_weight {
	AF_WEIGHT_TIME,
	AF_WEIGHT_SAMPLES,
	AF_WEIGHT_COUNT,
	AF_WEIGHT_BYTES,
	AF_WEIGHT_OFF_CPU,
	AF_WEIGHT_ALLOC,  /* bytes that were allocated */
	AF_WEIGHT_LIVE,   /* … and not freed */
	AF_WEIGHT_ALLOCS, /* allocations */
	AF_WEIGHT_ENERGY, /* of devices and CPUs, in mJ; only with AF_ANSWER_ENERGY */
	AF_WEIGHTS
};
enum { AF_WAKERS_OFF_CPU, AF_WAKERS_COUNT };

/* Answers besides the trees, whose bits are 1 << AF_VIEW_… */
enum {
	AF_ANSWER_TABLES = 1 << AF_VIEWS, /* all there are */
	AF_ANSWER_TOP = 2 << AF_VIEWS,  /* of the tables only the heaviest functions and kernels */
	AF_ANSWER_GAPS = 4 << AF_VIEWS, /* of the tables only why devices were idle */
	/* Kernels, copies and memory, and calls by thread: into the struct af_tally of `own`. */
	AF_ANSWER_TALLY = 8 << AF_VIEWS,
	AF_ANSWER_STALLS = 16 << AF_VIEWS,    /* of the tables only why instructions stalled */
	AF_ANSWER_ANNOTATE = 32 << AF_VIEWS,  /* kernels in full: af_results.annotated */
	AF_ANSWER_OWN = 64 << AF_VIEWS,       /* the answer of a pass that the asker brings along */
	AF_ANSWER_COVERAGE = 128 << AF_VIEWS, /* how much of the used CPU time was sampled */
	/* With the tables, those of the steady part that say what held it back: load.h. */
	AF_ANSWER_STEADY = 256 << AF_VIEWS,
	AF_ANSWER_COUNTERS = 512 << AF_VIEWS, /* of the tables only the counters */
	/* Counters while kernels ran: not among all tables. */
	AF_ANSWER_KERNEL_COUNTERS = 1024 << AF_VIEWS,
	AF_ANSWER_ENERGY = 2048 << AF_VIEWS, /* of kernels and callers; not among all tables */
};

/* Frames between a process and its stacks. */
enum af_grouping {
	AF_GROUP_NONE,
	AF_GROUP_RANK,   /* [rank 3], of processes that have one: MPI's, torchrun's */
	AF_GROUP_DEVICE, /* of device work: [device 1: NAME] */
	AF_GROUP_QUEUE,  /* the same, and [stream 7], of OpenCL [queue 1] */
	AF_GROUP_TRACK   /* the same, and of threads [main 1234], of processes [rank 3] */
};

/* How far stacks reach into kernels whose instructions were sampled. */
enum af_depth {
	AF_DEPTH_BEST, /* to lines, or to instructions where no line is known */
	AF_DEPTH_KERNEL,
	AF_DEPTH_LINE,
	AF_DEPTH_INSN, /* below their lines */
	AF_DEPTH_STALL /* and the reasons why they stalled */
};

/* The query. Making results that nobody looks at may take longer than all the rest. */
struct af_query {
	uint32_t answers; /* trees and AF_ANSWER_… */
	uint32_t weights; /* bits 1 << AF_WEIGHT_…: stacks without any of these may be left out */
	enum af_grouping group;
	bool ranges;       /* frames of NVTX's ranges, between the process and the stack */
	const char *range; /* only events inside a range of this name; NULL: all */
	/* The time range, since the trace began; to 0: its end. within.h */
	uint64_t from_ns, to_ns;
	/*
	 * Not 0: read only what is near that time (trace/read/near.h), of a run of this length.
	 * Launches that could not be joined are not counted then: at the edges of what is read
	 * there are always some.
	 */
	uint64_t near_run_ns;
	struct af_near_memo *near_memo; /* what readers found out of it before, or NULL */
	uint32_t tid, device;           /* only of this thread, of this device; 0: of all */
	enum af_depth depth;
	/*
	 * Samples of devices are kept apart by intervals of this length, longer ones where they are
	 * too many: attribution.h. 0: they are not.
	 */
	uint64_t samples_apart_ns;
	/* For AF_ANSWER_ANNOTATE; struct af_annotate_with has the rest. */
	const char *kernel; /* a part of its name; NULL: the kernels with most time */
	uint32_t kernels;   /* at most so many of these; 0: one */
	/* For counters: parts of their names, between commas; NULL: all of them. */
	const char *counters;
	uint32_t context, rows;
	const char *sources; /* directories to look for sources, separated by colons; or NULL */
	bool locations;      /* trees keep the source location of their frames: tree.h */
	bool by_time;        /* match work without a stack with calls seen from outside: match.h */
	const char *trace;   /* its name in commands that results suggest; NULL: as it is opened */
	const char *words;   /* more words of those commands, "--by host"; or NULL */
	uint32_t threads;    /* that read and analyse; 0: af_threads_allowed() */
	/* How members of a set are kept apart (enum af_merge_by), and the key of groups. */
	uint32_t members_by;
	const char *members_group;
	bool merges; /* tables keep all rows, as they are merged with those of other traces */
	void *own;   /* for AF_ANSWER_OWN and _TALLY: the pass finds it in the results */
};

/* The part of the trace that @query reads: *@near is filled, or NULL for everything. */
const struct af_near *af_query_near(const struct af_query *query, struct af_near *near);

/* The query for report.html. */
#define AF_QUERY_ALL                                                                               \
	((struct af_query){.answers =                                                              \
	                       (AF_ANSWER_TALLY - 1) | AF_ANSWER_ANNOTATE | AF_ANSWER_STEADY,      \
	                   .weights = UINT32_MAX,                                                  \
	                   .depth = AF_DEPTH_STALL,                                                \
	                   .kernels = 24,                                                          \
	                   .context = 8,                                                           \
	                   .rows = 2000})

/*
 * The order in which a default weight is chosen: the first one that is not zero. Everything that
 * shows one weight uses it; the page gets it too.
 */
extern const enum af_weight af_weight_order[AF_WEIGHTS];
extern const struct af_tree_weight af_weights[AF_WEIGHTS];
const char *af_weight_name(enum af_weight weight);

/*
 * The name of the column @weight of @view for people, who ask whose time it is: "CPU time, all
 * threads"; up to the comma it is short. @has: of the results. The page has the same words
 * (viewer/model.js).
 */
const char *af_weight_title(enum af_view view, const char *weight, const uint32_t has[AF_VIEWS]);

/* Beside those bits: the count is the weight of samples (a counted event). */
enum {
	AF_HAS_COUNTED = 1 << AF_WEIGHTS,
	AF_HAS_WALL = 2 << AF_WEIGHTS, /* samples count time by the wall clock */
};

/*
 * The weight to show unless another is asked for. @has: bits as in af_results.has. Time when there
 * is none.
 */
enum af_weight af_weight_default(uint32_t has);

/* The bit of the weight called @name; time's for NULL, 0 when no weight has that name. */
uint32_t af_query_weight(const char *name);

/* The depth called @name: kernel, line, insn, stall; @standard for NULL and other words. */
enum af_depth af_query_depth(const char *name, enum af_depth standard);

#endif
