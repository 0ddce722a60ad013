/* Idle time as tables: the verdict, what it is made of, and the longest gaps. */
#include "analyse/idle/idle.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/functions/blocked.h"
#include "analyse/idle/rows.h"
#include "analyse/idle/verdict.h"
#include "analyse/table/table.h"
#include "analyse/tree/tree.h"
#include "analyse/world/device_name.h"
#include "analyse/world/world.h"
#include "base/arena.h"
#include "base/buf.h"

/* The sums of a device's time. */
struct shares {
	uint64_t ns[IDLE_SHARES];
	uint64_t sampled_ns; /* of them by samples */
};

static bool many_processes(const struct idle *i)
{
	for (uint32_t n = 1; n < i->nr_devices; n++)
		if (i->devices[n].process != i->devices[0].process)
			return true;
	return false;
}

const char *idle_device_name(const struct idle *i, const struct af_world *w, struct af_tables *f,
                             uint32_t device)
{
	const struct idle_device *d = &i->devices[device];
	const struct af_process *p = af_world_process(w, d->process);
	const char *name = af_device_name(f, w, d->process, d->id);

	if (d->nr_sharing)
		return af_tables_text(f, "%s (%.12s) of %u processes", name,
		                      af_strtab_get(&w->strings, d->gpu), d->nr_sharing);
	if (many_processes(i) && p)
		name = af_tables_text(f, "%s of %s [%u]%s", name, p->name, p->pid,
		                      p->rank ? p->rank : "");
	return name;
}

/* Gaps of which the thread had to wait first count as that wait's, whatever it did then. */
static enum idle_share share_of(enum idle_reason reason, const struct idle_story *story)
{
	switch (reason) {
	case IDLE_COPY:
		return IDLE_SHARE_COPY;
	case IDLE_SYNC:
		return IDLE_SHARE_SYNC;
	case IDLE_MPI:
		return IDLE_SHARE_MPI;
	case IDLE_INPUT:
		return IDLE_SHARE_INPUT;
	case IDLE_OFF:
		return IDLE_SHARE_OFF;
	case IDLE_QUEUED:
		return IDLE_SHARE_QUEUED;
	case IDLE_UNSEEN:
	case IDLE_NO_CALL:
		return IDLE_SHARE_UNSEEN;
	default:
		return story->drained   ? IDLE_SHARE_SYNC
		       : story->is_long ? IDLE_SHARE_HOST
		                        : IDLE_SHARE_LAUNCHES;
	}
}

static struct shares *shares_make(struct idle_names *n)
{
	const struct idle *i = n->i;
	struct shares *all = af_xcalloc((size_t)i->nr_devices + 1, sizeof *all);

	for (uint32_t k = 0; k < i->nr_devices; k++) {
		const struct idle_device *d = &i->devices[k];
		all[k].ns[IDLE_SHARE_KERNELS] = d->kernels_ns;
		all[k].ns[IDLE_SHARE_COPIES] = d->busy_ns - d->kernels_ns;
	}
	for (uint32_t k = 0; k < i->nr_sums; k++) {
		const struct idle_sum *s = &i->sums[k];
		const struct idle_story *story = &i->stories[s->story];
		if (story->phase != IDLE_BETWEEN)
			continue;
		enum idle_reason reason = idle_reason(n, s->kind, s->place, s->what);
		uint64_t ns = idle_sum_ns(i, s);
		all[story->device].ns[share_of(reason, story)] += ns;
		all[story->device].sampled_ns += s->kind == IDLE_KIND_TICK ? ns : 0;
	}
	for (uint32_t k = 0; k < i->nr_stories; k++) {
		const struct idle_story *s = &i->stories[k];
		if (s->phase == IDLE_BETWEEN && s->left_ns > s->sampled_ns)
			all[s->device].ns[IDLE_SHARE_UNSEEN] += s->left_ns - s->sampled_ns;
	}
	return all;
}

static uint64_t shares_sum(const struct shares *s)
{
	uint64_t all = 0;

	for (int v = 0; v < IDLE_SHARES; v++)
		all += s->ns[v];
	return all;
}

static bool is_gpu(const struct af_world *w, const struct idle_device *d)
{
	const struct af_device *is = af_world_device(w, d->process, d->id);

	return is && is->type == AF_DEVICE_GPU;
}

static const char *verdict_text(const struct idle *i, const struct af_world *w,
                                const struct shares *s, uint32_t device)
{
	return idle_verdict_text(idle_verdict(s->ns), is_gpu(w, &i->devices[device]));
}

/*
 * Where the time from the first work to the last went, in a sentence. A share that would print as
 * 0.0 % is left out.
 */
static const char *figures_text(struct af_tables *f, const struct shares *s)
{
#define AF_V(C, NAME, key, title, text) text,
	static const char *const texts[] = {AF_IDLE_SHARES(AF_V, 0)};
#undef AF_V
	uint64_t all = shares_sum(s);
	struct af_buf b = {0};

	af_buf_str(&b, "");
	for (int v = 0; v < IDLE_SHARES; v++) {
		uint64_t part = af_tables_ratio(s->ns[v], all, 1e4);
		if (part >= 10)
			af_buf_fmt(&b, "%s%s %llu.%llu %%", b.len ? ", " : "", texts[v],
			           (unsigned long long)(part / 100),
			           (unsigned long long)(part % 100 / 10));
	}
	const char *text = af_tables_text(f, "%s", b.data);
	af_buf_free(&b);
	return text;
}

