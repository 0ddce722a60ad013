#include "render/html/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/tree.h"
#include "base/arena.h"
#include "base/hash.h"
#include "render/html/time_private.h"

const struct html_time_kind html_time_kinds[AF_SLICE_END] = {
    [AF_SLICE_CALL] = {1, false, false, AF_FRAME_NATIVE, ""},
    [AF_SLICE_WORK] = {1, true, true, AF_FRAME_GPU, "time"},
    [AF_SLICE_RANGE] = {-1, false, false, AF_FRAME_MARK, ""},
    [AF_SLICE_WAIT] = {0, false, false, AF_FRAME_MARK, ""},
    [AF_SLICE_RUN] = {0, true, false, AF_FRAME_NATIVE, "time"},
    [AF_SLICE_OVERHEAD] = {-1, false, false, AF_FRAME_MARK, ""},
    [AF_SLICE_LOST] = {-1, false, false, AF_FRAME_MARK, ""},
};
const char *const html_time_views[HTML_TIME_VIEWS] = {"cpu", "gpu"};

void html_time_free(struct html_time *t)
{
	for (uint32_t i = 0; i < t->nr; i++) {
		html_columns_free(&t->tracks[i].slices);
		for (int kind = 0; kind < AF_SLICE_END; kind++)
			af_map_free(&t->tracks[i].whats[kind]);
		free(t->tracks[i].meanings);
		af_buf_free(&t->tracks[i].times);
		af_buf_free(&t->tracks[i].values);
		free(t->tracks[i].name);
		free(t->tracks[i].rank);
		free(t->tracks[i].unit);
	}
	free(t->whats);
	free(t->tracks);
	free(t->order);
	free(t->place);
	af_map_free(&t->causes);
	af_map_free(&t->launches);
	*t = (struct html_time){0};
}

/* A process is identified by its rank and more: its children have the same rank. */
static char *track_name(const struct af_track *track)
{
	struct af_buf b = {0};

	af_buf_str(&b, track->name ? track->name : "");
	if (track->in_rank)
		af_buf_fmt(&b, " (%u)", track->pid);
	return b.data;
}

void html_time_part(struct html_time *t, uint32_t part)
{
	t->most = t->most ? t->most : HTML_TIME_SLICES_SET;
	t->part = part;
	t->first = t->nr;
}

void html_time_track(struct html_time *t, const struct af_track *track)
{
	char rank[64] = "[no rank]";

	if (track->in_rank)
		snprintf(rank, sizeof rank, "rank %s", track->in_rank);
	t->has_ranks |= track->in_rank != NULL;
	AF_GROW(t->tracks, t->nr, t->cap);
	t->tracks[t->nr++] = (struct html_time_track){
	    .is = *track,
	    .name = track_name(track),
	    .rank = track->kind == AF_TRACK_PROCESS ? af_xstrdup(rank) : NULL,
	    .unit = track->counted ? af_xstrdup(track->counted) : NULL,
	};
	if (track->parent)
		t->tracks[t->nr - 1].is.parent += t->first;
}

static void time_seen(struct html_time *t, uint64_t start_ns, uint64_t end_ns, bool first)
{
	if (first || start_ns < t->first_ns)
		t->first_ns = start_ns;
	if (end_ns > t->end_ns)
		t->end_ns = end_ns;
}

static bool time_empty(const struct html_time *t)
{
	return !t->nr_slices && !t->end_ns;
}

/* slices */

static uint32_t slice_find_what(struct html_time *t, struct html_time_track *track,
                                const struct af_slice *s)
{
	bool fresh;
	uint64_t *at =
	    af_map_at(&track->whats[s->kind], (uint64_t)s->stack << 32 | s->name, &fresh);

	if (!fresh)
		return (uint32_t)*at;
	*at = track->nr_whats++;
	AF_GROW(t->whats, t->nr_whats, t->cap_whats);
	t->whats[t->nr_whats++] = (struct html_time_what){.track = t->first + s->track - 1,
	                                                  .at = (uint32_t)*at,
	                                                  .name = s->name,
	                                                  .stack = s->stack,
	                                                  .kind = s->kind};
	return (uint32_t)*at;
}

