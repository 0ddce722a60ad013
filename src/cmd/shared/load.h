/*
 * Loads and analyses a trace for the commands that show parts of it.
 */
#ifndef AF_CMD_SHARED_LOAD_H
#define AF_CMD_SHARED_LOAD_H

#include "analyse/pass/pass.h"

struct af_err;
struct af_phase_row;
struct af_picture_ahead;
struct af_picture_request;
struct af_progress;

/* The weights of trees, for completions; the trace decides which of them a tree has. */
#define AF_WEIGHT_WORDS "time|samples|count|bytes|off-cpu|alloc|live|allocs|energy"

/*
 * Prepare (finish what a killed recorder left), read and analyse the trace in @dir for the query
 * @query, with progress on a terminal when it takes long. If tables are requested, the top table is
 * added to the facts. If @dir is a folder of ranks, the results are those of all of them: set.h.
 * The caller closes the results, also after a failure.
 */
int af_load(const char *dir, const struct af_query *query, struct af_results *r,
            struct af_err *err);

/*
 * The same for a page. Where @request->format takes slices ahead, @request->dir is @dir and there
 * are threads for both, the slices are read meanwhile: by @ahead, which the caller ends, also after
 * a failure. @query gets fewer threads then; it and @request live as long as @ahead.
 */
int af_load_page(const char *dir, struct af_query *query, const struct af_picture_request *request,
                 struct af_picture_ahead *ahead, struct af_results *r, struct af_err *err);

/* The passes of af_load() alone; of @query, what it implies is added. @progress may be NULL. */
int af_load_passes(const char *dir, const struct af_query *query, struct af_results *r,
                   struct af_progress *progress, struct af_err *err);

enum { AF_LOAD_TOP_ROWS = 1000 /* functions, in a report of all tables */ };

/* The table of functions, with @limit rows (0: all), and what is made of all tables: findings. */
void af_load_top(struct af_results *r, uint32_t answers, uint32_t limit);
void af_load_finish(struct af_results *r, uint32_t answers);

/*
 * The remedy for a trace without data in view @view, as the end of a message: ": no CPU time was
 * sampled: …".
 */
const char *af_load_hint(int view);

/*
 * Returns 0, or -ENODATA with a message if @r, of the trace @dir, has nothing in view @view, or
 * nothing by @weight (NULL: any) that another option of record would have recorded.
 */
int af_load_has(const char *dir, const struct af_results *r, int view, const char *weight,
                struct af_err *err);

/* Let @query ask for all that a tree with @weight (a name, or NULL) is made of. */
void af_load_ask(struct af_query *query, const char *weight);

/*
 * The steady part of a run that repeats itself, or NULL. With AF_ANSWER_STEADY, what held the
 * devices back in it and what stands out are the tables steady_verdict and steady_findings; those
 * of the whole run are about its start, too.
 */
const struct af_phase_row *af_load_steady(const struct af_results *r);

/*
 * Add those tables to @r, from the results of the steady part alone. The links of its findings lead
 * to @steady; NULL leaves them as they are.
 */
void af_load_steady_copy(struct af_results *r, const struct af_results *part,
                         const struct af_phase_row *steady);

/*
 * The same for one view of @query, to show one weight of it: *@weight or, when that is NULL, the
 * choice of af_weight_default() among those that the view has. Then *@weight is its name, and if
 * that is not time a line on standard error tells so.
 */
int af_load_view(const char *who, const char *dir, struct af_query *query, int view,
                 const char **weight, struct af_results *r, struct af_err *err);

/* The same for a finished trace, without any output on standard error. */
int af_load_quietly(const char *dir, const struct af_query *query, struct af_results *r,
                    struct af_err *err);

/*
 * af_coverage_warning() for the view by @weight (NULL: time), if the coverage was requested. NULL:
 * as far as is known, its shares are right. Lives as long as the results.
 */
const char *af_load_warning(struct af_results *r, int view, const char *weight);

/*
 * For a time range: prints in a line on standard error how many of its instruction samples are
 * apportioned or missing; prints nothing when none are.
 */
void af_load_sampled(const char *who, const struct af_results *r);

/* The query for tables alone. */
#define AF_QUERY_TABLES ((struct af_query){AF_ANSWER_TABLES, 0})

#endif