static void table_verdict(struct idle_names *n, struct af_tables *f, const struct shares *all)
{
	const struct idle *i = n->i;
	struct af_table *t = af_pairs_table(f, "verdict", "What holds the devices back");

	for (uint32_t k = 0; k < i->nr_devices; k++) {
		const struct idle_device *d = &i->devices[k];
		if (d->nr_works < 2)
			continue;
		const char *name = idle_device_name(i, n->w, f, k);
		const char *figures = figures_text(f, &all[k]);
		const char *verdict = verdict_text(i, n->w, &all[k], k);
		af_pair_row(f, t, verdict, name,
		            af_tables_text(f, "%s: %s from first to last work: %s", verdict,
		                           af_tables_ns(f, d->end_ns - d->first_ns), figures));
	}
}

static const char *doubts_text(const struct idle *i, struct af_tables *f)
{
	struct af_buf b = {0};
	bool sampled = false;

	for (uint32_t k = 0; k < i->nr_stories; k++)
		sampled |= i->stories[k].sampled_ns != 0;
	af_buf_str(&b, "");

	if (i->late)
		af_buf_fmt(&b, "works that came too late to close a gap: %llu; ",
		           (unsigned long long)i->late);
	if (i->forgotten_before)
		af_buf_str(&b, "what threads did in very long gaps is not all there; ");
	if (i->unplaced)
		af_buf_fmt(&b, "works without times of the trace, left out: %llu; ",
		           (unsigned long long)i->unplaced);
	af_buf_str(&b, sampled ? "by samples: the part of the idle time that only samples tell; "
	                         "all else is measured"
	                       : "all of it is measured");
	const char *text = af_tables_text(f, "%s", b.data);
	af_buf_free(&b);
	return text;
}

static void idle_row(struct idle_names *n, struct af_tables *f, struct af_table *t,
                     const struct shares *s, uint32_t device)
{
	const struct idle_device *d = &n->i->devices[device];
	uint64_t all = shares_sum(s), idle = all - d->busy_ns;
	const char *name = idle_device_name(n->i, n->w, f, device);
	struct af_idle_row *row = af_table_row(f, t);

	row->device.text = name;
	row->verdict.text = d->nr_works > 1 ? verdict_text(n->i, n->w, s, device) : "";
	row->span_ns.value = d->end_ns - d->first_ns;
#define AF_V(C, NAME, key, title, text)                                                            \
	row->key##_percent.value = af_tables_ratio(s->ns[IDLE_SHARE_##NAME], all, 1e4);
	AF_IDLE_SHARES(AF_V, 0)
#undef AF_V
	row->sampled_percent.value = af_tables_ratio(s->sampled_ns, idle, 1e4);
	row->gaps.value = d->nr_gaps;
	row->longest_ns.value = d->longest_ns;
	row->idle_ns.value = d->phase_ns[IDLE_BETWEEN];
	row->before_ns.value = d->phase_ns[IDLE_BEFORE];
	row->after_ns.value = d->phase_ns[IDLE_AFTER];
	row->copies_ns.value = s->ns[IDLE_SHARE_COPIES];
	row->is_gpu.value = is_gpu(n->w, d);
}

void idle_table_verdict(struct idle_names *n, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_IDLE_COLUMNS(AF_ROW_COLUMN)};
	const struct idle *i = n->i;

	if (!i->nr_devices)
		return;
	struct shares *all = shares_make(n);
	table_verdict(n, f, all);
	struct af_table *t =
	    AF_TABLE(f, "idle", "What devices did from their first work to their last", columns);
	for (uint32_t k = 0; k < i->nr_devices; k++)
		idle_row(n, f, t, &all[k], k);
	t->note = doubts_text(i, f);
	free(all);
}

