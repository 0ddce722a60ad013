/*
 * The order of tracks in report.html: the busiest processes first, and in them the busiest threads.
 * A device stands right below the thread that launched most of its work, with all of its queues.
 * That is where one looks for what a launch became; users of Nsight Systems know a device's queues
 * as one block of rows, and its idle time is that of all of them. A thread counts with its devices,
 * as the one that launches is often little on the CPU.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "render/html/time_private.h"

enum order_group { ORDER_FIRST, ORDER_BUSY, ORDER_LAST };

struct order_key {
	enum order_group group;
	uint64_t score_ns; /* more comes first */
	uint32_t thread;   /* the track that a device belongs to */
	bool below;        /* is a device of it */
	uint32_t rank, at; /* as they came */
};

static int key_order(const void *a, const void *b)
{
	const struct order_key *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->score_ns != y->score_ns)
		return x->score_ns > y->score_ns ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->below != y->below)
		return x->below ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* By track: the time of it and of all below it. */
static uint64_t *busy_sums(const struct html_time *t)
{
	uint64_t *sums = af_xcalloc((size_t)t->nr + 1, sizeof *sums);

	for (uint32_t i = t->nr; i--;) {
		uint32_t parent = t->tracks[i].is.parent;
		sums[i] += t->tracks[i].busy_ns;
		if (parent)
			sums[parent - 1] += sums[i];
	}
	return sums;
}

/* The tracks of threads by the process's track and their number: 1 and the index. */
static struct af_map threads_by_tid(const struct html_time *t)
{
	struct af_map threads = {0};

	for (uint32_t i = 0; i < t->nr; i++) {
		const struct af_track *track = &t->tracks[i].is;
		if (track->kind == AF_TRACK_THREAD)
			*af_map_at(&threads, (uint64_t)track->parent << 32 | track->tid, NULL) =
			    i + 1;
	}
	return threads;
}

/* By track of a device: 1 and the track of the thread that launched most of its work; 0: none. */
static uint32_t *launchers(const struct html_time *t)
{
	uint32_t *by = af_xcalloc((size_t)t->nr + 1, sizeof *by);
	uint64_t *most = af_xcalloc((size_t)t->nr + 1, sizeof *most);
	struct af_map threads = threads_by_tid(t);

	for (size_t i = 0; i < t->launches.cap; i++) {
		const struct af_map_slot *slot = &t->launches.slots[i];
		uint32_t device = (uint32_t)(slot->key >> 32);
		if (!slot->used || !device || t->tracks[device - 1].is.kind != AF_TRACK_DEVICE)
			continue;
		const uint64_t *thread =
		    af_map_get(&threads, (uint64_t)t->tracks[device - 1].is.parent << 32 |
		                             (uint32_t)slot->key);
		/* The order of slots is by chance, that of tracks is not. */
		if (!thread || slot->value < most[device - 1] ||
		    (slot->value == most[device - 1] && by[device - 1] < *thread))
			continue;
		most[device - 1] = slot->value;
		by[device - 1] = (uint32_t)*thread;
	}
	af_map_free(&threads);
	free(most);
	return by;
}

static struct order_key key_of(const struct html_time *t, const uint64_t *sums, const uint32_t *by,
                               uint32_t i)
{
	const struct af_track *track = &t->tracks[i].is;
	struct order_key key = {ORDER_LAST, 0, 0, false, track->rank, i};

	if (track->kind == AF_TRACK_PROCESS || track->kind == AF_TRACK_THREAD) {
		key.group = ORDER_BUSY;
		key.score_ns = sums[i];
		key.thread = i + 1;
	} else if (track->kind == AF_TRACK_DEVICE) {
		key.group = by[i] ? ORDER_BUSY : ORDER_FIRST;
		key.below = by[i];
		key.thread = by[i];
	}
	return key;
}

void html_time_order(struct html_time *t)
{
	struct order_key *keys = af_xcalloc((size_t)t->nr + 1, sizeof *keys);
	uint64_t *sums = busy_sums(t);
	uint32_t *by = launchers(t);

	t->order = af_xcalloc((size_t)t->nr + 1, sizeof *t->order);
	t->place = af_xcalloc((size_t)t->nr + 1, sizeof *t->place);
	for (uint32_t i = 0; i < t->nr; i++)
		keys[i] = key_of(t, sums, by, i);
	for (uint32_t i = 0; i < t->nr; i++)
		if (by[i])
			keys[by[i] - 1].score_ns += sums[i];
	for (uint32_t i = 0; i < t->nr; i++)
		if (by[i])
			keys[i].score_ns = keys[by[i] - 1].score_ns;
	AF_SORT(keys, t->nr, key_order);
	for (uint32_t i = 0; i < t->nr; i++)
		t->tracks[keys[i].at].is.rank = i;
	af_tracks_order(t->tracks, sizeof *t->tracks, t->nr, t->order);
	for (uint32_t i = 0; i < t->nr; i++)
		t->place[t->order[i]] = i;
	free(keys);
	free(sums);
	free(by);
}
