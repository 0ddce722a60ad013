/* The tables of how times grow with ranks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ranks/ranks.h"
#include "analyse/scale/private.h"

enum { SHOWN = 4 }; /* frames of a path */

static const char *kind_text(const struct af_scale *s, const struct scale_part *p)
{
	switch (p->kind) {
	case SCALE_CPU:
		return "CPU";
	case SCALE_DEVICE:
		return "device";
	case SCALE_WAIT:
		return "waiting";
	default:
		return s->calls.all[p->call].api;
	}
}

static const char *name_text(const struct af_scale *s, const struct scale_part *p,
                             struct af_tables *f)
{
	if (p->kind == SCALE_CALL)
		return af_tables_text(f, "%s", s->calls.all[p->call].function);
	if (!p->is_function)
		return af_ranks_path(f, &s->paths, p->path, SHOWN);
	size_t len;
	const char *text = af_tree_label(&s->paths, s->paths.nodes[p->path].name, &len);
	return af_tables_text(f, "%.*s", (int)(len < 4096 ? len : 4096), text);
}

/* "1 rank", "64 ranks" */
static const char *ranks_text(struct af_tables *f, uint32_t nr)
{
	return af_tables_text(f, "%u %s", nr, nr == 1 ? "rank" : "ranks");
}

static struct af_table *parts_table(const struct af_scale *s, const char *name, const char *title,
                                    struct af_tables *f)
{
	static const struct af_column fixed[] = {AF_SCALE_PART_COLUMNS(AF_ROW_COLUMN)};
	enum { FIXED = sizeof fixed / sizeof *fixed };
	struct af_column columns[FIXED + 2 * AF_SCALE_SETS];

	memcpy(columns, fixed, sizeof fixed);
	for (uint32_t i = 0; i < s->nr; i++) {
		columns[FIXED + i] =
		    (struct af_column){.title = ranks_text(f, s->sets[i].nr_ranks),
		                       .unit = AF_CELL_NS,
		                       .key = af_tables_text(f, "rank_ns_%u", i + 1)};
		columns[FIXED + s->nr + i] =
		    (struct af_column){.title = ranks_text(f, s->sets[i].nr_ranks),
		                       .unit = AF_CELL_NS,
		                       .show = AF_SHOW_NEVER,
		                       .key = af_tables_text(f, "total_ns_%u", i + 1)};
	}
	return af_tables_table(f, name, title, columns, FIXED + 2 * s->nr);
}

static void part_row(const struct af_scale *s, const struct scale_part *p, struct af_table *t,
                     struct af_tables *f)
{
	struct af_scale_part_row *c = af_table_row(f, t);
	struct af_cell *more = (struct af_cell *)(c + 1);
	bool certain = p->lost_ns > p->noise_ns;

	c->name.text = name_text(s, p, f);
	c->kind.text = kind_text(s, p);
	c->stops_at.value = p->stops_at;
	c->stops_at.unknown = !p->stops_at;
	c->lost_ns.value = af_tables_count(p->lost_ns);
	c->noise_ns.value = af_tables_count(p->noise_ns);
	c->efficiency.value = p->efficiency;
	c->exponent.text = p->has_exponent ? af_tables_text(f, "%.2f", p->exponent) : "";
	c->exponent_percent.value = af_tables_count(fabs(p->exponent) * 1e4);
	c->exponent_percent.less = p->exponent < 0;
	c->exponent_percent.unknown = !p->has_exponent;
	c->full_path.text =
	    p->kind == SCALE_CALL || p->is_function ? "" : af_ranks_path(f, &s->paths, p->path, 0);
	for (uint32_t i = 0; i < s->nr; i++) {
		more[i].value = af_tables_count(scale_of_rank(s, p, i));
		more[s->nr + i].value = p->ns[i];
	}
	enum af_tone tone = p->stops_at ? AF_TONE_MORE : certain ? AF_TONE_PLAIN : AF_TONE_FAINT;
	for (uint32_t i = 0; i < t->nr_columns; i++)
		((struct af_cell *)c)[i].tone = tone;
}

