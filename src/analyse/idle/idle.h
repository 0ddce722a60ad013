/*
 * Why was a device idle? What the files of that pass share.
 *
 * The work of a device, laid over one another, leaves gaps. A gap is explained by the thread whose
 * call asked for the work that ends it: by that thread's calls of the device's API and its waits,
 * which are known to the nanosecond, and by the samples that found it on a CPU outside of both,
 * which are added up and never made more than there was time for. Time that nothing explains is
 * reported as such.
 *
 *	{ idle_call | idle_wait | idle_tick | idle_work → idle_settle }* → idle_end → read
 *	→ idle_free
 *
 * Records of work come late, so what happened is held back for AF_IDLE_LATE_NS, then settled and
 * forgotten; memory is what is held and the sums.
 */
#ifndef AF_ANALYSE_IDLE_IDLE_H
#define AF_ANALYSE_IDLE_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/idle/reasons.h"
#include "analyse/join/spans.h"
#include "analyse/world/stack_locations.h"
#include "base/keys.h"
#include "base/map.h"

struct af_call;
struct af_frames_last;
struct af_tables;
struct af_results;
struct af_sample;
struct af_tree;
struct af_wait;
struct af_work;
struct af_world;

#define AF_IDLE_LATE_NS 15000000000ull

/* Threads, stories and sums that are found without a key: powers of two. */
enum { IDLE_THREADS_NEAR = 64, IDLE_STORIES_NEAR = 64, IDLE_SUMS_NEAR_BITS = 13 };

enum {
	AF_IDLE_SETTLE = 1 << 20, /* records between two settlings */
	AF_IDLE_HELD = 1 << 22,   /* records that are held at most, besides work */
	AF_IDLE_WORKS = 1 << 21,  /* works that are: of more the earlier half is settled sooner */
	AF_IDLE_LONGEST = 1000,   /* gaps that are listed one by one */
	AF_IDLE_CAUSES = 16       /* of each of them */
};

/*
 * A place is the index of a call path of the world, or with this bit a number of the state's own
 * stack locations.
 */
#define IDLE_PLACE_OWN (1u << 31)

/* A span that ends so long after a gap may come when that is settled. */
#define IDLE_SURE_NS 1000000000ull

/* The facts about a piece of a gap. */
enum idle_kind {
	IDLE_KIND_CALL,    /* the thread was in a call: place and function are its own */
	IDLE_KIND_WAIT,    /* it was off the CPU: `what` is its state */
	IDLE_KIND_TICK,    /* samples found it on a CPU */
	IDLE_KIND_ON_WAY,  /* the work had been launched, and did not start yet */
	IDLE_KIND_QUEUED,  /* it had been launched before the gap began */
	IDLE_KIND_UNSEEN,  /* nothing tells */
	IDLE_KIND_NO_CALL, /* nor who asked for the work */
};

/* One reading of a gap: a device's, explained by one thread. */
struct idle_story {
	uint32_t device; /* index of the devices */
	enum idle_phase phase;
	uint32_t process, tid; /* tid: 0 when nobody knows */
	bool drained;          /* the thread was waiting for the device when it ran out of work */
	bool is_long;          /* gaps of AF_IDLE_LONG_NS or more */
	uint64_t left_ns;      /* that neither calls nor waits explain */
	uint64_t sampled_ns;   /* that samples would explain; may be more */
	double square;         /* sum of those of what is left in each gap, and of the samples */
};

/* Time of one story with one explanation. */
struct idle_sum {
	uint32_t story;
	enum idle_kind kind;
	uint32_t place; /* number of the places */
	uint32_t what;  /* CALL, ON_WAY, QUEUED: function of the world; WAIT: state */
	uint64_t ns;
	double square; /* sum of those of its pieces */
};

struct idle_cause {
	enum idle_kind kind;
	uint32_t place, what;
	uint64_t ns;
};

/* Kinds of which a gap keeps only the sum, because it had too many causes of that kind. */
enum idle_rest { IDLE_REST_CALLS, IDLE_REST_OFF, IDLE_REST_STARVED, IDLE_REST_TICKS, IDLE_RESTS };

struct idle_gap {
	uint32_t device;
	uint64_t start_ns, end_ns;
	uint32_t descriptor; /* of the work that ended it */
	uint32_t tid;
	bool drained;
	uint32_t nr_causes;
	struct idle_cause causes[AF_IDLE_CAUSES]; /* the longest first */
	uint64_t rest_ns[IDLE_RESTS];
};

/*
 * A device as one process knows it, or a GPU that several processes use, with the work of all.
 * @process and @id are those of the process that worked last.
 */
struct idle_device {
	uint32_t process, id;
	uint32_t gpu;        /* string of the world, 0: not known */
	uint32_t shared;     /* index of the GPU, if it is one of several processes; else 0 */
	uint32_t nr_sharing; /* of such a GPU: how many; else 0 */
	bool joined;         /* it is in by_gpu */
	uint64_t came_after; /* so many records */
	uint64_t nr_works, nr_gaps;
	uint64_t first_ns, end_ns, kernels_end_ns; /* of its work so far; end: 0 for none yet */
	uint64_t busy_ns, kernels_ns; /* laid over one another: all work, and kernels alone */
	uint64_t longest_ns;
	uint64_t phase_ns[IDLE_PHASES];
	/* The device whose work ended last. */
	bool launched;
	uint32_t tid;
	uint64_t call_start_ns, call_end_ns;
};

