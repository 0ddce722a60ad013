/* One member of a set, from its recorder's stream: a few kilobytes, not the whole trace. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/set/private.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "trace/read/files.h"
#include "trace/read/merge.h"
#include "trace/read/reader.h"
#include "trace/read/staged.h"
#include "trace/read/state.h"

enum { MEMBER_GROUPS_MAX = 64 }; /* a hostile stream may have any number of notes */

/* A member while it is read. */
struct member_reading {
	struct af_arena *arena;
	struct af_member *m;
	struct af_member_group groups[MEMBER_GROUPS_MAX];
};

bool af_rank_parse(const char *text, uint64_t *rank)
{
	char *end;

	errno = 0;
	*rank = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

static const char *kept(struct member_reading *r, const char *text, size_t len)
{
	return af_arena_strdup(r->arena, text, len);
}

static void member_group(struct member_reading *r, const char *key, const char *value)
{
	struct af_member *m = r->m;

	for (uint32_t i = 0; i < m->nr_groups; i++)
		if (!strcmp(r->groups[i].key, key))
			return;
	if (m->nr_groups < MEMBER_GROUPS_MAX)
		r->groups[m->nr_groups++] = (struct af_member_group){kept(r, key, strlen(key)),
		                                                     kept(r, value, strlen(value))};
}

static void member_groups(struct member_reading *r)
{
	size_t size = r->m->nr_groups * sizeof *r->groups;
	struct af_member_group *groups = size ? af_arena_alloc(r->arena, size) : NULL;

	if (groups)
		memcpy(groups, r->groups, size);
	r->m->groups = groups;
}

static void member_note(struct member_reading *r, const char *key, const char *value)
{
	struct af_member *m = r->m;

	if (!strcmp(key, "rank"))
		m->has_rank = af_rank_parse(value, &m->rank);
	else if (!strcmp(key, "pid"))
		m->pid = strtoull(value, NULL, 10);
	else if (!strcmp(key, "host"))
		m->host = kept(r, value, strcspn(value, ","));
	else if (!strcmp(key, "job"))
		m->job_key = kept(r, value, strlen(value));
	else if (!strcmp(key, "aflame"))
		m->version = kept(r, value, strlen(value));
	else if (!strcmp(key, "boot_id"))
		m->boot_id = kept(r, value, strlen(value));
	else if (!strcmp(key, "ranks.size") && !af_rank_parse(value, &m->job_ranks))
		m->job_ranks = 0;
	else if (!strcmp(key, "ranks.selection"))
		m->selection = kept(r, value, strlen(value));
	else if (!strncmp(key, "group.", 6) && key[6])
		member_group(r, key + 6, value);
}

static void member_end(struct af_member *m, const struct af_ev_process_end *end)
{
	/*
	 * Only for the program does the recorder know both; older traces have WAIT, with its
	 * children.
	 */
	if (end->source != AF_USAGE_WAIT && (end->source != AF_USAGE_ENDED || end->status == -1))
		return;
	if (end->source == AF_USAGE_WAIT) {
		m->cpu_ns = end->user_ns + end->kernel_ns;
		m->has_cpu = true;
	}
	m->status = end->status;
	m->has_status = true;
}

static void member_event(struct member_reading *r, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_process_end end;
	struct af_ev_usage usage;

	if (ev->kind == AF_KIND_NOTE && af_event_decode(ev, NULL, 0, tails))
		member_note(r, (const char *)tails[0].data, (const char *)tails[1].data);
	if (ev->kind == AF_KIND_PROCESS_END && af_event_decode(ev, &end, sizeof end, tails))
		member_end(r->m, &end);
	if (ev->kind == AF_KIND_USAGE && af_event_decode(ev, &usage, sizeof usage, tails) &&
	    !usage.process && usage.whose == AF_USAGE_CHILDREN) {
		r->m->cpu_ns = usage.user_ns + usage.kernel_ns;
		r->m->has_cpu = true;
	}
}

static void member_state(struct member_reading *r, int dir_fd, uint64_t *now_ns)
{
	static const enum af_member_state states[] = {
	    [AF_TRACE_COMPLETE] = AF_MEMBER_COMPLETE,
	    [AF_TRACE_RECOVERED] = AF_MEMBER_RECOVERED,
	    [AF_TRACE_LIVE] = AF_MEMBER_LIVE,
	    [AF_TRACE_DEAD] = AF_MEMBER_DEAD,
	    [AF_TRACE_UNFINISHED] = AF_MEMBER_UNFINISHED,
	};
	struct af_member *m = r->m;
	struct af_trace_status status;

	af_trace_status(dir_fd, now_ns, &status);
	m->state = states[status.state];
	m->why = kept(r, status.why, strlen(status.why));
	if (m->state != AF_MEMBER_COMPLETE || af_trace_has(dir_fd, "metadata"))
		return;
	m->state = AF_MEMBER_UNREADABLE;
	m->why = "it has no file metadata: it was copied in part";
}

void set_member_read(struct af_arena *arena, struct af_member *m, int dir_fd, uint64_t *now_ns)
{
	struct member_reading r = {.arena = arena, .m = m};
	struct af_staged staged;
	struct af_file f;
	struct af_trace *t = NULL;
	struct af_event ev;
	const uint64_t wanted =
	    1ull << AF_KIND_NOTE | 1ull << AF_KIND_PROCESS_END | 1ull << AF_KIND_USAGE;

	m->host = m->job_key = m->version = m->boot_id = m->selection = "";
	m->job_ranks = 0;
	m->groups = NULL;
	m->nr_groups = 0;
	m->has_rank = m->has_status = m->has_cpu = m->staged = false;
	m->pid = 0;
	member_state(&r, dir_fd, now_ns);
	/* A part of it may be here already, while it is being moved. */
	if (af_staged_read(dir_fd, &staged)) {
		m->staged = true;
		m->host = kept(&r, staged.host, strlen(staged.host));
		return;
	}
	if (af_file_map_at(&f, dir_fd, "recorder")) {
		m->state = AF_MEMBER_UNREADABLE;
		m->why = "its file recorder cannot be read: it was copied in part";
		return;
	}
	const struct af_stream_bytes bytes = {f.data, f.size};
	int rc = af_trace_open_memory(&t, &bytes, 1, wanted);
	while (!rc && af_trace_next(t, &ev))
		member_event(&r, &ev);
	if (!rc)
		af_trace_close(t);
	af_file_unmap(&f);
	member_groups(&r);
	if (rc || (!m->pid && !*m->host)) {
		m->state = AF_MEMBER_UNREADABLE;
		m->why = "its file recorder is damaged";
	}
}
