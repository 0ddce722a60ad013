/* perf script's text of hostile bytes: to a trace, and to a tree that weighs what was read. */
#include "analyse/tree/tree.h"
#include "builder_check.h"
#include "exchange/perf/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw(const uint8_t *data, size_t size)
{
	static const struct af_tree_weight weight[] = {{"samples", "samples"}};
	uint8_t flags = size ? data[0] : 0;
	const struct af_perf_tree_options o = {
	    .event = flags & 1 ? "cycles" : NULL,
	    .plain = flags & 2,
	    .pid = flags & 4,
	    .tid = flags & 8,
	    .addresses = flags & 16,
	    .lines = flags & 32,
	};
	struct af_perf_tree_stats stats;
	struct af_tree tree;
	uint64_t sum = 0;

	af_tree_open(&tree, weight, 1);
	af_perf_tree(&tree, (const char *)data, size, &o, &stats);
	for (uint32_t i = 0; i < tree.nr; i++) {
		size_t len;
		const char *text = af_tree_text(&tree, tree.nodes[i].name, &len);
		if (memchr(text, ';', len) || memchr(text, '\n', len) || memchr(text, 0, len))
			abort();
		if (__builtin_add_overflow(sum, tree.self[0][i], &sum))
			sum = UINT64_MAX;
	}
	if (!tree.saturated && sum != tree.total[0][0])
		abort();
	if (stats.bad_lines > stats.lines || stats.samples > stats.lines)
		abort();
	af_tree_close(&tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_builder d;

	draw(data, size);
	af_builder_open(&d);
	af_import_is_perf_text((const char *)data, size);
	fuzz_import(&d, data, size, af_import_perf_text);
	return 0;
}
