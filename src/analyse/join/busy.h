/*
 * How long something was busy, and how long idle between: the union of intervals that come roughly
 * in order of time, as records of device work do: buffer by buffer. Of AF_BUSY_OPEN intervals that
 * are apart the earlier half is settled; later intervals that reach into that time are cut off and
 * counted.
 *
 *	{ af_busy_add }* → af_busy_end → read → af_busy_free
 */
#ifndef AF_ANALYSE_JOIN_BUSY_H
#define AF_ANALYSE_JOIN_BUSY_H

#include <stdbool.h>
#include <stdint.h>

enum { AF_BUSY_OPEN = 1 << 16 };

struct af_interval {
	uint64_t start_ns, end_ns;
};

/* A zeroed struct was never busy. */
struct af_busy {
	/* Called with each interval of the union, in order, when it is settled; may be NULL. */
	void (*settled)(void *arg, const struct af_interval *busy);
	void *arg;
	/*
	 * Set before the first interval: these are of a part of the trace, and those of the part
	 * before may reach into it.
	 */
	bool in_part;

	uint64_t busy_ns;           /* right after af_busy_end() */
	uint64_t first_ns, last_ns; /* from the first start to the last end */
	uint64_t late_ns;           /* cut off, because it came too late */

	/* private */
	struct af_interval *open; /* as they came, but for those that touch the last one */
	uint32_t nr, cap;
	bool mixed;               /* they are not in order */
	uint64_t settled_ns;      /* all before is settled */
	struct af_interval *head; /* in a part: the first to be settled, which are in no sum yet */
	uint32_t nr_head;
};

/* Add an interval; one that does not end after its start is ignored. */
void af_busy_add(struct af_busy *b, uint64_t start_ns, uint64_t end_ns);

/*
 * Add @from, which is of the part that follows those of @b; no `settled` is called for it. False:
 * their intervals overlap by more than is known of each.
 */
bool af_busy_merge(struct af_busy *b, const struct af_busy *from);

/* No more will come. */
void af_busy_end(struct af_busy *b);

/* Free what @b holds. A zeroed struct is fine. */
void af_busy_free(struct af_busy *b);

#endif