static int gap_order(const void *a, const void *b)
{
	const struct idle_gap *x = a, *y = b;
	uint64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

/* One reason of a gap: its time, and the function in which it has most. */
struct gap_reason {
	enum idle_reason reason;
	uint64_t ns, most_ns;
	uint64_t rest_ns; /* of that it is not known where it was */
	uint32_t node;
};

static int reason_order(const void *a, const void *b)
{
	const struct gap_reason *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->reason < y->reason ? -1 : x->reason > y->reason;
}

static void gap_reasons(struct idle_names *n, const struct idle_gap *gap,
                        struct gap_reason reasons[IDLE_REASONS])
{
	/* Whatever else these were, they were that. */
	static const enum idle_reason rests[IDLE_RESTS] = {
	    [IDLE_REST_CALLS] = IDLE_CALL,
	    [IDLE_REST_OFF] = IDLE_OFF,
	    [IDLE_REST_STARVED] = IDLE_STARVED,
	    [IDLE_REST_TICKS] = IDLE_RUN,
	};

	for (int r = 0; r < IDLE_REASONS; r++)
		reasons[r] = (struct gap_reason){.reason = (enum idle_reason)r};
	for (uint32_t k = 0; k < gap->nr_causes; k++) {
		const struct idle_cause *c = &gap->causes[k];
		struct gap_reason *r = &reasons[idle_reason(n, c->kind, c->place, c->what)];
		r->ns += c->ns;
		if (c->ns <= r->most_ns)
			continue;
		r->most_ns = c->ns;
		r->node = idle_names_node(n, c->kind, c->place, c->what);
	}
	for (int k = 0; k < IDLE_RESTS; k++) {
		reasons[rests[k]].ns += gap->rest_ns[k];
		reasons[rests[k]].rest_ns = gap->rest_ns[k];
	}
	AF_SORT(reasons, IDLE_REASONS, reason_order);
}

static const char *reason_text(struct af_tables *f, const struct gap_reason *r, uint64_t gap_ns)
{
	const char *frame = idle_reason_frame(r->reason);

	if (!r->ns)
		return "";
	return af_tables_text(f, "%.*s %llu %%", (int)strlen(frame) - 2, frame + 1,
	                      (unsigned long long)(af_tables_ratio(r->ns, gap_ns, 1e4) + 50) / 100);
}

/* The Python function at its end, if any, as people wrote that one; else the native one. */
static const char *reason_where(const struct idle_names *n, struct af_tables *f,
                                const struct gap_reason *r)
{
	const struct af_tree *t = n->scratch;
	uint32_t node = r->node;
	size_t len;

	if (!r->ns || r->rest_ns > r->most_ns)
		return "";
	while (node && af_tree_frame(t, t->nodes[node].name) != AF_FRAME_PYTHON)
		node = t->nodes[node].parent;
	if (!node && r->node)
		node = af_blocked_user(t, r->node);
	if (!node)
		return "";
	const char *name = af_tree_text(t, t->nodes[node].name, &len);
	return af_tables_text(f, "%.*s", (int)len, name);
}

static const char *gap_end(const struct af_world *w, struct af_tables *f,
                           const struct idle_gap *gap)
{
	const struct af_work_descriptor *s = &w->descriptors[gap->descriptor];
	const char *name = s->is.op == AF_OP_KERNEL ? af_world_kernel(w, s->process, s->is.kernel)
	                                            : af_op_text(s->is.op);

	return af_tables_text(f, "%s", *name ? name : "[unnamed kernel]");
}

static const char *gap_thread(const struct af_world *w, struct af_tables *f,
                              const struct idle_gap *gap)
{
	const struct af_thread *t =
	    af_world_thread(w, w->descriptors[gap->descriptor].process, gap->tid);

	return gap->tid ? af_tables_text(f, "%s [%u]", t && t->name ? t->name : "", gap->tid) : "";
}

static void gap_row(struct idle_names *n, struct af_tables *f, struct af_table *t,
                    const struct idle_gap *gap)
{
	uint64_t ns = gap->end_ns - gap->start_ns;
	struct gap_reason reasons[IDLE_REASONS];
	struct af_gap_row *row = af_table_row(f, t);

	gap_reasons(n, gap, reasons);
	const bool second = reasons[1].ns >= ns / 100;
	row->at_ns.value = gap->start_ns > n->start_ns ? gap->start_ns - n->start_ns : 0;
	row->length_ns.value = ns;
	row->ended_by.text = gap_end(n->w, f, gap);
	row->why.text = reason_text(f, &reasons[0], ns);
	row->why_percent.value = af_tables_ratio(reasons[0].ns, ns, 1e4);
	row->where.text = reason_where(n, f, &reasons[0]);
	row->second_why.text = second ? reason_text(f, &reasons[1], ns) : "";
	row->second_where.text = second ? reason_where(n, f, &reasons[1]) : "";
	row->after_wait.text = gap->drained ? "yes" : "";
	row->thread.text = gap_thread(n->w, f, gap);
	row->device.text = idle_device_name(n->i, n->w, f, gap->device);
}

void idle_table_gaps(struct idle_names *n, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_GAP_COLUMNS(AF_ROW_COLUMN)};
	const struct idle *i = n->i;
	uint64_t nr = 0;

	for (uint32_t k = 0; k < i->nr_devices; k++)
		nr += i->devices[k].nr_gaps;
	if (!nr)
		return;
	struct af_table *t =
	    AF_TABLE(f, "gaps", "The longest times that devices were idle", columns);
	struct idle_gap *gaps = af_xcalloc(i->nr_longest, sizeof *gaps);
	memcpy(gaps, i->longest, i->nr_longest * sizeof *gaps);
	AF_SORT(gaps, i->nr_longest, gap_order);
	for (uint32_t k = 0; k < i->nr_longest; k++)
		gap_row(n, f, t, &gaps[k]);
	free(gaps);
	t->note = "at: since the trace began; where: the function that has most of it";
	if (nr > i->nr_longest) {
		t->note = af_tables_text(f, "of %llu in all; %s", (unsigned long long)nr, t->note);
		t->left_out = (uint32_t)(nr - i->nr_longest);
		t->left_column = UINT32_MAX;
	}
}
