/*
 * Between parts.c, which reads a trace in parts, and parts_again.c, which makes parts of the run.
 */
#ifndef AF_ANALYSE_PASS_PARTS_H
#define AF_ANALYSE_PASS_PARTS_H

#include <pthread.h>

#include "analyse/pass/analysis.h"
#include "trace/parts/parts.h"

struct part {
	struct analysis a;
	bool read;
	/* By thread: how many of its annotation contexts came before it, and in it. */
	uint32_t *annotated, *reached;
	uint32_t nr_annotated;
	/* These came to the whole when the part was added, because they lie across its border. */
	struct af_work *works;
	struct af_sample *samples;
	uint32_t nr_works, cap_works, nr_samples, cap_samples;
};

struct af_reading {
	struct analysis *whole;
	struct af_query query;
	struct af_world was; /* the whole's, before it had learnt anything */
	struct af_parts found;
	struct af_world shared; /* a copy for readers: it has what they count at 0 */
	/*
	 * Behind the parts of the trace: the one whose passes take what is defined. What waited to
	 * the end lies across its border.
	 */
	struct part *all;
	struct af_event *held; /* events that hold on, for parts that begin after them */
	uint32_t nr_held, cap_held;
	uint64_t momentary; /* kinds that there are, and that count at their moment */
	uint64_t size;
	const struct af_analyse_how *how; /* while it is read */
	bool keeps;
	struct af_results sums; /* of the whole: what parts of it say of its launches */

	pthread_mutex_t lock; /* of what follows, and of `read` */
	uint32_t merged;
	bool merging, failed;
};

/*
 * Open @part for passes of @of, the whole or a part of the run, whose world is @w: those that take
 * what counts at its moment, or those that take anything else.
 */
void part_open(struct af_reading *r, struct part *part, const struct analysis *of,
               const struct af_query *query, const struct af_world *w, bool moments);

/* Read the part @i of the trace into @part; `from_ns` and `to_ns` of its world are set. */
void part_read(struct af_reading *r, struct part *part, uint32_t i);

/* Read what is defined for the passes of @part: they take nothing else, or they have `whole`. */
void part_read_definitions(struct af_reading *r, struct part *part);

/* The pass @ops of @a; NULL: it has none. */
struct deliver_pass *part_pass(struct analysis *a, const struct af_pass_ops *ops);

/* Add the passes of @part to those of @to, which see the world @w; false as in merge(). */
bool part_add(struct analysis *to, const struct af_world *w, const struct part *part);

/* The states of @part, with those of @to added, become those of @to; false as in merge(). */
bool part_move(struct af_reading *r, struct analysis *to, struct part *part);

/* Free what @part has. */
void part_close(struct part *part);

#endif
