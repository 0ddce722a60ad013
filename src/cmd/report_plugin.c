/* aflame report --plugin: the words and options that go with plug-ins. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "cmd/plugin/plugins.h"
#include "cmd/report.h"
#include "cmd/shared/names.h"
#include "cmd/shared/ranks.h"
#include "reduce/reduce.h"

static bool is_directory(const char *word)
{
	struct stat st;

	return !stat(word, &st) && S_ISDIR(st.st_mode);
}

static int plugin_options(const struct report_options *o, struct af_err *err)
{
	const char *other = o->view                   ? "--view"
	                    : o->depth                ? "--depth"
	                    : o->by                   ? "--by"
	                    : o->sources              ? "--sources"
	                    : o->heat                 ? "--heat"
	                    : o->counters             ? "--counters"
	                    : o->lines                ? "--lines"
	                    : strcmp(o->sort, "self") ? "--sort"
	                                              : NULL;

	if (other)
		return af_fail_plain(err, -EINVAL,
		                     "%s is not for plug-ins: they get samples, work and events, "
		                     "of which they make what they like",
		                     other);
	if (o->to_ns && o->to_ns <= o->from_ns)
		return af_fail_plain(err, -EINVAL, "--to is not after --from");
	return 0;
}

/* The trace is the last word, if that is a folder: the others are for the plug-ins. */
int report_plugins(const struct report_options *o, int nr_words, char **words, struct af_err *err)
{
	bool named = nr_words && is_directory(words[nr_words - 1]);
	bool frames = o->limit != UINT64_MAX && o->limit < UINT32_MAX;
	struct af_plugins_options to = {
	    .paths = o->plugins,
	    .argc = nr_words - named,
	    .argv = words,
	    .dir = named ? words[nr_words - 1] : af_trace_dir(0, NULL),
	    .json = o->json,
	    .limit = o->limit == UINT64_MAX ? REPORT_ROWS
	             : frames               ? (uint32_t)o->limit
	                                    : 0,
	    .tree_limit = frames ? (uint32_t)o->limit : 0,
	    .all_frames = !o->limit,
	    .weight = o->weight,
	    .memory = o->plugin_memory ? o->plugin_memory : AF_PLUGIN_MEMORY,
	    .call_ns = o->plugin_ns ? o->plugin_ns : AF_PLUGIN_NS,
	    .from_ns = o->from_ns,
	    .to_ns = o->to_ns,
	    .focus = o->focus,
	    .hide = o->hide,
	    .search = o->search,
	    .output = o->output,
	};
	int rc = plugin_options(o, err);

	if (!rc && nr_words && !named && !is_directory(to.dir))
		return af_fail_plain(err, -ENOENT,
		                     "%s is no folder, so it is for the plug-in, and there is no "
		                     "trace %s",
		                     words[nr_words - 1], to.dir);
	if (rc)
		return rc;
	if (named)
		words[nr_words - 1] = NULL;
	if (af_reduce_launched_rank()) /* another process answers */
		return 0;
	rc = af_ranks_or_set(&to.dir, o->rank, &to.is_set, err);
	if (!rc && !to.is_set)
		rc = af_trace_prepare(to.dir, err);
	return rc ? rc : af_plugins_report(&to, err);
}
