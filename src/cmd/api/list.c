/* aflame api list: functions that aflame traces, from the tables that it decodes calls by. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "analyse/table/table.h"
#include "api/tables/tables.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/api/api.h"
#include "cmd/options/nearest.h"
#include "cmd/shared/summary.h"
#include "render/text/tables.h"
#include "trace/kinds.h"

#define API_COLUMNS(C)                                                                             \
	C(api, "API", AF_CELL_TEXT)                                                                \
	C(title, "", AF_CELL_TEXT)                                                                 \
	C(functions, "Functions", AF_CELL_COUNT)                                                   \
	C(at_minimal, "minimal", AF_CELL_COUNT)                                                    \
	C(at_default, "default", AF_CELL_COUNT)                                                    \
	C(at_full, "full", AF_CELL_COUNT)                                                          \
	C(headers, "Headers", AF_CELL_TEXT)
struct api_row {
	API_COLUMNS(AF_ROW_CELL)
};

#define FUNCTION_COLUMNS(C)                                                                        \
	C(function, "Function", AF_CELL_TEXT)                                                      \
	C(api, "API", AF_CELL_TEXT, AF_SHOW_NEVER)                                                 \
	C(level, "Level", AF_CELL_TEXT)                                                            \
	C(category, "To", AF_CELL_TEXT)                                                            \
	C(result, "Returns", AF_CELL_TEXT)                                                         \
	C(bytes, "Bytes", AF_CELL_TEXT, AF_SHOW_USED)                                              \
	C(waits, "Waits", AF_CELL_TEXT, AF_SHOW_USED)                                              \
	C(parameters, "Parameters", AF_CELL_TEXT)
struct function_row {
	FUNCTION_COLUMNS(AF_ROW_CELL)
};

static const char *const levels[] = {
    [AF_API_OFF] = "off",
    [AF_API_MINIMAL] = "minimal",
    [AF_API_DEFAULT] = "default",
    [AF_API_FULL] = "full",
};

static void list_apis(struct af_tables *f)
{
	static const struct af_column columns[] = {API_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t =
	    AF_TABLE(f, "apis", "APIs whose calls are recorded with arguments", columns);

	for (const struct af_api_table *const *api = af_apis; *api; api++) {
		uint64_t nr[AF_API_FULL + 1] = {0}, all = 0;
		for (uint32_t i = 0; i < (*api)->nr_functions; i++) {
			const struct af_api_function *is = &(*api)->functions[i];
			all += is->name != NULL;
			for (uint32_t level = is->level; is->name && level <= AF_API_FULL; level++)
				nr[level]++;
		}
		struct api_row *row = af_table_row(f, t);
		row->api.text = (*api)->name;
		row->title.text = (*api)->title;
		row->functions.value = all;
		row->at_minimal.value = nr[AF_API_MINIMAL];
		row->at_default.value = nr[AF_API_DEFAULT];
		row->at_full.value = nr[AF_API_FULL];
		row->headers.text = (*api)->headers ? (*api)->headers : "";
	}
	t->note = "A level records also the functions of the levels before it: record --api "
		  "NAME:LEVEL.";
}

/* How the target of a pointer is recorded: "T", "T[]", "pairs of T", "string". */
static void target_text(struct af_buf *b, const struct af_api_param *p)
{
	if (p->pointee == AF_API_STRING)
		af_buf_str(b, "string");
	else
		af_buf_fmt(b, p->pointee == AF_API_PAIRS ? "pairs of %s" : "%s", p->target->name);
	if (p->pointee == AF_API_ARRAY)
		af_buf_str(b, "[]");
}

/* "queue handle, event → cl_event": an arrow stands before what the call writes, as in print. */
static const char *params_text(struct af_tables *f, const struct af_api_function *is)
{
	struct af_buf b = {0};

	for (uint32_t i = 0; i < is->nr_params; i++) {
		const struct af_api_param *p = &is->params[i];
		af_buf_fmt(&b, "%s%s ", i ? ", " : "", p->name);
		if (p->pointee == AF_API_NOTHING || !p->target) {
			af_buf_str(&b, p->type->name);
			continue;
		}
		if (p->is_inout) {
			target_text(&b, p);
			af_buf_char(&b, ' ');
		}
		if (p->is_out)
			af_buf_str(&b, "→ ");
		target_text(&b, p);
	}
	const char *text = af_tables_text(f, "%s", b.data ? b.data : "");
	af_buf_free(&b);
	return text;
}

