/* Shared by the files that look for findings. */
#ifndef AF_ANALYSE_FINDINGS_PRIVATE_H
#define AF_ANALYSE_FINDINGS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/annotate/annotate.h"
#include "analyse/findings/findings.h"
#include "analyse/functions/blocked.h"
#include "analyse/functions/top.h"
#include "analyse/idle/reasons.h"
#include "analyse/idle/rows.h"
#include "analyse/pass/pass.h"
#include "analyse/passes/rows.h"
#include "analyse/table/table.h"
#include "analyse/tree/ids.h"
#include "analyse/tree/tree.h"

/* A sum of CPU time, and the number of samples that it stands for; 0 where they are not counted. */
struct findings_sum {
	uint64_t ns, samples;
};

enum finding_rank {
	FINDING_DATA = -2, /* the others stand on what this says is missing */
	FINDING_BUSY,      /* nothing stands out, and what follows is no reason to act */
	FINDING_PROGRAM,
	FINDING_RECORDING, /* there is nothing to gain by it */
};

/* Texts live as long as the facts. What is NULL is "" in the table. */
struct finding {
	const char *kind;
	uint64_t ns, of_ns; /* its time, and of what it is a part */
	uint64_t samples;   /* behind ns, if is_sampled */
	const char *of;
	const char *what, *helps, *check;
	const char *function; /* that it is about, as it is shown */
	const char *id;       /* its id */
	const char *view, *hash;
	uint64_t gain_ns;       /* the part of ns for which a GPU waited, before its first work,
	                         * between or after; all of ns without GPUs */
	enum finding_rank rank; /* before time is compared */
	bool on_host;           /* it is a thread's time, and gain_ns is known */
	bool no_time;           /* these are counts of something else */
	bool is_usual;          /* a kernel that took this time, with nothing known against it */
	bool by_samples;        /* it is a share of CPU time, or of device work */
	bool is_sampled;        /* its time is estimated by samples of CPU time */
};

struct findings {
	struct af_results *r;
	struct af_tables *f;
	uint64_t run_ns;   /* how long what is shown lasted */
	bool sampled_here; /* CPU samples are aflame's own: it is known what was recorded */
	struct finding *all;
	uint32_t nr, cap;
	bool gpus;                        /* there is idle time of devices, all of which are GPUs */
	struct af_tree idle[IDLE_PHASES]; /* the view of idle time, by phase */
	uint64_t off_ns;   /* that a GPU waited for a thread that may have been off the CPU */
	uint32_t withheld; /* that stood on too little */
	uint32_t few;      /* left out: fewer than AF_FINDING_SAMPLES samples */
};

/* Take it, unless it is too small a part or stands on too few samples. Is it taken? */
bool findings_add(struct findings *s, const struct finding *x);

/* read.c: the table called @name, or NULL. */
const struct af_table *findings_table(const struct findings *s, const char *name);

/* A cell of row @row of @t, whose rows are of struct @type; NULL where there is none. */
#define CELL(type, t, row, field)                                                                  \
	(AF_ROW_AT(struct type, t, row) ? &AF_ROW_AT(struct type, t, row)->field : NULL)

/* The value of a cell, which may be NULL: 0 or "" when it is not known. */
uint64_t findings_value(const struct af_cell *cell);
const char *findings_text(const struct af_cell *cell);

/* The sum of a column of @t, which may be NULL. */
uint64_t findings_sum(const struct af_table *t, size_t column);
#define FINDINGS_SUM(type, t, field)                                                               \
	findings_sum(t, offsetof(struct type, field) / sizeof(struct af_cell))

/* A function. */
struct findings_name {
	const char *text;  /* as it is shown */
	const char *words; /* that mean it in every view, and no other: callers.h */
	const char *id;
};

/* The meaning of a name in @t, a view or a part of one. */
struct findings_name findings_name(struct findings *s, const struct af_tree *t, uint32_t name);

/* For a text of a table: the function of the first view that has it. */
struct findings_name findings_called(struct findings *s, const char *text, enum af_frame frame);

/* "12.3 %" */
const char *findings_share(struct findings *s, uint64_t part, uint64_t whole);

/*
 * Make @x a finding about @part of the CPU time of @t. Returns "1.2 s (12.3 ± 1.1 % of 9.8 s CPU
 * time)": the share with its standard error, which is that of @part's samples among all, each taken
 * or not by chance: sqrt(n (1 - n / N)) of N. It has none where samples are not counted.
 */
const char *findings_sampled(struct findings *s, struct finding *x, const struct af_tree *t,
                             struct findings_sum part);
/* "12,345"; with what is counted: "1 wait", "12,345 waits". */
const char *findings_number(struct findings *s, uint64_t n);
const char *findings_count(struct findings *s, uint64_t n, const char *what);
const char *findings_bytes(struct findings *s, uint64_t n);

/* An address within report.html: @head as it is, then @key=VALUE made fit, with & between. */
const char *findings_link(struct findings *s, const char *head, const char *key, const char *value);

