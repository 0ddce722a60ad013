/* The table of the pass: sums of all threads and paths with one use, function and caller. */
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/caller.h"
#include "analyse/pass/pass.h"
#include "analyse/tree/ids.h"
#include "analyse/usage/private.h"
#include "base/arena.h"

/* A row, until all sums are in it. */
struct made {
	const struct usage_sum *sum; /* the first one */
	const char *function, *driver, *caller;
	enum af_frame caller_frame;
	uint64_t calls, of_calls, time_ns, bytes, loops, lasted_ns, threads, peers;
};

struct maker {
	const struct usage *u;
	const struct af_world *w;
	struct af_tables texts; /* until rows have copies */
	struct af_callers callers;
	uint64_t from_ns, to_ns; /* the steady part, on the trace's clock; to_ns 0: none */
	uint64_t run_ns, steps;  /* how long what is shown lasted; steps of the steady part */
	struct made *rows;
	uint32_t nr, cap;
	struct af_keys by_row, by_member;
};

/* Kinds that count in the steady part alone. */
static bool is_steady(enum af_usage_kind kind)
{
	return kind == AF_USAGE_ALLOCATING || kind == AF_USAGE_LOADING;
}

/* The phases of a part of the run are not known: all of it counts. */
static void maker_part(struct maker *m, const struct af_results *out)
{
	const struct af_phases *p = &out->phases;

	m->run_ns = out->shown_ns;
	if (m->w->time_range.to_ns || out->query.from_ns || out->query.to_ns) {
		m->to_ns = UINT64_MAX;
	} else if (p->by) {
		m->from_ns = out->start_ns + p->steady_ns;
		m->to_ns = out->start_ns + p->last_ns;
		m->steps = p->nr_steps - p->steady_step;
	}
}

static const char *keep(struct maker *m, const struct af_tree *t, uint32_t node)
{
	size_t len;
	const char *text = af_tree_text(t, t->nodes[node].name, &len);

	return af_arena_strdup(&m->texts.arena, text, len);
}

static void made_names(struct maker *m, struct made *r, const struct usage_sum *s)
{
	const struct af_tree *t = &m->callers.paths;
	bool in_region = s->kind == AF_USAGE_IMBALANCE;
	uint32_t path = in_region ? m->u->regions[s->peer].path : s->path;
	const struct af_caller *c = af_callers_find(&m->callers, path);
	char region[512];

	r->function =
	    af_tables_text(&m->texts, "%s",
	                   in_region ? usage_region_name(m->u, m->w, s->peer, region, sizeof region)
	                             : m->w->functions[s->function].name);
	r->driver = r->caller = "";
	if (c->runtime) {
		r->driver = r->function;
		r->function = keep(m, t, c->runtime);
	}
	if (!c->caller)
		return;
	r->caller = keep(m, t, c->caller);
	r->caller_frame = af_tree_frame(t, t->nodes[c->caller].name);
}

static bool is_new(struct maker *m, uint64_t row, uint64_t what, uint64_t which)
{
	bool fresh;

	af_keys_at(&m->by_member, AF_KEY(row, what, which), &fresh);
	return fresh;
}

/* The part of @s that counts. */
static struct usage_sum counted(const struct maker *m, const struct usage_sum *s)
{
	struct usage_sum part = *s;

	if ((s->kind == AF_USAGE_TINY || s->kind == AF_USAGE_MAPPING) && s->calls < AF_USAGE_MANY)
		part.calls = 0;
	if (!is_steady(s->kind))
		return part;
	part.calls = part.time_ns = 0;
	for (uint32_t i = 0; i < s->moments.nr; i++) {
		const struct usage_moment *at = &s->moments.all[i];
		if (at->start_ns < m->from_ns || at->start_ns >= m->to_ns)
			continue;
		part.calls += at->calls;
		part.time_ns += at->time_ns;
	}
	return part;
}

static void made_add(struct maker *m, uint32_t row, const struct usage_sum *s,
                     const struct usage_sum *part)
{
	struct made *r = &m->rows[row];

	r->calls += part->calls;
	r->of_calls += part->of_calls;
	r->time_ns += part->time_ns;
	r->bytes += part->calls == s->calls ? part->bytes : 0;
	r->loops += part->loops;
	r->lasted_ns += part->lasted_ns;
	if (is_new(m, row, UINT64_MAX, s->thread)) {
		r->threads++;
		r->of_calls += s->kind == AF_USAGE_TINY ? m->u->threads[s->thread].messages : 0;
	}
	if (s->kind == AF_USAGE_TINY && is_new(m, row, s->thread, s->peer))
		r->peers++;
}

