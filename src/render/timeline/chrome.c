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
#include "render/text/label.h"
#include "render/timeline/slices.h"

enum {
	CHROME_TID = 1 << 24, /* of the first track that is no thread: PIDs end at 2^22 */
	CHROME_CALLERS = 3,   /* frames in the argument `caller` */
	CHROME_PART = 256     /* bytes of a part of an event, without texts of the trace, at most */
};

struct chrome_text {
	const char *is; /* NULL: not made yet */
	size_t len;
};

struct chrome_track {
	uint32_t pid, tid;
	enum af_track_kind kind;
	uint64_t sort;    /* its place in the process: parts stand below what they are of */
	const char *name; /* as JSON, with what it is a part of */
	struct chrome_text events; /* how they begin behind their name and category: pid and tid */
	struct chrome_text series; /* of a counter: its unit, as JSON */
	uint64_t per;              /* of a counter */
};

struct chrome {
	struct af_out out;
	struct af_arena arena;
	struct chrome_track *tracks; /* by id */
	uint32_t cap_tracks;
	struct chrome_text *names; /* as JSON, by id */
	uint32_t cap_names;
	struct chrome_text *callers; /* as JSON, by node of the stacks */
	uint32_t cap_callers;
	struct af_slices_works works; /* their arguments, each behind a comma */
	uint64_t nr;                  /* events written */
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

/* A text of the source code, and any. They return what is behind it. */
#define PUT(to, literal) put(to, literal, sizeof(literal) - 1)

static inline char *put(char *to, const char *text, size_t len)
{
	memcpy(to, text, len);
	return to + len;
}

static struct chrome_text chrome_keep(struct chrome *c, const struct af_buf *b)
{
	return (struct chrome_text){af_arena_strdup(&c->arena, b->len ? b->data : "", b->len),
	                            b->len};
}

static struct chrome_text chrome_keep_json(struct chrome *c, const char *text, size_t len)
{
	struct af_buf b = {0};

