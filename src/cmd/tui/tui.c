/* aflame tui: the reports to move about in. */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/load.h"
#include "cmd/shared/ranks.h"
#include "cmd/tui/tui.h"

static int tui_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct tui_options *o = state;

	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "one trace, not %s too", words[1]);
#ifdef AF_HAVE_NCURSES
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return af_fail_plain(err, -ENOTTY,
		                     "this needs a terminal: `aflame report` prints the same");
	const char *dir = af_trace_dir(nr_words, words);
	bool is_set;
	const struct af_ranks_query query = {.rank = o->rank, .all = !o->live, .is_set = &is_set};
	int rc = af_ranks_choose(&dir, &query, err);
	return rc ? rc : tui_main(dir, o, err);
#else
	(void)o;
	return af_fail_plain(err, -ENOSYS,
	                     "this aflame was built without ncurses: `aflame report` prints the "
	                     "same");
#endif
}

static const struct af_option tui_options[] = {
    {AF_OPT_CHOICE, "view", 0, "VIEW", "begin with cpu, gpu, all, wakers or idle (all)",
     offsetof(struct tui_options, view), "cpu|gpu|all|wakers|idle"},
    {AF_OPT_STRING, "weight", 'w', "WEIGHT",
     "begin with time, samples, count, bytes, off-cpu, alloc, live, allocs or energy",
     offsetof(struct tui_options, weight), AF_WEIGHT_WORDS},
    AF_RANK_OPTION(struct tui_options),
    {AF_OPT_FLAG, "live", 0, NULL, "follow a running recording",
     offsetof(struct tui_options, live)},
    {AF_OPT_END},
};

const struct af_command af_command_tui = {
    .name = "tui",
    .usage = "[OPTIONS] [DIR]",
    .summary = "Look through a trace in the terminal",
    .details =
	"Functions, the tree, callers and callees, the flame graph in characters, and the "
	"summary,\n"
	"by any view and weight, with search and filters: the same numbers as `aflame report`.\n"
	"The last line shows the main keys; ? shows all. No mouse is needed.\n"
	"A folder of ranks is shown as a whole; R chooses one of them, < and > go through them.\n"
	"With --live the recorder makes a copy of the trace so far, at most once a second;\n"
	"`aflame record --live` shows less, in the terminal of the program.",
    .examples = "aflame tui\tthe last recording\n"
		"aflame tui --view gpu run1\twhat devices did\n"
		"aflame tui --live\tthe recording that another terminal makes of aflame.data",
    .options = tui_options,
    .state_size = sizeof(struct tui_options),
    .run = tui_run,
};
