/*
 * The calls of one process and API that may get work, by id. Shared by the files of launches.
 *
 *	{ launches_put | launches_find }* → launches_unfinished → launches_free
 */
#ifndef AF_ANALYSE_JOIN_LAUNCHES_TABLE_H
#define AF_ANALYSE_JOIN_LAUNCHES_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LAUNCHES_AHEAD = 8 }; /* see launches_expect() */

struct launches_call {
	uint64_t id, start_ns, end_ns;
	uint32_t path, tid, function, doing;
	bool used;
	bool waits;  /* it should get work */
	bool missed; /* a missing work is to be reported */
	bool many;   /* it may get many */
	bool worked; /* it got some */
	bool failed; /* a launch that the driver refused */
	bool seen;   /* by the kernel only */
};

struct launches_table {
	uint32_t process, api;
	uint64_t highest;     /* id seen so far */
	uint64_t lowest;      /* the first id that was extended; 0: none */
	uint64_t calls;       /* that should get work */
	uint32_t last_device; /* of its struct launches_device: index plus 1; 0: none */

	/* private */
	struct launches_call *window, *side; /* by the low bits of the id; by its hash */
	uint32_t window_cap, side_cap, nr_side;
	uint64_t forgotten; /* forgotten ones with `missed` */
};

/* The work of a table's calls on one device; 0: the device is not known. */
struct launches_device {
	uint32_t table, device;
	uint32_t before; /* of the same table: index plus 1; 0: none */
	/* Calls that should get work, by the device of their first work */
	uint64_t joined;
	uint64_t works, alone, untimed; /* works; those without a call, without times */
};

/*
 * Enter the call @c, which is copied. Where two ids share a place in the window, the older call
 * moves to the side, where it may still get work.
 */
void launches_put(struct launches_table *t, const struct launches_call *c);

/*
 * Where a call with @id, that was not entered before, may be written at once, with `used` set:
 * nothing that is still of use is there. NULL: launches_put() it.
 */
static inline struct launches_call *launches_free_slot(struct launches_table *t, uint64_t id)
{
	struct launches_call *slot = t->window ? &t->window[id & (t->window_cap - 1)] : NULL;

	if (!slot || !slot->used)
		return slot;
	return slot->id < id && (!slot->waits || (slot->worked && !slot->many)) ? slot : NULL;
}

/* The call with this id or NULL. Valid until the next put. */
struct launches_call *launches_find_waiting(struct launches_table *t, uint64_t id);
static inline struct launches_call *launches_find(struct launches_table *t, uint64_t id)
{
	struct launches_call *slot = t->window ? &t->window[id & (t->window_cap - 1)] : NULL;

	return slot && slot->used && slot->id == id ? slot : launches_find_waiting(t, id);
}

/* Calls of ids that follow @id will be looked for: as the window is larger than caches. */
static inline void launches_expect(const struct launches_table *t, uint64_t id)
{
	if (t->window)
		__builtin_prefetch(&t->window[(id + LAUNCHES_AHEAD) & (t->window_cap - 1)], 1);
}

/* The number of calls that should have got work and did not. */
uint64_t launches_unfinished(const struct launches_table *t);

/* The id whose low half is @low: the nearest to the highest so far. */
uint64_t launches_extend(struct launches_table *t, uint32_t low);

/*
 * Add the calls of @from, which are later ones, and the numbers that go with them. @shift is added
 * to their ids.
 */
void launches_add(struct launches_table *t, const struct launches_table *from, uint64_t shift);

/* Free what @t holds. A zeroed struct is fine. */
void launches_free(struct launches_table *t);

#endif
