#include <stdlib.h>

#include "analyse/pass.h"
#include "base/err.h"

enum { PASSES_MAX = 16, PROGRESS_EVERY = 1 << 16 };

#define ANALYSE_WORK (1ull << AF_KIND_WORK | 1ull << AF_KIND_WORK_LONG)

static void results_open(struct af_results *r)
{
	static const struct af_tree_weight weights[] = {
	    [AF_WEIGHT_TIME] = {"time", "ns"},
	    [AF_WEIGHT_SAMPLES] = {"samples", "samples"},
	    [AF_WEIGHT_COUNT] = {"count", "launches"},
	    [AF_WEIGHT_BYTES] = {"bytes", "bytes"},
	};

	*r = (struct af_results){0};
	for (int i = 0; i < AF_VIEWS; i++)
		af_tree_open(&r->trees[i], weights, 4);
}

void af_results_close(struct af_results *r)
{
	for (int i = 0; i < AF_VIEWS; i++)
		af_tree_close(&r->trees[i]);
	af_facts_free(&r->facts);
}

/* What the reader itself has to say, as facts like any other. */
static void note_damage(struct af_world *w, const struct af_trace *t)
{
	const struct af_trace_damage *d = af_trace_damage(t);

	w->lost[AF_LOST_RING_FULL] += d->discarded;
	w->damaged_packets = d->packets;
	w->damaged_bytes = d->bytes;
	w->damage = d->first;
	w->trace_bytes = af_trace_size(t);
}

int af_analyse(const char *dir, const struct af_pass_ops *const *passes, struct af_results *out,
               void (*progress)(void *arg, uint64_t done, uint64_t size), void *arg,
               struct af_err *err)
{
	void *state[PASSES_MAX] = {0};
	uint64_t wanted = AF_WORLD_WANTS;
	struct af_world world = {0};
	struct af_trace *trace;
	struct af_event ev;

	results_open(out);
	for (int i = 0; passes[i]; i++)
		wanted |= passes[i]->wants;
	int rc = wanted & ANALYSE_WORK ? af_clocks_read(&world.clocks, dir, err) : 0;
	if (!rc)
		rc = af_trace_open(&trace, dir, wanted, err);
	if (rc) {
		af_world_close(&world);
		return rc;
	}
	for (int i = 0; passes[i]; i++)
		state[i] = af_xcalloc(1, passes[i]->state_size);

	for (uint64_t n = 1; af_trace_next(trace, &ev); n++) {
		af_world_event(&world, &ev);
		for (int i = 0; passes[i]; i++)
			if (ev.kind < AF_KIND_MAX && passes[i]->wants & 1ull << ev.kind)
				passes[i]->event(state[i], &world, &ev);
		if (progress && n % PROGRESS_EVERY == 0)
			progress(arg, af_trace_position(trace), af_trace_size(trace));
	}
	note_damage(&world, trace);
	af_trace_damage_text(af_trace_damage(trace), out->damage, sizeof out->damage);
	for (int i = 0; passes[i]; i++) {
		passes[i]->finish(state[i], &world, out);
		if (passes[i]->close)
			passes[i]->close(state[i]);
		free(state[i]);
	}
	for (int i = 0; i < AF_VIEWS; i++)
		af_tree_finish(&out->trees[i]);
	af_trace_close(trace);
	af_world_close(&world);
	return 0;
}
