#include "cmd/ranks/scope_set.h"

#include <errno.h>
#include <stdio.h>

#include "analyse/clocks/times.h"
#include "base/err.h"
#include "cmd/ranks/members.h"
#include "cmd/shared/set.h"

struct scope_set {
	struct af_set set;
	struct af_set_times times;
	struct af_heat *heat; /* of all */
	uint32_t nr;
};

static uint64_t scope_place(const struct af_heat *heat, uint64_t ns)
{
	const struct scope_set *s = heat->arg;

	return af_set_times_of(&s->times, heat->member, ns);
}

static void scope_begin(void *arg, const struct af_member *who, struct af_query *query)
{
	struct scope_set *s = arg;
	struct af_heat *one = query->own;

	*one = (struct af_heat){.gpu = s->heat->gpu,
	                        .period_ns = s->heat->period_ns,
	                        .interval_ns = s->heat->interval_ns,
	                        .place = scope_place,
	                        .arg = s,
	                        .member = (uint32_t)(who - s->set.members),
	                        .from_ns = query->from_ns};
	if (!af_set_times_part(&s->times, one->member, &query->from_ns, &query->to_ns))
		query->from_ns = query->to_ns = UINT64_MAX;
}

static void scope_add(void *arg, const struct af_member *who, const struct af_results *r)
{
	struct scope_set *s = arg;

	(void)who;
	af_heat_join(s->heat, r->query.own);
	s->nr++;
}

static void scope_free(void *own)
{
	af_heat_close(own);
}

int af_scope_set_read(const char *dir, const struct af_query *query, struct af_heat *heat,
                      struct af_results *r, struct af_err *err)
{
	struct scope_set s = {.heat = heat};
	struct af_query each = *query;
	const struct af_pass_ops *const passes[] = {af_heat_pass(heat, &each), NULL};
	struct af_members members = {.command = "flamescope",
	                             .set = &s.set,
	                             .passes = passes,
	                             .query = each,
	                             .own_size = sizeof *heat,
	                             .own_free = scope_free,
	                             .begin = scope_begin,
	                             .add = scope_add,
	                             .arg = &s,
	                             .parts = true,
	                             .shown = "shown"};
	struct af_reduce alone = {.size = 1};
	char text[512];

	*r = (struct af_results){0};
	heat->from_ns = query->from_ns;
	int rc = af_set_open(&s.set, dir, err);
	for (uint32_t i = 0; !rc && i < s.set.nr; i++)
		af_set_prepare(&s.set, i);
	if (!rc)
		rc = af_set_times_read(&s.times, &s.set, err);
	if (!rc)
		rc = af_members_read(&members, &alone, err);
	if (!rc && !s.nr)
		rc = af_fail_plain(err, -ENODATA, "no trace in %s can be read", dir);
	if (!rc && af_set_times_text(&s.times, dir, text, sizeof text))
		fprintf(stderr, "aflame flamescope: %s\n", text);
	if (!rc)
		af_heat_tables(heat, &r->tables);
	af_heat_close(heat);
	af_set_times_free(&s.times);
	af_set_close(&s.set);
	return rc;
}
