/*
 * Steps by the program's own ranges (NVTX): those of one name, or of one name but for its numbers
 * ("step 12"), that follow each other on a thread and fill most of their time. A program says by
 * them what a step is, so they are preferred to what launches show. Marks begin steps likewise.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/phases/private.h"
#include "base/arena.h"
#include "trace/read/reader.h"

enum {
	RANGES_DEEP = 256,     /* deeper ones of a thread are not followed */
	RANGES_MOST = 1 << 16, /* names by thread that are followed: the first ones */
	NAME_MOST = 256        /* bytes of a name */
};

/* The ranges of one name on a thread; by START and END: in a process. */
struct phase_range {
	uint32_t process, name;
	bool mark;
	bool overlaps; /* two were open at a time: no steps of one loop */
	uint32_t open; /* so many are: of those within each other only the outermost counts */
	uint64_t open_ns, covered_ns, last_end_ns;
	struct phase_times begins;
};

/* The open ranges of a thread and domain: of @all, 1 added; 0: of one that is not followed. */
struct phase_nest {
	uint32_t depth; /* may be more than RANGES_DEEP */
	uint32_t cap;
	uint32_t *open;
};

/* The name with N in place of each number, as an id. */
static uint32_t range_name(struct phase_ranges *r, const struct af_tail_view *tail)
{
	char name[NAME_MOST];
	const char *text = (const char *)tail->data;
	size_t len = 0;

	for (size_t i = 0; i < tail->len && text[i] && len < sizeof name; i++) {
		bool digit = isdigit((unsigned char)text[i]);
		if (!digit || !i || !isdigit((unsigned char)text[i - 1]))
			name[len++] = digit ? 'N' : text[i];
	}
	return af_strtab_id(&r->names, name, len);
}

/* The number of a range in @all, 1 added; 0: too many are known. */
static uint32_t range_of(struct phase_ranges *r, const struct af_event *ev, uint32_t tid,
                         const struct af_tail_view tails[], bool mark)
{
	uint32_t domain = af_strtab_id(&r->names, (const char *)tails[0].data, tails[0].len);
	uint32_t name = range_name(r, &tails[1]);
	bool fresh;
	const uint64_t key[] = {ev->process, tid, domain, (uint64_t)name << 1 | mark};

	if (!name || (r->nr == RANGES_MOST && !af_keys_get(&r->by_range, key, sizeof key)))
		return 0;
	uint64_t *slot = af_keys_at(&r->by_range, key, sizeof key, &fresh);
	if (fresh) {
		AF_REACH(r->all, r->nr, r->cap);
		r->all[r->nr].process = ev->process;
		r->all[r->nr].name = name;
		r->all[r->nr].mark = mark;
		*slot = ++r->nr;
	}
	return (uint32_t)*slot;
}

static void range_begin(struct phase_ranges *r, uint32_t at, uint64_t ns, bool nests)
{
	if (!at)
		return;
	struct phase_range *range = &r->all[at - 1];
	if (range->open++) {
		range->overlaps |= !nests;
		return;
	}
	range->open_ns = ns;
	phase_times_add(&range->begins, ns);
}

static void range_end(struct phase_ranges *r, uint32_t at, uint64_t ns)
{
	if (!at)
		return;
	struct phase_range *range = &r->all[at - 1];
	if (!range->open || --range->open)
		return;
	range->covered_ns += ns - range->open_ns;
	range->last_end_ns = ns;
}

static struct phase_nest *nest_of(struct phase_ranges *r, const struct af_event *ev,
                                  const struct af_tail_view *domain)
{
	uint32_t name = af_strtab_id(&r->names, (const char *)domain->data, domain->len);
	bool fresh;
	uint64_t *slot = af_keys_at(&r->by_nest, AF_KEY(ev->process, ev->tid, name), &fresh);

	if (fresh) {
		AF_REACH(r->nests, r->nr_nests, r->cap_nests);
		*slot = r->nr_nests++;
	}
	return &r->nests[*slot];
}

static void nest_push(struct phase_ranges *r, struct phase_nest *n, uint32_t at, uint64_t ns)
{
	uint32_t depth = n->depth++;

	if (depth >= RANGES_DEEP)
		return;
	AF_GROW(n->open, depth, n->cap);
	n->open[depth] = at;
	range_begin(r, at, ns, true);
}

