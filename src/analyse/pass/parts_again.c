/*
 * A part of the run from the parts of the trace that were read: those that lie inside it are added
 * as they are. Those that reach over its edges are read again, and what is outside is cut off.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass/parts.h"
#include "base/arena.h"
#include "base/system/threads.h"

struct again {
	struct af_reading *r;
	const struct af_query *query;
	struct analysis *a; /* of the part of the run */
	struct part *edges; /* by part of the trace: those that are read again */
	uint32_t *nr;       /* which ones these are */
	uint32_t nr_edges;
	uint32_t first, last; /* parts of the trace that have anything of it */
};

/* Kinds whose sums have no times: the whole has them, and a part of the run has not. */
#define AGAIN_NEVER (1ull << AF_KIND_CALL_SUM | 1ull << AF_KIND_WORK_SUM | 1ull << AF_KIND_SUMMED)

static bool passes_can(const struct again *g)
{
	for (uint32_t i = 0; i < g->a->deliver.nr_passes; i++)
		if (!part_pass(g->r->whole, g->a->deliver.passes[i].ops))
			return false;
	return true;
}

static bool is_inside(const struct again *g, uint32_t i)
{
	const struct analysis *part = &g->r->all[i].a;
	const struct af_time_range *range = &g->a->world.time_range;

	return part->lowest_ns > range->from_ns && part->highest_ns < range->to_ns;
}

static bool is_outside(const struct again *g, uint32_t i)
{
	const struct analysis *part = &g->r->all[i].a;
	const struct af_time_range *range = &g->a->world.time_range;

	return part->highest_ns <= range->from_ns || part->lowest_ns >= range->to_ns;
}

static void edge_read(void *arg, uint32_t n)
{
	const struct again *g = arg;
	uint32_t i = g->nr[n];
	struct part *edge = &g->edges[i];

	part_open(g->r, edge, g->a, g->query, &g->a->world, i < g->r->found.nr);
	if (i == g->r->found.nr) {
		part_read_definitions(g->r, edge);
		return;
	}
	edge->a.world.part_from_ns = i > g->first ? g->r->found.from_ns[i] : 0;
	edge->a.world.part_to_ns = i < g->last ? g->r->found.from_ns[i + 1] : UINT64_MAX;
	part_read(g->r, edge, i);
}

/* The edges, and what is defined. */
static void edges_read(struct again *g)
{
	const uint32_t nr = g->r->found.nr;

	g->edges = af_xcalloc((size_t)nr + 1, sizeof *g->edges);
	g->nr = af_xcalloc((size_t)nr + 1, sizeof *g->nr);
	g->first = nr;
	for (uint32_t i = 0; i < nr; i++) {
		if (is_outside(g, i))
			continue;
		g->first = g->first < i ? g->first : i;
		g->last = i;
		if (!is_inside(g, i))
			g->nr[g->nr_edges++] = i;
	}
	g->nr[g->nr_edges++] = nr;
	af_threads_each(g->a->deliver.most_threads, g->nr_edges, edge_read, g);
}

/* Works and samples that crossed the border that @part begins with. */
static void border_add(const struct again *g, const struct part *part)
{
	deliver_settle(&g->a->deliver);
	for (uint32_t i = 0; i < part->nr_samples; i++)
		analysis_sample(g->a, &part->samples[i]);
	for (uint32_t i = 0; i < part->nr_works; i++) {
		struct af_work work = part->works[i];
		analysis_work(g->a, &work);
	}
}

static bool parts_add(struct again *g)
{
	const uint32_t nr = g->r->found.nr;
	bool fine = true;

	for (uint32_t i = 0; fine && i < nr; i++) {
		const struct part *part = &g->r->all[i];
		border_add(g, part);
		if (is_outside(g, i))
			continue;
		fine = part_add(g->a, &g->a->world, is_inside(g, i) ? part : &g->edges[i]);
	}
	border_add(g, &g->r->all[nr]);
	return part_move(g->r, g->a, &g->edges[nr]) && fine;
}

/* Launches are those of the whole run, whatever is shown of it. */
static void sums_copy(const struct af_results *from, struct af_results *out)
{
	const struct af_coverage *c = &from->coverage;

	out->coverage.launches = af_xcalloc((size_t)c->nr_launches + 1, sizeof *c->launches);
	if (c->nr_launches)
		memcpy(out->coverage.launches, c->launches, c->nr_launches * sizeof *c->launches);
	out->coverage.nr_launches = c->nr_launches;
	out->launches_unfinished = from->launches_unfinished;
	out->works_failed = from->works_failed;
	out->works_unlaunched = from->works_unlaunched;
	out->works_stackless = from->works_stackless;
	out->works_unstamped = from->works_unstamped;
	out->works_unknown = from->works_unknown;
	out->calls_seen_alone = from->calls_seen_alone;
}

void analysis_parts_keep(struct af_reading *r, const struct af_results *out)
{
	sums_copy(out, &r->sums);
	r->how = NULL;
}

static void again_close(struct again *g)
{
	for (uint32_t i = 0; g->edges && i <= g->r->found.nr; i++)
		part_close(&g->edges[i]);
	free(g->edges);
	free(g->nr);
	analysis_drop(g->a);
	free(g->a);
}

bool af_reading_part(struct af_reading *r, const struct af_pass_ops *const *passes,
                     const struct af_query *query, struct af_results *out)
{
	struct again g = {.r = r, .query = query, .a = af_xcalloc(1, sizeof *g.a)};
	struct analysis *a = g.a;
	bool fine;

	af_results_open(out, query);
	out->dir = af_tables_text(&out->tables, "%s", query->trace ? query->trace : r->whole->dir);
	analysis_choose(a, passes, query);
	a->world = r->whole->world;
	a->dir = r->whole->dir;
	a->trace = r->whole->trace;
	a->wanted = r->whole->wanted;
	a->joins = r->whole->joins;
	analysis_connect(a);
	af_time_range_set(&a->world.time_range, af_trace_start_ns(a->trace), query);
	fine = r->keeps && a->world.time_range.to_ns && !query->tid && !query->device &&
	       !(r->found.kinds & AGAIN_NEVER) && passes_can(&g);
	if (fine) {
		edges_read(&g);
		fine = parts_add(&g);
	}
	if (fine) {
		sums_copy(&r->sums, out);
		analysis_finish(a, out);
	}
	again_close(&g);
	return fine;
}