/* The number of its meaning among those of its track. Most slices have one that is near. */
static inline uint32_t slice_what(struct html_time *t, struct html_time_track *track,
                                  const struct af_slice *s)
{
	uint32_t id = (t->first + s->track) * AF_SLICE_END + s->kind;
	struct html_time_near *near =
	    &t->near_whats[af_near(HTML_TIME_NEAR_BITS, s->stack, id, s->name, 0)];

	if (near->track_kind != id || near->stack != s->stack || near->name != s->name)
		*near =
		    (struct html_time_near){id, s->name, s->stack, slice_find_what(t, track, s)};
	return near->at;
}

/* Ids are of a process and an API in their upper half: few, and a page has no room for 64 bits. */
static uint64_t slice_flow(struct html_time *t, const struct af_slice *s)
{
	uint64_t cause = (uint64_t)t->part << 32 | s->flow >> 32;
	bool fresh;

	if (s->way == AF_FLOW_NONE)
		return 0;
	if (!t->causes.nr || cause != t->last_cause) {
		uint64_t *slot = af_map_at(&t->causes, cause, &fresh);
		if (fresh)
			*slot = t->causes.nr - 1;
		t->last_cause = cause;
		t->last_index = *slot;
	}
	return (t->last_index << 32 | (uint32_t)s->flow) + 1;
}

static void launches_add(struct html_time *t, const struct html_time_launches *near)
{
	if (near->nr)
		*af_map_at(&t->launches, near->key, NULL) += near->nr;
}

/* Few threads have launched most of what comes, so the map is not needed for each. */
static void launches_count(struct html_time *t, uint32_t device, uint32_t tid)
{
	struct html_time_launches *near = &t->near[tid % HTML_TIME_NEAR];
	uint64_t key = (uint64_t)device << 32 | tid;

	if (near->key != key) {
		launches_add(t, near);
		*near = (struct html_time_launches){.key = key};
	}
	near->nr++;
}

/* The next step that leaves about @most slices or fewer. */
static uint64_t time_step(const struct html_time *t, uint64_t most)
{
	uint64_t merged[HTML_STEPS] = {0}, left = 0;
	uint32_t level = 0;

	for (uint32_t i = 0; i < t->nr; i++) {
		html_columns_count(&t->tracks[i].slices, merged);
		left += t->tracks[i].slices.nr;
	}
	for (; level < HTML_STEPS - 1; level++) {
		left -= merged[level];
		if (html_step_ns(level) > t->step_ns && left <= most)
			break;
	}
	return html_step_ns(level);
}

/* Merges slices with longer and longer steps until the page has room for all. */
static void time_coarsen(struct html_time *t)
{
	uint64_t most = t->most ? t->most : HTML_TIME_SLICES;

	most -= most / 4;
	while (t->nr_slices > most && t->step_ns < html_step_ns(HTML_STEPS - 1)) {
		t->step_ns = time_step(t, most);
		t->nr_slices = 0;
		for (uint32_t i = 0; i < t->nr; i++) {
			html_columns_coarsen(&t->tracks[i].slices, t->step_ns);
			t->nr_slices += t->tracks[i].slices.nr;
		}
	}
}

void html_time_slice(struct html_time *t, const struct af_slices *all, const struct af_slice *s)
{
	struct html_time_track *track = &t->tracks[t->first + s->track - 1];
	struct html_columns *c = &track->slices;
	uint64_t nr = c->nr, start_ns = s->start_ns > all->start_ns ? s->start_ns : all->start_ns;
	uint64_t end_ns = s->end_ns > start_ns ? s->end_ns : start_ns;
	struct html_slice slice = {
	    .start_ns = start_ns - all->start_ns,
	    .length_ns = end_ns - start_ns,
	    .weight_ns = end_ns - start_ns,
	    .count = 1,
	    .flow = slice_flow(t, s),
	    .what = slice_what(t, track, s),
	};

	if (s->kind == AF_SLICE_WORK)
		slice.weight_ns = s->weight_ns ? s->weight_ns : s->end_ns - s->start_ns;
	if (s->kind == AF_SLICE_RUN) {
		slice.weight_ns = s->weight_ns;
		slice.count = s->value;
	}
	time_seen(t, slice.start_ns, slice.start_ns + slice.length_ns, time_empty(t));
	track->kinds[s->kind]++;
	if (html_time_kinds[s->kind].weighs)
		track->busy_ns += slice.weight_ns;
	if (s->kind == AF_SLICE_WORK && s->tid)
		launches_count(t, track->is.parent, s->tid);
	html_columns_add(c, &slice, t->step_ns);
	t->nr_slices += c->nr - nr;
	if (t->nr_slices > (t->most ? t->most : HTML_TIME_SLICES))
		time_coarsen(t);
}

