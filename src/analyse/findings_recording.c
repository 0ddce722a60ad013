/* What the recording itself cannot tell: cut stacks, names that are missing, lost samples. */
#include <stdlib.h>
#include <string.h>

#include "analyse/findings_private.h"
#include "base/arena.h"
#include "trace/kinds.h"

enum { NAMELESS_PERCENT = 10, KERNEL_PERCENT = 5 };

#define NAMELESS_PATTERN "!0x|: (no symbol|file gone|file replaced)]$"

/* CPU time in stacks that match @pattern, as a finding about the recording. */
static void find_stacks(struct findings *s, struct finding *x, const char *pattern)
{
	x->of_ns = findings_total(&s->r->trees[AF_VIEW_CPU]);
	x->of = "CPU time";
	x->about_recording = true;
	x->view = "cpu";
	x->hash = findings_link(s, "#view=cpu&w=time", "q", pattern);
	x->check = af_facts_text(s->f, "aflame report callers '%s' --view cpu", pattern);
	findings_add(s, x);
}

/* What usually makes the stacks whole of which most time was cut short by this. */
static const char *cut_helps(const char *name)
{
	static const struct {
		const char *part, *helps;
	} known[] = {
	    {"no unwind table", "building it with unwind tables or -fno-omit-frame-pointer"},
	    {"goes on beyond",
	     "recording larger copies of stacks (perf record --call-graph dwarf,65528)"},
	    {"not at hand", "importing where the program's files are"},
	    {"was not walked", "recording with stacks"},
	};

	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		if (strstr(name, known[i].part))
			return known[i].helps;
	return NULL;
}

static void find_cut(struct findings *s)
{
	const struct af_tree *t = &s->r->trees[AF_VIEW_CPU];
	uint64_t ns = findings_pattern_weight(t, "^\\[truncated: ");
	const char *most = findings_heaviest(s, t, "[truncated: ");
	struct finding x = {.kind = "cut-stacks", .ns = ns, .helps = most ? cut_helps(most) : NULL};

	if (!most)
		return;
	x.what =
	    af_facts_text(s->f, "%s of CPU time (%s of %s) has a stack that is cut short; most: %s",
	                  af_facts_ns(s->f, ns), findings_share(s, ns, findings_total(t)),
	                  af_facts_ns(s->f, findings_total(t)), most);
	find_stacks(s, &x, "^\\[truncated: ");
}

static void find_no_stack(struct findings *s)
{
	const struct af_tree *t = &s->r->trees[AF_VIEW_CPU];
	uint64_t ns = findings_pattern_weight(t, "^\\[(user )?stack not recorded]$");
	struct finding x = {.kind = "no-stack", .ns = ns};

	x.what = af_facts_text(s->f, "%s of CPU time (%s of %s) has no stack of the program",
	                       af_facts_ns(s->f, ns), findings_share(s, ns, findings_total(t)),
	                       af_facts_ns(s->f, findings_total(t)));
	find_stacks(s, &x, "^\\[(user )?stack not recorded]$");
}

/* How long the name of the module is in "libc.so.6!0x2a150" and "[ext4: no symbol]"; 0: a name. */
static size_t nameless_length(const char *text, size_t len)
{
	static const char *const reasons[] = {": no symbol]", ": file gone]", ": file replaced]"};
	const char *mark = memmem(text, len, "!0x", 3);

	if (mark)
		return (size_t)(mark - text);
	for (unsigned i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		size_t tail = strlen(reasons[i]);
		if (len > tail + 1 && *text == '[' && !memcmp(text + len - tail, reasons[i], tail))
			return len - tail - 1;
	}
	return 0;
}

/* The module of which most time is. */
struct nameless {
	const char *module;
	uint64_t ns;
};

static int nameless_order(const void *a, const void *b)
{
	const struct nameless *x = a, *y = b;

	return strcmp(x->module, y->module);
}

static const char *nameless_module(struct nameless *all, uint32_t nr)
{
	uint32_t best = 0, k = 0;

	if (!nr)
		return "";
	qsort(all, nr, sizeof *all, nameless_order);
	for (uint32_t i = 1; i < nr; i++) {
		if (!strcmp(all[k].module, all[i].module))
			all[k].ns += all[i].ns;
		else
			all[++k] = all[i];
	}
	for (uint32_t i = 1; i <= k; i++)
		best = all[i].ns > all[best].ns ? i : best;
	all[0].ns = all[best].ns;
	return all[best].module;
}

