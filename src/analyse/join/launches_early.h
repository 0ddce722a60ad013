/*
 * Works that came before their calls, in the order in which they came. Shared by the files of
 * launches.
 *
 *	{ launches_early_put | launches_early_take | launches_early_oldest }* → launches_early_free
 */
#ifndef AF_ANALYSE_JOIN_LAUNCHES_EARLY_H
#define AF_ANALYSE_JOIN_LAUNCHES_EARLY_H

#include <stdbool.h>
#include <stdint.h>

struct af_work;

/* A zeroed struct is empty. */
struct launches_early {
	struct launches_early_work *ring;  /* by index: from @first on, round */
	struct launches_early_list *lists; /* by hash of what is looked for */
	uint32_t first, nr, cap;
	uint64_t highest; /* id of those that came */
};

/* May a work with @id be there? Most calls have later ids than all works. */
static inline bool launches_early_may(const struct launches_early *e, uint64_t id)
{
	return e->nr && id <= e->highest;
}

/* Enter a copy of @work, which is given up after @until_ns. */
void launches_early_put(struct launches_early *e, const struct af_work *work, uint64_t until_ns);

/*
 * The first work with the process, API and id of @like, which is taken out; NULL: there is none.
 * Good until the next put.
 */
struct af_work *launches_early_take(struct launches_early *e, const struct af_work *like);

/* The oldest work, if it is to be given up before @now_ns, in the same way. */
struct af_work *launches_early_oldest(struct launches_early *e, uint64_t now_ns);

/* The time after which @work, that one of these returned, is given up. */
uint64_t launches_early_until(const struct af_work *work);

/* Free what @e holds. A zeroed struct is fine. */
void launches_early_free(struct launches_early *e);

#endif