void html_time_point(struct html_time *t, const struct af_slices *all, const struct af_point *p)
{
	struct html_time_track *track = &t->tracks[t->first + p->track - 1];
	uint64_t at_ns = p->time_ns > all->start_ns ? p->time_ns - all->start_ns : 0;

	at_ns = html_point_add(track, at_ns, p);
	time_seen(t, at_ns, at_ns, time_empty(t));
}

void html_time_end(struct html_time *t)
{
	for (uint32_t i = 0; i < t->nr; i++)
		html_columns_end(&t->tracks[i].slices);
	for (int i = 0; i < HTML_TIME_NEAR; i++)
		launches_add(t, &t->near[i]);
	html_time_order(t);
}

/* the page */

static int track_kind(const struct html_time_track *track)
{
	int most = -1;

	for (int kind = 0; kind < AF_SLICE_END; kind++)
		if (track->kinds[kind] && (most < 0 || track->kinds[kind] > track->kinds[most]))
			most = kind;
	return most;
}

static uint64_t track_nr(const struct html_time_track *track)
{
	return track->is.kind == AF_TRACK_COUNTER ? track->nr_points : track->slices.nr;
}

static void list_slices(const struct html_time *t, const struct html_time_track *track,
                        const struct af_slices *all, struct af_buf *b)
{
	int kind = track_kind(track);
	int view = kind < 0 ? -1 : html_time_kinds[kind].view;
	const char *label = view < 0 || !t->has_view[view] ? "" : html_time_views[view];
	bool weighs = *label && html_time_kinds[kind].weighs && !all->traces;

	af_buf_fmt(b, ",\"slice\":\"%s\",\"view\":\"%s\",\"weight\":\"%s\"",
	           kind < 0 ? "" : af_slice_category((enum af_slice_kind)kind), weighs ? label : "",
	           weighs ? html_time_kinds[kind].weight : "");
	af_buf_fmt(b, ",\"stacks\":\"%s\",\"spread\":%s", label,
	           weighs && html_time_kinds[kind].spreads ? "true" : "false");
}

static const char *unit_word(const struct html_time_track *track)
{
	if (track->is.kind != AF_TRACK_COUNTER)
		return "ns";
	if (track->unit)
		return track->unit;
	return track->is.unit == AF_CELL_BYTES ? "bytes" : "count";
}

static void list_track(const struct html_time *t, const struct html_time_track *track,
                       const struct af_slices *all, struct af_buf *b)
{
	static const char *const words[] = {
	    [AF_TRACK_PROCESS] = "process", [AF_TRACK_THREAD] = "thread",
	    [AF_TRACK_DEVICE] = "device",   [AF_TRACK_ROW] = "row",
	    [AF_TRACK_COUNTER] = "counter",
	};
	const struct af_track *is = &track->is;

	af_buf_str(b, "\n{\"name\":");
	af_buf_json(b, track->name, strlen(track->name));
	af_buf_fmt(b, ",\"parent\":%d,\"kind\":\"%s\",\"pid\":%u,\"tid\":%u,\"lane\":%u",
	           is->parent ? (int)t->place[is->parent - 1] : -1, words[is->kind], is->pid,
	           is->tid, is->lane);
	if (t->has_ranks && is->kind == AF_TRACK_PROCESS) {
		af_buf_str(b, ",\"rank\":");
		af_buf_json(b, track->rank, strlen(track->rank));
	}
	af_buf_str(b, ",\"unit\":");
	af_buf_json(b, unit_word(track), strlen(unit_word(track)));
	if (track->unit)
		af_buf_fmt(b, ",\"per\":%" PRIu64, is->per);
	af_buf_fmt(b, ",\"n\":%" PRIu64 ",\"depth\":%u,\"busy\":%" PRIu64, track_nr(track),
	           track->slices.depth, track->busy_ns);
	list_slices(t, track, all, b);
	af_buf_char(b, '}');
}

