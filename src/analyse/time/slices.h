/*
 * The slices, a result: intervals on tracks, instants, counters and the arrows between them, as a
 * timeline shows them. There may be very many, so nobody holds them all: the pass that finds them
 * hands them to a sink, and the sink writes them out.
 *
 *	{ track | slice | point }*
 *
 * A sink may rely on this: a track comes after its parent and before the slices on it. The slices
 * of one track never cross: either two are apart (the end of one may be the start of the other) or
 * one lies within the other. They come in order of their starts; where two begin together, the
 * outer one comes first. There is no order between tracks. Times are nanoseconds of the trace's
 * clock.
 *
 * struct af_rows brings slices that come in nearly any order into that form: a row keeps some of
 * the latest, hands over the earliest of them when one more comes, and spreads slices that would
 * cross over several tracks, its lanes.
 *
 *	af_rows_track, af_rows_add, af_rows_put, af_rows_point → af_rows_flush → af_rows_free
 */
#ifndef AF_ANALYSE_TIME_SLICES_H
#define AF_ANALYSE_TIME_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/table/table.h"
#include "trace/read/clock.h"

struct af_strtab;
struct af_tree;
struct af_world;

enum {
	AF_ROWS_LANES = 64, /* tracks of a row; slices that cross on all of them are left out */
	AF_ROWS_DEPTH = 64, /* slices within one another on a track */
};

enum af_track_kind {
	AF_TRACK_PROCESS,
	AF_TRACK_THREAD, /* its own track has the calls of device APIs */
	AF_TRACK_DEVICE, /* a heading: its parts are below it */
	AF_TRACK_ROW,    /* slices and instants */
	AF_TRACK_COUNTER /* points */
};

struct af_track {
	uint32_t id;     /* from 1 on */
	uint32_t parent; /* 0 for a process */
	enum af_track_kind kind;
	uint32_t pid;           /* of the process it belongs to */
	uint32_t tid;           /* of the thread it belongs to, 0 for none */
	uint32_t rank;          /* its place among the children of its parent */
	uint32_t lane;          /* from 0: which of the tracks of that name and parent */
	const char *name;       /* lives as long as the rows */
	enum af_cell_unit unit; /* of a counter */
	/*
	 * A counter with another unit has its name, "W", or "" for a number of things, and how much
	 * of a value is one of it; else NULL and 0. Such a counter may have gaps.
	 */
	const char *counted;
	uint64_t per;
	const char *in_rank; /* of a process: its rank, or NULL */
};

/*
 * The order in which tracks are shown, as indexes: each before its children, children of one parent
 * by rank and lane. @tracks are @nr, @stride bytes apart, by id - 1.
 */
void af_tracks_order(const void *tracks, size_t stride, uint32_t nr, uint32_t *order);

/* The kinds of slices. S(NAME, text): the text is the category in files. */
#define AF_SLICES(S)                                                                               \
	S(CALL, "call")   /* a thread called a device API; an instant: it handed work over */      \
	S(WORK, "work")   /* a device did something */                                             \
	S(RANGE, "range") /* the program says what it is doing */                                  \
	S(WAIT, "wait")   /* a thread was off the CPU */                                           \
	S(RUN, "run")     /* samples found a thread on the CPU, in this function */                \
	S(OVERHEAD, "overhead") /* what tracing cost, as the driver says */                        \
	S(LOST, "lost")         /* something was dropped here */

enum af_slice_kind {
#define AF_S(NAME, text) AF_SLICE_##NAME,
	AF_SLICES(AF_S)
#undef AF_S
	    AF_SLICE_END
};

/* The ends of an arrow at a slice. */
enum af_flow {
	AF_FLOW_NONE,
	AF_FLOW_FROM,   /* it begins here */
	AF_FLOW_TO,     /* it ends here */
	AF_FLOW_THROUGH /* it comes here, and may go on: works of a graph */
};

struct af_slice {
	uint64_t start_ns, end_ns; /* the same: an instant */
	uint64_t flow;             /* id of the arrow, unique in the trace */
	uint64_t correlation;      /* of a call and its work; 0 for none */
	uint64_t value;            /* CALL, WORK: 0; RANGE: colour; RUN: samples; LOST: how many */
	uint64_t queued_ns;        /* WORK: from the call, or since it was queued, to the start */
	uint64_t weight_ns;        /* RUN: of all its samples; WORK: by its own clock, or 0 */
	uint32_t track;
	uint32_t name;       /* id of the names */
	uint32_t stack;      /* node of the stacks, 0 for none */
	uint32_t descriptor; /* WORK: index of the world, 0 for none */
	uint32_t graph;      /* WORK: graph it is a node of, 0 for none */
	uint32_t tid;        /* WORK: the thread that launched it, 0 not known */
	int32_t status;      /* 0, or the runtime's error */
	uint8_t kind;        /* enum af_slice_kind */
	uint8_t way;         /* enum af_flow */
	bool open;           /* its end is not in the trace */
};

struct af_point {
	uint32_t track;
	bool gap; /* there is no value from here on, and this one is 0 */
	uint64_t time_ns, value;
};

/* Receives the slices. Each function returns 0, or -errno to stop. */
struct af_slices_sink {
	void *arg;
	int (*track)(void *arg, const struct af_track *t);
	int (*slice)(void *arg, const struct af_slice *s);
	int (*point)(void *arg, const struct af_point *p);
	/*
	 * NULL, or: names, stacks or the world are about to grow, so the sink takes all that it got
	 * and reads none of these until it is given more.
	 */
	int (*settle)(void *arg);
};

