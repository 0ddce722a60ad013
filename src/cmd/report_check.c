/* Which options of aflame report go together, and which of them are for a folder of ranks. */
#include <errno.h>
#include <string.h>

#include "analyse/tree/by_track.h"
#include "base/err.h"
#include "cmd/ranks/parts.h"
#include "cmd/report.h"
#include "cmd/shared/set.h"

static bool is_kind(const struct report *r, const char *name)
{
	return !strcmp(r->kind->name, name) && !r->table;
}

int report_check(const struct report *r, struct af_err *err)
{
	const struct report_options *o = r->options;

	if (!r->kind->is_of_tree && (o->focus.nr || o->hide.nr || o->search.nr))
		return af_fail_plain(err, -EINVAL,
		                     "--focus, --hide and --search are for top, flat, tree, "
		                     "callers and callees");
	if (o->lines && !is_kind(r, "flat"))
		return af_fail_plain(err, -EINVAL, "--lines is for flat");
	if (o->depth && !r->kind->is_of_tree)
		return af_fail_plain(err, -EINVAL,
		                     "--depth is for top, flat, tree, callers and callees");
	if (o->counters && !is_kind(r, "counters") && !is_kind(r, "kernel-counters"))
		return af_fail_plain(err, -EINVAL,
		                     "--counters is for counters and kernel-counters");
	if (strcmp(o->output.file, "-") != 0 || o->plugin_memory || o->plugin_ns)
		return af_fail_plain(err, -EINVAL,
		                     "-o, --plugin-memory and --plugin-time are for --plugin; "
		                     "> FILE writes a report to a file");
	if (o->to_ns && o->to_ns <= o->from_ns)
		return af_fail_plain(err, -EINVAL, "--to is not after --from");
	return 0;
}

/* The words of --by that group the weight of a view by its tracks. */
static bool is_track(const char *word)
{
	return af_by_track_what(word) != AF_LOCATION_CODE;
}

int report_check_by(struct report *r, struct report_options *o, struct af_err *err)
{
	enum af_merge_by by;
	const char *group;

	if (!o->by)
		return 0;
	bool tracks = is_track(o->by);
	bool own = is_kind(r, "top") || is_kind(r, "flat")
	               ? tracks
	               : is_kind(r, "coverage") && !strcmp(o->by, "thread");
	if (r->is_set && !own) {
		r->members_by = o->by;
		o->by = NULL;
		if (is_kind(r, "findings") || is_kind(r, "coverage"))
			return af_parts_check(r->kind->name, r->members_by, err);
		return af_by_parse(r->members_by, &by, &group, err);
	}
	if (!tracks)
		return af_fail_plain(err, -EINVAL,
		                     "--by %s is for a folder of ranks, and %s is one trace: --by "
		                     "takes process, rank, thread, device or stream there",
		                     o->by, r->dir);
	if (is_kind(r, "coverage") && strcmp(o->by, "thread") != 0)
		return af_fail_plain(err, -EINVAL, "coverage is by process, or --by thread");
	if (!is_kind(r, "coverage") && !is_kind(r, "flat") &&
	    (!is_kind(r, "top") || o->focus.nr || o->hide.nr || o->search.nr))
		return af_fail_plain(err, -EINVAL,
		                     "--by is for top, flat and coverage, and for top only without "
		                     "--focus, --hide and "
		                     "--search");
	return 0;
}