void phase_ranges_event(struct phase_ranges *r, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_range f;
	struct phase_nest *n;
	struct af_cause c;
	uint32_t at;

	if (!ev->process || !af_event_decode(ev, &f, sizeof f, tails))
		return;
	switch (f.edge) {
	case AF_RANGE_PUSH:
		at = range_of(r, ev, ev->tid, tails, false);
		nest_push(r, nest_of(r, ev, &tails[0]), at, ev->time_ns);
		break;
	case AF_RANGE_POP:
		n = nest_of(r, ev, &tails[0]);
		if (n->depth && --n->depth < RANGES_DEEP)
			range_end(r, n->open[n->depth], ev->time_ns);
		break;
	case AF_RANGE_START:
		at = range_of(r, ev, 0, tails, false);
		af_join_put(&r->started,
		            &(struct af_cause){.id = f.range, .process = ev->process, .what = at});
		range_begin(r, at, ev->time_ns, false);
		break;
	case AF_RANGE_END:
		if (af_join_take(&r->started, ev->process, f.range, &c))
			range_end(r, c.what, ev->time_ns);
		break;
	case AF_RANGE_MARK:
		at = range_of(r, ev, ev->tid, tails, true);
		if (at)
			phase_times_add(&r->all[at - 1].begins, ev->time_ns);
		break;
	}
}

/*
 * Do these steps go on long enough to be what the run repeats? For most of its middle half or, as a
 * start may be longer than that, for half of the time that a call path of the process launches.
 */
static bool goes_on(const struct phase_range *range, uint64_t longest_ns, uint64_t start_ns,
                    uint64_t end_ns)
{
	uint64_t quarter = (end_ns - start_ns) / 4;
	uint64_t from = start_ns + quarter, to = end_ns - quarter;
	uint64_t first = range->begins.at_ns[0], last = range->begins.last_ns;

	if (longest_ns)
		return last - first >= longest_ns / 2;
	from = first > from ? first : from;
	to = last < to ? last : to;
	return to > from && to - from >= quarter;
}

/* Its times are sorted, and the last one ends the last step, where that is known. */
static bool is_candidate(struct phase_range *range)
{
	struct phase_times *begins = &range->begins;

	if (range->overlaps || begins->nr < PHASE_STEPS_LEAST || begins->nr >= PHASE_TIMES_MOST)
		return false;
	phase_times_sort(begins);
	if (!range->mark && !range->open)
		phase_times_add(begins, range->last_end_ns);
	return range->mark || range->covered_ns >= phase_times_span(begins) / 2;
}

/* Does the name say that it is a step? Then an inner one is preferred to an epoch. */
static bool is_step(const char *name)
{
	static const char *const words[] = {"step", "iter", "batch", "frame"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

struct candidate {
	const struct phase_range *range;
	uint64_t calls; /* of its process: launches */
	bool step;
};

/* Ranges before marks; then by launches, by name, and the outermost of what is within each other */
static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (!b->range)
		return true;
	if (a->range->mark != b->range->mark)
		return b->range->mark;
	if (a->calls != b->calls)
		return a->calls > b->calls;
	if (a->step != b->step)
		return a->step;
	if (a->range->begins.nr != b->range->begins.nr)
		return a->range->begins.nr < b->range->begins.nr;
	return a->range->covered_ns > b->range->covered_ns;
}

bool phase_ranges_find(struct phase_ranges *r, const struct phase_calls *calls, uint64_t start_ns,
                       uint64_t end_ns, struct phase_steps *s, const char **name, bool *marks)
{
	struct candidate best = {0};
	struct phase_steps steps = {0};
	uint64_t longest_ns;

	for (uint32_t i = 0; i < r->nr; i++) {
		struct phase_range *range = &r->all[i];
		if (!is_candidate(range))
			continue;
		uint64_t launches = phase_calls_of(calls, range->process, &longest_ns);
		if (!goes_on(range, longest_ns, start_ns, end_ns) ||
		    (!phase_steps_single(&steps, &range->begins) &&
		     !phase_steps_grouped(&steps, &range->begins)))
			continue;
		const char *called = af_strtab_get(&r->names, range->name);
		struct candidate c = {range, launches, is_step(called)};
		if (!is_better(&c, &best))
			continue;
		best = c;
		*s = steps;
		*name = called;
		*marks = range->mark;
	}
	return best.range != NULL;
}

void phase_ranges_free(struct phase_ranges *r)
{
	for (uint32_t i = 0; i < r->nr; i++)
		free(r->all[i].begins.at_ns);
	for (uint32_t i = 0; i < r->nr_nests; i++)
		free(r->nests[i].open);
	free(r->all);
	free(r->nests);
	af_strtab_free(&r->names);
	af_keys_free(&r->by_range);
	af_keys_free(&r->by_nest);
	af_join_free(&r->started);
}