struct idle_tick {
	uint64_t time_ns, weight_ns;
	uint32_t place;
};

struct idle_thread {
	uint32_t process, tid;
	struct af_span *calls, *waits; /* what: function, state */
	struct idle_tick *ticks;
	uint32_t nr_calls, cap_calls, nr_waits, cap_waits, nr_ticks, cap_ticks;
	uint32_t near_call, near_wait;   /* where the last search ended: spans.h */
	uint32_t tidy_calls, tidy_waits; /* so many of them are tidy, from the first on */
	bool tidy_ticks;
	uint64_t read_from_ns, read_to_ns; /* what of it explained anything; to: 0 for nothing */
	uint32_t merged_ticks; /* so many of the ticks are of the parts that were added so far */
	bool whole;            /* of a part: nothing was forgotten at its end */
};

struct idle_piece {
	uint64_t start_ns, end_ns, call_start_ns, call_end_ns;
	uint32_t device, descriptor, place, function, tid;
	bool launched, kernel;
};

/*
 * The begin of a part of the trace, of which the parts before know the rest. It is explained when
 * the part is added to them; what comes behind it was explained as if the devices were then as
 * they are here.
 */
struct idle_head {
	uint64_t until_ns; /* works that begin before are in it; 0: nothing */
	struct idle_piece *works;
	struct idle_thread *threads; /* what they did until then; in the order of the part's own */
	struct idle_device *devices; /* as these works leave them */
	uint32_t nr_works, nr_threads, nr_devices;
};

struct idle {
	struct af_stack_locations stack_locations;
	struct af_map by_device, by_thread;
	uint32_t last_device; /* that was found */
	/* By a hash: a thread, a story and a sum that have it, index plus 1; 0: none. */
	uint32_t near_threads[IDLE_THREADS_NEAR], near_stories[IDLE_STORIES_NEAR];
	uint32_t near_sums[1 << IDLE_SUMS_NEAR_BITS];
	struct af_keys by_sum;
	struct af_keys by_story;
	struct af_map by_gpu; /* string of the world → the first device that is it */
	struct idle_device *devices;
	struct idle_thread *threads;
	struct idle_piece *works;
	uint32_t nr_ordered; /* so many of the works are in order */
	struct idle_story *stories;
	struct idle_sum *sums;
	struct idle_gap *longest; /* a heap: the shortest of them first */
	uint32_t nr_devices, cap_devices, nr_threads, cap_threads, nr_works, cap_works, nr_stories,
	    cap_stories, nr_sums, cap_sums, nr_longest, cap_longest;
	uint64_t now_ns, settled_ns;
	uint64_t fresh, held;      /* records since the last settling; held besides work */
	uint64_t forgotten_before; /* what threads did until then had to be forgotten unread */
	uint64_t unplaced;         /* works without times of the trace */
	uint64_t late;             /* works that came when their time was settled */

	/* For parts of the trace: see parts.c. */
	bool taking;                /* works are taken, and no gap is explained */
	bool body;                  /* of a part: what is behind the head is settled */
	bool merging;               /* parts are added, which tell how far to settle */
	bool unsure;                /* in the whole, something may come too late to count */
	uint64_t first_ns, from_ns; /* the begin of all that is read, and of the part */
	uint64_t until_ns;          /* of a part: works that begin until then may be settled */
	uint64_t delay_ns;          /* the longest time from a work's start until it came */
	uint64_t nr_held;           /* of a part: calls, waits and ticks that came */
	uint64_t nr_skipped;        /* of processes without work */
	uint32_t nr_merged_devices; /* devices of the parts that were added so far */
	struct af_map with_work;    /* of a part: processes that have any of their own */
	uint32_t last_process;      /* for which it was looked up, and found or not */
	bool knows_last, last_needed;
	struct idle_head head;
};

/* From numbers of one state to those of another. */
struct idle_maps {
	uint32_t *devices;
	uint32_t *own; /* by number of an own stack location: its place; 0: not known yet */
	uint32_t cap_own;
};

/* Take what happened. */
void idle_call(struct idle *i, const struct af_call *call);
void idle_wait(struct idle *i, const struct af_wait *wait, uint64_t time_ns);
void idle_tick(struct idle *i, const struct af_sample *s);
void idle_work(struct idle *i, const struct af_world *w, const struct af_work *work);

/* To be called after each of these: settles when it is time. */
void idle_settle(struct idle *i, const struct af_world *w);

/* No more will come. */
void idle_end(struct idle *i, const struct af_world *w);
void idle_free(struct idle *i);

