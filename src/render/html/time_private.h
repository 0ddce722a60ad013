/* Shared by the files of the timeline in report.html: time.c fills tracks, time_order.c orders. */
#ifndef AF_RENDER_HTML_TIME_PRIVATE_H
#define AF_RENDER_HTML_TIME_PRIVATE_H

#include "render/html/time.h"

/* How trees show slices of a kind. */
struct html_time_kind {
	int view; /* of html_time_views, or -1 */
	bool weighs, spreads;
	enum af_frame frame; /* of their names */
	const char *weight;
};

extern const struct html_time_kind html_time_kinds[AF_SLICE_END];
extern const char *const html_time_views[HTML_TIME_VIEWS]; /* labels of trees */

/* A name and a stack of slices of one kind on a track: they are looked up at the end, once. */
struct html_time_what {
	uint32_t track, at; /* index, and which of those of the track */
	uint32_t name, stack;
	enum af_slice_kind kind;
};

struct html_time_track {
	struct af_track is;
	char *name;
	char *rank;                   /* of a process */
	char *unit;                   /* of a counter of the trace; else NULL */
	uint64_t kinds[AF_SLICE_END]; /* how many slices of each */
	uint64_t busy_ns;             /* that samples and work on it stand for */
	struct html_columns slices;
	struct af_map whats[AF_SLICE_END]; /* stack and name → which */
	struct html_what *meanings;        /* of whats, at the end */
	uint32_t nr_whats;
	bool named;                  /* some slices have another name than their node */
	struct af_buf times, values; /* of a counter */
	uint64_t nr_points, last_ns, last_value;
};

/* Add a point to a counter, @at_ns after the trace began or at its last point; returns which. */
uint64_t html_point_add(struct html_time_track *track, uint64_t at_ns, const struct af_point *p);

/* Set t->order and t->place, to be freed. Ranks of tracks become those of this order. */
void html_time_order(struct html_time *t);

#endif
