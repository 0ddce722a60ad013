/*
 * Firefox Profiler's processed profile, version 48 (its repository's docs-developer and
 * src/types/profile.js of 2024): newer versions of profiler.firefox.com read it and bring it up to
 * date. Of slices: a thread of the program is a thread there, with its samples, and calls, waits
 * and ranges as markers; so is a stream or queue of a device, whose works are samples of their
 * length under the stacks that asked for them, and markers. Of a tree: one thread whose samples
 * come one after another. Weights are times in milliseconds, with all digits.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/time/slices.h"
#include "analyse/world/world.h"
#include "base/arena.h"
#include "base/err.h"
#include "render/profiles/firefox_head.h"
#include "render/profiles/firefox_thread.h"
#include "render/render.h"
#include "render/text/label.h"

enum { PHASE_INSTANT = 0, PHASE_INTERVAL = 1 };
enum { MARKER_NAME, MARKER_START, MARKER_END, MARKER_PHASE, MARKER_CATEGORY, MARKER_DATA };

struct firefox_counter {
	struct af_buf name, times, counts;
	uint32_t pid, nr;
	uint64_t value;
};

/* A track of slices, as this format needs it. */
struct firefox_track {
	struct af_track is;
	uint32_t thread;  /* plus 1, once it is needed */
	uint32_t counter; /* plus 1 */
};

struct firefox {
	struct firefox_thread *threads;
	struct firefox_counter *counters;
	struct firefox_track *tracks; /* by id */
	uint32_t nr_threads, cap_threads, nr_counters, cap_counters, nr_tracks, cap_tracks;
	struct af_map by_row; /* parent and name of a track → thread: lanes are one */
	struct af_strtab libs, rows;
	struct af_buf text;
	const char *weight_type;
	uint64_t scale;
};

static int firefox_begin(struct af_render *r, struct af_err *err)
{
	struct firefox *f = af_xcalloc(1, sizeof *f);

	(void)err;
	f->weight_type = "tracing-ms";
	f->scale = 1000000;
	r->state = f;
	return 0;
}

static struct firefox_thread *thread_add(struct firefox *f, const struct af_tree *tree)
{
	AF_GROW(f->threads, f->nr_threads, f->cap_threads);
	struct firefox_thread *t = &f->threads[f->nr_threads];
	*t = (struct firefox_thread){.number = f->nr_threads++};
	firefox_thread_open(t, tree, &f->libs);
	return t;
}

/* A sum of stacks has no times: each gets a millisecond. */
static int firefox_tree(struct af_render *r, const struct af_tree *tree, struct af_err *err)
{
	struct firefox *f = r->state;
	int w = af_picture_weight(r->picture, tree, err);
	uint32_t depth = 0;

	if (w < 0)
		return w;
	struct firefox_thread *t = thread_add(f, tree);
	const struct af_tree_weight *weight = &tree->weights[w];
	af_buf_str(&t->name, weight->name);
	if (!strcmp(weight->unit, "ns")) {
		f->scale = weight->scale * 1000000;
	} else {
		f->weight_type = strcmp(weight->unit, "bytes") ? "samples" : "bytes";
		f->scale = weight->scale;
	}
	for (uint32_t i = 0; (i = af_tree_next(tree, i, false, &depth));)
		if (tree->self[w][i])
			firefox_sample(t, i, t->nr_samples * 1000000ull, tree->self[w][i]);
	return 0;
}

static int firefox_track(struct af_render *r, const struct af_track *t)
{
	struct firefox *f = r->state;

	AF_REACH(f->tracks, t->id, f->cap_tracks);
	f->tracks[t->id] = (struct firefox_track){.is = *t};
	if (t->kind != AF_TRACK_COUNTER || t->counted)
		return 0;
	AF_GROW(f->counters, f->nr_counters, f->cap_counters);
	f->counters[f->nr_counters] = (struct firefox_counter){.pid = t->pid};
	af_buf_str(&f->counters[f->nr_counters].name, t->name);
	f->tracks[t->id].counter = ++f->nr_counters;
	return 0;
}

/* The track whose name is shown: for a row under a thread, the thread. */
static const struct af_track *named_track(const struct firefox *f, const struct af_track *t)
{
	while (t->kind == AF_TRACK_ROW && t->parent &&
	       f->tracks[t->parent].is.kind == AF_TRACK_THREAD)
		t = &f->tracks[t->parent].is;
	return t;
}

