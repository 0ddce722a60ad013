/*
 * Who called which function of a device's API, how often, how long? As the table of calls, but by
 * process and by the name that people know: the CUDA runtime's where its function called the
 * driver. OpenCL's calls have no events of their own; what was enqueued is counted. Calls that only
 * the kernel saw have no times.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/frames.h"
#include "analyse/pass/pass.h"
#include "analyse/passes/rows.h"
#include "analyse/world/work.h"
#include "base/arena.h"
#include "base/keys.h"

enum { TALLY_SEEN = UINT16_MAX };

/* All calls of one function from one call path; of OpenCL of one operation. */
struct tally_row {
	uint32_t process, function, path;
	uint32_t op; /* enum af_op, or TALLY_SEEN; 0: a call with its times */
	uint64_t count, failed, time_ns, min_ns, max_ns;
};

struct tally {
	struct tally_row *rows;
	uint32_t nr, cap;
	struct af_keys by_key;
};

static struct tally_row *tally_row(struct tally *y, uint32_t process, uint32_t function,
                                   uint32_t path, uint32_t op)
{
	bool fresh;
	uint64_t *slot = af_keys_at(&y->by_key, AF_KEY(process, function, path, op), &fresh);

	if (fresh) {
		AF_GROW(y->rows, y->nr, y->cap);
		y->rows[y->nr] = (struct tally_row){.process = process,
		                                    .function = function,
		                                    .path = path,
		                                    .op = op,
		                                    .min_ns = UINT64_MAX};
		*slot = y->nr++;
	}
	return &y->rows[*slot];
}

static void tally_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct af_call call;

	/* One with a number is a CALL, too. */
	if (af_call_seen_read(w, ev, &call) && !call.correlation)
		tally_row(self, call.process, call.function, call.path, TALLY_SEEN)->count++;
	if (!af_call_read(w, ev, &call) || !af_within_call(&w->within, &call))
		return;
	struct tally_row *row = tally_row(self, call.process, call.function, call.path, 0);
	uint64_t ns = call.end_ns - call.start_ns;
	row->time_ns += ns;
	if (call.aside)
		return;
	row->count++;
	row->failed += call.status != 0;
	row->min_ns = ns < row->min_ns ? ns : row->min_ns;
	row->max_ns = ns > row->max_ns ? ns : row->max_ns;
}

static void tally_work(void *self, const struct af_world *w, const struct af_work *work)
{
	uint32_t op = work->shape ? w->shapes[work->shape].is.op : 0;

	if (work->api != AF_API_OPENCL || !op || !work->launched || work->aside)
		return;
	struct tally_row *row = tally_row(self, work->process, 0, 0, op);
	row->count++;
	row->failed += work->status != 0;
}

/* The function of the CUDA runtime at the end of @path, or "". Lives as long as the facts. */
static const char *runtime_name(struct af_tree *scratch, const struct af_world *w,
                                struct af_facts *f, uint32_t path)
{
	uint32_t node = path ? af_frames_call(scratch, w, 0, path) : 0;
	size_t len = 0;
	const char *name = node ? af_tree_text(scratch, scratch->nodes[node].name, &len) : "";

	if (len < 5 || memcmp(name, "cuda", 4) || !isupper((unsigned char)name[4]))
		return "";
	return af_facts_text(f, "%.*s", (int)len, name);
}

static void tally_cells(const struct tally_row *r, const struct af_world *w, struct af_facts *f,
                        struct af_api_row *c, const char *runtime)
{
	const struct af_function *is = r->function ? &w->functions[r->function] : NULL;
	const struct af_process *p = af_world_process(w, r->process);
	const char *driver = is ? af_facts_text(f, "%s", is->name) : "[not known]";

	/* Names of their own: where a process has both, their times are not to be mixed. */
	if (r->op == TALLY_SEEN)
		driver = af_facts_text(f, "[seen] %s", driver);
	else if (r->op)
		driver = af_facts_text(f, "[enqueue] %s", af_op_text(r->op));
	c->function.text = !*runtime             ? driver
	                   : r->op == TALLY_SEEN ? af_facts_text(f, "[seen] %s", runtime)
	                                         : runtime;
	c->driver.text = *runtime ? driver : "";
	c->time_ns.value = r->time_ns;
	c->calls.value = r->count;
	c->min_ns.value = r->op ? 0 : r->min_ns;
	c->max_ns.value = r->max_ns;
	c->time_ns.unknown = c->share.unknown = r->op != 0;
	c->mean_ns.unknown = c->min_ns.unknown = c->max_ns.unknown = r->op || !r->count;
	c->failed.value = r->failed;
	c->category.text = is ? af_does_text(is->does) : "";
	c->process.text = p ? af_facts_text(f, "%s [%u]", p->name, p->pid) : "";
}

/* Rows here are one a call path: who asks for the table folds them. */
static void tally_finish(void *self, const struct af_world *w, struct af_results *out)
{
	static const struct af_tree_weight none[] = {{"none", ""}};
	static const struct af_column columns[] = {AF_API_COLUMNS(AF_ROW_COLUMN)};
	struct tally *y = self;
	struct af_tree scratch = {0};
	uint64_t all_ns = 0;

	if (!y->nr)
		return;
	af_tree_open(&scratch, none, 1);
	struct af_table *t = AF_TABLE(&out->facts, "api", "Calls of device APIs", columns);
	for (uint32_t i = 0; i < y->nr; i++)
		all_ns += y->rows[i].time_ns;
	for (uint32_t i = 0; i < y->nr; i++) {
		const char *runtime = runtime_name(&scratch, w, &out->facts, y->rows[i].path);
		struct af_api_row *c = af_table_row(&out->facts, t);
		tally_cells(&y->rows[i], w, &out->facts, c, runtime);
		c->share.value = af_facts_ratio(y->rows[i].time_ns, all_ns, 1e4);
	}
	af_tree_close(&scratch);
}

static void tally_close(void *self)
{
	struct tally *y = self;

	free(y->rows);
	af_keys_free(&y->by_key);
}

const struct af_pass_ops af_pass_tally = {
    .name = "tally",
    .question = "who called which function of a device's API?",
    .answers = AF_ANSWER_TALLY,
    .wants = 1ull << AF_KIND_CALL | 1ull << AF_KIND_CALL_LONG | 1ull << AF_KIND_CALL_SEEN,
    .state_size = sizeof(struct tally),
    .event = tally_event,
    .work = tally_work,
    .finish = tally_finish,
    .close = tally_close,
};