/* When the trace began, by the machine's clock. */
static uint64_t real_ns(const struct af_slices *all)
{
	const struct af_clock_pair *real = &all->realtime;

	return real->foreign_ns ? real->foreign_ns - real->mono_ns + all->start_ns : 0;
}

static const char *steps_word(const struct af_phases *phases)
{
	return phases->by == AF_PHASES_RANGES  ? "ranges"
	       : phases->by == AF_PHASES_MARKS ? "marks"
	                                       : "launches";
}

static bool has_steps(const struct af_phases *phases)
{
	return phases && phases->nr_steps;
}

void html_time_list(const struct html_time *t, const struct af_slices *all,
                    const struct af_phases *phases, struct af_buf *b)
{
	uint64_t merged = 0;

	if (!t->nr)
		return;
	for (uint32_t i = 0; i < t->nr; i++)
		merged += t->tracks[i].slices.taken - t->tracks[i].slices.nr;
	af_buf_fmt(b, ",\n\"time\":{\"start\":0,\"span\":%" PRIu64 ",\"real\":%" PRIu64, t->end_ns,
	           real_ns(all));
	af_buf_fmt(b, ",\"from\":%" PRIu64 ",\"left_out\":%" PRIu64 ",\"merged\":%" PRIu64,
	           t->first_ns, all->crossing + all->unplaced + all->beyond, merged);
	if (has_steps(phases))
		af_buf_fmt(b, ",\"steps\":{\"n\":%u,\"steady\":%u,\"by\":\"%s\"}", phases->nr_steps,
		           phases->steady_step, steps_word(phases));
	if (all->traces)
		af_buf_fmt(b, ",\"of\":%" PRIu64, all->traces);
	af_buf_fmt(b, ",\"step\":%" PRIu64 ",\"ranks\":%s,\"tracks\":[", t->step_ns,
	           t->has_ranks ? "true" : "false");
	for (uint32_t i = 0; i < t->nr; i++) {
		af_buf_str(b, i ? "," : "");
		list_track(t, &t->tracks[t->order[i]], all, b);
	}
	af_buf_str(b, "]}");
}

static int steps_blob(const void *of, const void *unused, struct af_buf *out)
{
	const struct af_phases *phases = of;
	struct af_buf begins = {0};

	for (uint32_t i = 0; i <= phases->nr_steps; i++)
		af_buf_leb128(&begins, phases->steps_ns[i] - (i ? phases->steps_ns[i - 1] : 0));
	int rc = html_pack_sections(&begins, 1, out);
	af_buf_free(&begins);
	return rc;
}

static int track_blob(const void *of, const void *unused, struct af_buf *out)
{
	const struct html_time_track *track = of;
	const struct af_buf points[] = {track->times, track->values};

	if (track->is.kind == AF_TRACK_COUNTER)
		return html_pack_sections(points, 2, out);
	return html_columns_write(&track->slices, track->meanings, track->named, out);
}

void html_time_blobs(const struct html_time *t, const struct af_phases *phases,
                     struct html_blobs *blobs)
{
	if (t->nr && has_steps(phases))
		html_blobs_add(blobs, &(struct html_blob){.id = "af-steps",
		                                          .make = steps_blob,
		                                          .of = phases,
		                                          .size = phases->nr_steps * 3ull});
	for (uint32_t i = 0; i < t->nr; i++) {
		const struct html_time_track *track = &t->tracks[t->order[i]];
		struct html_blob blob = {
		    .make = track_blob, .of = track, .size = track_nr(track) * 10};
		snprintf(blob.id, sizeof blob.id, "af-time-%u", i);
		if (track_nr(track))
			html_blobs_add(blobs, &blob);
	}
}
