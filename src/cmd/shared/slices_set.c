/* A set as one timeline: the tracks of all ranks, on the clock of the first rank's host. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/clocks/clocks.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "cmd/output/progress.h"
#include "cmd/shared/set.h"
#include "cmd/shared/slices.h"
#include "render/timeline/slices.h"
#include "trace/read/reader.h"

enum { PID_ABOVE_ALL = 1 << 22, TRACKS_EACH = 4096 }; /* pids are less: PID_MAX_LIMIT */

struct set_slices {
	const struct af_slices_request *request;
	struct af_set *set;
	struct af_set_clocks clocks;
	struct af_map pids; /* → member, plus 1: viewers take one pid for one process */
	struct af_arena names;
	uint64_t start_ns; /* of the first that can be read, on the clock of the reference */
	uint32_t nr;       /* written */
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
	return af_set_clocks_convert(&m->all->clocks, m->member, ns, NULL);
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

/* A time since the beginning of the set's first trace, as one since the beginning of this. */
static uint64_t since(const struct set_slices *all, uint64_t ns, uint64_t start_ns)
{
	uint64_t at = all->start_ns + ns;

	return ns && at > start_ns ? at - start_ns : 0;
}

/* False: the range ends before this trace begins. */
static bool member_query(struct set_slices *all, uint32_t member, struct af_timeline_query *query)
{
	struct af_trace *t;

	*query = all->request->query;
	if (af_trace_open(&t, all->set->members[member].path, UINT64_C(1) << AF_KIND_NOTE, NULL))
		return true; /* the reader says why */
	uint64_t start_ns = af_set_clocks_convert(&all->clocks, member, af_trace_start_ns(t), NULL);
	af_trace_close(t);
	if (!all->nr)
		all->start_ns = start_ns;
	query->from_ns = since(all, query->from_ns, start_ns);
	query->to_ns = since(all, query->to_ns, start_ns);
	return query->to_ns || !all->request->query.to_ns;
}

static int member_write(struct set_slices *all, uint32_t member, int fd, struct af_err *err)
{
	const struct af_format *format = all->request->format;
	struct member_slices m = {.all = all, .member = member};
	const struct af_slices_sink sink = {&m, set_track, set_slice, set_point};
	struct af_slices_to into = {format, &m.render};
	struct af_timeline_query query;
	struct af_timeline *t = NULL;

	if (!member_query(all, member, &query))
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
		const char *reason = af_set_prepare(all->set, i);
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
static void clocks_tell(const struct set_slices *all)
{
	uint64_t most = 0;

	for (uint32_t i = 1; i < all->clocks.nr_members; i++) {
		uint64_t bound = af_set_clocks_bound(&all->clocks, 0, i);
		most = bound > most ? bound : most;
	}
	if (all->clocks.nr_hosts < 2)
		return;
	if (most == AF_CLOCK_UNKNOWN)
		fprintf(stderr,
		        "aflame %s: how far times of some hosts are off is not known: see "
		        "`aflame report clocks %s`\n",
		        all->request->who, all->set->path);
	else
		fprintf(stderr,
		        "aflame %s: times of other hosts than %s may be off by up to %.3g us: see "
		        "`aflame report clocks %s`\n",
		        all->request->who, all->clocks.hosts[0].name, (double)most / 1e3,
		        all->set->path);
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
	if (!rc)
		rc = af_set_clocks_read(&all.clocks, &set, err);
	if (!rc)
		rc = af_atomic_write(&request->to, set_write, &all, err);
	if (!rc)
		clocks_tell(&all);
	af_set_clocks_free(&all.clocks);
	af_set_close(&set);
	af_map_free(&all.pids);
	af_arena_free(&all.names);
	return rc;
}
