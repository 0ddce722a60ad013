/*
 * The main findings of a run: one table, `findings`, made of what the other analyses have counted
 * already, the one that concerns most time first. Nothing is read again and nothing is guessed: a
 * row says what was measured, then what usually helps, and names the report that has the same
 * numbers. docs/report.md says what each kind means.
 */
#ifndef AF_ANALYSE_FINDINGS_FINDINGS_H
#define AF_ANALYSE_FINDINGS_FINDINGS_H

#include "analyse/table/table.h"

struct af_results;

enum {
	AF_FINDING_SHOWN = 8,   /* rows that people get unless they ask for more */
	AF_FINDING_PERCENT = 1, /* of the time that it is a part of: what is less is no finding */
	AF_FINDING_SAMPLES = 50 /* fewer samples are no finding about the program */
};

/* A row of the table. */
#define AF_FINDING_COLUMNS(C)                                                                      \
	C(rank, "Rank", AF_CELL_COUNT)                                                             \
	C(kind, "Kind", AF_CELL_TEXT,                                                              \
	  AF_SHOW_NEVER)                   /* a word for programs: "idle", "kernel", "function" */ \
	C(time_ns, "At most", AF_CELL_NS)  /* that it concerns: no more than that can be gained */ \
	C(share, "Share", AF_CELL_PERCENT) /* of what `of` says */                                 \
	C(of, "Of", AF_CELL_TEXT, AF_SHOW_NEVER)            /* "the run", "the CPU time" */        \
	C(samples, "Samples", AF_CELL_COUNT, AF_SHOW_NEVER) /* unknown: its time is measured */    \
	C(finding, "Finding", AF_CELL_TEXT)                 /* one sentence with the numbers */    \
	C(helps, "What usually helps", AF_CELL_TEXT, AF_SHOW_USED) /* what usually helps, or "" */ \
	C(check, "Check", AF_CELL_TEXT,                                                            \
	  AF_SHOW_USED) /* the command that shows the same numbers, as it can be typed, or "" */   \
	C(function, "Function", AF_CELL_TEXT, AF_SHOW_NEVER) /* that it is about, or "" */         \
	C(id, "Id", AF_CELL_TEXT, AF_SHOW_NEVER)     /* of it, as ids.h makes them, or "" */       \
	C(view, "View", AF_CELL_TEXT, AF_SHOW_NEVER) /* of report.html: the tree or the tab */     \
	C(hash, "Hash", AF_CELL_TEXT,                                                              \
	  AF_SHOW_NEVER) /* what to append to its address, with the #  \
	                                              */
struct af_finding_row {
	AF_FINDING_COLUMNS(AF_ROW_CELL)
};

/*
 * Add the table to the facts of @r, which all passes have finished: its tables, and its trees of
 * CPU time and of idle time, as far as they are there.
 */
void af_findings(struct af_results *r);

#endif