static void list_function(struct af_tables *f, struct af_table *t, const struct af_api_table *api,
                          const struct af_api_function *is)
{
	struct function_row *row = af_table_row(f, t);

	row->function.text = is->name;
	row->api.text = api->name;
	row->level.text = levels[is->level];
	row->category.text = af_call_category_text(is->category);
	row->result.text = is->result->name;
	row->bytes.text = is->bytes_len ? "yes" : "";
	row->waits.text = is->blocks ? "yes" : "";
	row->parameters.text = params_text(f, is);
}

/* The functions that @pattern names, or those of the API of that name. */
static void list_functions(struct af_tables *f, struct af_table *t, const char *pattern)
{
	const struct af_api_table *of = af_api_named(pattern);

	for (const struct af_api_table *const *api = af_apis; *api; api++)
		for (uint32_t i = 0; i < (*api)->nr_functions; i++) {
			const struct af_api_function *is = &(*api)->functions[i];
			if (is->name && (of ? of == *api : !fnmatch(pattern, is->name, 0)))
				list_function(f, t, *api, is);
		}
}

static int list_none(const char *pattern, struct af_err *err)
{
	struct af_nearest near;

	af_nearest_init(&near, pattern);
	for (const struct af_api_table *const *api = af_apis; *api; api++) {
		af_nearest_offer(&near, (*api)->name);
		for (uint32_t i = 0; i < (*api)->nr_functions; i++)
			if ((*api)->functions[i].name)
				af_nearest_offer(&near, (*api)->functions[i].name);
	}
	const char *best = af_nearest_best(&near);
	return af_fail_plain(err, -EINVAL,
	                     "no API and no function is called %s%s%s%s: `aflame api list` has the "
	                     "APIs, and aflame does not trace others",
	                     pattern, best ? " (did you mean " : "", best ? best : "",
	                     best ? "?)" : "");
}

/* Lines for people: a cell of a table would cut the parameters short. */
static void functions_text(struct af_buf *b, const struct af_table *t)
{
	af_buf_fmt(b, "%-8s %-10s %s\n", "Level", "To", "Function");
	for (uint32_t i = 0; i < t->nr_rows; i++) {
		const struct function_row *row = AF_ROW_AT(struct function_row, t, i);
		af_buf_fmt(b, "%-8s %-10s %s(%s) %s%s%s\n", row->level.text, row->category.text,
		           row->function.text, row->parameters.text, row->result.text,
		           *row->bytes.text ? ", bytes" : "", *row->waits.text ? ", waits" : "");
	}
}

int af_api_list(const struct af_api_options *o, uint32_t nr, char **patterns, struct af_err *err)
{
	static const struct af_column columns[] = {FUNCTION_COLUMNS(AF_ROW_COLUMN)};
	struct af_tables f = {0};
	struct af_table *t = nr ? AF_TABLE(&f, "functions", "Functions", columns) : NULL;
	struct af_buf b = {0};
	int rc = 0;

	if (!nr)
		list_apis(&f);
	for (uint32_t i = 0; !rc && i < nr; i++) {
		uint32_t before = t->nr_rows;
		list_functions(&f, t, patterns[i]);
		if (t->nr_rows == before)
			rc = list_none(patterns[i], err);
	}
	if (!rc && o->json)
		af_tables_json(&b, &(struct af_document){.report = "api"}, &f, 0);
	else if (!rc && nr)
		functions_text(&b, t);
	else if (!rc)
		af_table_text(&b, f.first, 0, af_colour(stdout), NULL);
	fwrite(b.data, 1, b.len, stdout);
	af_buf_free(&b);
	af_tables_free(&f);
	return rc;
}
