/* The end of a reading: what waits is handed over, and passes leave their results. */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass/analysis.h"

void af_results_open(struct af_results *r, const struct af_query *query)
{
	static const struct af_tree_weight waits[] = {
	    [AF_WAKERS_OFF_CPU] = {"off-cpu", "ns"},
	    [AF_WAKERS_COUNT] = {"count", "waits"},
	};

	*r = (struct af_results){.query = *query};
	for (int i = 0; i < AF_VIEW_WAKERS; i++) {
		af_tree_open(&r->trees[i], af_weights, AF_WEIGHTS);
		if (query->locations)
			af_tree_keep_locations(&r->trees[i]);
	}
	af_tree_open(&r->trees[AF_VIEW_WAKERS], waits, 2);
	af_tree_open(&r->trees[AF_VIEW_IDLE], af_weights, 1);
}

void af_results_close(struct af_results *r)
{
	for (int i = 0; i < AF_VIEWS; i++)
		af_tree_close(&r->trees[i]);
	for (uint32_t i = 0; i < r->nr_member_trees; i++)
		af_tree_close(&r->member_trees[i].tree);
	free(r->member_trees);
	free(r->looked_at);
	af_tables_free(&r->tables);
	af_tables_free(&r->annotated);
	af_coverage_free(&r->coverage);
	free(r->cpu_parts);
	af_strtab_free(&r->own_python);
	free(r->phases.steps_ns);
	if (r->kernels_close)
		r->kernels_close(r->kernels);
}

/* The reader's own findings, as tables. */
static void note_damage(struct af_world *w, const struct af_trace *t)
{
	const struct af_trace_damage *d = af_trace_damage(t);

	w->lost[AF_LOST_RING_FULL] += d->discarded;
	w->damaged_packets = d->packets;
	w->damaged_bytes = d->bytes;
	w->damage = d->first;
	w->trace_bytes = af_trace_size(t);
}

static void pass_drop(struct deliver_pass *p)
{
	if (p->state && p->ops->close)
		p->ops->close(p->state);
	free(p->state);
	p->state = NULL;
}

void analysis_drop(struct analysis *a)
{
	deliver_close(&a->deliver);
	for (uint32_t i = 0; i < a->deliver.nr_passes; i++)
		pass_drop(&a->deliver.passes[i]);
	af_samples_free(&a->samples);
	af_launches_free(&a->launches);
}

/* Kernels of a time may have run where no samples are of. */
static void analysis_bare(const struct analysis *a, struct af_sampled_device *sum)
{
	for (uint32_t j = 0; a->world.time_range.to_ns && j < a->attribution.nr_launch_groups;
	     j++) {
		const struct af_launch_group *launch_group = &a->attribution.launch_groups[j];
		sum->ran_ns += launch_group->time_ns;
		sum->bare_ns += launch_group->parts ? 0 : launch_group->time_ns;
	}
}

static void analysis_sampled(struct analysis *a, struct af_results *out)
{
	struct af_sampled_device *sum = &out->sampled;

	af_attribution_end(&a->attribution, &a->world);
	out->attribution = af_attribution_active(&a->attribution) ? &a->attribution : NULL;
	out->code_names = &a->code_names;
	for (uint32_t i = 0; i < a->attribution.nr_devices; i++) {
		const struct af_sampled_device *d = &a->attribution.devices[i];
		sum->windows += d->windows;
		sum->full_windows += d->full_windows;
		sum->serialized_windows += d->serialized_windows;
		sum->samples += d->samples;
		sum->exact += d->exact;
		sum->apportioned += d->apportioned;
		sum->unattributed += d->unattributed;
		sum->by_launches += d->by_launches;
		sum->shared += d->shared;
		sum->edge += d->edge;
		sum->dropped += d->dropped;
		sum->other += d->other;
	}
	analysis_bare(a, sum);
}

/*
 * A trace of another profiler's may count anything. Its name goes into all formats: a plain word.
 */
static void analysis_unit(const struct af_world *w, struct af_results *out)
{
	static const char good[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:";
	const char *unit = af_world_note(w, "weight.count");
	size_t n = 0;

	if (!unit || !*unit)
		return;
	for (; n < sizeof out->count_unit - 1 && unit[n]; n++)
		out->count_unit[n] = strchr(good, unit[n]) ? unit[n] : '_';
	for (int v = 0; v < AF_VIEW_WAKERS; v++)
		out->trees[v].weights[AF_WEIGHT_COUNT].unit = out->count_unit;
}

/* The run is longer than what was read, and its edges are no losses of it. */
static void analysis_part(struct analysis *a, struct af_results *out)
{
	uint64_t end_ns = af_trace_start_ns(a->trace) + out->query.near_run_ns;

	if (!a->near)
		return;
	if (a->world.last_ns < end_ns)
		a->world.last_ns = end_ns;
	out->launches_unfinished = out->works_unlaunched = out->coverage.nr_launches = 0;
}

void analysis_join_end(struct analysis *a, struct af_results *out)
{
	note_damage(&a->world, a->trace);
	a->world.lost[AF_LOST_NO_JOIN] += af_samples_end(&a->samples, &a->world);
	af_launches_end(&a->launches, &a->world);
	out->coverage.nr_launches =
	    af_launches_sums(&a->launches, &a->world, &out->coverage.launches);
	analysis_sampled(a, out);
	af_match_end(&a->match, &a->world);
	out->launches_unfinished = a->launches.unfinished;
	out->works_failed = a->launches.failed;
	out->works_unlaunched = a->launches.unlaunched;
	out->works_unstamped = a->launches.unstamped;
	out->works_unknown = a->launches.unknown;
	out->works_stackless = a->launches.stackless;
	out->works_matched = a->match.matched;
	out->calls_seen_alone = a->launches.seen_alone;
	analysis_part(a, out);
}

void analysis_finish(struct analysis *a, struct af_results *out)
{
	analysis_unit(&a->world, out);
	out->start_ns = af_trace_start_ns(a->trace);
	af_trace_damage_text(af_trace_damage(a->trace), out->damage, sizeof out->damage);
	deliver_end(&a->deliver);
	for (uint32_t i = 0; i < a->deliver.nr_passes; i++) {
		struct deliver_pass *p = &a->deliver.passes[i];
		p->ops->finish(p->state, &a->world, out);
		pass_drop(p);
	}
	out->attribution = NULL;
	out->code_names = NULL;
	af_attribution_free(&a->attribution); /* the largest thing, and nobody reads it any more */
	for (int i = 0; i < AF_VIEWS; i++)
		af_tree_finish(&out->trees[i]);
	af_trees_tell_apart(out->trees, AF_VIEWS);
}
