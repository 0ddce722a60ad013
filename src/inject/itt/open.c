/* Ranges that are open, by the ids that the program gave them. */
#include <string.h>

#include "inject/core/lock.h"
#include "inject/itt/itt.h"

enum { RANGES = 1024, LISTS = 512 };

struct open_range {
	struct af_itt_key key;
	uint64_t number;
	uint32_t next; /* in its list or in that of the free ones, 1 added */
};

static struct af_fork_lock lock = AF_FORK_LOCK;
static struct open_range ranges[RANGES];
static uint32_t lists[LISTS], free_ranges, nr_used;
static uint32_t epoch; /* the fork epoch that they are of */

static uint32_t *list_of(const struct af_itt_key *k)
{
	uint64_t h = k->domain ^ k->kind;

	h = (h ^ k->id.d1) * 0x9e3779b97f4a7c15;
	h = (h ^ h >> 32 ^ k->id.d2) * 0x9e3779b97f4a7c15;
	h = (h ^ h >> 32 ^ k->id.d3) * 0x9e3779b97f4a7c15;
	return &lists[h >> 32 & (LISTS - 1)];
}

/* The link to the range of that key, or to nothing. With the lock. */
static uint32_t *link_find(const struct af_itt_key *k)
{
	uint32_t *at = list_of(k);

	while (*at && memcmp(&ranges[*at - 1].key, k, sizeof *k))
		at = &ranges[*at - 1].next;
	return at;
}

/* The ranges of a parent are no ranges of its child. */
static void lock_take(void)
{
	af_inject_check_fork();
	af_fork_lock(&lock);
	if (epoch == af_inject_fork_epoch())
		return;
	memset(lists, 0, sizeof lists);
	free_ranges = nr_used = 0;
	epoch = af_inject_fork_epoch();
}

static uint64_t range_take(const struct af_itt_key *k)
{
	uint32_t *at = link_find(k), i = *at;

	if (!i)
		return 0;
	*at = ranges[i - 1].next;
	ranges[i - 1].next = free_ranges;
	free_ranges = i;
	return ranges[i - 1].number;
}

uint64_t af_itt_open(const struct af_itt_key *key, uint64_t *was)
{
	uint64_t number = 0;

	lock_take();
	*was = range_take(key);
	uint32_t i = free_ranges;
	if (i)
		free_ranges = ranges[i - 1].next;
	else if (nr_used < RANGES)
		i = ++nr_used;
	if (i) {
		uint32_t *list = list_of(key);
		number = af_range_new();
		ranges[i - 1] = (struct open_range){.key = *key, .number = number, .next = *list};
		*list = i;
	}
	af_fork_unlock(&lock);
	return number;
}

bool af_itt_is_open(const struct af_itt_key *key)
{
	lock_take();
	bool is_open = *link_find(key);
	af_fork_unlock(&lock);
	return is_open;
}

uint64_t af_itt_close(const struct af_itt_key *key)
{
	lock_take();
	uint64_t number = range_take(key);
	af_fork_unlock(&lock);
	return number;
}
