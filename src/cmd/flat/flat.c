#include "cmd/flat/flat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/output/picture.h"
#include "cmd/shared/load.h"
#include "cmd/shared/summary.h"
#include "render/flat/flat.h"

void af_flat_query(struct af_query *query, const char *by)
{
	query->answers |= AF_ANSWER_COVERAGE;
	query->locations = true;
	if (by)
		query->group = AF_GROUP_TRACK;
}

/* The whole view that @document names. */
static const struct af_tree *flat_view(const struct af_results *r,
                                       const struct af_document *document)
{
	int view = 0;

	while (view + 1 < AF_VIEWS && strcmp(af_view_names[view], document->view) != 0)
		view++;
	return &r->trees[view];
}

void af_flat_print(const struct af_results *results, const struct af_tree *tree, uint32_t weight,
                   const struct af_document *document, const char *warning,
                   const struct af_flat_options *options)
{
	const struct af_flat_report report = {
	    .results = results,
	    .all = flat_view(results, document),
	    .tree = tree,
	    .weight = weight,
	    .by = options->by,
	    .lines = options->lines,
	    .limit = options->limit,
	    .warning = warning,
	    .head = options->head,
	    .more = AF_SHOW_ALL,
	    .colour = !options->json && af_colour(stdout),
	};
	struct af_tables tables = {0};
	struct af_buf b = {0};

	if (options->json) {
		af_flat_tables(&tables, &report);
		af_tables_json(&b, document, &tables, options->limit);
		af_tables_free(&tables);
	} else {
		af_flat_text(&b, &report);
	}
	fwrite(b.data, 1, b.len, stdout);
	af_buf_free(&b);
}

/* One report of the loaded trace in @dir; @weight is the one that it was loaded for. */
static int flat_report(const char *dir, struct af_results *r, const char *weight,
                       const struct af_flat_options *options, struct af_err *err)
{
	const struct af_tree *tree = &r->trees[AF_VIEW_CPU];
	const char *of = options->weight ? options->weight : weight ? weight : "time";
	int column = af_tree_weight(tree, of);
	uint64_t all = column < 0 ? 0 : tree->total[column][0];

	if (column < 0 || (!all && !options->head))
		return af_fail_plain(err, -ENODATA, "the trace %s has no CPU samples%s", dir,
		                     af_load_hint(AF_VIEW_CPU));
	const struct af_document document = {.report = "flat",
	                                     .view = af_view_names[AF_VIEW_CPU],
	                                     .weight = tree->weights[column].name,
	                                     .unit = tree->weights[column].unit,
	                                     .all = all,
	                                     .total = all};
	af_flat_print(r, tree, (uint32_t)column, &document, af_load_warning(r, AF_VIEW_CPU, of),
	              options);
	return 0;
}

int af_flat_report(const char *who, const char *dir, const struct af_flat_options *reports,
                   unsigned nr, struct af_err *err)
{
	struct af_query query = {.answers = 1u << AF_VIEW_CPU};
	struct af_results results = {0};
	const char *weight = reports->weight;

	af_flat_query(&query, reports->by);
	int rc = af_load_view(who, dir, &query, AF_VIEW_CPU, &weight, &results, err);
	for (unsigned i = 0; !rc && i < nr; i++) {
		if (i)
			putchar('\n');
		rc = flat_report(dir, &results, weight, &reports[i], err);
	}
	af_results_close(&results);
	return rc;
}