static const char *process_name(const struct firefox *f, const struct af_track *t)
{
	while (t->parent)
		t = &f->tracks[t->parent].is;
	return t->name;
}

static uint32_t row_thread(struct firefox *f, const struct af_slices *all,
                           const struct af_track *row)
{
	const struct af_track *t = named_track(f, row);
	uint64_t key = (uint64_t)t->parent << 32 | af_strtab_id_z(&f->rows, t->name);
	bool fresh, own = t->kind != AF_TRACK_THREAD;

	/* Threads may share a name; lanes of one row do, and are one. */
	if (!own)
		key = 1ull << 63 | t->id;
	uint64_t *slot = af_map_at(&f->by_row, key, &fresh);
	if (!fresh)
		return (uint32_t)*slot;
	*slot = f->nr_threads;
	struct firefox_thread *thread = thread_add(f, all->stacks);
	if (own && t->parent && f->tracks[t->parent].is.kind == AF_TRACK_DEVICE) {
		af_buf_str(&thread->name, f->tracks[t->parent].is.name);
		af_buf_str(&thread->name, ", ");
	}
	af_buf_str(&thread->name, t->name);
	af_buf_str(&thread->process, process_name(f, t));
	thread->pid = t->pid;
	thread->tid = own ? 0 : t->tid;
	return thread->number;
}

static struct firefox_thread *thread_of(struct firefox *f, const struct af_slices *all,
                                        uint32_t track)
{
	struct firefox_track *t = &f->tracks[track];

	if (!t->thread)
		t->thread = row_thread(f, all, &t->is) + 1;
	return &f->threads[t->thread - 1];
}

static uint64_t since(const struct af_slices *all, uint64_t ns)
{
	return ns > all->start_ns ? ns - all->start_ns : 0;
}

static void marker_data(struct firefox *f, struct firefox_thread *t, const struct af_slices *all,
                        const struct af_slice *s)
{
	struct af_slice_arg args[AF_SLICE_ARGS];
	int nr = af_slice_args(all, s, AF_SLICE_WHOLE, args);
	struct af_buf *b = &f->text;

	b->len = 0;
	af_buf_fmt(b, "{\"type\":\"%s\"", af_slice_category(s->kind));
	for (int i = 0; i < nr; i++) {
		af_buf_fmt(b, ",\"%s\":", af_slice_arg_text(args[i].name));
		if (args[i].is_text)
			af_buf_json(b, args[i].text, strlen(args[i].text));
		else
			af_buf_fmt(b, "%lld", (long long)args[i].number);
	}
	if (s->stack) {
		af_buf_str(b, ",\"cause\":{\"time\":");
		af_label_exact(b, since(all, s->start_ns), 1000000);
		af_buf_fmt(b, ",\"stack\":%u}", firefox_stack(t, s->stack));
	}
	af_buf_char(b, '}');
}

static void firefox_marker(struct firefox *f, struct firefox_thread *t, const struct af_slices *all,
                           const struct af_slice *s)
{
	const char *name = af_strtab_get(all->names, s->name);
	bool instant = s->start_ns == s->end_ns;
	struct firefox_table *m = &t->markers;
	enum af_frame category = s->kind == AF_SLICE_WORK   ? AF_FRAME_GPU
	                         : s->kind == AF_SLICE_CALL ? AF_FRAME_NATIVE
	                                                    : AF_FRAME_MARK;

	firefox_put(m, MARKER_NAME, "%u", firefox_string(t, name, strlen(name)));
	firefox_put_ms(m, MARKER_START, since(all, s->start_ns));
	if (instant)
		firefox_put(m, MARKER_END, "null");
	else
		firefox_put_ms(m, MARKER_END, since(all, s->end_ns));
	firefox_put(m, MARKER_PHASE, "%d", instant ? PHASE_INSTANT : PHASE_INTERVAL);
	firefox_put(m, MARKER_CATEGORY, "%u", category);
	marker_data(f, t, all, s);
	firefox_put_text(m, MARKER_DATA, &f->text);
}

