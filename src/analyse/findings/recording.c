/* Findings about the recording itself: cut stacks, lost samples. */
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/private.h"
#include "analyse/frames/marks.h"
#include "base/arena.h"
#include "trace/kinds.h"
#include "trace/layout.h"

/* Why the stacks below the frame @name are cut short; AF_STOP_END for no stop of aflame's own. */
static enum af_stop stop_of(const char *name)
{
	const size_t start = strlen(AF_MARK_TRUNCATED);
	int stop = 0;

	for (; stop < AF_STOP_END; stop++) {
		const char *words = af_stop_text((uint32_t)stop);
		size_t len = strlen(words);
		if (len && !strncmp(name + start, words, len) && !strcmp(name + start + len, "]"))
			break;
	}
	return (enum af_stop)stop;
}

/* The process in which stacks that begin with the frame @mark mostly end in JIT code; 0: none. */
static uint32_t cut_in_jit(const struct af_tree *t, const char *mark)
{
	uint64_t *mine = af_xcalloc(t->nr, sizeof *mine), all = 0, jit = 0;
	size_t len;

	for (uint32_t n = 1; n < t->nr; n++) {
		const char *text = af_tree_text(t, t->nodes[t->nodes[n].parent].name, &len);
		if (len != strlen(mark) || memcmp(text, mark, len))
			continue;
		/* Below the mark is the frame whose caller was not found. */
		all += t->total[AF_WEIGHT_TIME][n];
		if (af_tree_frame(t, t->nodes[n].name) != AF_FRAME_JIT)
			continue;
		jit += t->total[AF_WEIGHT_TIME][n];
		mine[findings_process(t, n)] += t->total[AF_WEIGHT_TIME][n];
	}
	uint32_t process = jit > all / 2 ? findings_heaviest_process(t, mine) : 0;
	free(mine);
	return process;
}

/* The usual cure for stacks that the frame @mark says were cut short, the most time first. */
static const char *cut_helps(const struct af_tree *t, const char *mark)
{
	uint32_t process;

	switch (stop_of(mark)) {
	case AF_STOP_NO_RULE:
		process = cut_in_jit(t, mark);
		return process ? findings_stacks_help(t, process)
		               : "building it with unwind tables or -fno-omit-frame-pointer";
	case AF_STOP_COPY_ENDS:
		return "recording larger copies of stacks (perf record --call-graph dwarf,65528)";
	case AF_STOP_NO_FILE:
		return "importing where the program's files are";
	case AF_STOP_NOT_WALKED:
		return "recording with stacks";
	default:
		return NULL;
	}
}

static void find_cut(struct findings *s)
{
	const struct af_tree *t = &s->r->trees[AF_VIEW_CPU];
	struct findings_sum sum = findings_pattern_weight(t, "^\\[truncated: ");
	const char *most = findings_heaviest(s, t, AF_MARK_TRUNCATED);
	struct finding x = {.kind = "cut-stacks", .helps = most ? cut_helps(t, most) : NULL};

	if (!most)
		return;
	x.what = af_tables_text(s->f, "%s has a stack that is cut short; most: %s",
	                        findings_sampled(s, &x, t, sum), most);
	findings_recorded(s, &x, "^\\[truncated: ");
}

static void find_no_stack(struct findings *s)
{
	const struct af_tree *t = &s->r->trees[AF_VIEW_CPU];
	struct findings_sum sum = findings_pattern_weight(t, "^\\[(user )?stack not recorded]$");
	struct finding x = {.kind = "no-stack"};

	x.what =
	    af_tables_text(s->f, "%s has no stack of the program", findings_sampled(s, &x, t, sum));
	findings_recorded(s, &x, "^\\[(user )?stack not recorded]$");
}

