/* Shared by the files of the set. */
#ifndef AF_ANALYSE_SET_PRIVATE_H
#define AF_ANALYSE_SET_PRIVATE_H

#include "analyse/annotate/sampled.h"
#include "analyse/set/merge.h"
#include "analyse/set/set.h"
#include "analyse/table/rules.h"
#include "base/keys.h"
#include "base/strtab.h"

/*
 * Fill @m from the recorder's stream of the trace @dir_fd: notes, end and CPU time. Texts live in
 * @arena; @now_ns is that of af_trace_status(). When the stream cannot be read, the state is
 * AF_MEMBER_UNREADABLE and @m->why is set.
 */
void set_member_read(struct af_arena *arena, struct af_member *m, int dir_fd, uint64_t *now_ns);

enum {
	SET_NAMED = 64, /* missing members that are named, of all that are counted */
	SET_NAMED_IN_LINE = 4,
	SET_LIST_ROWS = 1000, /* of a table of single rows of all members: the heaviest */
	SET_EXACT = 64,       /* different values whose distribution is kept exactly */
	SET_PAIR_VALUES = 4   /* different values of a labelled value that are kept */
};

/* Members that are missing, or of which a part is, by name. */
struct set_named {
	struct set_reason {
		const char *label, *why;
	} first[SET_NAMED];
	uint64_t nr;
};

/*
 * The distribution of a row's weight over members. The values are exact while no more than
 * SET_EXACT of them differ. From then on each is rounded to its highest 7 bits, which is at most
 * 0.8 % off, so that there are at most 64 values for each power of two.
 */
struct set_spread {
	struct set_value {
		uint64_t is, nr; /* that many members have this one */
	} * values;              /* ascending */
	uint32_t nr_values, cap;
	bool rounded;
	uint64_t nr, most; /* members that have the row; the largest value, exactly */
	uint32_t who;      /* the first member that has it, as a text of the merge */
};

/* Count @nr members with @value; the first of them is called @who. */
void set_spread_add(struct set_spread *s, uint64_t value, uint64_t nr, uint32_t who);
/* Add all of @from, whose members come later; @who is its member by the texts of @s's merge. */
void set_spread_join(struct set_spread *s, const struct set_spread *from, uint32_t who);
/* The lower median of @members, of which those without the row count as 0. */
uint64_t set_spread_median(const struct set_spread *s, uint64_t members);
uint64_t set_spread_least(const struct set_spread *s, uint64_t members);

/* How a table is merged: plan.c has the list. */
enum set_plan {
	SET_MERGE, /* rows with the same keys become one */
	SET_LIST,  /* single rows of all members, the heaviest, each with its member */
	SET_PAIRS, /* labelled values: those that members share, and how many differ */
	SET_LEAVE  /* it is made anew of merged trees and sums, or has no meaning for many */
};

/* A table while it is merged. Texts of its cells are those of the merge. */
struct set_table {
	enum set_plan plan;
	struct af_table head; /* name, titles and columns */
	struct af_row_rules rules;
	int by;     /* the last column: the word of --by, or of a list the member; or -1 */
	int weight; /* the column whose distribution is kept and by which rows are ordered, or -1 */
	struct af_keys index; /* rows by their keys */
	struct set_row {
		struct af_cell *cells;
		struct af_row_sum *sums; /* NULL: no column is a mean */
		uint64_t part;           /* the whole of the members that have the row */
		uint64_t now;            /* the weight in the member that is being added */
		bool touched;
		struct set_spread spread;
	} * rows;
	uint32_t nr_rows, cap_rows;
	uint32_t *touched, nr_touched, cap_touched;   /* rows of the member that is being added */
	uint64_t whole, left_out, left_weight, least; /* least: weight below which a row has no
	                                               * place in a list */
	struct set_table *next;
};

/* How many members have one value of --by. */
struct set_by_value {
	uint32_t text;
	uint64_t nr;
};