static int firefox_slice(struct af_render *r, const struct af_slice *s)
{
	struct firefox *f = r->state;
	const struct af_slices *all = r->slices;
	struct firefox_thread *t = thread_of(f, all, s->track);
	uint64_t weight = s->kind == AF_SLICE_RUN ? s->weight_ns : s->end_ns - s->start_ns;

	if (s->stack && (s->kind == AF_SLICE_RUN || s->kind == AF_SLICE_WORK) && weight)
		firefox_sample(t, s->stack, since(all, s->start_ns), weight);
	if (s->kind != AF_SLICE_RUN)
		firefox_marker(f, t, all, s);
	return 0;
}

/* Counters have what changed. */
static int firefox_point(struct af_render *r, const struct af_point *p)
{
	struct firefox *f = r->state;
	/* Its counters are of memory, or of what it knows by name. */
	if (!f->tracks[p->track].counter)
		return 0;
	struct firefox_counter *c = &f->counters[f->tracks[p->track].counter - 1];
	const char *between = c->nr++ ? "," : "";

	af_buf_str(&c->times, between);
	af_label_exact(&c->times, since(r->slices, p->time_ns), 1000000);
	af_buf_fmt(&c->counts, "%s%lld", between, (long long)(p->value - c->value));
	c->value = p->value;
	return 0;
}

static uint32_t main_thread(const struct firefox *f, uint32_t pid)
{
	for (uint32_t i = 0; i < f->nr_threads; i++)
		if (f->threads[i].pid == pid)
			return i;
	return 0;
}

static void write_counters(const struct firefox *f, struct af_out *out)
{
	struct af_buf *b = &out->text;

	af_buf_str(b, "\"counters\":[");
	for (uint32_t i = 0; i < f->nr_counters && f->nr_threads; i++) {
		const struct firefox_counter *c = &f->counters[i];
		af_buf_str(b, i ? ",\n{\"name\":" : "{\"name\":");
		af_buf_json(b, c->name.data, c->name.len);
		af_buf_str(b, ",\"category\":\"Memory\",\"description\":");
		af_buf_json(b, c->name.data, c->name.len);
		af_buf_fmt(b, ",\"pid\":\"%u\",\"mainThreadIndex\":%u,\"samples\":{\"length\":%u,",
		           c->pid, main_thread(f, c->pid), c->nr);
		af_buf_str(b, "\"time\":[");
		af_buf_add(b, c->times.data, c->times.len);
		af_buf_str(b, "],\"count\":[");
		af_buf_add(b, c->counts.data, c->counts.len);
		af_buf_str(b, "]}}");
		af_out_spill(out);
	}
	af_buf_str(b, "],\n");
}

static void firefox_free(struct firefox *f)
{
	for (uint32_t i = 0; i < f->nr_threads; i++)
		firefox_thread_close(&f->threads[i]);
	for (uint32_t i = 0; i < f->nr_counters; i++) {
		af_buf_free(&f->counters[i].name);
		af_buf_free(&f->counters[i].times);
		af_buf_free(&f->counters[i].counts);
	}
	free(f->threads);
	free(f->counters);
	free(f->tracks);
	af_map_free(&f->by_row);
	af_strtab_free(&f->libs);
	af_strtab_free(&f->rows);
	af_buf_free(&f->text);
	free(f);
}

static int firefox_end(struct af_render *r, struct af_err *err)
{
	struct firefox *f = r->state;
	struct af_out out;

	af_out_open(&out, r->fd, r->gzip);
	firefox_head(&out.text, r->slices, &f->libs);
	write_counters(f, &out);
	af_buf_str(&out.text, "\"pages\":[],\"profilerOverhead\":[],\n\"threads\":[");
	for (uint32_t i = 0; i < f->nr_threads; i++) {
		af_buf_str(&out.text, i ? ",\n" : "");
		firefox_thread_write(&f->threads[i], &out, f->weight_type, f->scale);
	}
	af_buf_str(&out.text, "]}\n");
	int rc = af_out_close(&out);
	firefox_free(f);
	r->state = NULL;
	return rc ? af_fail(err, rc, "cannot write the profile") : 0;
}

const struct af_format af_format_firefox = {
    .name = "firefox",
    .extension = ".firefox.json",
    .summary = "Firefox Profiler's processed profile",
    .begin = firefox_begin,
    .tree = firefox_tree,
    .track = firefox_track,
    .slice = firefox_slice,
    .point = firefox_point,
    .end = firefox_end,
};
