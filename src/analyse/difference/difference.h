/*
 * Compares two sets of stacks, before and after, as one tree of two columns, and tells which
 * changes are more than chance.
 *
 *	af_difference_open → read the tree, af_difference_tables, … → af_difference_close
 *
 * Sampled numbers scatter: where one run has n samples, the next has n ± √n. A change is certain
 * when it is larger than three standard deviations of both sides together, its `noise`. By chance
 * alone, one of 370 changes looks certain. Measured events that happen now and then, such as waits
 * and gaps of a device, vary in number by chance: n of them ± √n, and the sum of their lengths ±
 * the root of the sum of their squares (a compound Poisson process). The program asks for device
 * work, which is measured, so it has no noise here. Two runs still differ by clocks and caches; one
 * recording of each cannot tell that.
 *
 * The weights of both sides stay exactly as they were. When sides are compared by a share or by a
 * step, before is multiplied by `scale` wherever changes are computed.
 */
#ifndef AF_ANALYSE_DIFFERENCE_DIFFERENCE_H
#define AF_ANALYSE_DIFFERENCE_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/table/table.h"
#include "analyse/tree/tree.h"

/* Columns of the tree. The last two are variances: in units of the quantum, so they add up. */
enum {
	AF_DIFFERENCE_BEFORE,
	AF_DIFFERENCE_AFTER,
	AF_DIFFERENCE_SCATTER,
	AF_DIFFERENCE_COLUMNS = AF_DIFFERENCE_SCATTER + 2
};

/* How the sides are made comparable. */
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

/* How changes are computed and shown; formats need it besides the tree. */
struct af_difference_look {
	double quantum[2]; /* variance of a unit of each scatter column; 0: nothing was sampled */
	double scales[AF_NORMALIZE_END]; /* what before counts, 0 where that is not known */
	enum af_normalize normalize;     /* which of these applies */
	/* Colours by a function's self weight, without the functions it called */
	bool by_self;
	bool waiting; /* the weight is time off the CPU: see blocked.h */
	bool events;  /* the scatter comes from the number of events */
};

/* One side. */
struct af_difference_side {
	const struct af_tree *tree;
	uint32_t weight;
	int samples;  /* the column that counts samples, @weight itself of counts; -1: measured */
	int measured; /* a column that is not zero only where the weight was measured; or -1 */
	bool events;  /* the weight adds up events whose squares the tree has; samples: -1 */
	uint64_t period; /* of counts: how many a sample stands for, 0: to be guessed */
};

struct af_difference {
	struct af_tree tree; /* finished */
	struct af_difference_look look;
};

/*
 * Make @d from both sides, which may be freed afterwards. With @strip names lose the parts that
 * change from build to build: addresses become 0x..., and line numbers at the end of a name go.
 * Scales are 1; that for shares is known when both sides are not empty. Functions are one by name,
 * kind and module (names.c). If each side has only one process, these are one, whatever their
 * programs are called.
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

/* The same for a node of @t, the tree or its reverse: with everything it called, or its own. */
struct af_change af_difference_node(const struct af_difference_look *look, const struct af_tree *t,
                                    uint32_t node, bool self);

/* In words: "new", "vanished", "grew", "shrank", "same", and "within noise". */
const char *af_change_name(const struct af_change *c);

/* The name of a normalisation, and the one of that name, or -1. */
const char *af_normalize_name(enum af_normalize n);
int af_normalize_find(const char *name);

/* Keep only the weight of new (or vanished) nodes: those that are zero on the other side. */
void af_difference_only(struct af_difference *d, enum af_change_kind kind);

/*
 * Multiply before by its scale, in whole units, so that the total comes out right. Afterwards the
 * scale is 1. For text, which has no place for a factor.
 */
void af_difference_apply(struct af_difference *d);

/* Tables of it: tables.c. */
struct af_difference_shown {
	bool all;                 /* changes within noise too */
	bool by_self;             /* functions in the order of their own change, not the whole */
	enum af_change_kind only; /* NEW or VANISHED; NONE: everything */
};

/* Adds the tables "total", "functions", "new" and "vanished". */
void af_difference_tables(const struct af_difference *d, struct af_tables *f,
                          const struct af_difference_shown *shown);

/*
 * Adds the table "worse": the total and functions that grew by more than @percent of the total
 * before, and by more than noise. It has no rows when there are none.
 */
struct af_table *af_difference_worse(const struct af_difference *d, struct af_tables *f,
                                     double percent);

#endif