/* Samples of instructions that are of no kernel of the trace: of them no time is known. */
static void find_unattributed(struct findings *s)
{
	const struct af_table *t = findings_table(s, "samples");
	uint64_t samples = FINDINGS_SUM(af_sampled_row, t, samples);
	double none = 0;

	for (uint32_t i = 0; t && i < t->nr_rows; i++)
		none += (double)findings_value(CELL(af_sampled_row, t, i, samples)) *
		        (double)findings_value(CELL(af_sampled_row, t, i, no_kernel_percent)) / 1e4;
	struct finding x = {.kind = "no-kernel",
	                    .ns = (uint64_t)(none + 0.5),
	                    .of_ns = samples,
	                    .of = "samples of instructions",
	                    .no_time = true,
	                    .check = "aflame report samples",
	                    .view = "facts",
	                    .hash = "#tab=facts",
	                    .rank = FINDING_RECORDING};
	x.what = af_tables_text(
	    s->f, "%s of %s samples of instructions are of no kernel that was recorded",
	    findings_share(s, x.ns, x.of_ns), findings_number(s, samples));
	findings_add(s, &x);
}

/*
 * The share of events that was lost, and the reason for most of the loss. Not among them: times,
 * bytes, what was asked for, and work whose times are not known, of which other findings are.
 */
static void find_lost(struct findings *s)
{
	static const struct {
		enum af_lost reason;
		const char *helps;
	} known[] = {
	    {AF_LOST_RING_FULL, "a lower --rate, or fewer --api"},
	    {AF_LOST_NO_STREAM, "more room in /dev/shm"},
	    {AF_LOST_BUSY, "a lower --rate"},
	    {AF_LOST_DISK_FULL, "more room on the disk, --max-size or --ring"},
	    {AF_LOST_TABLE_FULL, NULL},
	    {AF_LOST_THROTTLED, "a lower --rate"},
	    {AF_LOST_KERNEL_RING, "a lower --rate"},
	    {AF_LOST_NO_JOIN, NULL},
	    {AF_LOST_DROPPED, NULL},
	    {AF_LOST_TOO_LARGE, NULL},
	    {AF_LOST_DEBUGGER, "recording without a debugger"},
	    {AF_LOST_FORBIDDEN, NULL},
	    {AF_LOST_MAPPINGS, NULL},
	    {AF_LOST_LATE, "counters that are read less often"},
	};
	uint64_t lost = 0;
	unsigned most = 0;

	for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
		uint64_t nr = s->r->lost[known[i].reason];
		lost += nr < UINT32_MAX ? nr : UINT32_MAX;
		most = nr > s->r->lost[known[most].reason] ? i : most;
	}
	struct finding x = {.kind = "lost",
	                    .ns = lost,
	                    .of_ns = lost + s->r->nr_events,
	                    .of = "events",
	                    .no_time = true,
	                    .helps = known[most].helps,
	                    .check = "aflame report lost",
	                    .view = "facts",
	                    .hash = "#tab=facts",
	                    .rank = FINDING_RECORDING};
	x.what = af_tables_text(s->f, "%s were lost (%s of all), most: %s",
	                        findings_count(s, lost, "event"), findings_share(s, lost, x.of_ns),
	                        af_lost_text(known[most].reason));
	findings_add(s, &x);
}

static void find_unseen_allocations(struct findings *s)
{
	const struct af_table *t = findings_table(s, "run");
	struct finding x = {.kind = "allocations-unseen",
	                    .ns = 1,
	                    .of_ns = 1,
	                    .of = "recordings",
	                    .no_time = true,
	                    .check = "aflame report run",
	                    .view = "facts",
	                    .hash = "#tab=facts",
	                    .rank = FINDING_RECORDING};

	for (uint32_t i = 0; t && i < t->nr_rows; i++) {
		if (strcmp(findings_text(CELL(af_pair_row, t, i, key)), "allocations_unseen") != 0)
			continue;
		x.what = af_tables_text(s->f, "allocations are not recorded in %s",
		                        findings_text(CELL(af_pair_row, t, i, value)));
		findings_add(s, &x);
	}
}

void findings_recording(struct findings *s)
{
	if (findings_total(&s->r->trees[AF_VIEW_CPU]).ns) {
		find_cut(s);
		find_no_stack(s);
	}
	find_unattributed(s);
	find_lost(s);
	find_unseen_allocations(s);
}
