/*
 * The heaviest off-CPU paths as a table: the functions that waited, what the kernel did for them,
 * how often and how long.
 */
#include "analyse/functions/blocked_private.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/frames.h"
#include "analyse/frames/marks.h"
#include "analyse/functions/blocked.h"
#include "analyse/pass/pass.h"
#include "analyse/world/waits.h"
#include "base/arena.h"
#include "base/buf.h"

enum { BLOCKED_ROWS = 1000, BLOCKED_SHOWN = 3 };

static void blocked_sum_add(struct blocked_sum *to, const struct blocked_sum *s)
{
	to->ns += s->ns;
	to->count += s->count;
	to->counted_ns += s->counted_ns;
	if (s->longest_ns > to->longest_ns)
		to->longest_ns = s->longest_ns;
}

/* Add @s at the stack location @at; its own number is not used. */
static void blocked_add(struct blocked *b, const struct af_stack_location *at,
                        const struct blocked_sum *s)
{
	if (!s->ns)
		return;
	uint32_t place = af_stack_locations_number(&b->stack_locations, at);
	bool fresh;
	uint64_t *slot = af_keys_at(&b->by_sum, AF_KEY(place, s->state, s->tid), &fresh);
	if (fresh) {
		AF_GROW(b->sums, b->nr, b->cap);
		b->sums[b->nr] =
		    (struct blocked_sum){.place = place, .state = s->state, .tid = s->tid};
		*slot = b->nr++;
	}
	blocked_sum_add(&b->sums[*slot], s);
}

/* A wait, in one state. */
static struct blocked_sum blocked_of(uint32_t tid, uint32_t state, uint64_t ns, bool out_of_range)
{
	return (struct blocked_sum){
	    .state = state,
	    .tid = tid,
	    .ns = ns,
	    .count = !out_of_range,
	    .longest_ns = ns,
	    .counted_ns = out_of_range ? 0 : ns,
	};
}

static void blocked_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct af_wait wait;

	if (!af_wait_read(w, ev, &wait))
		return;
	struct blocked_sum blocked = blocked_of(wait.tid, wait.state, wait.blocked_ns,
	                                        wait.blocked_out_of_range),
			   queued = blocked_of(wait.tid, AF_STATE_RUNNABLE, wait.queued_ns,
	                                       wait.queued_out_of_range);
	blocked_add(self, &wait.at, &blocked);
	blocked_add(self, &wait.at, &queued);
}

static bool blocked_merge(void *self, const struct af_world *w, const void *other)
{
	const struct blocked *from = other;

	(void)w;
	for (uint32_t i = 0; i < from->nr; i++)
		blocked_add(self, &from->stack_locations.all[from->sums[i].place], &from->sums[i]);
	return true;
}

static enum af_frame frame_of(const struct af_tree *t, uint32_t node)
{
	return af_tree_frame(t, t->nodes[node].name);
}

static void rows_make(struct blocked_rows *r, const struct blocked *b, const struct af_world *w)
{
	static const struct af_tree_weight none[] = {{"none", ""}};
	uint32_t *nodes = af_xcalloc(b->nr, sizeof *nodes);

	*r = (struct blocked_rows){.nodes = nodes};
	af_tree_open(&r->tree, none, 1);
	for (uint32_t i = 0; i < b->nr; i++)
		nodes[i] = af_frames_under(
		    &r->tree,
		    af_frames_node(&r->tree, w, &b->stack_locations.all[b->sums[i].place]),
		    af_wait_frame(b->sums[i].state), AF_FRAME_MARK);
	r->by_node = af_xcalloc(r->tree.nr, sizeof *r->by_node);
	for (uint32_t i = 0; i < b->nr; i++) {
		struct blocked_sum *s = &r->by_node[nodes[i]];
		s->place = nodes[i];
		s->state = b->sums[i].state;
		blocked_sum_add(s, &b->sums[i]);
		r->all_ns += b->sums[i].ns;
	}
}

static void rows_free(struct blocked_rows *r)
{
	af_tree_close(&r->tree);
	free(r->by_node);
	free(r->nodes);
}

