#include "cmd/ranks/members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "cmd/shared/set.h"

enum { NAMED = 8 }; /* members that are missing; others are counted */

/* A member that is left out: its place in the set, and why. */
struct members_missing {
	uint32_t member;
	const char *why;
};

struct members_reading {
	const struct af_members *of;
	const char **why; /* by member: why it cannot be read, or NULL */
	struct members_missing *missing;
	uint32_t nr_missing, cap_missing;
};

const char *af_member_text(const struct af_member *m)
{
	return m->label && *m->label ? m->label : m->name;
}

static void result_close(struct af_results *r, void (*own_free)(void *own))
{
	void *own = r->query.own;

	if (own_free)
		own_free(own);
	r->query.own = NULL;
	af_results_close(r);
	free(own);
	free(r);
}

/* On any thread. */
static void *member_read(void *sum, const struct af_member *who, struct af_err *err)
{
	const struct members_reading *s = sum;
	const char *why = s->why[who - s->of->set->members];
	struct af_results *r = af_xcalloc(1, sizeof *r);
	struct af_query query = s->of->query;

	if (why) {
		af_fail_plain(err, -ENODATA, "%s", why);
		free(r);
		return NULL;
	}
	query.threads = 1; /* other threads read other members */
	query.own = af_xcalloc(1, s->of->own_size);
	if (!af_analyse(who->path, s->of->passes, &query, r, NULL, NULL, err))
		return r;
	r->query.own = query.own;
	result_close(r, s->of->own_free);
	return NULL;
}

/* Keep the reason for the message and the table of ranks. */
static void leave_out(struct members_reading *s, uint32_t member, const char *why)
{
	const char *kept = af_arena_strdup(&s->of->set->arena, why, strlen(why));

	AF_GROW(s->missing, s->nr_missing, s->cap_missing);
	s->missing[s->nr_missing++] = (struct members_missing){member, kept};
}

/* One at a time, in the order of members. */
static int member_take(void *sum, const struct af_member *who, void *result,
                       const struct af_err *why)
{
	struct members_reading *s = sum;
	const char *cut = result ? af_set_not_whole(who, result) : why->msg;

	if (cut)
		leave_out(s, (uint32_t)(who - s->of->set->members), cut);
	else
		s->of->add(s->of->arg, who, result);
	if (result)
		result_close(result, s->of->own_free);
	return 0;
}

static void members_prepare(void *sum, struct af_set *set, uint32_t first, uint32_t nr)
{
	struct members_reading *s = sum;

	s->why = af_xcalloc(set->nr + 1, sizeof *s->why);
	for (uint32_t i = first; i < first + nr; i++)
		s->why[i] = af_set_prepare(set, i);
}

static void members_write(const void *sum, struct af_buf *to)
{
	const struct members_reading *s = sum;

	af_buf_leb128(to, s->nr_missing);
	for (uint32_t i = 0; i < s->nr_missing; i++) {
		af_buf_leb128(to, s->missing[i].member);
		af_buf_add(to, s->missing[i].why, strlen(s->missing[i].why) + 1);
	}
	s->of->ops.write(s->of->arg, to);
}

static int members_join(void *sum, const void *data, size_t size, struct af_err *err)
{
	struct members_reading *s = sum;
	struct af_cursor c = {data, (const uint8_t *)data + size, false};
	uint64_t nr = af_cursor_uleb(&c);

	for (uint64_t i = 0; i < nr && !c.bad; i++) {
		uint64_t member = af_cursor_uleb(&c);
		const char *why = af_cursor_string(&c);
		c.bad |= member >= s->of->set->nr;
		if (!c.bad)
			leave_out(s, (uint32_t)member, why);
	}
	if (c.bad)
		return af_fail_plain(err, -EBADMSG, "the results of another process are damaged");
	return s->of->ops.join(s->of->arg, c.at, (size_t)(c.end - c.at), err);
}

static void members_empty(void *sum)
{
	struct members_reading *s = sum;

	s->nr_missing = 0;
	s->of->ops.empty(s->of->arg);
}

static void missing_report(const struct members_reading *s)
{
	struct af_set *set = s->of->set;

	for (uint32_t i = 0; i < s->nr_missing; i++) {
		struct af_member *m = &set->members[s->missing[i].member];
		m->why = s->missing[i].why;
		if (i < NAMED)
			fprintf(stderr, "aflame %s: %s of %s is left out: %s\n", s->of->command,
			        af_member_text(m), set->path, m->why);
	}
	if (s->nr_missing)
		fprintf(stderr, "aflame %s: %u of %u ranks of %s are compared\n", s->of->command,
		        set->nr - s->nr_missing, set->nr, set->path);
}

int af_members_read(const struct af_members *m, struct af_reduce *r, struct af_err *err)
{
	struct members_reading s = {.of = m};
	const struct af_together how = {
	    .what = "reading the ranks",
	    .prepare = members_prepare,
	    .read = member_read,
	    .take = member_take,
	    .drop = free, /* nothing is dropped: every result is taken */
	    .ops = {.write = members_write, .join = members_join, .empty = members_empty},
	    .sum = &s,
	};

	int rc = af_together_part(r, &how, m->set, err);
	if (!rc && !r->silent)
		missing_report(&s);
	free(s.why);
	free(s.missing);
	return rc;
}