static void parts_show(const struct af_scale *s, struct scale_parts *parts, const char *name,
                       const char *title, struct af_tables *f)
{
	if (parts->nr) {
		struct af_table *t = parts_table(s, name, title, f);
		for (uint32_t i = 0; i < parts->nr; i++)
			part_row(s, &parts->all[i], t, f);
	}
	free(parts->all);
	*parts = (struct scale_parts){0};
}

/*
 * The part that stops scaling first, or NULL. A path that loses half of what a call loses counts as
 * the reason why ranks wait in it: the call is first only if it stops sooner or loses even more.
 */
static const struct scale_part *first_part(const struct scale_parts *paths,
                                           const struct scale_parts *calls)
{
	const struct scale_part *path = paths->nr ? paths->all : NULL;
	const struct scale_part *call = calls->nr ? calls->all : NULL;

	path = path && path->stops_at ? path : NULL;
	call = call && call->stops_at ? call : NULL;
	if (!path || !call)
		return path ? path : call;
	if (path->stops_at != call->stops_at)
		return path->stops_at < call->stops_at ? path : call;
	return call->lost_ns > 2 * path->lost_ns ? call : path;
}

/* "main > solve > MPI_Allreduce stops first, at 4 ranks: a rank loses 1.2 s of 3.4 s" */
static const char *first_text(const struct af_scale *s, const struct scale_part *p,
                              struct af_tables *f)
{
	const struct scale_set *last = &s->sets[s->nr - 1];

	if (!p)
		return af_tables_text(f,
		                      "no call path stops scaling: none is less than %u %% "
		                      "efficient and loses time beyond sampling noise",
		                      AF_SCALE_EFFICIENT / 100);
	return af_tables_text(
	    f, "%s stops scaling first, at %u ranks: on %u ranks %s loses %s in it (%s), of %s",
	    name_text(s, p, f), p->stops_at, last->nr_ranks,
	    p->kind == SCALE_WAIT || p->kind == SCALE_CALL ? "each" : "the slowest",
	    af_tables_ns(f, af_tables_count(p->lost_ns)), kind_text(s, p),
	    af_tables_ns(f, last->wall_ns));
}

static void sets_show(const struct af_scale *s, const struct scale_part *first_to_stop,
                      struct af_tables *f)
{
	static const struct af_column columns[] = {AF_SCALE_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t =
	    AF_TABLE(f, "scale", s->weak ? "Weak scaling" : "Strong scaling", columns);
	const struct scale_set *first = &s->sets[0];

	for (uint32_t i = 0; i < s->nr; i++) {
		const struct scale_set *set = &s->sets[i];
		struct af_scale_row *c = af_table_row(f, t);
		double faster = set->wall_ns ? (double)first->wall_ns / (double)set->wall_ns : 0;
		double more = (double)set->nr_ranks / (double)first->nr_ranks;
		c->set.text = af_tables_text(f, "%s", set->name);
		c->ranks.value = set->nr_ranks;
		c->wall_ns.value = set->wall_ns;
		c->speedup.text = af_tables_text(f, "%.2f", s->weak ? faster * more : faster);
		c->efficiency.value = af_tables_count((s->weak ? faster : faster / more) * 1e4);
		c->cpu_ns.value = scale_total(s, i, SCALE_CPU);
		c->device_ns.value = scale_total(s, i, SCALE_DEVICE);
		c->wait_ns.value = scale_total(s, i, SCALE_WAIT);
		c->mpi_ns.value = set->mpi_ns;
	}
	t->note = first_text(s, first_to_stop, f);
}

void af_scale_tables(struct af_scale *s, uint32_t least, struct af_tables *f)
{
	struct scale_parts paths = {0}, functions = {0}, calls = {0};

	if (!s->nr || !s->sets[0].nr_ranks)
		return;
	scale_sets_combine(s);
	scale_sort(s);
	af_tree_finish(&s->paths);
	af_trees_tell_apart(&s->paths, 1);
	scale_paths(s, &paths);
	scale_functions(s, least, &functions);
	scale_calls(s, least, &calls);
	sets_show(s, first_part(&paths, &calls), f);
	parts_show(s, &paths, "scale_paths", "Call paths that lose time, in the slowest rank", f);
	parts_show(s, &functions, "scale_functions",
	           "Functions, by their own time: the mean of ranks", f);
	parts_show(s, &calls, "scale_calls", "Calls of APIs: the mean of ranks", f);
}
