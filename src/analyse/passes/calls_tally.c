/*
 * The tally's table of calls, by process and by the name that people know: the CUDA runtime's where
 * its function called the driver. A row is of one call path; who asks for the table adds rows up.
 */
#include <ctype.h>
#include <string.h>

#include "analyse/frames/frames.h"
#include "analyse/pass/pass.h"
#include "analyse/passes/calls.h"
#include "analyse/passes/rows.h"
#include "analyse/world/device_name.h"
#include "trace/kinds.h"

/* The function of the CUDA runtime at the end of @path, or "". Lives as long as the facts. */
static const char *runtime_name(struct af_tree *scratch, const struct af_world *w,
                                struct af_tables *f, uint32_t path)
{
	uint32_t node = path ? af_frames_call(scratch, w, 0, path) : 0;
	size_t len = 0;
	const char *name = node ? af_tree_text(scratch, scratch->nodes[node].name, &len) : "";

	if (len < 5 || memcmp(name, "cuda", 4) || !isupper((unsigned char)name[4]))
		return "";
	return af_tables_text(f, "%.*s", (int)len, name);
}

static void tally_cells(const struct call_sum *r, const struct af_world *w, struct af_tables *f,
                        struct af_api_row *c, const char *runtime)
{
	const struct af_function *is = r->function ? &w->functions[r->function] : NULL;
	const char *driver = is ? af_tables_text(f, "%s", is->name) : "[not known]";

	/* Names of their own: where a process has both, their times are not to be mixed. */
	if (r->source == CALL_SEEN)
		driver = af_tables_text(f, "[seen] %s", driver);
	else if (r->source == CALL_ENQUEUED)
		driver = af_tables_text(f, "[enqueue] %s", af_op_text(r->op));
	c->function.text = !*runtime                ? driver
	                   : r->source == CALL_SEEN ? af_tables_text(f, "[seen] %s", runtime)
	                                            : runtime;
	c->driver.text = *runtime ? driver : "";
	c->time_ns.value = r->time_ns;
	c->calls.value = r->count;
	c->min_ns.value = r->source == CALL_TIMED ? r->min_ns : 0;
	c->max_ns.value = r->max_ns;
	c->time_ns.unknown = c->share.unknown = r->source != CALL_TIMED;
	c->mean_ns.unknown = c->min_ns.unknown = c->max_ns.unknown =
	    r->source != CALL_TIMED || !r->count;
	c->failed.value = r->failed;
	c->category.text = is ? af_call_category_text(is->category) : "";
	c->process.text = af_process_label(f, w, r->process);
}

void calls_tally(const struct calls *c, const struct af_world *w, struct af_tables *f)
{
	static const struct af_tree_weight none[] = {{"none", ""}};
	static const struct af_column columns[] = {AF_API_COLUMNS(AF_ROW_COLUMN)};
	struct af_tree scratch = {0};
	uint64_t all_ns = 0;

	if (!c->nr)
		return;
	af_tree_open(&scratch, none, 1);
	struct af_table *t = AF_TABLE(f, "api", "Calls of device APIs", columns);
	for (uint32_t i = 0; i < c->nr; i++)
		all_ns += c->sums[i].time_ns;
	for (uint32_t i = 0; i < c->nr; i++) {
		const char *runtime = runtime_name(&scratch, w, f, c->sums[i].path);
		struct af_api_row *row = af_table_row(f, t);
		tally_cells(&c->sums[i], w, f, row, runtime);
		row->share.value = af_tables_ratio(c->sums[i].time_ns, all_ns, 1e4);
	}
	af_tree_close(&scratch);
}
