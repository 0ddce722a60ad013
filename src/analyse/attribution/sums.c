/*
 * Sums of samples. A kernel has hundreds of launch groups and thousands of instructions, too many
 * pairs to count in each window. So samples that one window gives to several launch groups together
 * make one sum: how often each instruction was sampled, and the share of each launch group. Sums of
 * the same set of launch groups are one over all windows. At the end each launch group gets its
 * share of each of its sums.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/attribution/private.h"
#include "analyse/world/world.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/keys.h"

/* An instruction of a code, and a reason: made at the end. */
struct sums_unit {
	uint64_t offset;
	uint32_t code, stall;
};

struct sums_group {
	uint32_t code, interval;
	bool exact;
	uint64_t count;     /* of all units */
	uint64_t given;     /* parts of members so far, at the end */
	uint32_t first, nr; /* of the counts, at the end */
	uint32_t a_member;  /* gets what nothing was issued in, where no other sample says whose */
};

struct sums_member {
	uint32_t launch_group, group;
	uint32_t member; /* of an alias */
	uint64_t parts;
	uint64_t before; /* parts of the group's members before this one, at the end */
};

struct attribution_sums {
	struct sums_unit *units;
	struct sums_group *groups;
	struct attribution_counted *counts; /* at the end; stall is then the unit */
	struct sums_member *members;
	uint32_t nr_units, nr_groups, cap_groups, nr_counts, nr_members, cap_members;
	struct af_map by_member;
	struct af_keys by_group;
	uint32_t *key; /* of a group */
	uint32_t cap_key;
	struct af_map mixed; /* interval and code → how many sums of several launch groups it has */
};

/* The key of a group; its launch groups come last. */
enum { KEY_CODE, KEY_EXACT, KEY_INTERVAL, KEY_LAUNCH_GROUPS };

enum {
	SUMS_MIXED = 16,      /* sums of several launch groups a code; all others share one */
	SUMS_APART = 1 << 20, /* counts and members in intervals that are kept apart */
};

static struct attribution_sums *sums_of(struct attribution_private *p)
{
	if (!p->sums)
		p->sums = af_xcalloc(1, sizeof *p->sums);
	return p->sums;
}

void attribution_sums_free(struct attribution_private *p)
{
	struct attribution_sums *s = p->sums;

	if (!s)
		return;
	af_keys_free(&s->by_group);
	af_map_free(&s->by_member);
	af_map_free(&s->mixed);
	free(s->key);
	free(s->units);
	free(s->groups);
	free(s->counts);
	free(s->members);
	free(s);
	p->sums = NULL;
}

/* Room for the key of a group of @nr launch groups. */
static uint32_t *group_key(struct attribution_sums *s, uint32_t nr)
{
	AF_ROOM(s->key, nr + KEY_LAUNCH_GROUPS, s->cap_key);
	return s->key;
}

