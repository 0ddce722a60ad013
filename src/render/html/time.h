/*
 * Time in report.html: the slices of a timeline on their tracks, in the form that the page decodes.
 *
 *	{ html_time_track | html_time_slice | html_time_point }* → html_time_end → html_time_names
 *	→ html_time_ranks → html_time_list, html_time_blobs → html_time_free
 *
 * Slices name nodes of trees, which are there at html_time_names(); html_pack_sort() comes next.
 *
 * The page's JSON has a member "time" unless there is no timeline. Times are nanoseconds since the
 * trace began:
 *
 *	"time": {"start": 0, "span": end of the last slice, "real": when the trace began, since
 *	 1970, or 0, "from": start of the first slice, "tracks": […], "left_out": works and slices
 *	 that are not here, though trees have them, "of": how many ranks there are, if these here
 *	 do not add up to the trees, or not there; "merged": slices that are part of others,
 *	 "step": slices shorter than this were merged; 0, "ranks": has any process a rank?,
 *	 "steps": {"n", "steady": those before are the warm-up, "by": "ranges|marks|launches"},
 *	 or not there}
 *
 * Tracks stand in the order in which they are shown (time_order.c), each after its parent:
 *
 *	{"name", "parent": index or -1, "kind": "process|thread|device|row|counter",
 *	 "slice": "call|work|range|wait|run|overhead|lost", or "" where it has none,
 *	 "rank": of processes, where any has one: "rank 3", "[no rank]",
 *	 "pid", "tid", "lane": which of the tracks of that name, "unit": "ns|bytes|count" of a
 *	 counter, or of a counter of the trace any, and "per": so much of a value is one of it,
 *	 "n": slices or points, "depth": how many lie within one another at most,
 *	 "busy": ns that samples and work on it stand for,
 *	 "view": label of the tree that its weights are of, or "", "weight": the column of that
 *	 tree, "stacks": label of the tree that nodes are of, or "", "spread": bool}
 *
 * The weights of all tracks of a view add up to the tree as a whole, except for slices that were
 * left out. Where "view" is "", the nodes tell where the slice was, and nothing more. Where
 * "spread" is true, a weight is the total of one execution; the page distributes it over the node
 * and the nodes below it as the tree has them.
 *
 * A track K with n > 0 has a blob af-time-K of columns of varints, in the form of pack.h. The
 * columns of slices, which are in order of their starts, the outer one first:
 *
 *	0  start less the start before, for the first one less 0
 *	1  length; 0: an instant
 *	2  id of the name, as of frames; no bytes: each is called as its node is
 *	3  node in preorder plus 1; 0: none
 *	4  weight, samples' or busy ns; no bytes at all: the length
 *	5  samples of "run", else how many slices this one stands for; no bytes: 1 each
 *	6  0: no arrow; else 1 and the difference, as below, of its id to that of the slice before
 *	   that has one, for the first one to 0; no bytes: none has an arrow. Arrows begin at calls
 *	   and end at work; one may end at several.
 *
 * The columns of points: 0 is the time less the one before, 1 the difference of the value to the
 * one before. Where there is "per", values are 1 more, and 0 is a gap from then on. Differences
 * that may be negative: 0, -1, 1, -2, … are 0, 1, 2, 3, … Numbers stay below 2^53.
 *
 * Where there are steps, the blob af-steps has one column: where each begins, less where the one
 * before does, and at last where the last one ends.
 */
#ifndef AF_RENDER_HTML_TIME_H
#define AF_RENDER_HTML_TIME_H

#include "analyse/pass/phases.h"
#include "analyse/time/slices.h"
#include "base/map.h"
#include "render/html/blobs.h"
#include "render/html/columns.h"
#include "render/html/nodes.h"
#include "render/html/pack.h"

enum {
	HTML_TIME_SLICES = 5000000,
	HTML_TIME_SLICES_SET = 2000000,
	HTML_TIME_VIEWS = 2,
	HTML_TIME_NEAR = 64,
	HTML_TIME_NEAR_BITS = 13
};

/* Zeroed: none. */
struct html_time {
	uint64_t most; /* slices in a page; 0: HTML_TIME_SLICES, of a set HTML_TIME_SLICES_SET */
	uint64_t step_ns;

	/* private */
	struct html_time_track *tracks; /* by id less 1 */
	uint32_t nr, cap;
	uint32_t *order, *place; /* of the tracks in the page, and the other way round */
	uint64_t nr_slices, first_ns, end_ns;
	struct html_time_what *whats; /* as they came */
	uint32_t nr_whats, cap_whats;
	struct af_map causes; /* number of an arrow → index */
	uint64_t last_cause, last_index;
	struct af_map launches; /* track of a device and thread that launched → how often */
	struct html_time_launches {
		uint64_t key, nr;
	} near[HTML_TIME_NEAR]; /* that are not added to those yet */
	struct html_time_near {
		uint32_t track_kind, name, stack, at; /* track_kind 0: none */
	} near_whats[1 << HTML_TIME_NEAR_BITS];       /* by a hash: one that has it */
	bool has_view[HTML_TIME_VIEWS], has_ranks;
	uint32_t part, first; /* of the trace that slices come from, of several; its tracks */
	uint32_t named;       /* of whats: html_time_names() has these */
};

/*
 * Take a track, a slice or a point, in the order that slices.h promises, and copy it. Times before
 * all->start_ns are moved to it. Nothing of the pack is needed, so other threads may fill that.
 */
void html_time_track(struct html_time *t, const struct af_track *track);
void html_time_slice(struct html_time *t, const struct af_slices *all, const struct af_slice *s);
void html_time_point(struct html_time *t, const struct af_slices *all, const struct af_point *p);

/*
 * Tracks and slices are of another trace from now on, number @part of a set: its tracks begin at 1
 * again, and names and stacks are its own.
 */
void html_time_part(struct html_time *t, uint32_t part);

/*
 * No more tracks, slices or points come. html_time_names() gives the names of slices to the pack,
 * which has all trees: of a set after each trace. html_time_ranks() takes them from the pack when
 * that is sorted.
 */
void html_time_end(struct html_time *t);
void html_time_names(struct html_time *t, struct html_pack *pack, const struct af_slices *all);
void html_time_ranks(struct html_time *t, const struct html_pack *pack);

/* Append `,"time":{…}`, or nothing when there are no tracks. @phases may be NULL. */
void html_time_list(const struct html_time *t, const struct af_slices *all,
                    const struct af_phases *phases, struct af_buf *b);

/* Add the blobs of steps and tracks, which are made of @t and @phases later. */
void html_time_blobs(const struct html_time *t, const struct af_phases *phases,
                     struct html_blobs *blobs);

/* Free what @t holds. A zeroed struct is fine. */
void html_time_free(struct html_time *t);

#endif
