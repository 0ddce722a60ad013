/* The ranks of a set: the user sees all of them together, or one. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cmd/shared/load.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/set.h"
#include "cmd/tui/tui.h"

int tui_ranks_open(struct tui *t, struct af_err *err)
{
	int rc = af_ranks_set(t->dir, &t->set, err);

	return rc < 0 ? rc : 0;
}

void tui_ranks_close(struct tui *t)
{
	if (t->member)
		af_results_close(&t->whole);
	af_set_close(&t->set);
}

/* Show @r, which becomes the tui's, of @who or, with NULL, of all. The set's results are kept. */
static bool ranks_show(struct tui *t, struct af_results *r, const struct af_member *who)
{
	struct af_results older = t->results;
	const struct af_member *before = t->member;

	t->results = *r;
	if (!tui_show_results(t)) {
		t->results = older;
		return false;
	}
	if (before)
		af_results_close(&older);
	else
		t->whole = older;
	t->member = who;
	return true;
}

static void ranks_read(struct tui *t, const struct af_member *who)
{
	const char *why = af_set_prepare(&t->set, (uint32_t)(who - t->set.members));
	const struct af_query query = tui_query(t->options);
	struct af_results r = {0};
	struct af_err err = {0};

	if (why || af_load_quietly(who->path, &query, &r, &err)) {
		tui_say(t, "%s: %.150s", who->label, why ? why : err.msg);
		af_results_close(&r);
	} else if (!ranks_show(t, &r, who)) {
		tui_say(t, "%s has nothing to show", who->label);
		af_results_close(&r);
	} else if (t->results.damage[0]) {
		tui_say(t, "%s is damaged: %.150s", who->label, t->results.damage);
	}
}

static void ranks_all(struct tui *t)
{
	struct af_results whole = t->whole;

	if (t->member)
		ranks_show(t, &whole, NULL);
}

/* A rank's number, or the name of a trace, as of the second of a rank. */
static const struct af_member *ranks_find(const struct tui *t, const char *words)
{
	uint64_t rank;
	bool number = af_rank_parse(words, &rank);

	for (uint32_t i = 0; i < t->set.nr; i++) {
		const struct af_member *m = &t->set.members[i];
		if (number ? m->has_rank && m->rank == rank
		           : !strcmp(words, m->name) || !strcmp(words, m->label))
			return m;
	}
	return NULL;
}

static void ranks_ask(struct tui *t)
{
	char words[TUI_WORDS];

	if (!tui_ask(t, "rank (none: all): ", words, sizeof words))
		return;
	const struct af_member *who = *words ? ranks_find(t, words) : NULL;
	if (who)
		ranks_read(t, who);
	else if (*words)
		tui_say(t, "there is no rank %.100s: 5 (Run) lists them", words);
	else
		ranks_all(t);
}

/* To the next rank, or the one before; all together stand before the first and behind the last. */
static void ranks_step(struct tui *t, bool forward)
{
	uint32_t nr = t->set.nr, at = t->member ? (uint32_t)(t->member - t->set.members) : nr;

	at = (at + (forward ? 1 : nr)) % (nr + 1);
	if (at == nr)
		ranks_all(t);
	else
		ranks_read(t, &t->set.members[at]);
}

bool tui_ranks_key(struct tui *t, int key)
{
	if (key != 'R' && key != '<' && key != '>')
		return false;
	if (!t->set.nr)
		tui_say(t, "this is one trace: a folder of ranks has more");
	else if (key == 'R')
		ranks_ask(t);
	else
		ranks_step(t, key == '>');
	return true;
}
