#include "cmd/ranks/members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/set/read.h"
#include "base/arena.h"
#include "base/err.h"
#include "cmd/output/progress.h"
#include "cmd/shared/set.h"

enum { NAMED = 8 }; /* members that are missing; others are counted */

struct members_reading {
	const struct af_members *of;
	const char **why; /* by member: why it cannot be read, or NULL */
	uint32_t nr_missing, nr_named;
	struct af_progress progress;
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
static void *members_read(void *arg, const struct af_member *who, struct af_err *err)
{
	const struct members_reading *s = arg;
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
	if (s->of->begin)
		s->of->begin(s->of->arg, who, &query);
	if (!af_analyse(who->path, s->of->passes, &query, r, NULL, NULL, err))
		return r;
	r->query.own = query.own;
	result_close(r, s->of->own_free);
	return NULL;
}

/* Times of half a trace are held against nothing: the reason why it is not whole, or NULL. */
static const char *not_whole(const struct af_member *who, const struct af_results *r)
{
	if (who->state == AF_MEMBER_DEAD || who->state == AF_MEMBER_UNFINISHED)
		return *who->why ? who->why : "its recording did not end";
	return r->damage[0] ? r->damage : NULL;
}

/* Name it, and keep the reason for the table of ranks. */
static void name_it(struct members_reading *s, const struct af_member *who, const char *why,
                    const char *how)
{
	struct af_set *set = s->of->set;
	const char *kept = af_arena_strdup(&set->arena, why, strlen(why));

	set->members[who - set->members].why = kept;
	if (s->nr_named++ < NAMED)
		fprintf(stderr, "aflame %s: %s of %s is %s: %s\n", s->of->command,
		        af_member_text(who), set->path, how, kept);
}

/* One at a time, in the order of members. */
static int members_take(void *arg, const struct af_member *who, void *result,
                        const struct af_err *why)
{
	struct members_reading *s = arg;

	const char *cut = result ? not_whole(who, result) : why->msg;

	bool whole = !cut || (result && s->of->parts);
	if (cut)
		name_it(s, who, cut, whole ? "there in part" : "left out");
	s->nr_missing += !whole;
	if (whole)
		s->of->add(s->of->arg, who, result);
	if (result)
		result_close(result, s->of->own_free);
	return 0;
}

static void members_progress(void *arg, uint64_t done, uint64_t nr)
{
	struct members_reading *s = arg;

	af_progress_tell(&s->progress, done, nr);
}

uint32_t af_members_read(const struct af_members *m)
{
	struct members_reading s = {.of = m, .progress = af_progress_begin("reading the ranks")};
	const struct af_set_reading how = {
	    .set = m->set,
	    .nr = m->set->nr,
	    .threads = af_set_threads(0),
	    .read = members_read,
	    .take = members_take,
	    .drop = free, /* nothing is dropped: every result is taken */
	    .progress = members_progress,
	    .arg = &s,
	};

	s.why = af_xcalloc(m->set->nr + 1, sizeof *s.why);
	for (uint32_t i = 0; i < m->set->nr; i++)
		s.why[i] = af_set_prepare(m->set, i);
	af_set_read(&how);
	af_progress_end(&s.progress);
	free(s.why);
	if (s.nr_missing)
		fprintf(stderr, "aflame %s: %u of %u ranks of %s are %s\n", m->command,
		        m->set->nr - s.nr_missing, m->set->nr, m->set->path,
		        m->shown ? m->shown : "compared");
	return s.nr_missing;
}
