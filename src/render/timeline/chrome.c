/*
 * Chrome's JSON trace events ("Trace Event Format", the object form), which chrome://tracing,
 * Perfetto, Speedscope and others read. A process is a process, every other track a thread of it:
 * those that are no threads get numbers that no thread of Linux can have, and what they are part of
 * stands in their names. An arrow is a bind_id that its ends share. Times are microseconds since
 * the trace began, to the nanosecond; what began before it begins at 0.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/tree.h"
#include "analyse/world/world.h"
#include "base/arena.h"
#include "base/err.h"
#include "render/profiles/out.h"
#include "render/render.h"
#include "render/timeline/slices.h"

enum {
	CHROME_TID = 1 << 24, /* of the first track that is no thread: PIDs end at 2^22 */
	CHROME_CALLERS = 3    /* frames in the argument `caller` */
};

struct chrome_track {
	uint32_t pid, tid;
	enum af_track_kind kind;
	uint64_t sort;    /* its place in the process: parts stand below what they are of */
	const char *name; /* as JSON, with what it is a part of */
};

struct chrome {
	struct af_out out;
	struct af_arena arena;
	struct chrome_track *tracks; /* by id */
	uint32_t cap_tracks;
	const char **names; /* as JSON, by id; NULL: not made yet */
	uint32_t cap_names;
	const char **callers; /* as JSON, by node of the stacks */
	uint32_t cap_callers;
	uint64_t nr; /* events written */
};

