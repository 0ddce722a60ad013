/*
 * What stands out in a run: one table, `findings`, made of what the other analyses have counted
 * already, the one that concerns most time first. Nothing is read again and nothing is guessed: a
 * row says what was measured, then what usually helps, and names the report that has the same
 * numbers. docs/report.md says what each kind means.
 */
#ifndef AF_ANALYSE_FINDINGS_FINDINGS_H
#define AF_ANALYSE_FINDINGS_FINDINGS_H

struct af_results;

enum {
	AF_FINDING_SHOWN = 8,  /* rows that people get unless they ask for more */
	AF_FINDING_PERCENT = 1 /* of the time that it is a part of: what is less is no finding */
};

/* Columns of the table. */
enum {
	AF_FINDING_RANK,
	AF_FINDING_KIND,     /* a word for programs: "idle", "kernel", "function", … */
	AF_FINDING_TIME,     /* that it concerns: no more than that can be gained */
	AF_FINDING_SHARE,    /* of what AF_FINDING_OF says */
	AF_FINDING_OF,       /* "the run", "the CPU time", … */
	AF_FINDING_WHAT,     /* one sentence with the numbers */
	AF_FINDING_HELPS,    /* what usually helps, or "" */
	AF_FINDING_CHECK,    /* the command that shows the same numbers, without the trace's name */
	AF_FINDING_FUNCTION, /* that it is about, or "" */
	AF_FINDING_ID,       /* of it, as ids.h makes them, or "" */
	AF_FINDING_VIEW,     /* of report.html: the tree or the tab */
	AF_FINDING_HASH,     /* what to append to its address, with the # */
	AF_FINDING_COLUMNS
};

/*
 * Add the table to the facts of @r, which all passes have finished: its tables, and its trees of
 * CPU time and of idle time, as far as they are there.
 */
void af_findings(struct af_results *r);

#endif
