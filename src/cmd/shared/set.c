#include "cmd/shared/set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/functions/top.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/output/progress.h"
#include "cmd/shared/load.h"
#include "cmd/shared/names.h"
#include "cmd/shared/ranks.h"

int af_by_parse(const char *word, enum af_merge_by *by, const char **group, struct af_err *err)
{
	static const struct {
		const char *word;
		enum af_merge_by by;
	} words[] = {{"host", AF_BY_HOST},
	             {"rank", AF_BY_RANK},
	             {"device", AF_BY_DEVICE},
	             {"process", AF_BY_PROCESS},
	             {"none", AF_BY_NOTHING}};

	*group = NULL;
	*by = AF_BY_NOTHING;
	if (!word)
		return 0;
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(word, words[i].word)) {
			*by = words[i].by;
			return 0;
		}
	if (strncmp(word, "group:", strlen("group:")) != 0 || !word[strlen("group:")])
		return af_fail_plain(err, -EINVAL,
		                     "--by takes host, rank, device, process or group:KEY, not "
		                     "\"%s\"",
		                     word);
	*group = word + strlen("group:");
	*by = AF_BY_GROUP;
	return 0;
}

int af_by_query(const char *word, struct af_query *query, struct af_err *err)
{
	enum af_merge_by by;
	int rc = af_by_parse(word, &by, &query->members_group, err);

	query->members_by = by;
	return rc;
}

const char *af_set_prepare(struct af_set *set, uint32_t i)
{
	const struct af_member *m = &set->members[i];
	struct af_err err = {0};

	if (m->state == AF_MEMBER_LIVE || m->state == AF_MEMBER_UNREADABLE)
		return *m->why ? m->why : "it is still being recorded";
	if (af_trace_prepare(m->path, &err))
		return af_arena_strdup(&set->arena, err.msg, strlen(err.msg));
	if (m->state == AF_MEMBER_UNFINISHED)
		af_set_refresh(set, i);
	return NULL;
}

/* The function of a trace, without a limit, so that its distribution over ranks is exact. */
static void member_load(struct af_merge *m, struct af_set *set, uint32_t i,
                        const struct af_query *query)
{
	const struct af_member *who = &set->members[i];
	const char *why = af_set_prepare(set, i);
	struct af_results r = {0};
	struct af_err err = {0};

	if (why) {
		af_merge_missing(m, who, why);
		return;
	}
	if (af_load_passes(who->path, query, &r, NULL, &err)) {
		af_merge_missing(m, who, err.msg);
	} else {
		af_load_top(&r, query->answers, 0);
		af_merge_add(m, who, &r);
	}
	af_results_close(&r);
}

void af_set_report(const char *path, const struct af_merge *m)
{
	struct af_buf b = {0};

	af_merge_about(m, &b);
	fprintf(stderr, "aflame: %s: %s\n", path, b.data ? b.data : "");
	af_buf_free(&b);
}

static int set_none(const struct af_set *set, const struct af_merge *m, struct af_err *err)
{
	struct af_buf b = {0};

	af_merge_about(m, &b);
	af_fail_plain(err, -ENODATA, "no trace in %s can be read: %.400s", set->path,
	              b.data ? b.data : "");
	af_buf_free(&b);
	return -ENODATA;
}

int af_set_load(struct af_set *set, const struct af_query *query, struct af_results *r,
                struct af_err *err)
{
	struct af_progress progress = af_progress_begin("reading the traces");
	struct af_merge_how how = {.query = *query,
	                           .by = (enum af_merge_by)query->members_by,
	                           .group = query->members_group};

	/* Parts of a run, and code of kernels, are of one trace. */
	how.query.answers &= ~(uint32_t)(AF_ANSWER_STEADY | AF_ANSWER_ANNOTATE);
	how.query.merges = true;
	if (how.by == AF_BY_DEVICE && how.query.group == AF_GROUP_NONE)
		how.query.group = AF_GROUP_DEVICE;
	struct af_merge *m = af_merge_open(&how);
	for (uint32_t i = 0; i < set->nr; i++) {
		member_load(m, set, i, &how.query);
		af_progress_tell(&progress, i + 1, set->nr);
	}
	af_progress_end(&progress);
	af_merge_end(m, r);
	r->query.merges = false;
	r->dir = af_tables_text(&r->tables, "%s", query->trace ? query->trace : set->path);
	int rc = r->members ? 0 : set_none(set, m, err);
	if (!rc) {
		af_set_report(set->path, m);
		af_ranks_table(set, &r->tables);
		af_load_finish(r, how.query.answers);
	}
	af_merge_close(m);
	return rc;
}
