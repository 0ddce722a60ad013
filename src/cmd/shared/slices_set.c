/* A set as one timeline: the tracks of all ranks, on the clock of the first rank's host. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/clocks/times.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "cmd/output/progress.h"
#include "cmd/shared/set.h"
#include "cmd/shared/slices.h"
#include "render/timeline/slices.h"

enum { PID_ABOVE_ALL = 1 << 22, TRACKS_EACH = 4096 }; /* pids are less: PID_MAX_LIMIT */

struct set_slices {
	const struct af_slices_request *request;
	struct af_set *set;
	const char **why; /* by member: why it cannot be read, or NULL */
	struct af_set_times times;
	struct af_map pids; /* → member, plus 1: viewers take one pid for one process */
	struct af_arena names;
	uint32_t nr; /* written */
};

/* The member that is written now. */
struct member_slices {
	struct set_slices *all;
	uint32_t member;
	struct af_render render;
	struct af_slices_sink sink;
};

/* Two ranks of different hosts may have one pid. */
static uint32_t pid_of(struct member_slices *m, uint32_t pid)
{
	for (uint64_t as = pid; as < UINT32_MAX; as += PID_ABOVE_ALL) {
		bool fresh;
		uint64_t *owner = af_map_at(&m->all->pids, as, &fresh);
		if (fresh)
			*owner = m->member + 1;
		if (*owner == m->member + 1)
			return (uint32_t)as;
	}
	return pid;
}

static int set_track(void *arg, const struct af_track *t)
{
	struct member_slices *m = arg;
	const struct af_member *who = &m->all->set->members[m->member];
	struct af_track is = *t;
	char name[512];

	is.pid = pid_of(m, t->pid);
	if (t->tid)
		is.tid = t->tid + (is.pid - t->pid);
	if (t->kind == AF_TRACK_PROCESS) {
		/* Its own name has the rank, but tells no two of one rank apart. */
		bool twin = strchr(who->label, '(');
		int n = snprintf(name, sizeof name, "%s · %s%s%s", who->host,
		                 t->in_rank && !twin ? "" : who->label,
		                 t->in_rank && !twin ? "" : " · ", t->name);
		is.name = af_arena_strdup(&m->all->names, name,
		                          (size_t)n < sizeof name ? (size_t)n : sizeof name - 1);
		is.rank =
		    m->member * TRACKS_EACH + (t->rank < TRACKS_EACH ? t->rank : TRACKS_EACH - 1);
	}
	return m->sink.track(m->sink.arg, &is);
}

static uint64_t time_of(const struct member_slices *m, uint64_t ns)
{
	return af_set_times_of(&m->all->times, m->member, ns) + m->all->times.start_ns;
}

static int set_slice(void *arg, const struct af_slice *s)
{
	struct member_slices *m = arg;
	struct af_slice is = *s;

	is.start_ns = time_of(m, s->start_ns);
	is.end_ns = time_of(m, s->end_ns);
	return m->sink.slice(m->sink.arg, &is);
}

static int set_point(void *arg, const struct af_point *p)
{
	struct member_slices *m = arg;
	struct af_point is = *p;

	is.time_ns = time_of(m, p->time_ns);
	return m->sink.point(m->sink.arg, &is);
}

static int member_write(struct set_slices *all, uint32_t member, int fd, struct af_err *err)
{
	const struct af_format *format = all->request->format;
	struct member_slices m = {.all = all, .member = member};
	const struct af_slices_sink sink = {&m, set_track, set_slice, set_point};
	struct af_slices_to into = {format, &m.render};
	struct af_timeline_query query = all->request->query;
	struct af_timeline *t = NULL;

	if (!af_set_times_part(&all->times, member, &query.from_ns, &query.to_ns))
		return 0;
	int rc = af_timeline_open(&t, all->set->members[member].path, &query, NULL, NULL, err);
	if (rc)
		return rc;
	m.render = (struct af_render){.fd = fd,
	                              .gzip = all->request->gzip,
	                              .slices = af_timeline_slices(t),
	                              .label = all->set->members[member].label,
	                              .part = member + 1};
	m.sink = af_slices_sink(&into);
	rc = format->begin(&m.render, err);
	if (!rc) {
		rc = af_timeline_run(t, &sink, err);
		int end = format->end(&m.render, err && err->code ? NULL : err);
		rc = rc ? rc : end;
	}
	all->nr += !rc;
	af_timeline_close(t);
	return rc;
}

/* A member that cannot be read is named, and the others are written. */
static int set_write(int fd, void *arg, struct af_err *err)
{
	struct set_slices *all = arg;
	struct af_progress progress = af_progress_begin("reading the traces");
	int rc = 0;

	for (uint32_t i = 0; i < all->set->nr && !rc; i++) {
		struct af_err why = {0};
		const char *reason = all->why[i];
		int one = reason ? 0 : member_write(all, i, fd, &why);
		af_progress_tell(&progress, i + 1, all->set->nr);
		if (one && !all->nr && one == -ENOSPC)
			rc = af_fail_plain(err, one, "%s", why.msg);
		else if (reason || one)
			fprintf(stderr, "aflame %s: %s is left out: %s\n", all->request->who,
			        all->set->members[i].label, reason ? reason : why.msg);
	}
	af_progress_end(&progress);
	if (!rc && !all->nr)
		rc = af_fail_plain(err, -ENODATA, "no trace in %s can be read", all->set->path);
	return rc;
}

/* How far times of different hosts may be off. */
static void clocks_report(const struct set_slices *all)
{
	char text[512];

	if (af_set_times_text(&all->times, all->set->path, text, sizeof text))
		fprintf(stderr, "aflame %s: %s\n", all->request->who, text);
}

int af_slices_write_set(const struct af_slices_request *request, const char *dir,
                        struct af_err *err)
{
	struct set_slices all = {.request = request};
	struct af_set set = {0};

	if (!request->format->can_join)
		return af_fail_plain(
		    err, -EINVAL,
		    "%s has several ranks, which only Perfetto's format has in one "
		    "file: -o NAME.perfetto-trace, or choose one with --rank",
		    dir);
	int rc = af_set_open(&set, dir, err);
	all.set = &set;
	all.why = af_xcalloc(set.nr + 1ull, sizeof *all.why);
	for (uint32_t i = 0; !rc && i < set.nr; i++)
		all.why[i] = af_set_prepare(&set, i);
	if (!rc)
		rc = af_set_times_read(&all.times, &set, err);
	if (!rc)
		rc = af_atomic_write(&request->to, set_write, &all, err);
	if (!rc)
		clocks_report(&all);
	af_set_times_free(&all.times);
	free(all.why);
	af_set_close(&set);
	af_map_free(&all.pids);
	af_arena_free(&all.names);
	return rc;
}