static void maker_sum(struct maker *m, const struct usage_sum *s)
{
	struct usage_sum part = counted(m, s);
	struct made like = {.sum = s};
	bool fresh;

	if (!part.calls && !part.of_calls && !part.lasted_ns)
		return;
	if (s->kind == AF_USAGE_IMBALANCE && usage_region_is_runtimes(m->u, m->w, s->peer))
		return;
	made_names(m, &like, s);
	const char *key = af_tables_text(&m->texts, "%d\n%s\n%s\n%s\n%d", s->kind, like.function,
	                                 like.driver, like.caller, like.caller_frame);
	uint64_t *slot = af_keys_at(&m->by_row, AF_KEY_TEXT(key), &fresh);
	if (fresh) {
		AF_GROW(m->rows, m->nr, m->cap);
		m->rows[m->nr] = like;
		*slot = m->nr++;
	}
	made_add(m, (uint32_t)*slot, s, &part);
}

/* Is it a use that costs, and not one of the other calls of the function? */
static bool is_use(const struct made *r)
{
	enum af_usage_kind kind = r->sum->kind;

	if (kind == AF_USAGE_IMBALANCE)
		return r->time_ns != 0;
	/* The first copy is that of what a program begins with. */
	if (kind == AF_USAGE_PAGEABLE || kind == AF_USAGE_HOST_COPY)
		return r->calls > 1;
	if (kind != AF_USAGE_WAIT_EACH)
		return r->calls != 0;
	return r->of_calls >= AF_USAGE_MANY && r->calls * 10 >= r->of_calls * 9;
}

static int made_order(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns ? -1 : 1;
	if (x->sum->kind != y->sum->kind)
		return x->sum->kind < y->sum->kind ? -1 : 1;
	int order = strcmp(x->function, y->function);
	order = order ? order : strcmp(x->caller, y->caller);
	order = order ? order : strcmp(x->driver, y->driver);
	return order ? order : (int)x->caller_frame - (int)y->caller_frame;
}

/* 0 is a value of other uses, or one that is not known. */
static void cell_set(struct af_cell *cell, uint64_t value)
{
	cell->value = value;
	cell->unknown = !value;
}

static void row_fill(const struct maker *m, struct af_tables *f, struct af_usage_row *row,
                     const struct made *r)
{
#define AF_U(NAME, word, text) [AF_USAGE_##NAME] = (text),
	static const char *const texts[] = {AF_USAGES(AF_U)};
#undef AF_U
	enum af_usage_kind kind = r->sum->kind;
	bool steady = is_steady(kind) && m->to_ns != UINT64_MAX;

	row->kind.text = af_usage_word(kind);
	row->use.text = texts[kind];
	row->function.text = af_tables_text(f, "%s", r->function);
	row->driver.text = af_tables_text(f, "%s", r->driver);
	row->caller.text = af_tables_text(f, "%s", r->caller);
	row->caller_kind.text = *r->caller ? af_frame_name(r->caller_frame) : "";
	row->time_ns.value = r->time_ns;
	row->calls.value = r->calls;
	cell_set(&row->of_calls, r->of_calls);
	cell_set(&row->bytes, r->bytes);
	cell_set(&row->loops, r->loops);
	cell_set(&row->lasted_ns, kind == AF_USAGE_IMBALANCE ? 0 : r->lasted_ns);
	cell_set(&row->steps, steady ? m->steps : 0);
	cell_set(&row->peers, r->peers);
	row->threads.value = r->threads;
	row->span_ns.value = (steady ? m->to_ns - m->from_ns : m->run_ns) * r->threads;
	if (kind == AF_USAGE_IMBALANCE)
		row->span_ns.value = r->lasted_ns;
}

void usage_table(const struct usage *u, const struct af_world *w, struct af_results *out)
{
	static const struct af_column columns[] = {AF_USAGE_COLUMNS(AF_ROW_COLUMN)};
	struct maker m = {.u = u, .w = w};
	struct af_table *t = NULL;

	maker_part(&m, out);
	af_callers_open(&m.callers, w);
	for (uint32_t i = 0; i < u->nr_sums; i++)
		maker_sum(&m, &u->sums[i]);
	AF_SORT(m.rows, m.nr, made_order);
	for (uint32_t i = 0; i < m.nr; i++) {
		if (!is_use(&m.rows[i]))
			continue;
		if (!t)
			t = AF_TABLE(&out->tables, "usage", "Calls of APIs that cost by their use",
			             columns);
		row_fill(&m, &out->tables, af_table_row(&out->tables, t), &m.rows[i]);
	}
	af_callers_close(&m.callers);
	af_keys_free(&m.by_row);
	af_keys_free(&m.by_member);
	af_tables_free(&m.texts);
	free(m.rows);
}
