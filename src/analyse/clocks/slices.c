#include "analyse/clocks/slices.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"

enum { PID_ABOVE_ALL = 1 << 22, TRACKS_EACH = 4096 }; /* pids are less: PID_MAX_LIMIT */

/* Two ranks of different hosts may have one pid. */
static uint32_t pid_of(struct af_set_slices *s, uint32_t pid)
{
	for (uint64_t as = pid; as < UINT32_MAX; as += PID_ABOVE_ALL) {
		bool fresh;
		uint64_t *owner = af_map_at(&s->pids, as, &fresh);
		if (fresh)
			*owner = s->member + 1;
		if (*owner == s->member + 1)
			return (uint32_t)as;
	}
	return pid;
}

static int set_track(void *arg, const struct af_track *t)
{
	struct af_set_slices *s = arg;
	const struct af_member *who = &s->set->members[s->member];
	struct af_track is = *t;
	char name[512];

	is.pid = pid_of(s, t->pid);
	if (t->tid)
		is.tid = t->tid + (is.pid - t->pid);
	if (t->kind == AF_TRACK_PROCESS) {
		/* Its own name has the rank, but tells no two of one rank apart. */
		bool twin = strchr(who->label, '(');
		int n = snprintf(name, sizeof name, "%s · %s%s%s", who->host,
		                 t->in_rank && !twin ? "" : who->label,
		                 t->in_rank && !twin ? "" : " · ", t->name);
		is.name = af_arena_strdup(&s->names, name,
		                          (size_t)n < sizeof name ? (size_t)n : sizeof name - 1);
		is.rank =
		    s->member * TRACKS_EACH + (t->rank < TRACKS_EACH ? t->rank : TRACKS_EACH - 1);
	}
	return s->into.track(s->into.arg, &is);
}

static uint64_t time_of(const struct af_set_slices *s, uint64_t ns)
{
	return af_set_times_of(s->times, s->member, ns) + s->times->start_ns;
}

static int set_slice(void *arg, const struct af_slice *slice)
{
	struct af_set_slices *s = arg;
	struct af_slice is = *slice;

	is.start_ns = time_of(s, slice->start_ns);
	is.end_ns = time_of(s, slice->end_ns);
	/* The clock of the set runs a little faster or slower than the one that measured it. */
	if (slice->kind == AF_SLICE_WORK)
		is.weight_ns = slice->end_ns - slice->start_ns;
	return s->into.slice(s->into.arg, &is);
}

static int set_point(void *arg, const struct af_point *p)
{
	struct af_set_slices *s = arg;
	struct af_point is = *p;

	is.time_ns = time_of(s, p->time_ns);
	return s->into.point(s->into.arg, &is);
}

struct af_slices_sink af_set_slices_of(struct af_set_slices *s, uint32_t member,
                                       const struct af_slices_sink *into)
{
	s->member = member;
	s->into = *into;
	return (struct af_slices_sink){s, set_track, set_slice, set_point};
}

void af_set_slices_free(struct af_set_slices *s)
{
	af_map_free(&s->pids);
	af_arena_free(&s->names);
	*s = (struct af_set_slices){0};
}