/* Self time of functions that have no name but an address. */
static void find_nameless(struct findings *s)
{
	const struct af_tree *t = &s->r->trees[AF_VIEW_CPU];
	uint64_t *own = af_xcalloc(t->nr_names + 1, sizeof *own), ns = 0;
	struct nameless *all = af_xcalloc(t->nr_names + 1, sizeof *all);
	uint32_t nr = 0;

	for (uint32_t n = 1; n < t->nr; n++)
		own[t->nodes[n].name] += t->self[AF_WEIGHT_TIME][n];
	for (uint32_t i = 1; i < t->nr_names; i++) {
		size_t len;
		const char *text = af_tree_text(t, i, &len);
		size_t module = own[i] ? nameless_length(text, len) : 0;
		if (!module)
			continue;
		text += *text == '[';
		ns += own[i];
		all[nr++] = (struct nameless){af_arena_strdup(&s->f->arena, text, module), own[i]};
	}
	const char *module = nameless_module(all, nr);
	struct finding x = {.kind = "nameless", .ns = ns};
	if ((unsigned __int128)ns * 100 >=
	    (unsigned __int128)findings_total(t) * NAMELESS_PERCENT) {
		x.what = af_facts_text(
		    s->f,
		    "%s of CPU time (%s of %s) is in functions without a name; %s of it in %s",
		    af_facts_ns(s->f, ns), findings_share(s, ns, findings_total(t)),
		    af_facts_ns(s->f, findings_total(t)), af_facts_ns(s->f, all[0].ns), module);
		x.helps = af_facts_text(
		    s->f, "a debug package of %s or a server for it (DEBUGINFOD_URLS), if any",
		    module);
		find_stacks(s, &x, NAMELESS_PATTERN);
	}
	free(own);
	free(all);
}

/* Samples of instructions that are of no kernel of the trace: of them no time is known. */
static void find_unattributed(struct findings *s)
{
	const struct af_table *t = findings_table(s, "samples");
	uint64_t samples = findings_sum(t, "Samples", NULL, NULL);
	double none = 0;

	for (uint32_t i = 0; t && i < t->nr_rows; i++)
		none += (double)findings_value(t, i, "Samples") *
		        (double)findings_value(t, i, "No kernel") / 1e4;
	struct finding x = {.kind = "no-kernel",
	                    .ns = (uint64_t)(none + 0.5),
	                    .of_ns = samples,
	                    .of = "samples of instructions",
	                    .no_time = true,
	                    .check = "aflame report",
	                    .view = "facts",
	                    .hash = "#tab=facts",
	                    .about_recording = true};
	x.what = af_facts_text(
	    s->f, "%s of %s samples of instructions are of no kernel that was recorded",
	    findings_share(s, x.ns, x.of_ns), findings_number(s, samples));
	findings_add(s, &x);
}

/* What was lost, of all that there was to record: events, for whichever reason most were. */
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
	                    .check = "aflame report",
	                    .view = "facts",
	                    .hash = "#tab=facts",
	                    .about_recording = true};
	x.what = af_facts_text(s->f, "%s were lost (%s of all), most: %s",
	                       findings_count(s, lost, "event"), findings_share(s, lost, x.of_ns),
	                       af_lost_text(known[most].reason));
	findings_add(s, &x);
}

/*
 * Samples of user mode alone have none of the kernel's time: what processes used of it is known of
 * the whole run only. What wait4 says of one is with its children.
 */
static void find_kernel_time(struct findings *s)
{
	static const char waited[] = "by wait4: with its children";
	const struct af_table *t = findings_table(s, "processes");
	uint64_t all = findings_sum(t, "Kernel", NULL, NULL),
		 parents = findings_sum(t, "Kernel", "Measured", waited),
		 ns = parents > all - parents ? parents : all - parents,
		 cpu_ns = findings_total(&s->r->trees[AF_VIEW_CPU]);
	struct finding x = {.kind = "kernel-time",
	                    .ns = ns,
	                    .of_ns = ns + cpu_ns,
	                    .of = "CPU time",
	                    .helps = "recording with --sample bpf, as root",
	                    .check = "aflame report",
	                    .view = "facts",
	                    .hash = "#tab=facts",
	                    .about_recording = true};

	/* The table says whether samples could have seen it. */
	bool blind = t && t->note && strstr(t->note, "see user mode only");

	if (!blind || !s->sampled_here || s->r->asked.from_ns || s->r->asked.to_ns ||
	    (unsigned __int128)ns * 100 < (unsigned __int128)x.of_ns * KERNEL_PERCENT)
		return;
	x.what = af_facts_text(s->f,
	                       "%s of kernel time (%s of %s CPU time) is not in the samples, which "
	                       "see user mode only",
	                       af_facts_ns(s->f, ns), findings_share(s, ns, x.of_ns),
	                       af_facts_ns(s->f, x.of_ns));
	findings_add(s, &x);
}

void findings_recording(struct findings *s)
{
	find_kernel_time(s);
	if (findings_total(&s->r->trees[AF_VIEW_CPU])) {
		find_cut(s);
		find_no_stack(s);
		find_nameless(s);
	}
	find_unattributed(s);
	find_lost(s);
}
