/*
 * Two sets of stacks, before and after, as one tree of two columns; and which of the changes are
 * more than chance.
 *
 *	af_difference_open → read the tree, af_difference_tables, … → af_difference_close
 *
 * What was sampled scatters: of n samples the next run has n ± √n. A change is certain when it is
 * larger than three standard deviations of both sides together, its `noise`. Chance alone makes one
 * of 370 changes look certain. Of events that were measured and happen now and then, as waits and
 * the gaps of a device, there are more or fewer by chance: n of them ± √n, and the sum of their
 * lengths ± the root of the sum of their squares (a compound Poisson process). Work of a device is
 * what the program asked for and was measured, so it has no noise here: two runs of the same differ
 * all the same, by clocks and caches, which one recording of each cannot tell.
 *
 * The weights of both sides stay as they were, to the unit. Where sides are compared by a share or
 * by a step, before counts `scale` times in all that is said of changes.
 */
#ifndef AF_ANALYSE_DIFFERENCE_DIFFERENCE_H
#define AF_ANALYSE_DIFFERENCE_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/table/facts.h"
#include "analyse/tree/tree.h"

/* Columns of the tree. The last two are variances: in units of the quantum, so they add up. */
enum {
	AF_DIFFERENCE_BEFORE,
	AF_DIFFERENCE_AFTER,
	AF_DIFFERENCE_SCATTER,
	AF_DIFFERENCE_COLUMNS = AF_DIFFERENCE_SCATTER + 2
};

/* What makes both sides comparable. */
#define AF_NORMALIZES(N)                                                                           \
	N(NONE, "none")                                                                            \
	N(TOTAL, "total") /* shares of all there is */                                             \
	N(WALL, "wall")   /* in the same time */                                                   \
	N(STEP, "step")   /* in as many steps of the program */

enum af_normalize {
#define AF_N(NAME, text) AF_NORMALIZE_##NAME,
	AF_NORMALIZES(AF_N)
#undef AF_N
	    AF_NORMALIZE_END
};

/* How changes are looked at; what formats need besides the tree. */
struct af_difference_look {
	double quantum[2]; /* variance of a unit of each scatter column; 0: nothing was sampled */
	double scales[AF_NORMALIZE_END]; /* what before counts, 0 where that is not known */
	enum af_normalize normalize;     /* which of them counts */
	bool by_self;                    /* colours by a function's own, not with what it called */
	bool waiting;                    /* the weight is time off the CPU: see blocked.h */
	bool events;                     /* what scatters is how many events there were */
};

/* One side. */
struct af_difference_side {
	const struct af_tree *tree;
	uint32_t weight;
	int samples;  /* the column that counts samples, @weight itself of counts; -1: measured */
	int measured; /* a column that has something only where the weight was measured; or -1 */
	bool events;  /* the weight adds up events whose squares the tree has; samples: -1 */
	uint64_t period; /* of counts: what a sample counts, 0: to be guessed */
};

struct af_difference {
	struct af_tree tree; /* finished */
	struct af_difference_look look;
};

/*
 * Make @d of both sides, which need not live on. With @strip names lose what changes from build to
 * build: addresses become 0x..., and line numbers at the end of a name go. Scales are 1, and for
 * shares known when both sides have something. Functions are one by name, kind and module
 * (names.c). Where each side is of one process, these are one,
 * whatever their programs are called.
 */
void af_difference_open(struct af_difference *d, const struct af_difference_side *before,
                        const struct af_difference_side *after, bool strip);
void af_difference_close(struct af_difference *d); /* a zeroed one is fine */

enum af_change_kind {
	AF_CHANGE_NONE, /* the same on both sides */
	AF_CHANGE_NEW,
	AF_CHANGE_VANISHED,
	AF_CHANGE_GREW,
	AF_CHANGE_SHRANK
};

struct af_change {
	uint64_t before, after, size; /* before as it counts; size: of the change */
	double noise;
	enum af_change_kind kind;
	bool less, certain;
};

/* The change of @values, one of each column. */
struct af_change af_difference_change(const struct af_difference_look *look,
                                      const uint64_t values[AF_DIFFERENCE_COLUMNS]);

/* The same of a node of @t, the tree or its reverse: with all it called, or of its own. */
struct af_change af_difference_node(const struct af_difference_look *look, const struct af_tree *t,
                                    uint32_t node, bool self);

/* In words: "new", "vanished", "grew", "shrank", "same", and "within noise". */
const char *af_change_name(const struct af_change *c);

/* The name of a normalisation, and the one of that name, or -1. */
const char *af_normalize_name(enum af_normalize n);
int af_normalize_find(const char *name);

/* Keep only the weight of what is new (or vanished): of nodes of which the other side has none. */
void af_difference_only(struct af_difference *d, enum af_change_kind kind);

/*
 * Make before count as it is compared, in whole units, so that all of it is as much as it should
 * be. What is left of scaling after that is 1. For text, which has no place for a factor.
 */
void af_difference_apply(struct af_difference *d);

/* Tables of it: tables.c. */
struct af_difference_shown {
	bool all;                 /* also what is within noise */
	bool by_self;             /* functions in the order of their own change, not the whole */
	enum af_change_kind only; /* NEW or VANISHED; NONE: everything */
};

/* "total", "functions", "new" and "vanished". */
void af_difference_tables(const struct af_difference *d, struct af_facts *f,
                          const struct af_difference_shown *shown);

/*
 * What grew by more than @percent of all there was before, and by more than noise: "worse", a table
 * of all together and functions, of no rows where that holds of none.
 */
struct af_table *af_difference_worse(const struct af_difference *d, struct af_facts *f,
                                     double percent);

#endif
