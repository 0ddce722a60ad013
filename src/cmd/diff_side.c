/* One side of aflame diff: a trace or folded text, read into a tree. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/functions/steps.h"
#include "base/err.h"
#include "base/scope.h"
#include "cmd/diff.h"
#include "cmd/output/picture.h"
#include "cmd/output/progress.h"
#include "cmd/shared/names.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/set.h"
#include "render/render.h"

static int one_read(const char *name, const struct af_query *query, struct af_results *r,
                    struct af_steps *steps, struct af_err *err)
{
	static const struct af_pass_ops *const passes[] = {
	    &af_pass_flame, &af_pass_wakers, &af_pass_idle, &af_pass_energy, &af_pass_steps, NULL};
	struct af_progress progress = af_progress_begin("reading the trace");
	struct af_query all = *query;

	all.answers |= AF_ANSWER_OWN;
	all.own = steps;
	int rc = af_analyse(name, passes, &all, r, af_progress_tell, &progress, err);
	af_progress_end(&progress);
	r->query.own = NULL;
	return rc;
}

/* A set has sums: the time of all its ranks, and all their steps. */
static int set_read(struct af_diff_side *s, struct af_set *set, const struct af_query *query,
                    const char *step, struct af_err *err)
{
	const struct af_merge_how how = {.query = *query};
	struct af_merge *m = af_merge_open(&how);
	struct af_err failure = {0};

	for (uint32_t i = 0; i < set->nr; i++) {
		const char *why = af_set_prepare(set, i);
		struct af_steps steps = {.name = step};
		struct af_results r = {0};
		if (!why && one_read(set->members[i].path, query, &r, &steps, &failure))
			why = failure.msg;
		if (why) {
			af_merge_missing(m, &set->members[i], why);
		} else {
			af_merge_add(m, &set->members[i], &r);
			s->wall_ns += steps.wall_ns;
			s->steps += steps.nr;
		}
		af_results_close(&r);
	}
	int rc = af_set_report(set->path, m, err);
	af_merge_end(m, &s->results);
	s->results.dir = af_tables_text(&s->results.tables, "%s", set->path);
	af_merge_close(m);
	return rc;
}

static int trace_read(struct af_diff_side *s, const struct af_query *query, const char *step,
                      const char *rank, struct af_err *err)
{
	struct af_steps steps = {.name = step};
	struct af_set set;
	bool is_set;
	int rc = af_ranks_or_set(&s->name, rank, &is_set, err);

	if (!rc && is_set && af_ranks_set(s->name, &set, err) > 0) {
		rc = set_read(s, &set, query, step, err);
		af_set_close(&set);
		return rc;
	}
	if (!rc)
		rc = af_trace_prepare(s->name, err);
	if (!rc)
		rc = one_read(s->name, query, &s->results, &steps, err);
	if (!rc && s->results.damage[0])
		fprintf(stderr, "aflame diff: %s is damaged: %s\n", s->name, s->results.damage);
	s->wall_ns = steps.wall_ns;
	s->steps = steps.nr;
	return rc;
}

static int stacks_read(struct af_diff_side *s, int fd, bool two, struct af_err *err)
{
	char who[512];
	const struct af_stacks_how how = {.who = who, .two = two};

	snprintf(who, sizeof who, "diff: %s", s->name);
	return af_stacks_read(&s->stacks, fd, s->name, &how, err);
}

int af_diff_side_open(struct af_diff_side *s, const char *name, bool two,
                      const struct af_query *query, const char *step, const char *rank,
                      struct af_err *err)
{
	struct stat st;

	*s = (struct af_diff_side){.name = name};
	if (!strcmp(name, "-"))
		return stacks_read(s, STDIN_FILENO, two, err);
	scope_close int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && !stat(name, &st) && S_ISDIR(st.st_mode))
		return trace_read(s, query, step, rank, err); /* whose error says whose it is */
	if (fd < 0 || fstat(fd, &st))
		return af_fail(err, -errno, "cannot open %s", name);
	s->is_trace = S_ISDIR(st.st_mode);
	if (s->is_trace && two)
		return af_fail_plain(
		    err, -EINVAL, "a trace is compared with another: aflame diff %s AFTER", name);
	return s->is_trace ? trace_read(s, query, step, rank, err) : stacks_read(s, fd, two, err);
}

void af_diff_side_close(struct af_diff_side *s)
{
	af_results_close(&s->results);
	af_stacks_close(&s->stacks);
	*s = (struct af_diff_side){0};
}

int af_diff_side_of(const struct af_diff_side *s, int view, const char *weight,
                    struct af_difference_side *of, struct af_err *err)
{
	const struct af_picture picture = {.weight = weight};

	if (!s->is_trace) {
		*of = (struct af_difference_side){.tree = &s->stacks.tree, .measured = -1};
		return 0;
	}
	const struct af_tree *t = &s->results.trees[view];
	int w = af_picture_weight(&picture, t, err);
	if (w < 0)
		return w;
	*of = (struct af_difference_side){
	    .tree = t, .weight = (uint32_t)w, .samples = -1, .measured = -1};
	/* Time from samples of a thread or a device scatters; the time of timed work does not. */
	if (view <= AF_VIEW_ALL && (w == AF_WEIGHT_TIME || w == AF_WEIGHT_SAMPLES)) {
		of->samples = AF_WEIGHT_SAMPLES;
		of->measured = w == AF_WEIGHT_TIME ? AF_WEIGHT_COUNT : -1;
	}
	/* The number of waits and gaps varies by chance. */
	if (view == AF_VIEW_WAKERS && w == AF_WAKERS_COUNT)
		of->samples = AF_WAKERS_COUNT;
	of->events = view == AF_VIEW_IDLE || w == (view == AF_VIEW_WAKERS ? (int)AF_WAKERS_OFF_CPU
	                                                                  : (int)AF_WEIGHT_OFF_CPU);
	return 0;
}
