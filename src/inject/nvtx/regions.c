/* The functions behind aflame/region.h: regions are ranges of a domain of their own. */
#include "aflame/region.h"

#include <errno.h>
#include <string.h>

#include "inject/core/thread.h"
#include "inject/nvtx/ranges.h"

#define DOMAIN AF_DOMAIN_REGIONS
#define MORE "\u2026" /* ends a name that was cut */

enum { DEEP = 256, BITS = 64, NO_DEPTH = -1 };

/* The calling thread's open regions. */
static __thread struct {
	uint32_t fork_epoch; /* those of another one are the parent's */
	uint32_t depth;      /* may be more than DEEP */
	uint32_t owed;       /* ends that could not be written when they came */
	uint32_t lost;       /* regions and marks that were not written, to be counted */
	uint64_t written[DEEP / BITS];
} mine;

struct region_name {
	const char *text;
	uint32_t len;
	char cut[AF_RANGE_NAME];
};

/* The first bytes of a long name, up to a whole character of UTF-8. */
static void name_of(const char *text, struct region_name *n)
{
	size_t len = text ? strnlen(text, AF_RANGE_NAME + 1) : 0;

	n->text = text ? text : "";
	n->len = (uint32_t)len;
	if (len <= AF_RANGE_NAME)
		return;
	n->len = AF_RANGE_NAME - (uint32_t)strlen(MORE);
	while (n->len && ((unsigned char)text[n->len] & 0xc0) == 0x80)
		n->len--;
	memcpy(n->cut, text, n->len);
	memcpy(n->cut + n->len, MORE, strlen(MORE));
	n->len += (uint32_t)strlen(MORE);
	n->text = n->cut;
}

/* Is the region at @depth one whose beginning is in the trace? */
static bool is_written(uint32_t depth)
{
	return depth < DEEP && mine.written[depth / BITS] >> depth % BITS & 1;
}

/* A handler that interrupts this counts its own, for the next call. */
static void lost_write(void)
{
	uint32_t lost = __atomic_exchange_n(&mine.lost, 0, __ATOMIC_RELAXED);

	af_inject_lost(AF_LOST_REGIONS, lost);
}

static bool put(enum af_range_edge edge, const struct region_name *name, uint64_t range,
                int64_t depth)
{
	const struct af_annotation a = {
	    .edge = edge,
	    .paused = edge == AF_RANGE_POP || edge == AF_RANGE_END,
	    .counted = edge == AF_RANGE_POP && depth >= 0 && !is_written((uint32_t)depth),
	    .domain = DOMAIN,
	    .domain_len = (uint32_t)strlen(DOMAIN),
	    .text = name ? name->text : NULL,
	    .len = name ? name->len : 0,
	    .range = range,
	    .depth = (int32_t)depth,
	};
	int saved = errno;
	/* A handler interrupted the thread while it wrote an event: the stream stays untouched. */
	bool inside = af_thread_now.inside, begins = edge != AF_RANGE_POP && edge != AF_RANGE_END;
	bool written = af_range_put(&a);

	if (inside)
		mine.lost += begins && af_inject_recording();
	else if (mine.lost)
		lost_write();
	errno = saved;
	return written;
}

static void see_fork(void)
{
	int saved = errno;

	af_inject_check_fork();
	errno = saved;
	if (mine.fork_epoch != af_inject_fork_epoch()) {
		memset(&mine, 0, sizeof mine);
		mine.fork_epoch = af_inject_fork_epoch();
	}
}

/* Write the ends that are owed, and no step's end. False: more of the thread would lie in them. */
static bool pay(void)
{
	uint32_t owed = mine.owed ? __atomic_exchange_n(&mine.owed, 0, __ATOMIC_RELAXED) : 0;

	while (owed && put(AF_RANGE_POP, NULL, 0, NO_DEPTH))
		owed--;
	mine.owed += owed;
	return !owed;
}

static void region_begin(const char *text)
{
	struct region_name name;

	see_fork();
	uint32_t depth = mine.depth++;
	if (depth >= DEEP) {
		mine.lost += af_inject_recording() != NULL;
		return;
	}
	uint64_t *word = &mine.written[depth / BITS], bit = 1ull << depth % BITS;
	*word &= ~bit;
	name_of(text, &name);
	if (pay() && put(AF_RANGE_PUSH, &name, 0, depth))
		*word |= bit;
}

static void region_end(void)
{
	see_fork();
	if (!mine.depth)
		return;
	uint32_t depth = --mine.depth;
	pay();
	if (!put(AF_RANGE_POP, NULL, 0, depth) && is_written(depth))
		mine.owed++;
}

static void region_mark(const char *text)
{
	struct region_name name;

	see_fork();
	name_of(text, &name);
	put(AF_RANGE_MARK, &name, 0, mine.depth);
}

static uint64_t region_start(const char *text)
{
	struct region_name name;
	uint64_t range = af_range_new();

	name_of(text, &name);
	return put(AF_RANGE_START, &name, range, 0) ? range : 0;
}

static void region_stop(uint64_t range)
{
	put(AF_RANGE_END, NULL, range, 0);
}

/* Another thread may be given this one's number, and is in none of its regions. */
void af_regions_thread_ends(struct af_thread_context *t)
{
	const struct af_ev_range ev = {.edge = AF_RANGE_POP};
	const struct af_tail tail[] = {{DOMAIN, (uint32_t)strlen(DOMAIN), 0}, {"", 0, 0}};

	if (mine.fork_epoch != af_inject_fork_epoch())
		return;
	if (mine.lost)
		af_stream_put(&t->stream, lost, af_now_ns(), .reason = AF_LOST_REGIONS,
		              .count = mine.lost);
	for (uint32_t depth = mine.depth; depth--;)
		mine.owed += is_written(depth);
	while (mine.owed &&
	       af_stream_put_tail(&t->stream, AF_KIND_RANGE, af_now_ns(), &ev, sizeof ev, tail, 2))
		mine.owed--;
	mine.depth = mine.lost = 0;
}

__attribute__((visibility("default"))) const struct aflame_regions *aflame_recorder_regions(void);
const struct aflame_regions *aflame_recorder_regions(void)
{
	static const struct aflame_regions regions = {
	    .size = sizeof regions,
	    .begin = region_begin,
	    .end = region_end,
	    .mark = region_mark,
	    .start = region_start,
	    .stop = region_stop,
	};

	return &regions;
}