static int chrome_begin(struct af_render *r, struct af_err *err)
{
	struct chrome *c = af_xcalloc(1, sizeof *c);

	(void)err;
	r->state = c;
	af_out_open(&c->out, r->fd, r->gzip);
	af_buf_str(&c->out.text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	return 0;
}

static const char *chrome_keep(struct chrome *c, const char *text, size_t len)
{
	struct af_buf b = {0};

	af_buf_json(&b, text, len);
	const char *kept = af_arena_strdup(&c->arena, b.data, b.len);
	af_buf_free(&b);
	return kept;
}

static const char *chrome_name(struct chrome *c, const struct af_slices *all, uint32_t name)
{
	AF_REACH(c->names, name, c->cap_names);
	if (!c->names[name]) {
		const char *text = af_strtab_get(all->names, name);
		c->names[name] = chrome_keep(c, text, strlen(text));
	}
	return c->names[name];
}

static const char *chrome_caller(struct chrome *c, const struct af_slices *all, uint32_t node)
{
	AF_REACH(c->callers, node, c->cap_callers);
	if (!c->callers[node]) {
		struct af_buf b = {0};
		af_slices_stack_text(&b, all->stacks, node, " < ", CHROME_CALLERS);
		c->callers[node] = chrome_keep(c, b.data ? b.data : "", b.len);
		af_buf_free(&b);
	}
	return c->callers[node];
}

static void chrome_u64(struct af_buf *b, const char *key, uint64_t value)
{
	af_buf_str(b, key);
	af_buf_u64(b, value);
}

static void chrome_next(struct chrome *c)
{
	af_buf_str(&c->out.text, c->nr++ ? ",\n" : "\n");
}

/* Readers drop what is before 0: a sample stands for time before it, and clocks are not exact. */
static void chrome_us(struct af_buf *b, const char *key, uint64_t ns, uint64_t since_ns)
{
	uint64_t value = ns >= since_ns ? ns - since_ns : 0;
	char point[4] = {'.', (char)('0' + value / 100 % 10), (char)('0' + value / 10 % 10),
	                 (char)('0' + value % 10)};

	af_buf_str(b, key);
	af_buf_u64(b, value / 1000);
	if (value % 1000)
		af_buf_add(b, point, 4);
}

/* A fact about a process or another track: its name, or its place where that is NULL. */
static void chrome_meta(struct chrome *c, const struct chrome_track *t, const char *what,
                        const char *name)
{
	struct af_buf *b = &c->out.text;
	bool process = t->kind == AF_TRACK_PROCESS;

	chrome_next(c);
	af_buf_fmt(b, "{\"ph\":\"M\",\"name\":\"%s_%s\",\"pid\":%u", process ? "process" : "thread",
	           what, t->pid);
	if (!process)
		chrome_u64(b, ",\"tid\":", t->tid);
	af_buf_str(b, ",\"args\":{");
	if (name) {
		af_buf_str(b, "\"name\":");
		af_buf_str(b, name);
	} else {
		chrome_u64(b, "\"sort_index\":", t->sort);
	}
	af_buf_str(b, "}}");
}

/* The names from below the process down to @t, which is not among the tracks yet. */
static void chrome_track_name(const struct chrome *c, struct af_buf *b, const struct af_track *t)
{
	const struct chrome_track *parent = t->parent ? &c->tracks[t->parent] : NULL;

	if (parent && parent->kind != AF_TRACK_PROCESS) {
		af_buf_str(b, parent->name);
		if (parent->kind == AF_TRACK_THREAD)
			af_buf_fmt(b, " %u", parent->tid);
		af_buf_str(b, ": ");
	}
	af_buf_str(b, t->name);
	if (t->lane)
		af_buf_fmt(b, " (%u)", t->lane + 1);
}

static uint64_t chrome_sort(const struct chrome *c, const struct af_track *t)
{
	const struct chrome_track *parent = t->parent ? &c->tracks[t->parent] : NULL;

	if (!parent)
		return t->rank;
	if (parent->kind == AF_TRACK_PROCESS)
		return (uint64_t)t->rank << 12;
	return parent->sort + 1 + (t->rank < 63 ? t->rank : 63) * 64 +
	       (t->lane < 63 ? t->lane : 63);
}

static int chrome_track(struct af_render *r, const struct af_track *t)
{
	struct chrome *c = r->state;
	struct af_buf name = {0};

	AF_GROW(c->tracks, t->id, c->cap_tracks);
	chrome_track_name(c, &name, t);
	struct chrome_track *at = &c->tracks[t->id];
	*at = (struct chrome_track){
	    .pid = t->pid,
	    .tid = t->kind == AF_TRACK_THREAD ? t->tid : CHROME_TID + t->id,
	    .kind = t->kind,
	    .sort = chrome_sort(c, t),
	    .name = af_arena_strdup(&c->arena, name.data, name.len),
	};
	const char *shown = chrome_keep(c, name.data, name.len);
	af_buf_free(&name);
	if (t->kind == AF_TRACK_COUNTER) { /* It goes by its name. */
		at->name = shown;
		return 0;
	}
	if (t->kind == AF_TRACK_DEVICE)
		return 0;
	chrome_meta(c, at, "name", shown);
	chrome_meta(c, at, "sort_index", NULL);
	return af_out_spill(&c->out);
}

static void chrome_args(struct chrome *c, const struct af_slices *all, const struct af_slice *s)
{
	struct af_slice_arg args[AF_SLICE_ARGS];
	int nr = af_slice_args(all, s, AF_SLICE_WHOLE, args);
	struct af_buf *b = &c->out.text;

	if (!nr && !s->stack)
		return;
	af_buf_str(b, ",\"args\":{");
	for (int i = 0; i < nr; i++) {
		const struct af_slice_arg *a = &args[i];
		af_buf_str(b, i ? ",\"" : "\"");
		af_buf_str(b, af_slice_arg_text(a->name));
		af_buf_str(b, "\":");
		if (a->is_text)
			af_buf_json(b, a->text, strlen(a->text));
		else if (a->number < 0)
			af_buf_fmt(b, "%lld", (long long)a->number);
		else
			af_buf_u64(b, (uint64_t)a->number);
	}
	if (s->stack) {
		af_buf_str(b, nr ? ",\"caller\":" : "\"caller\":");
		af_buf_str(b, chrome_caller(c, all, s->stack));
	}
	af_buf_char(b, '}');
}

static void chrome_flow(struct af_buf *b, const struct af_slice *s)
{
	if (s->way == AF_FLOW_NONE)
		return;
	af_buf_fmt(b, ",\"bind_id\":\"0x%llx\"", (unsigned long long)s->flow);
	if (s->way != AF_FLOW_FROM)
		af_buf_str(b, ",\"flow_in\":true");
	if (s->way != AF_FLOW_TO)
		af_buf_str(b, ",\"flow_out\":true");
}

static int chrome_slice(struct af_render *r, const struct af_slice *s)
{
	struct chrome *c = r->state;
	struct af_buf *b = &c->out.text;
	const struct chrome_track *t = &c->tracks[s->track];
	/* Arrows begin and end at slices only. */
	bool instant = s->start_ns == s->end_ns && s->way == AF_FLOW_NONE;
	uint64_t begin_ns = r->slices->start_ns;
	uint64_t start_ns = s->start_ns > begin_ns ? s->start_ns : begin_ns;

	chrome_next(c);
	af_buf_str(b, instant ? "{\"ph\":\"i\",\"s\":\"t\",\"name\":" : "{\"ph\":\"X\",\"name\":");
	af_buf_str(b, chrome_name(c, r->slices, s->name));
	af_buf_str(b, ",\"cat\":\"");
	af_buf_str(b, af_slice_category(s->kind));
	chrome_u64(b, "\",\"pid\":", t->pid);
	chrome_u64(b, ",\"tid\":", t->tid);
	chrome_us(b, ",\"ts\":", start_ns, begin_ns);
	if (!instant)
		chrome_us(b, ",\"dur\":", s->end_ns, start_ns);
	chrome_flow(b, s);
	if (s->stack)
		chrome_u64(b, ",\"sf\":", s->stack);
	chrome_args(c, r->slices, s);
	af_buf_char(b, '}');
	return af_out_spill(&c->out);
}

static int chrome_point(struct af_render *r, const struct af_point *p)
{
	struct chrome *c = r->state;
	struct af_buf *b = &c->out.text;
	const struct chrome_track *t = &c->tracks[p->track];

	chrome_next(c);
	af_buf_str(b, "{\"ph\":\"C\",\"name\":");
	af_buf_str(b, t->name);
	chrome_u64(b, ",\"pid\":", t->pid);
	chrome_us(b, ",\"ts\":", p->time_ns, r->slices->start_ns);
	chrome_u64(b, ",\"args\":{\"bytes\":", p->value);
	af_buf_str(b, "}}");
	return af_out_spill(&c->out);
}

static void chrome_stacks(struct chrome *c, const struct af_tree *stacks)
{
	struct af_buf *b = &c->out.text;

	af_buf_str(b, "],\n\"stackFrames\":{");
	for (uint32_t node = 1; node < stacks->nr; node++) {
		uint32_t name = stacks->nodes[node].name, parent = stacks->nodes[node].parent;
		size_t len;
		const char *text = af_tree_text(stacks, name, &len);
		af_buf_fmt(b, "%s\"%u\":{\"category\":\"%s\",\"name\":", node > 1 ? ",\n" : "\n",
		           node, af_frame_name(af_tree_frame(stacks, name)));
		af_buf_json(b, text, len);
		if (parent)
			af_buf_fmt(b, ",\"parent\":\"%u\"", parent);
		af_buf_char(b, '}');
		af_out_spill(&c->out);
	}
}

static void chrome_other(struct chrome *c, const struct af_slices *all)
{
	struct af_slices_pair tables[AF_SLICES_TABLES];
	struct af_buf *b = &c->out.text;
	int nr = af_slices_tables(all, tables);

	af_buf_str(b, "},\n\"otherData\":{\"aflame\":\"" AFLAME_VERSION "\"");
	chrome_u64(b, ",\n\"start, CLOCK_MONOTONIC, ns\":", all->start_ns);
	if (all->realtime.foreign_ns)
		chrome_u64(b, ",\n\"start, CLOCK_REALTIME, ns\":",
		           all->realtime.foreign_ns + all->start_ns - all->realtime.mono_ns);
	for (int i = 0; i < nr; i++) {
		af_buf_str(b, ",\n");
		af_buf_json(b, tables[i].name, strlen(tables[i].name));
		chrome_u64(b, ":", tables[i].number);
	}
	if (*all->damage) {
		af_buf_str(b, ",\n\"damage\":");
		af_buf_json(b, all->damage, strlen(all->damage));
	}
	for (const struct af_note *n = all->world->notes; n; n = n->next) {
		af_buf_str(b, ",\n");
		af_buf_json(b, n->key, strlen(n->key));
		af_buf_char(b, ':');
		af_buf_json(b, n->value, strlen(n->value));
	}
	af_buf_str(b, "}}\n");
}

static int chrome_end(struct af_render *r, struct af_err *err)
{
	struct chrome *c = r->state;

	chrome_stacks(c, r->slices->stacks);
	chrome_other(c, r->slices);
	int rc = af_out_close(&c->out);
	af_arena_free(&c->arena);
	free(c->tracks);
	free(c->names);
	free(c->callers);
	free(c);
	r->state = NULL;
	return rc ? af_fail(err, rc, "cannot write the timeline") : 0;
}

const struct af_format af_format_chrome = {
    .name = "json",
    .extension = ".json",
    .summary = "Chrome's trace events",
    .begin = chrome_begin,
    .track = chrome_track,
    .slice = chrome_slice,
    .point = chrome_point,
    .end = chrome_end,
};