/* The meaning of the ids in slices, and facts about all slices. Grows while slices come. */
struct af_slices {
	const struct af_strtab *names;
	const struct af_tree *stacks; /* their root's children are processes */
	const struct af_world *world;
	uint64_t start_ns; /* of the trace */
	/*
	 * A RUN is one sample, or consecutive samples with one stack, and RUN and WORK together
	 * have all the weight of the trees whose stacks they use. Otherwise samples are joined by
	 * function.
	 */
	bool adds_up;
	/* Other clocks of the machine at moments of the trace; foreign_ns 0: not known. */
	struct af_clock_pair realtime, boottime;

	/* Complete when the last slice has come. */
	uint64_t nr_slices, nr_points, nr_tracks;
	uint64_t traces;     /* of a set to whose trees these do not add up; else 0 */
	uint64_t outside;    /* outside the time range, or shorter than requested */
	uint64_t beyond;     /* beyond the requested number */
	uint64_t crossing;   /* left out for want of a lane */
	uint64_t unstamped;  /* work without times */
	uint64_t unplaced;   /* work whose clock the trace does not have */
	uint64_t unknown;    /* work of an unknown descriptor */
	uint64_t failed;     /* work with an error: it has no times */
	uint64_t unlaunched; /* work without a call: it has no arrow */
	const char *damage;  /* of the trace, "" for none */
};

/* The text of a kind for people and files: "call"; "" for a kind that does not exist. */
const char *af_slice_category(enum af_slice_kind kind);

/* Names of the details of slices, for people. A(NAME, text) */
#define AF_SLICE_ARGS_NAMES(A)                                                                     \
	A(CORRELATION, "correlation")                                                              \
	A(WORK_ITEMS, "work items")                                                                \
	A(GROUP, "group")                                                                          \
	A(BYTES, "bytes")                                                                          \
	A(REGISTERS, "registers per thread")                                                       \
	A(STATIC_SHARED, "static shared bytes")                                                    \
	A(DYNAMIC_SHARED, "dynamic shared bytes")                                                  \
	A(LOCAL, "local bytes per thread")                                                         \
	A(CLUSTER, "cluster")                                                                      \
	A(QUEUED, "queued ns")                                                                     \
	A(GRAPH, "graph")                                                                          \
	A(SAMPLES, "samples")                                                                      \
	A(LOST, "lost")                                                                            \
	A(ERROR, "error")                                                                          \
	A(UNFINISHED, "unfinished")

enum af_slice_arg_name {
#define AF_A(NAME, text) AF_ARG_##NAME,
	AF_SLICE_ARGS_NAMES(AF_A)
#undef AF_A
	    AF_ARG_END
};

/* The text of a name, "" for one that does not exist. */
const char *af_slice_arg_text(enum af_slice_arg_name name);

/* One more detail of a slice, for people. */
struct af_slice_arg {
	enum af_slice_arg_name name;
	bool is_text; /* text, else number */
	int64_t number;
	char text[64];
};

enum { AF_SLICE_ARGS = 16 };

/*
 * The parts of the details, in their order. Those of the descriptor are the same for all slices
 * that have it, as long as its config is the same.
 */
enum af_slice_part {
	AF_SLICE_BEFORE = 1, /* the descriptor's */
	AF_SLICE_DESCRIPTOR = 2,
	AF_SLICE_BEHIND = 4,
	AF_SLICE_WHOLE = 7
};

/* Fills @args with those of @parts; returns their number. The stack is not among them. */
int af_slice_args(const struct af_slices *all, const struct af_slice *s, unsigned parts,
                  struct af_slice_arg args[AF_SLICE_ARGS]);

/* A fact about a finished timeline. */
struct af_slices_pair {
	const char *name; /* "slices", "left out: works without times" */
	uint64_t number;
	bool loss; /* events are missing in the trace, or slices in the timeline */
};

enum { AF_SLICES_TABLES = 64 };

/* Fills @tables: the sums, and the losses that are not zero. Returns their number. */
int af_slices_tables(const struct af_slices *all, struct af_slices_pair tables[AF_SLICES_TABLES]);

struct af_rows {
	const struct af_slices_sink *sink;
	uint32_t nr_tracks;
	uint64_t nr_slices, nr_points; /* handed over */
	uint64_t crossing;             /* left out: AF_ROWS_LANES */
	int rc;                        /* the sink's error: nothing is handed over any more */

	/* private */
	struct rows_row *rows;
	uint32_t nr, cap;
};

/* Define a track. Returns its id, which is put into *@t too. */
uint32_t af_rows_track(struct af_rows *r, struct af_track *t);

/*
 * Add a row and return its number. Its tracks are made from *@like when they are needed; the first
 * one is @first unless that is 0; their lanes count from @like's. The row holds @held slices back:
 * as many as may come before an earlier one. Where it @nests, slices may lie within one another;
 * otherwise each of two that overlap gets a lane of its own.
 */
uint32_t af_rows_add(struct af_rows *r, const struct af_track *like, uint32_t first, uint32_t held,
                     bool nests);

/* Add a slice; its track is filled in. An end before the start is set to the start. */
void af_rows_put(struct af_rows *r, uint32_t row, const struct af_slice *s);
void af_rows_point(struct af_rows *r, const struct af_point *p);

/* Slices and points for @r as a sink: the tracks of slices are numbers of rows. */
struct af_slices_sink af_rows_sink(struct af_rows *r);

/* Hand over all that is held back. Returns r->rc. */
int af_rows_flush(struct af_rows *r);
void af_rows_free(struct af_rows *r);

#endif
