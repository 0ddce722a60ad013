/* Shared by the files of the timeline in report.html: time.c fills tracks, time_order.c orders. */
#ifndef AF_RENDER_HTML_TIME_PRIVATE_H
#define AF_RENDER_HTML_TIME_PRIVATE_H

#include "render/html/time.h"

struct html_time_track {
	struct af_track is;
	char *name;
	char *rank;                   /* of a process */
	uint64_t kinds[AF_SLICE_END]; /* how many slices of each */
	uint64_t busy_ns;             /* that samples and work on it stand for */
	struct html_columns slices;
	struct af_buf times, values; /* of a counter */
	uint64_t nr_points, last_ns, last_value;
};

/* Set t->order and t->place, to be freed. Ranks of tracks become those of this order. */
void html_time_order(struct html_time *t);

#endif
