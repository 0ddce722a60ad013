/* Reading a trace for the commands that show something of it. */
#ifndef AF_CMD_SHARED_STUDY_H
#define AF_CMD_SHARED_STUDY_H

#include "analyse/pass/pass.h"

struct af_err;

/* What trees are weighed by, for completions; which of them a tree has, its trace tells. */
#define AF_WEIGHT_WORDS "time|samples|count|bytes|off-cpu"

/*
 * Prepare (finish what a killed recorder left), read and analyse the trace in @dir for what is
 * @asked, with progress on a terminal when it takes long. The top table is added to the facts where
 * tables are asked for. Results are the caller's to close, also after a failure.
 */
int af_study(const char *dir, const struct af_asked *asked, struct af_results *r,
             struct af_err *err);

/*
 * The same of the view that @asked is of, to show one weight of it: *@weight or, where that is
 * NULL, what af_weight_default() chooses of those that the view has. Then *@weight is its name, and
 * where that is not time a line on standard error says so.
 */
int af_study_view(const char *who, const char *dir, struct af_asked *asked, int view,
                  const char **weight, struct af_results *r, struct af_err *err);

/* The same of a finished trace, without a word on standard error. */
int af_study_quietly(const char *dir, const struct af_asked *asked, struct af_results *r,
                     struct af_err *err);

/*
 * af_coverage_warning() of what the view shows by @weight (NULL: time), where the coverage was
 * asked for; NULL: its shares are right, as far as is known. Lives as long as the results.
 */
const char *af_study_warning(struct af_results *r, int view, const char *weight);

/* Of a time that is asked for, what of its samples of instructions is apportioned or missing, in a
 * line on standard error; nothing where all of it is there. */
void af_study_sampled(const char *who, const struct af_results *r);

/* What is asked for the tables alone. */
#define AF_ASKED_TABLES ((struct af_asked){AF_ANSWER_TABLES, 0})

#endif
