#include "analyse/findings/findings.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/findings/private.h"
#include "analyse/tree/ids.h"
#include "base/arena.h"
#include "trace/layout.h"

bool findings_add(struct findings *s, const struct finding *x)
{
	if (!x->ns ||
	    (unsigned __int128)x->ns * 100 < (unsigned __int128)x->of_ns * AF_FINDING_PERCENT)
		return false;
	if (x->is_sampled && x->samples < AF_FINDING_SAMPLES) {
		s->few++;
		return false;
	}
	AF_GROW(s->all, s->nr, s->cap);
	s->all[s->nr++] = *x;
	return true;
}

/* Imports of other profilers' files say nothing of how they were recorded. */
static bool is_sampled_here(const struct findings *s)
{
	const struct af_table *t = findings_table(s, "run");

	for (uint32_t i = 0; t && i < t->nr_rows; i++)
		if (!strcmp(findings_text(CELL(af_pair_row, t, i, key)), "collector.cpu"))
			return true;
	return false;
}

/* By the time that can be gained, devices first; where that is the same, by what they say. */
static int findings_order(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->no_time != y->no_time)
		return x->no_time ? 1 : -1;
	if (x->gain_ns != y->gain_ns)
		return x->gain_ns > y->gain_ns ? -1 : 1;
	if (x->on_host != y->on_host)
		return x->on_host ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	int kind = strcmp(x->kind, y->kind);
	return kind ? kind : strcmp(x->what, y->what);
}

static const char *or_nothing(const char *text)
{
	return text ? text : "";
}

/* The check of a finding covers the same part of the same run. */
static const char *finding_check(struct findings *s, const char *check)
{
	unsigned long long from = s->r->query.from_ns, to = s->r->query.to_ns;

	if (!check)
		return "";
	if (from)
		check = af_tables_text(s->f, "%s --from %lluns", check, from);
	if (to)
		check = af_tables_text(s->f, "%s --to %lluns", check, to);
	if (s->r->query.words)
		check = af_tables_text(s->f, "%s %s", check, s->r->query.words);
	return !strcmp(s->r->dir, AF_TRACE_DEFAULT)
	           ? check
	           : af_tables_text(s->f, "%s %s", check, findings_quoted(s, s->r->dir));
}

static void finding_row(struct findings *s, struct af_table *t, const struct finding *x)
{
	struct af_finding_row *c = af_table_row(s->f, t);

	c->rank.value = t->nr_rows;
	c->kind.text = x->kind;
	c->time_ns.value = x->no_time ? 0 : x->ns;
	c->time_ns.unknown = x->no_time;
	c->share.value = af_tables_ratio(x->ns, x->of_ns, 1e4);
	c->of.text = x->of;
	c->samples.value = x->samples;
	c->samples.unknown = !x->is_sampled;
	c->finding.text = x->what;
	c->helps.text = or_nothing(x->helps);
	c->check.text = finding_check(s, x->check);
	c->function.text = or_nothing(x->function);
	c->id.text = or_nothing(x->id);
	c->view.text = or_nothing(x->view);
	c->hash.text = or_nothing(x->hash);
}

/* Without samples, waits and device work there is nothing that could stand out. */
static bool is_nothing_known(const struct findings *s)
{
	return !findings_total(&s->r->trees[AF_VIEW_CPU]).ns && !findings_table(s, "blocked") &&
	       !findings_table(s, "devices") && !findings_table(s, "calls_seen");
}

static void findings_rows(struct findings *s)
{
	static const struct af_column columns[] = {AF_FINDING_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(s->f, "findings", "Findings: what stands out", columns);

	AF_SORT(s->all, s->nr, findings_order);
	for (uint32_t i = 0; i < s->nr; i++)
		finding_row(s, t, &s->all[i]);
	/*
	 * Findings overlap: a gap of a device and a function that ran meanwhile are the same time.
	 */
	t->left_column = UINT32_MAX;
	if (s->few)
		t->note = af_tables_text(
		    s->f,
		    "%s%u more %s left out, with fewer than %d samples: record longer, or at a "
		    "higher rate (-F)",
		    s->nr ? "" : "nothing stands out; ", s->few, s->few == 1 ? "is" : "are",
		    AF_FINDING_SAMPLES);
	else if (!s->nr)
		t->note = is_nothing_known(s)
		              ? "no CPU time was sampled and no work of a device recorded: a "
		                "program that is soon over needs a higher rate (-F 999), one that "
		                "waits --off-cpu"
		              : "nothing stands out above 1 %";
}

/* Threads delay nothing by their work while no device waits for them. */
static void findings_gain(struct findings *s)
{
	for (uint32_t i = 0; i < s->nr; i++) {
		struct finding *x = &s->all[i];
		if (!s->gpus || !x->on_host || x->no_time || x->gain_ns > x->ns)
			x->gain_ns = x->ns;
		if (!x->gain_ns && x->ns)
			x->what = af_tables_text(s->f, "%s; no GPU waited for that", x->what);
		else if (x->gain_ns < x->ns / 2)
			x->what = af_tables_text(s->f, "%s; a GPU waited for %s of that", x->what,
			                         af_tables_ns(s->f, x->gain_ns));
	}
}

/*
 * A thread's waits as a whole come after the device's finding on them, if that has half of what can
 * be gained: it says what the thread waited for.
 */
static void findings_waits_last(struct findings *s)
{
	uint64_t blocked_ns = 0;

	for (uint32_t i = 0; i < s->nr; i++)
		if (!strcmp(s->all[i].kind, "blocked") && s->all[i].gain_ns > blocked_ns)
			blocked_ns = s->all[i].gain_ns;
	for (uint32_t i = 0; i < s->nr; i++) {
		struct finding *x = &s->all[i];
		if (!strcmp(x->kind, "off-cpu") && x->gain_ns / 2 <= blocked_ns &&
		    x->gain_ns > blocked_ns)
			x->gain_ns = blocked_ns;
	}
}

void af_findings(struct af_results *r)
{
	struct findings s = {.r = r, .f = &r->tables, .run_ns = r->shown_ns};

	s.sampled_here = is_sampled_here(&s);
	findings_coverage(&s);
	findings_ranks(&s);
	uint32_t from = s.nr;
	findings_idle(&s);
	findings_devices(&s);
	findings_kernels(&s);
	findings_withhold_devices(&s, from);
	from = s.nr;
	findings_cpu(&s);
	for (uint32_t i = from; i < s.nr; i++)
		s.all[i].by_samples = true;
	findings_threads(&s);
	findings_withhold_cpu(&s, from);
	findings_usage(&s);
	findings_limits(&s);
	findings_recording(&s);
	findings_names(&s);
	findings_gain(&s);
	findings_waits_last(&s);
	findings_busy(&s);
	findings_rows(&s);
	for (int p = 0; p < IDLE_PHASES; p++)
		af_tree_close(&s.idle[p]);
	free(s.all);
}
