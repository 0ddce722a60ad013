/* Lists the members of a set: the traces in a folder, in the order of their ranks. */
#include "analyse/set/set.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyse/set/private.h"
#include "analyse/table/table.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/scope.h"
#include "trace/read/contents.h"
#include "trace/read/files.h"

static const char *set_text(struct af_set *s, const char *a, const char *between, const char *b)
{
	size_t size = strlen(a) + strlen(between) + strlen(b) + 1;
	char *text = af_arena_alloc(&s->arena, size);

	snprintf(text, size, "%s%s%s", a, between, b);
	return text;
}

/* Is it a backup, "rank-0000.old", or a snapshot, "rank-0000.1", of a trace beside it? */
static bool is_copy(int fd, const char *name)
{
	char of[NAME_MAX + 1];
	const char *dot = strrchr(name, '.');

	if (!dot || dot == name ||
	    (strcmp(dot, ".old") != 0 && (!dot[1] || dot[1 + strspn(dot + 1, "0123456789")])))
		return false;
	snprintf(of, sizeof of, "%.*s", (int)(dot - name), name);
	return af_trace_has(fd, of);
}

/* The recorder names directories so: what cannot be read there is a member, too. */
static bool is_rank_name(const char *name, uint64_t *rank)
{
	char digits[32];
	const char *at = name + strlen("rank-");

	if (strncmp(name, "rank-", strlen("rank-")) != 0)
		return false;
	size_t len = strspn(at, "0123456789");
	if (!len || len >= sizeof digits)
		return false;
	snprintf(digits, sizeof digits, "%.*s", (int)len, at);
	return af_rank_parse(digits, rank);
}

/* The members of a set while its folder is listed. */
struct set_listing {
	struct af_set *set;
	int fd;
	const char *run; /* of which this is the folder, or NULL */
	uint64_t now_ns;
};

/* Add the trace @name. Those of programs that have no rank are not part of a job. */
static void set_add(void *arg, const char *name, int one)
{
	struct set_listing *l = arg;
	struct af_set *s = l->set;
	struct af_member m = {.why = ""};
	uint64_t rank;

	if (is_copy(l->fd, name) || (!af_trace_is_placed(one) && !af_trace_has(one, "recorder")))
		return;
	set_member_read(&s->arena, &m, one, &l->now_ns);
	if (!m.has_rank && is_rank_name(name, &rank)) {
		m.rank = rank;
		m.has_rank = true;
	}
	if (!m.has_rank)
		return;
	m.name = af_arena_strdup(&s->arena, name, strlen(name));
	m.path = set_text(s, s->path, "/", name);
	AF_GROW(s->members, s->nr, s->cap);
	s->members[s->nr++] = m;
}

/* An imported trace has no recorder. */
static void member_imported(struct af_member *m, int fd)
{
	if (m->state != AF_MEMBER_UNREADABLE || !af_trace_has(fd, "metadata"))
		return;
	m->state = AF_MEMBER_COMPLETE;
	m->why = "";
}

/* The group "run", before those of the trace. */
static void member_run(struct af_set *s, struct af_member *m, const char *run)
{
	struct af_member_group *groups =
	    af_arena_alloc(&s->arena, (m->nr_groups + 1ull) * sizeof *groups);

	groups[0] = (struct af_member_group){"run", run};
	for (uint32_t i = 0; i < m->nr_groups; i++)
		groups[i + 1] = m->groups[i];
	m->groups = groups;
	m->nr_groups++;
}

/* Add the trace @name, or the ranks of the run that is in the folder @name. */
static void run_add(void *arg, const char *name, int one)
{
	struct set_listing *l = arg;
	struct af_set *s = l->set;
	struct af_member m = {.why = ""};
	char rank[32] = "";

	if (is_copy(l->fd, name))
		return;
	const char *kept = set_text(s, name, "", "");
	if (!af_trace_is_placed(one) && !af_trace_has(one, "recorder")) {
		if (!l->run)
			af_trace_each(one, run_add,
			              &(struct set_listing){.set = s, .fd = one, .run = kept});
		return;
	}
	set_member_read(&s->arena, &m, one, &l->now_ns);
	member_imported(&m, one);
	if (l->run && m.has_rank)
		snprintf(rank, sizeof rank, "rank %llu", (unsigned long long)m.rank);
	m.has_rank = false;
	m.rank = m.job_ranks = 0;
	const char *run = l->run ? l->run : kept;
	m.name = l->run ? set_text(s, run, "/", kept) : kept;
	m.label = *rank ? set_text(s, run, " ", rank) : m.name;
	m.path = set_text(s, s->path, "/", m.name);
	member_run(s, &m, run);
	AF_GROW(s->members, s->nr, s->cap);
	s->members[s->nr++] = m;
}

static int members_order(const void *a, const void *b)
{
	const struct af_member *x = a, *y = b;

	if (x->has_rank != y->has_rank)
		return x->has_rank ? -1 : 1;
	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->name, y->name);
}