/* Counters of struct af_results that are added up. */
enum set_counter {
	SET_LAUNCHES_UNFINISHED,
	SET_WORKS_FAILED,
	SET_WORKS_UNLAUNCHED,
	SET_WORKS_UNSTAMPED,
	SET_WORKS_UNKNOWN,
	SET_WORKS_MATCHED,
	SET_WORKS_STACKLESS,
	SET_CALLS_SEEN_ALONE,
	SET_SHOWN_NS,
	SET_EVENTS,
	SET_COST_HANDLER_NS,
	SET_COST_HANDLER_CALLS,
	SET_COST_RECORDER_NS,
	SET_COST_RUN_NS,
	SET_COST_REPLAY_HITS,
	SET_COST_REPLAY_WRONG,
	SET_COUNTERS
};

struct set_counters {
	uint64_t sums[SET_COUNTERS], lost[AF_LOST_END];
	struct af_sampled_device sampled;
	struct af_stack_losses stacks;
	uint64_t longest_ns, shortest_ns; /* of what is shown of one member */
	bool any;
};

/* Processes, or threads, of one name with the same verdict as one row. */
struct set_covered {
	struct af_coverage_row *rows; /* names and texts are the merge's */
	uint32_t nr, cap;
	struct af_keys index;
};

/* Sums beside tables and trees, and the member that is worst covered. */
struct set_sums {
	struct set_counters counters;
	struct af_coverage coverage; /* without rows of processes and threads */
	struct set_covered processes, threads;
	struct af_keys launches; /* rows of the coverage, by API and device */
	uint32_t cap_launches;
	struct af_covered worst; /* of the member with the smallest share sampled */
	uint32_t worst_who;      /* 0: none */
};

struct af_merge {
	struct af_merge_how how;
	struct af_strtab texts;
	uint64_t nr_members; /* with results */
	struct set_named missing, parts;
	struct af_tree trees[AF_VIEWS];
	uint32_t has[AF_VIEWS];
	char count_unit[48];
	bool summed;
	struct set_table *tables, *last_table;
	struct set_by_value *by_values;
	uint32_t nr_by, cap_by;
	struct set_sums sums;
	struct af_strtab own_python;
	struct af_sampled kernels;
};

/* The text @text of the merge, which lives as long. */
const char *set_text_of(struct af_merge *m, const char *text);

/* The value of --by of a member; "" without. */
const char *set_by_text(const struct af_merge *m, const struct af_member *who, char *text,
                        size_t size);

/* plan.c: how @t is merged; a merged table with its columns; one like that of another merge. */
enum set_plan set_plan_of(const struct af_table *t);
struct set_table *set_table_open(struct af_merge *m, const struct af_table *t, enum set_plan plan);
struct set_table *set_table_like(struct af_merge *m, const struct set_table *from);

/* tables.c: add the tables of one member, and those of a merge of later members. */
void set_tables_add(struct af_merge *m, const struct af_member *who, const char *by,
                    const struct af_tables *tables);
void set_tables_join(struct af_merge *m, struct af_merge *later);
void set_tables_close(struct af_merge *m);
/* Leave all but the heaviest rows of a list out. */
void set_list_cut(struct set_table *t);

/* finish.c: the merged tables at the end of @f. */
void set_tables_finish(struct af_merge *m, struct af_tables *f);

/* sums.c: sums and coverage. */
void set_sums_add(struct af_merge *m, const struct af_member *who, const struct af_results *r);
void set_sums_join(struct af_merge *m, const struct af_merge *later);
void set_sums_finish(struct af_merge *m, struct af_results *out);
void set_sums_close(struct af_merge *m);

/* top.c: give functions of the table the numbers that their names have in @t. */
void set_top_names(struct af_tables *f, struct af_table *top, const struct af_tree *t);

/* about.c: the table `set`. */
void set_about_table(const struct af_merge *m, struct af_tables *f);

#endif