	af_buf_json(&b, text, len);
	struct chrome_text kept = chrome_keep(c, &b);
	af_buf_free(&b);
	return kept;
}

static struct chrome_text chrome_name(struct chrome *c, const struct af_slices *all, uint32_t name)
{
	AF_REACH(c->names, name, c->cap_names);
	if (!c->names[name].is) {
		const char *text = af_strtab_get(all->names, name);
		c->names[name] = chrome_keep_json(c, text, strlen(text));
	}
	return c->names[name];
}

static struct chrome_text chrome_caller(struct chrome *c, const struct af_slices *all,
                                        uint32_t node)
{
	AF_REACH(c->callers, node, c->cap_callers);
	if (!c->callers[node].is) {
		struct af_buf b = {0};
		af_slices_stack_text(&b, all->stacks, node, " < ", CHROME_CALLERS);
		c->callers[node] = chrome_keep_json(c, b.data ? b.data : "", b.len);
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
static char *chrome_us(char *to, uint64_t ns, uint64_t since_ns)
{
	uint64_t value = ns >= since_ns ? ns - since_ns : 0;
	unsigned rest = (unsigned)(value % 1000);

	to = af_buf_put_u64(to, value / 1000);
	if (!rest)
		return to;
	*to++ = '.';
	*to++ = (char)('0' + rest / 100);
	*to++ = (char)('0' + rest / 10 % 10);
	*to++ = (char)('0' + rest % 10);
	return to;
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
	struct af_buf name = {0}, events = {0};

	AF_GROW(c->tracks, t->id, c->cap_tracks);
	chrome_track_name(c, &name, t);
	struct chrome_track *at = &c->tracks[t->id];
	*at = (struct chrome_track){
	    .pid = t->pid,
	    .tid = t->kind == AF_TRACK_THREAD ? t->tid : CHROME_TID + t->id,
	    .kind = t->kind,
	    .sort = chrome_sort(c, t),
	    .name = chrome_keep(c, &name).is,
	};
	const char *shown = chrome_keep_json(c, name.data, name.len).is;
	af_buf_free(&name);
	af_buf_fmt(&events, ",\"pid\":%u,\"tid\":%u,\"ts\":", at->pid, at->tid);
	at->events = chrome_keep(c, &events);
	af_buf_free(&events);
	if (t->kind == AF_TRACK_COUNTER) { /* It goes by its name. */
		const char *series = t->counted ? t->counted : "bytes";
		at->name = shown;
		at->per = t->counted ? t->per : 0;
		at->series = chrome_keep_json(c, *series ? series : "count",
		                              strlen(*series ? series : "count"));
		return 0;
	}
	if (t->kind == AF_TRACK_DEVICE)
		return 0;
	chrome_meta(c, at, "name", shown);
	chrome_meta(c, at, "sort_index", NULL);
	return af_out_spill(&c->out);
}

static void chrome_put_args(struct af_buf *b, const struct af_slices *all, const struct af_slice *s,
                            unsigned parts)
{
#define CHROME_ARG(NAME, text) {",\"" text "\":", sizeof(",\"" text "\":") - 1},
	static const struct chrome_text names[] = {AF_SLICE_ARGS_NAMES(CHROME_ARG)};
#undef CHROME_ARG
	struct af_slice_arg args[AF_SLICE_ARGS];
	int nr = af_slice_args(all, s, parts, args);

	for (int i = 0; i < nr; i++) {
		const struct af_slice_arg *a = &args[i];
		char *to = af_buf_room(b, CHROME_PART);
		to = put(to, names[a->name].is, names[a->name].len);
		if (a->is_text) {
			af_buf_took(b, to);
			af_buf_json(b, a->text, strlen(a->text));
			continue;
		}
		if (a->number < 0)
			*to++ = '-';
		uint64_t number = (uint64_t)a->number;
		af_buf_took(b, af_buf_put_u64(to, a->number < 0 ? -number : number));
	}
}

/* All arguments, each behind a comma. */
static void chrome_all_args(struct chrome *c, struct af_buf *b, const struct af_slices *all,
                            const struct af_slice *s)
{
	bool fresh;

	if (s->kind != AF_SLICE_WORK || !s->descriptor) {
		chrome_put_args(b, all, s, AF_SLICE_WHOLE);
		return;
	}
	chrome_put_args(b, all, s, AF_SLICE_BEFORE);
	struct af_buf *same = af_slices_work_text(&c->works, all, s->descriptor, &fresh);
	if (fresh)
		chrome_put_args(same, all, s, AF_SLICE_DESCRIPTOR);
	af_buf_add(b, same->data, same->len);
	chrome_put_args(b, all, s, AF_SLICE_BEHIND);
}

static void chrome_args(struct chrome *c, const struct af_slices *all, const struct af_slice *s)
{
	struct af_buf *b = &c->out.text;
	size_t before = b->len;

	af_buf_took(b, PUT(af_buf_room(b, CHROME_PART), ",\"args\":"));
	size_t first = b->len; /* A comma comes here, where a brace belongs. */
	chrome_all_args(c, b, all, s);
	if (s->stack) {
		struct chrome_text caller = chrome_caller(c, all, s->stack);
		char *to = PUT(af_buf_room(b, CHROME_PART + caller.len), ",\"caller\":");
		af_buf_took(b, put(to, caller.is, caller.len));
	}
	if (b->len == first) {
		af_buf_took(b, b->data + before);
		return;
	}
	b->data[first] = '{';
	af_buf_char(b, '}');
}

static char *chrome_flow(char *to, const struct af_slice *s)
{
	char digits[16];
	size_t n = sizeof digits;

	if (s->way == AF_FLOW_NONE)
		return to;
	to = PUT(to, ",\"bind_id\":\"0x");
	uint64_t flow = s->flow;
	do
		digits[--n] = "0123456789abcdef"[flow & 15];
	while (flow >>= 4);
	to = put(to, digits + n, sizeof digits - n);
	*to++ = '"';
	if (s->way != AF_FLOW_FROM)
		to = PUT(to, ",\"flow_in\":true");
	if (s->way != AF_FLOW_TO)
		to = PUT(to, ",\"flow_out\":true");
	return to;
}

static int chrome_slice(struct af_render *r, const struct af_slice *s)
{
#define CHROME_CATEGORY(NAME, text) {",\"cat\":\"" text "\"", sizeof(",\"cat\":\"" text "\"") - 1},
	static const struct chrome_text categories[] = {AF_SLICES(CHROME_CATEGORY)};
#undef CHROME_CATEGORY
	struct chrome *c = r->state;
	struct af_buf *b = &c->out.text;
	const struct chrome_track *t = &c->tracks[s->track];
	struct chrome_text name = chrome_name(c, r->slices, s->name);
	/* Arrows begin and end at slices only. */
	bool instant = s->start_ns == s->end_ns && s->way == AF_FLOW_NONE;
	uint64_t begin_ns = r->slices->start_ns;
	uint64_t start_ns = s->start_ns > begin_ns ? s->start_ns : begin_ns;

	chrome_next(c);
	char *to = af_buf_room(b, 2 * CHROME_PART + name.len);
	to = instant ? PUT(to, "{\"ph\":\"i\",\"s\":\"t\",\"name\":")
	             : PUT(to, "{\"ph\":\"X\",\"name\":");
	to = put(to, name.is, name.len);
	to = put(to, categories[s->kind].is, categories[s->kind].len);
	to = put(to, t->events.is, t->events.len);
	to = chrome_us(to, start_ns, begin_ns);
	if (!instant)
		to = chrome_us(PUT(to, ",\"dur\":"), s->end_ns, start_ns);
	to = chrome_flow(to, s);
	if (s->stack)
		to = af_buf_put_u64(PUT(to, ",\"sf\":"), s->stack);
	af_buf_took(b, to);
	chrome_args(c, r->slices, s);
	af_buf_char(b, '}');
	return af_out_spill(&c->out);
}

/* Parts of a unit that decimals can show; 0: whole ones. */
static bool is_decimal(uint64_t per)
{
	while (per % 10 == 0 && per)
		per /= 10;
	return per <= 1;
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
	af_buf_str(b, ",\"ts\":");
	af_buf_took(b, chrome_us(af_buf_room(b, CHROME_PART), p->time_ns, r->slices->start_ns));
	af_buf_str(b, ",\"args\":{");
	af_buf_add(b, t->series.is, t->series.len);
	af_buf_char(b, ':');
	if (is_decimal(t->per))
		af_label_exact(b, p->value, t->per);
	else
		af_buf_fmt(b, "%.9g", (double)p->value / (double)t->per);
	af_buf_str(b, "}}");
	return af_out_spill(&c->out);
}

/* The nodes of a name share this text, behind their numbers. */
static struct chrome_text chrome_frame(struct chrome *c, const struct af_tree *stacks,
                                       uint32_t name)
{
	struct af_buf b = {0};
	size_t len;
	const char *text = af_tree_text(stacks, name, &len);

	af_buf_fmt(&b,
	           "\":{\"category\":\"%s\",\"name\":", af_frame_name(af_tree_frame(stacks, name)));
	af_buf_json(&b, text, len);
	struct chrome_text kept = chrome_keep(c, &b);
	af_buf_free(&b);
	return kept;
}

static void chrome_stacks(struct chrome *c, const struct af_tree *stacks)
{
	struct chrome_text *frames = NULL;
	uint32_t cap = 0;
	struct af_buf *b = &c->out.text;

	af_buf_str(b, "],\n\"stackFrames\":{");
	for (uint32_t node = 1; node < stacks->nr; node++) {
		uint32_t name = stacks->nodes[node].name, parent = stacks->nodes[node].parent;
		AF_REACH(frames, name, cap);
		if (!frames[name].is)
			frames[name] = chrome_frame(c, stacks, name);
		char *to = af_buf_room(b, CHROME_PART + frames[name].len);
		to = node > 1 ? PUT(to, ",\n\"") : PUT(to, "\n\"");
		to = af_buf_put_u64(to, node);
		to = put(to, frames[name].is, frames[name].len);
		if (parent) {
			to = af_buf_put_u64(PUT(to, ",\"parent\":\""), parent);
			*to++ = '"';
		}
		*to++ = '}';
		af_buf_took(b, to);
		af_out_spill(&c->out);
	}
	free(frames);
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
	af_slices_works_free(&c->works);
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