static bool is_twin(const struct af_set *s, uint32_t i, uint32_t of)
{
	return of < s->nr && s->members[i].has_rank && s->members[of].has_rank &&
	       s->members[i].rank == s->members[of].rank;
}

uint32_t af_set_twins(const struct af_set *s)
{
	uint32_t nr = 0;

	for (uint32_t i = 1; i < s->nr; i++)
		nr += is_twin(s, i, i - 1);
	return nr;
}

/* Two of one rank have the names of their directories in their labels. */
static void set_labels(struct af_set *s)
{
	for (uint32_t i = 0; i < s->nr; i++) {
		struct af_member *m = &s->members[i];
		char rank[32];
		snprintf(rank, sizeof rank, "rank %llu", (unsigned long long)m->rank);
		if (m->has_rank || !m->label)
			m->label = set_text(s, m->has_rank ? rank : m->name, "", "");
		if (is_twin(s, i, i + 1) || (i && is_twin(s, i, i - 1)))
			m->label = set_text(s, rank, " (", set_text(s, m->name, ")", ""));
	}
}

static int set_single(struct af_set *s, int fd, const char *path)
{
	struct af_member m = {.why = ""};
	const char *name = strrchr(path, '/');
	uint64_t now_ns = 0;

	set_member_read(&s->arena, &m, fd, &now_ns);
	member_imported(&m, fd);
	m.name = name && name[1] ? name + 1 : s->path;
	m.path = s->path;
	AF_GROW(s->members, s->nr, s->cap);
	s->members[s->nr++] = m;
	s->single = true;
	set_labels(s);
	return 0;
}

int af_set_open(struct af_set *s, const char *path, struct af_err *err)
{
	*s = (struct af_set){0};
	s->path = af_arena_strdup(&s->arena, path, strlen(path));
	scope_close int fd = af_trace_dir_open(path);
	if (fd < 0)
		return af_fail(err, fd, "cannot open %s", path);
	if (af_trace_is_placed(fd))
		return set_single(s, fd, s->path);
	af_trace_each(fd, set_add, &(struct set_listing){.set = s, .fd = fd});
	if (!s->nr && af_trace_has(fd, AF_JOB_FILE))
		return af_fail_plain(err, -ENODATA, "no rank in %s has begun to be recorded", path);
	if (!s->nr)
		af_trace_each(fd, run_add, &(struct set_listing){.set = s, .fd = fd});
	if (!s->nr)
		return af_fail_plain(err, -ENODATA, "%s has no trace", path);
	AF_SORT(s->members, s->nr, members_order);
	set_labels(s);
	return 0;
}

void af_set_close(struct af_set *s)
{
	af_arena_free(&s->arena);
	free(s->members);
	*s = (struct af_set){0};
}

void af_set_refresh(struct af_set *s, uint32_t i)
{
	struct af_member was = s->members[i], *m = &s->members[i];
	scope_close int fd = af_trace_dir_open(was.path);
	uint64_t now_ns = 0;

	if (fd < 0)
		return;
	set_member_read(&s->arena, m, fd, &now_ns);
	m->rank = was.rank;
	m->has_rank = was.has_rank;
	m->groups = was.groups;
	m->nr_groups = was.nr_groups;
	m->job_ranks = was.has_rank ? m->job_ranks : 0;
}

static const char *member_state(const struct af_member *m)
{
	static const char *const texts[] = {
	    [AF_MEMBER_COMPLETE] = "complete",         [AF_MEMBER_RECOVERED] = "recovered",
	    [AF_MEMBER_LIVE] = "still being recorded", [AF_MEMBER_DEAD] = "dead",
	    [AF_MEMBER_UNFINISHED] = "not finished",   [AF_MEMBER_UNREADABLE] = "cannot be read",
	};

	if (m->staged)
		return m->state == AF_MEMBER_LIVE ? "recorded, staged" : "staged";
	return texts[m->state];
}

static const char *member_status(struct af_tables *f, const struct af_member *m)
{
	if (!m->has_status)
		return "";
	if (WIFSIGNALED(m->status))
		return af_tables_text(f, "signal %d (%s)", WTERMSIG(m->status),
		                      strsignal(WTERMSIG(m->status)));
	return af_tables_text(f, "%d", WEXITSTATUS(m->status));
}

void af_member_cells(struct af_tables *f, const struct af_member *m, struct af_member_row *row)
{
	row->rank.value = m->rank;
	row->rank.unknown = !m->has_rank;
	row->host.text = af_tables_text(f, "%s", m->host ? m->host : "");
	row->pid.text = m->pid ? af_tables_text(f, "%llu", (unsigned long long)m->pid) : "";
	row->exit_status.text = member_status(f, m);
	row->cpu_time_ns.value = m->cpu_ns;
	row->cpu_time_ns.unknown = !m->has_cpu;
	row->state.text = member_state(m);
	row->trace.text = af_tables_text(f, "%s", m->name);
}