/* The heaviest first, but idle threads of the kernel only after all that have something to do. */
static int row_order(const void *a, const void *b)
{
	const struct blocked_sum *x = a, *y = b;
	bool x_idle = x->state == AF_STATE_IDLE, y_idle = y->state == AF_STATE_IDLE;

	if (x->ns && y->ns && x_idle != y_idle)
		return x_idle ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/*
 * The path down to @node, outermost first: its innermost 4096 frames, or the last functions of the
 * program.
 */
static const char *path_text(struct af_tables *f, const struct af_tree *t, uint32_t node, bool all)
{
	uint32_t stack[4096], nr = 0, most = all ? 4096 : BLOCKED_SHOWN;
	struct af_buf text = {0};

	for (; node && nr < most; node = t->nodes[node].parent) {
		enum af_frame frame = frame_of(t, node);
		if (all || (frame != AF_FRAME_MARK && frame != AF_FRAME_PROCESS))
			stack[nr++] = node;
	}
	while (nr-- > 0) {
		size_t len;
		const char *name = af_tree_text(t, t->nodes[stack[nr]].name, &len);
		if (text.len)
			af_buf_str(&text, all ? ";" : " > ");
		af_buf_add(&text, name, len);
		af_buf_str(&text, all ? af_frame_suffix(frame_of(t, stack[nr])) : "");
	}
	const char *kept = af_tables_text(f, "%.*s", (int)text.len, text.len ? text.data : "");
	af_buf_free(&text);
	return kept;
}

static const char *node_text(struct af_tables *f, const struct af_tree *t, uint32_t node)
{
	size_t len;
	const char *name = af_tree_text(t, t->nodes[node].name, &len);

	return af_tables_text(f, "%.*s", (int)len, name);
}

static uint32_t node_process(const struct af_tree *t, uint32_t node)
{
	while (node && t->nodes[node].parent)
		node = t->nodes[node].parent;
	return node;
}

#define BLOCKED_COLUMNS(C)                                                                         \
	C(waited_in, "Waited in", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                             \
	C(kernel, "Kernel", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(state, "State", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                     \
	C(time_ns, "Time", AF_CELL_NS)                                                             \
	C(share, "Share", AF_CELL_PERCENT)                                                         \
	C(waits, "Waits", AF_CELL_COUNT)                                                           \
	C(mean_ns, "Mean", AF_CELL_NS, .merge = AF_MERGE_RATIO, .per = "waits")                    \
	C(longest_ns, "Longest", AF_CELL_NS)                                                       \
	C(process, "Process", AF_CELL_TEXT)                                                        \
	C(path, "Path", AF_CELL_TEXT, AF_SHOW_NEVER)
struct blocked_row {
	BLOCKED_COLUMNS(AF_ROW_CELL)
};

static void blocked_row(struct af_tables *f, struct af_table *table, const struct blocked_rows *r,
                        const struct blocked_sum *s)
{
	const struct af_tree *t = &r->tree;
	uint32_t user = af_blocked_user(t, s->place), kernel = af_blocked_kernel(t, s->place);
	struct blocked_row *c = af_table_row(f, table);

	c->waited_in.text = user ? path_text(f, t, user, false) : kernel ? "" : AF_MARK_NO_STACK;
	c->kernel.text = kernel ? node_text(f, t, kernel) : "";
	c->state.text = s->state < AF_STATE_END ? af_state_text(s->state) : "off CPU";
	c->time_ns.value = s->ns;
	c->share.value = af_tables_ratio(s->ns, r->all_ns, 1e4);
	c->waits.value = s->count;
	c->mean_ns.value = s->count ? s->counted_ns / s->count : 0;
	c->mean_ns.unknown = !s->count;
	c->longest_ns.value = s->longest_ns;
	c->process.text = node_text(f, t, node_process(t, s->place));
	c->path.text = path_text(f, t, s->place, true);
}

static void blocked_finish(void *self, const struct af_world *w, struct af_results *out)
{
	static const struct af_column columns[] = {BLOCKED_COLUMNS(AF_ROW_COLUMN)};
	struct blocked *b = self;
	struct blocked_rows rows;
	struct af_tables *f = &out->tables;

	if (!b->nr)
		return;
	rows_make(&rows, b, w);
	uint32_t nr = rows.tree.nr;
	AF_SORT(rows.by_node, nr, row_order);
	struct af_table *table = AF_TABLE(f, "blocked", "Where threads were off the CPU", columns);
	uint32_t i = 0;
	/* Rows that are merged with those of other traces must be complete. */
	uint32_t most = out->query.merges ? nr : BLOCKED_ROWS;
	for (; i < nr && i < most && rows.by_node[i].ns; i++)
		blocked_row(f, table, &rows, &rows.by_node[i]);
	table->left_column = offsetof(struct blocked_row, time_ns) / sizeof(struct af_cell);
	for (; i < nr && rows.by_node[i].ns; i++) {
		table->left_out++;
		table->left_weight += rows.by_node[i].ns;
	}
	if (table->left_out)
		table->note = af_tables_text(f, "of %u paths in all", i);
	blocked_threads(b, &rows, w, f);
	rows_free(&rows);
}

static void blocked_close(void *self)
{
	struct blocked *b = self;

	af_stack_locations_free(&b->stack_locations);
	af_keys_free(&b->by_sum);
	free(b->sums);
}

const struct af_pass_ops af_pass_blocked = {
    .name = "blocked",
    .question = "what did threads wait for?",
    .answers = AF_ANSWER_TABLES,
    .wants = 1ull << AF_KIND_OFFCPU,
    .state_size = sizeof(struct blocked),
    .event = blocked_event,
    .merge = blocked_merge,
    .finish = blocked_finish,
    .close = blocked_close,
};
