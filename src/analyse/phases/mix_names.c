/* The functions of samples, and which of them tell one part of a run from another. */
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/frames.h"
#include "analyse/phases/mix.h"
#include "base/arena.h"

/* Functions that only get a program ready. Python's have a location behind them. */
static bool is_loading(const char *text, size_t len)
{
	static const char *const functions[] = {
	    "_find_and_load",
	    "import_find_and_load",
	    "_dl_start",
	    "_dl_main",
	    "_dl_open",
	    "dl_open_worker",
	    "_dl_relocate_object",
	    "_dl_map_object",
	    "CompileBroker::compiler_thread_loop",
	    "cuInit",
	    "cuModuleLoadData",
	    "clBuildProgram",
	};

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		size_t of = strlen(functions[i]);
		if (len >= of && !memcmp(text, functions[i], of) &&
		    (len == of || text[of] == ' ' || text[of] == '('))
			return true;
	}
	return false;
}

void mix_names(struct mix *x, const struct af_stack_locations *locations, const struct af_world *w)
{
	static const struct af_tree_weight weight = {"samples", "samples", 1};

	x->nr_locations = locations->nr;
	x->nodes = af_xcalloc(locations->nr, sizeof *x->nodes);
	x->loads = af_xcalloc(locations->nr, sizeof *x->loads);
	x->sets = af_xcalloc(locations->nr, sizeof *x->sets);
	af_tree_open(&x->tree, &weight, 1);
	for (uint32_t i = 0; i < locations->nr; i++)
		x->nodes[i] = af_frames_place(&x->tree, w, 0, &locations->all[i]);
	bool *loading = af_xcalloc((size_t)x->tree.nr_names + 1, sizeof *loading);
	for (uint32_t name = 1; name < x->tree.nr_names; name++) {
		size_t len;
		const char *text = af_tree_text(&x->tree, name, &len);
		loading[name] = is_loading(text, len);
	}
	for (uint32_t i = 0; i < locations->nr; i++)
		for (uint32_t n = x->nodes[i]; n; n = x->tree.nodes[n].parent)
			x->loads[i] |= loading[x->tree.nodes[n].name];
	free(loading);
}

void mix_free(struct mix *x)
{
	af_tree_close(&x->tree);
	free(x->nodes);
	free(x->loads);
	free(x->sets);
}

uint32_t mix_part_of(const struct mix *x, uint32_t i)
{
	unsigned __int128 since = x->samples[i].at_ns - x->start_ns - 1;

	return (uint32_t)(since * x->nr_parts / (x->end_ns - x->start_ns));
}

/* By name, and in it by part: samples with that function in their stack, however often. */
static uint32_t *name_counts(const struct mix *x)
{
	uint32_t *counts = af_xcalloc((size_t)x->tree.nr_names * x->nr_parts, sizeof *counts);
	uint32_t *by_location =
	    af_xcalloc((size_t)x->nr_locations * x->nr_parts, sizeof *by_location);
	uint32_t *seen = af_xcalloc(x->tree.nr_names, sizeof *seen);

	for (uint32_t i = 0; i < x->nr; i++)
		by_location[(size_t)x->samples[i].location * x->nr_parts + mix_part_of(x, i)]++;
	for (uint32_t i = 0; i < x->nr_locations; i++)
		for (uint32_t n = x->nodes[i]; n; n = x->tree.nodes[n].parent) {
			uint32_t name = x->tree.nodes[n].name;
			if (seen[name] == i + 1)
				continue;
			seen[name] = i + 1;
			for (uint32_t p = 0; p < x->nr_parts; p++)
				counts[(size_t)name * x->nr_parts + p] +=
				    by_location[(size_t)i * x->nr_parts + p];
		}
	free(by_location);
	free(seen);
	return counts;
}

/* How far the shares of a function are from each other, in the parts that have samples. */
static double spread_of(const struct mix *x, const uint32_t *counts)
{
	double low = 1, high = 0;

	for (uint32_t p = 0; p < x->nr_parts; p++) {
		if (!x->parts[p].nr)
			continue;
		double share = (double)counts[p] / x->parts[p].nr;
		low = share < low ? share : low;
		high = share > high ? share : high;
	}
	return high - low;
}

struct feature {
	uint32_t name;
	double spread;
};

/* Put @new among the @nr most different ones, unless one of the same counts is there. */
static uint32_t feature_put(struct feature *all, uint32_t nr, struct feature new,
                            const struct mix *x, const uint32_t *counts)
{
	size_t row = x->nr_parts;
	uint32_t at = nr;

	for (uint32_t i = 0; i < nr; i++)
		if (!memcmp(&counts[all[i].name * row], &counts[new.name *row],
		            row * sizeof *counts))
			return nr;
	while (at && all[at - 1].spread < new.spread)
		at--;
	if (at == MIX_FEATURES)
		return nr;
	nr += nr < MIX_FEATURES;
	memmove(&all[at + 1], &all[at], (nr - 1 - at) * sizeof *all);
	all[at] = new;
	return nr;
}

static void mix_features(struct mix *x, const uint32_t *counts, uint64_t *bits)
{
	struct feature all[MIX_FEATURES] = {0};
	uint32_t nr = 0;

	for (uint32_t name = 1; name < x->tree.nr_names; name++) {
		double spread = spread_of(x, &counts[(size_t)name * x->nr_parts]);
		if (spread > MIX_DIFFER)
			nr = feature_put(all, nr, (struct feature){name, spread}, x, counts);
	}
	for (uint32_t f = 0; f < nr; f++) {
		bits[all[f].name] = 1ull << f;
		for (uint32_t p = 0; p < x->nr_parts; p++)
			x->parts[p].of[f] = counts[(size_t)all[f].name * x->nr_parts + p];
	}
	x->nr_features = nr;
}

void mix_cut(struct mix *x, uint32_t nr_parts)
{
	uint64_t *bits = af_xcalloc(x->tree.nr_names, sizeof *bits);

	x->nr_parts = nr_parts;
	memset(x->parts, 0, sizeof x->parts);
	for (uint32_t i = 0; i < x->nr; i++) {
		struct mix_part *part = &x->parts[mix_part_of(x, i)];
		part->nr++;
		part->loading += x->loads[x->samples[i].location];
		part->cpu_ns += x->samples[i].weight_ns;
	}
	uint32_t *counts = name_counts(x);
	mix_features(x, counts, bits);
	for (uint32_t i = 0; i < x->nr_locations; i++) {
		x->sets[i] = 0;
		for (uint32_t n = x->nodes[i]; n; n = x->tree.nodes[n].parent)
			x->sets[i] |= bits[x->tree.nodes[n].name];
	}
	free(counts);
	free(bits);
}