/* @name in a sentence: of a very long one its ends. */
const char *findings_short(struct findings *s, const char *name);

/* @name as one word for a shell, in quotes unless it is plain. */
const char *findings_quoted(struct findings *s, const char *name);

/* A regular expression of the page's search that matches @name and no other. */
const char *findings_exactly(struct findings *s, const char *name);

/* @name as a pattern in quotes for a shell: what has it within. */
const char *findings_pattern(struct findings *s, const char *name);

/*
 * tree.c: stacks of @src from the frames called @name on. False, and nothing to close,
 * when there are none.
 */
bool findings_focus(struct af_tree *dst, const struct af_tree *src, const char *name);

/*
 * By rows of the idle table: how many devices are called so? 0 but for the first of them. Stacks
 * and gaps tell by name what they are of. Where processes share GPUs, only what has stacks: the
 * GPUs, and not the rows of processes. To be freed.
 */
uint32_t *findings_devices_reported(const struct findings *s, const struct af_table *idle);

/* The sum of all stacks; 0 when the tree was not made. */
struct findings_sum findings_total(const struct af_tree *t);

/*
 * The sum of stacks with a frame called @name, with a function that matches @pattern, or with one
 * that @words mean (callers.h); _self: of these functions themselves.
 */
struct findings_sum findings_weight(const struct af_tree *t, const char *name);
struct findings_sum findings_pattern_weight(const struct af_tree *t, const char *pattern);
struct findings_sum findings_words_weight(const struct af_tree *t, const char *words);
struct findings_sum findings_words_self(const struct af_tree *t, const char *words);

/* The name that begins with @start and whose stacks weigh most, or NULL. */
const char *findings_heaviest(struct findings *s, const struct af_tree *t, const char *start);

/* The function below which a good part of a tree is. */
struct findings_where {
	struct findings_name name; /* text NULL: there is none */
	uint32_t number;           /* the name in the tree that it was found in */
	bool python;               /* it is Python's */
	struct findings_sum sum;   /* of all stacks with it */
};

/*
 * The nearest caller that has at least half of the stacks with the function of @name, a name of @t;
 * of a function of the C library the nearest one of the program, however small its part; where no
 * Python function calls it, the top level of a Python file. False if there is none.
 */
bool findings_caller(struct findings *s, const struct af_tree *t, uint32_t name,
                     struct findings_where *w);

/* Is the function of the C library or its like, or aflame's own? */
bool findings_is_libc(const struct af_tree *t, uint32_t name);
bool findings_is_ours(const struct af_tree *t, uint32_t name);

/*
 * The innermost function that has at least a third of @t in one place, a Python function rather
 * than a native one, and none that only says that a program runs. False when there is none.
 */
bool findings_where(struct findings *s, const struct af_tree *t, struct findings_where *w);

/*
 * causes.c: "; 1.2 s of it in page faults" of the time in @t, in which a thread computed, or in
 * which it was off the CPU; "" if no cause has much of it. @helps is set where more is known.
 */
const char *findings_computing(struct findings *s, const struct af_tree *t, const char **helps);
const char *findings_waiting(struct findings *s, const struct af_tree *t, const char **helps);

/* A share of CPU time, in stacks that match @pattern, as a finding about the recording: taken? */
bool findings_recorded(struct findings *s, struct finding *x, const char *pattern);

/*
 * coverage.c: of those from @from on, take away what is a share of CPU time, or of device
 * work, of which too little was recorded; a finding of the coverage says which.
 */
void findings_withhold_cpu(struct findings *s, uint32_t from);
void findings_withhold_devices(struct findings *s, uint32_t from);

/*
 * runtimes.c: the process of a frame, a node of @t; the one with most of the weight in @mine, by
 * node (0 for none); is the text a mark of code made at run time without a name?
 */
uint32_t findings_process(const struct af_tree *t, uint32_t node);
uint32_t findings_heaviest_process(const struct af_tree *t, const uint64_t *mine);
bool findings_is_jit(const char *text, size_t len);

/*
 * The way in which the runtime of @process, a node of @t, gives names to the code that it makes, to
 * the functions that it interprets as well, and callers to the former (NULL: none is known).
 */
const char *findings_names_help(const struct af_tree *t, uint32_t process);
const char *findings_callers_help(const struct af_tree *t, uint32_t process);
const char *findings_stacks_help(const struct af_tree *t, uint32_t process);

/* The questions. */
void findings_ranks(struct findings *s);
void findings_coverage(struct findings *s);
void findings_launches(struct findings *s); /* part of the coverage */
void findings_idle(struct findings *s);
void findings_devices(struct findings *s);
void findings_kernels(struct findings *s);
void findings_cpu(struct findings *s);
void findings_threads(struct findings *s);
void findings_usage(struct findings *s);
void findings_limits(struct findings *s);
void findings_recording(struct findings *s);
void findings_names(struct findings *s);
void findings_busy(struct findings *s); /* when the others are known with their gain */

#endif
