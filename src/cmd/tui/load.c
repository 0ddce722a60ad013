/* Reading the trace, once or again and again while it is recorded. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cmd/output/picture.h"
#include "cmd/shared/load.h"
#include "cmd/tui/tui.h"

enum { FIRST_MS = 100 };

struct af_query tui_query(const struct tui_options *o)
{
	struct af_query query = {
	    .answers = AF_ANSWER_TOP - 1, /* all trees, all tables */
	    .weights = UINT32_MAX,
	};

	af_load_ask(&query, o->weight);
	return query;
}

static int view_of(const char *name)
{
	for (int v = 0; name && v < AF_VIEWS; v++)
		if (!strcmp(name, af_view_names[v]))
			return v;
	return AF_VIEW_ALL;
}

static bool choose(struct tui *t)
{
	const struct tui_options *o = t->options;

	return tui_choose_view(t, view_of(o->view), o->weight) ||
	       (!o->view && !o->weight && tui_choose_view(t, AF_VIEW_GPU, "count"));
}

/* A recording begins with nothing to show: wait for the first that is something. */
static int load_live(struct tui *t, const struct af_query *query, struct af_err *err)
{
	int rc = af_watch_open(&t->watch, t->dir, err);

	if (!rc)
		fprintf(stderr, "aflame: waiting for the recorder of %s\n", t->dir);
	while (!rc) {
		rc = af_watch_poll(&t->watch, query, &t->results, err);
		if (rc > 0 && (choose(t) || t->watch.ended))
			break;
		if (rc > 0) {
			af_results_close(&t->results);
			rc = 0;
		}
		poll(NULL, 0, FIRST_MS);
	}
	return rc < 0 ? rc : 0;
}

static void say_live(struct tui *t)
{
	if (t->watch.ended)
		snprintf(t->live, sizeof t->live, "[recording has ended]");
	else
		snprintf(t->live, sizeof t->live, "[live: copy %u]", t->watch.last);
}

int tui_load(struct tui *t, struct af_err *err)
{
	const struct tui_options *o = t->options;
	const struct af_query query = tui_query(o);
	int rc = o->live ? load_live(t, &query, err) : af_load(t->dir, &query, &t->results, err);

	if (!rc && !o->live)
		rc = tui_ranks_open(t, err);

	if (rc)
		return rc;
	if (!choose(t)) {
		rc = af_load_has(t->dir, &t->results, view_of(o->view), o->weight, err);
		if (rc)
			return rc;
		return af_fail_plain(err, -ENODATA, "the trace has no %s in the view %s",
		                     o->weight ? o->weight : "weight", o->view ? o->view : "all");
	}
	if (o->live)
		say_live(t);
	tui_remake(t);
	return 0;
}

bool tui_show_results(struct tui *t)
{
	const char *weight = t->view_tree->weights[t->weight].name;

	if (!tui_choose_view(t, t->view, weight) && !choose(t))
		return false;
	af_buf_free(&t->run_text);
	tui_remake(t);
	return true;
}

int tui_reload(struct tui *t, struct af_err *err)
{
	const struct af_query query = tui_query(t->options);
	struct af_results newer;
	int rc = af_watch_poll(&t->watch, &query, &newer, err);

	if (rc <= 0)
		return rc;
	/* The selection is kept by names and paths, which are the same in the newer copy. */
	struct af_results older = t->results;
	t->results = newer;
	if (!tui_show_results(t)) {
		t->results = older;
		af_results_close(&newer);
		return 0;
	}
	af_results_close(&older);
	say_live(t);
	return 0;
}