/* Explain [@from_ns, @to_ns) of @device; @ends is the work that ends it, NULL after the last. */
void idle_explain(struct idle *i, const struct af_world *w, uint32_t device, enum idle_phase phase,
                  uint64_t from_ns, uint64_t to_ns, const struct idle_piece *ends);

/* The story and the sum that are like @s, made when they are new; the sum grows by it. */
uint32_t idle_story(struct idle *i, const struct idle_story *s);
void idle_sum_add(struct idle *i, const struct idle_sum *s);

/* Is a gap of @ns one of the longest so far? If it is, put it there. */
bool idle_is_long(const struct idle *i, uint64_t ns);
void idle_longest_put(struct idle *i, const struct idle_gap *gap);

/* sums.c */

/* Add all that @from has explained to what @to has; @m knows the devices. */
void idle_sums_add(struct idle *to, const struct idle *from, struct idle_maps *m);

/* The place of @to that is @place of @from. */
uint32_t idle_maps_place(struct idle_maps *m, struct idle *to, const struct idle *from,
                         uint32_t place);

/* Everything explained so far for the device @from holds for @to too, which is new. */
void idle_explain_copy(struct idle *i, uint32_t from, uint32_t to);

/* shared.c: find devices that are one GPU; before works are settled. */
void idle_shared_refresh(struct idle *i, const struct af_world *w);

/* The number of a place, and the place that has a number. */
uint32_t idle_place_at(struct idle *i, const struct af_stack_location *at);
struct af_stack_location idle_location(const struct idle *i, const struct af_world *w,
                                       uint32_t place);

/* The device, made when it is new. */
uint32_t idle_device(struct idle *i, uint32_t process, uint32_t id);

/* Put what is held in order. */
void idle_tidy(struct idle *i);
void idle_works_order(struct idle *i);

/* Take the works that begin until @until_ns, and explain the gaps before; after idle_tidy(). */
void idle_settle_works(struct idle *i, const struct af_world *w, uint64_t until_ns);

/* forget.c: drop what no gap to come is explained by; and the oldest of it, if it is too much. */
void idle_forget(struct idle *i);
void idle_forget_oldest(struct idle *i);

/* The same at the end of the part @i, for processes whose devices all got work behind its head. */
void idle_forget_part(struct idle *i, const struct af_world *w);

/*
 * parts.c: the end of the part @i, for itself; and that part added to @to, as merge() in pass.h
 * has it.
 */
void idle_part_end(struct idle *i, const struct af_world *w);
bool idle_part_add(struct idle *to, const struct af_world *w, const struct idle *from);
void idle_head_free(struct idle_head *head);

/*
 * spare.c: room for one more than the @nr elements of @size bytes, of which there are @cap; and no
 * more room than for these, @array being given back. Both return where they are then.
 */
void *idle_spare_room(void *array, uint32_t nr, uint32_t *cap, size_t size);
void *idle_spare_shrink(void *array, uint32_t nr, uint32_t *cap, size_t size);

/* No part comes any more. */
void idle_spare_free(void);

/* Does a part need what @process does? That of a process which never has work explains nothing. */
bool idle_part_needs(struct idle *i, const struct af_world *w, uint32_t process);

/* Does the operation keep a device busy? Waiting for other work does not. */
bool idle_is_busy(uint32_t op);

/* The thread, made when it is new. Valid until the next call. */
struct idle_thread *idle_thread(struct idle *i, uint32_t process, uint32_t tid);

/* Names and reasons for sums; they cost, so each place is named once. */
struct idle_names {
	const struct idle *i;
	const struct af_world *w;
	uint64_t start_ns;           /* of the trace */
	struct af_tree *scratch;     /* stacks, below their processes */
	struct af_frames_last *last; /* of these */
	struct af_map by_place;      /* place → node */
	struct af_map by_call;       /* (place, function) → node */
	uint8_t *stacks;             /* what the stack that ends at a node says: see names.c */
	uint32_t nr_stacks, cap_stacks;
};

/* @i and @w are borrowed and outlive @n. */
void idle_names_open(struct idle_names *n, const struct idle *i, const struct af_world *w);
void idle_names_close(struct idle_names *n);

/* The node of @scratch at which the stack of an explanation ends; 0 when it has none. */
uint32_t idle_names_node(struct idle_names *n, enum idle_kind kind, uint32_t place, uint32_t what);
enum idle_reason idle_reason(struct idle_names *n, enum idle_kind kind, uint32_t place,
                             uint32_t what);

/* "NVIDIA H200", with its number where the trace has several devices of its process. */
const char *idle_device_name(const struct idle *i, const struct af_world *w, struct af_tables *f,
                             uint32_t device);

/* How much of @sum is believed: samples never add up to more than was left. */
uint64_t idle_sum_ns(const struct idle *i, const struct idle_sum *sum);

/* The tree of all idle time by its reasons. */
void idle_tree(struct idle_names *n, struct af_results *out);
void idle_table_shared(struct idle_names *n, struct af_tables *f);
void idle_table_verdict(struct idle_names *n, struct af_tables *f);
void idle_table_gaps(struct idle_names *n, struct af_tables *f);

#endif