static int launch_group_order(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static size_t key_bytes(uint32_t nr)
{
	return (KEY_LAUNCH_GROUPS + (size_t)nr) * sizeof(uint32_t);
}

/* The group of @nr launch groups, of any where that is 0, made when it is new. */
static uint32_t group_at(struct attribution_sums *s, const uint32_t *key, uint32_t nr)
{
	bool fresh;
	uint64_t *slot = af_keys_at(&s->by_group, key, key_bytes(nr), &fresh);

	if (fresh) {
		AF_GROW(s->groups, s->nr_groups, s->cap_groups);
		s->groups[s->nr_groups] = (struct sums_group){
		    .code = key[KEY_CODE], .interval = key[KEY_INTERVAL], .exact = key[KEY_EXACT]};
		*slot = s->nr_groups++;
	}
	return (uint32_t)*slot;
}

/* How many sums of several launch groups the code of @key has in its interval. */
static uint64_t *mixed_at(struct attribution_sums *s, const uint32_t *key)
{
	return af_map_at(&s->mixed, (uint64_t)key[KEY_INTERVAL] << 32 | key[KEY_CODE], NULL);
}

uint32_t attribution_group(struct attribution_private *p, uint32_t code,
                           const struct attribution_choice *choice)
{
	struct attribution_sums *s = sums_of(p);
	uint32_t *key = group_key(s, choice->nr);

	key[KEY_CODE] = code;
	key[KEY_EXACT] = choice->exact;
	key[KEY_INTERVAL] = p->interval;
	/* The order of the launch groups is that of the works. */
	for (uint32_t i = 0; i < choice->nr; i++)
		key[KEY_LAUNCH_GROUPS + i] = p->shares[choice->first + i].launch_group;
	if (choice->nr > 1) {
		AF_SORT(key + KEY_LAUNCH_GROUPS, choice->nr, launch_group_order);
		if (!af_keys_get(&s->by_group, key, key_bytes(choice->nr)) &&
		    ++*mixed_at(s, key) > SUMS_MIXED)
			return group_at(s, key, 0);
	}
	return group_at(s, key, choice->nr);
}

static void member_add(struct attribution_sums *s, uint32_t group,
                       const struct attribution_share *share, uint64_t parts)
{
	uint32_t launch_group = share->launch_group;
	bool fresh;
	uint64_t *slot = af_map_at(&s->by_member, (uint64_t)group << 32 | launch_group, &fresh);

	if (fresh) {
		AF_GROW(s->members, s->nr_members, s->cap_members);
		s->members[s->nr_members] = (struct sums_member){
		    .launch_group = launch_group, .group = group, .member = share->member};
		s->groups[group].a_member = launch_group;
		*slot = s->nr_members++;
	}
	s->members[*slot].parts += parts;
}

void attribution_divide(struct attribution_private *p, uint32_t group,
                        const struct attribution_choice *choice, uint64_t count)
{
	struct attribution_sums *s = p->sums;
	uint64_t all = count * AF_ATTRIBUTION_PARTS, before = 0;

	s->groups[group].count += count;
	for (uint32_t i = 0; i < choice->nr; i++) {
		const struct attribution_share *share = &p->shares[choice->first + i];
		uint64_t ns = share->span.in_range_ns;
		if (ns)
			member_add(s, group, share,
			           af_attribution_share(all, before, ns, choice->span.in_range_ns));
		before = attribution_later(before, ns);
	}
}

/* The groups in intervals of twice the length: which of them each becomes, to be freed. */
static uint32_t *groups_widen(struct attribution_sums *s)
{
	struct {
		const uint32_t *key;
		size_t len;
	} *keys = af_xcalloc(s->nr_groups + 1ull, sizeof *keys);
	uint32_t *now = af_xcalloc(s->nr_groups + 1ull, sizeof *now);
	struct af_keys was = s->by_group;
	const void *next;
	size_t len;

	for (size_t at = 0; (next = af_keys_next(&was, &at, &len));) {
		uint64_t group = *af_keys_get(&was, next, len);
		keys[group].key = next;
		keys[group].len = len;
	}
	s->by_group = (struct af_keys){0};
	af_map_free(&s->mixed);
	/* In the order of groups: that of keys differs from run to run. */
	for (uint32_t i = 0; i < s->nr_groups; i++) {
		bool fresh;
		now[i] = i;
		if (!keys[i].key)
			continue; /* it became one with another before */
		uint32_t nr = (uint32_t)(keys[i].len / sizeof(uint32_t)) - KEY_LAUNCH_GROUPS;
		uint32_t *key = group_key(s, nr);
		memcpy(key, keys[i].key, keys[i].len);
		key[KEY_INTERVAL] /= 2;
		uint64_t *slot = af_keys_at(&s->by_group, key, keys[i].len, &fresh);
		if (fresh) {
			*slot = i;
			s->groups[i].interval = key[KEY_INTERVAL];
			*mixed_at(s, key) += nr > 1;
			continue;
		}
		now[i] = (uint32_t)*slot;
		s->groups[now[i]].count += s->groups[i].count;
	}
	af_keys_free(&was);
	free(keys);
	return now;
}

static void members_widen(struct attribution_sums *s, const uint32_t *now)
{
	uint32_t nr = s->nr_members;

	af_map_free(&s->by_member);
	s->nr_members = 0;
	for (uint32_t i = 0; i < nr; i++) {
		const struct sums_member m = s->members[i];
		const struct attribution_share share = {.launch_group = m.launch_group,
		                                        .member = m.member};
		member_add(s, now[m.group], &share, m.parts);
	}
}

void attribution_sums_widen(struct attribution_private *p)
{
	uint32_t *now = groups_widen(p->sums);

	members_widen(p->sums, now);
	attribution_counts_regroup(p, now);
	free(now);
}

bool attribution_sums_many(const struct attribution_private *p)
{
	return p->sums && attribution_counts_nr(p) + p->sums->nr_members > SUMS_APART;
}

/* A count, to be sorted by code, offset and reason. */
struct sums_order {
	struct sums_unit is;
	uint32_t count;
};

static int unit_order(const void *a, const void *b)
{
	const struct sums_unit *x = &((const struct sums_order *)a)->is;
	const struct sums_unit *y = &((const struct sums_order *)b)->is;

	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->stall < y->stall ? -1 : x->stall > y->stall;
}

/* Makes the units, in order; counts name them from then on. */
static void rank_units(struct attribution_sums *s)
{
	struct sums_order *order = af_xrealloc(NULL, (s->nr_counts + 1ull) * sizeof *order);

	for (uint32_t i = 0; i < s->nr_counts; i++) {
		const struct attribution_counted *c = &s->counts[i];
		order[i] = (struct sums_order){{c->offset, s->groups[c->group].code, c->stall},
		                               .count = i};
	}
	AF_SORT(order, s->nr_counts, unit_order);
	s->units = af_xrealloc(NULL, (s->nr_counts + 1ull) * sizeof *s->units);
	for (uint32_t i = 0; i < s->nr_counts; i++) {
		if (!i || unit_order(&order[i - 1], &order[i]))
			s->units[s->nr_units++] = order[i].is;
		s->counts[order[i].count].stall = s->nr_units - 1;
	}
	free(order);
}

static int count_order(const void *a, const void *b)
{
	const struct attribution_counted *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->stall < y->stall ? -1 : x->stall > y->stall;
}

static void rank_counts(struct attribution_sums *s)
{
	AF_SORT(s->counts, s->nr_counts, count_order);
	for (uint32_t i = 0; i < s->nr_counts; i++) {
		struct sums_group *g = &s->groups[s->counts[i].group];
		if (!g->nr++)
			g->first = i;
	}
}

struct member_key {
	uint32_t launch_group, code, interval, group, member;
};

static int member_order(const void *a, const void *b)
{
	const struct member_key *x = a, *y = b;

	if (x->launch_group != y->launch_group)
		return x->launch_group < y->launch_group ? -1 : 1;
	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	if (x->interval != y->interval)
		return x->interval < y->interval ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static struct member_key *rank_members(struct attribution_sums *s)
{
	struct member_key *keys = af_xrealloc(NULL, (s->nr_members + 1ull) * sizeof *keys);

	for (uint32_t i = 0; i < s->nr_members; i++) {
		struct sums_member *m = &s->members[i];
		m->before = s->groups[m->group].given;
		s->groups[m->group].given += m->parts;
		keys[i] = (struct member_key){m->launch_group, s->groups[m->group].code,
		                              s->groups[m->group].interval, m->group, i};
	}
	AF_SORT(keys, s->nr_members, member_order);
	return keys;
}

/*
 * Which of @count samples, numbered as @i, are within the first @parts of @all when they stay
 * whole: the phases of many lie evenly.
 */
static uint64_t whole_until(uint64_t count, uint64_t parts, uint64_t all, uint32_t i)
{
	unsigned __int128 part = (unsigned __int128)count * parts;
	uint32_t phase = (i + 1) * PHASE_STEP;

	if (parts == all)
		return count;
	uint64_t left = (uint64_t)((part % all << 32) / all);
	return (uint64_t)(part / all) + ((left + phase) >> 32);
}

/*
 * The member's part of the group's counts, added up by unit in @at, so that the members together
 * have the whole of each unit.
 */
static void spread(const struct attribution_sums *s, const struct sums_member *m,
                   struct af_attributed *at)
{
	const struct sums_group *g = &s->groups[m->group];

	for (uint32_t i = g->first; i < g->first + g->nr; i++) {
		const struct attribution_counted *c = &s->counts[i];
		uint64_t parts = af_attribution_share(c->count * AF_ATTRIBUTION_PARTS, m->before,
		                                      m->parts, g->given);
		at[c->stall].parts += parts;
		at[c->stall].samples += whole_until(c->count, m->before + m->parts, g->given, i) -
		                        whole_until(c->count, m->before, g->given, i);
		at[c->stall].exact_parts += g->exact ? parts : 0;
		if (g->count)
			at[c->stall].latency_parts += af_attribution_share(
			    c->latency * AF_ATTRIBUTION_PARTS, m->before, m->parts, g->given);
		else if (g->a_member == m->launch_group)
			at[c->stall].latency_parts += c->latency * AF_ATTRIBUTION_PARTS;
	}
}

/* The sum over the members of one launch group, code and interval, @nr of @keys. */
static void emit(struct af_attribution *a, const struct attribution_sums *s,
                 const struct member_key *keys, uint32_t nr, struct af_attributed *at)
{
	uint32_t first = UINT32_MAX, end = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct sums_group *g = &s->groups[keys[i].group];
		if (!g->nr)
			continue;
		spread(s, &s->members[keys[i].member], at);
		if (s->counts[g->first].stall < first)
			first = s->counts[g->first].stall;
		if (s->counts[g->first + g->nr - 1].stall >= end)
			end = s->counts[g->first + g->nr - 1].stall + 1;
	}
	for (uint32_t u = first; u < end; u++) {
		const struct sums_unit *unit = &s->units[u];
		if (!at[u].parts && !at[u].latency_parts)
			continue;
		AF_GROW(a->found, a->nr_found, a->private_->cap_found);
		struct af_attributed *f = &a->found[a->nr_found++];
		*f = at[u];
		f->launch_group = keys->launch_group;
		f->interval = keys->interval;
		f->code = unit->code;
		f->stall = unit->stall;
		f->offset = unit->offset;
		if (unit->code & ATTRIBUTION_ALIAS)
			attribution_alias_member(a->private_, s->members[keys->member].member, f);
		at[u] = (struct af_attributed){0};
	}
}

static int found_order(const void *a, const void *b)
{
	const struct af_attributed *x = a, *y = b;

	if (x->launch_group != y->launch_group)
		return x->launch_group < y->launch_group ? -1 : 1;
	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	if (x->interval != y->interval)
		return x->interval < y->interval ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->stall < y->stall ? -1 : x->stall > y->stall;
}

/* Samples of an alias and of the code itself are one. */
static void found_join(struct af_attribution *a)
{
	uint32_t nr = 0;

	AF_SORT(a->found, a->nr_found, found_order);
	for (uint32_t i = 0; i < a->nr_found; i++) {
		const struct af_attributed *f = &a->found[i];
		if (!nr || found_order(&a->found[nr - 1], f)) {
			a->found[nr++] = *f;
			continue;
		}
		a->found[nr - 1].parts += f->parts;
		a->found[nr - 1].exact_parts += f->exact_parts;
		a->found[nr - 1].samples += f->samples;
		a->found[nr - 1].latency_parts += f->latency_parts;
	}
	a->nr_found = nr;
}

void attribution_expand(struct af_attribution *a)
{
	struct attribution_sums *s = sums_of(a->private_);

	s->counts = attribution_counted(a->private_, &s->nr_counts);
	rank_units(s);
	rank_counts(s);
	struct member_key *keys = rank_members(s);
	struct af_attributed *at = af_xcalloc(s->nr_units + 1ull, sizeof *at);
	for (uint32_t i = 0, end; i < s->nr_members; i = end) {
		for (end = i + 1;
		     end < s->nr_members && keys[end].launch_group == keys[i].launch_group &&
		     keys[end].code == keys[i].code && keys[end].interval == keys[i].interval;)
			end++;
		emit(a, s, keys + i, end - i, at);
	}
	free(at);
	free(keys);
	if (a->private_->nr_aliases)
		found_join(a);
	attribution_sums_free(a->private_);
}
