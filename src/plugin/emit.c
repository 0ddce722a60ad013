/* The host's functions by which a plug-in gives results. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plugin/private.h"

int plugin_fail(struct plugin_host *h, const char *format, ...)
{
	char text[400];
	va_list args;

	if (h->err.code)
		return -1;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	af_fail_plain(&h->err, -ECANCELED, "%s: %s", plugin_call_text(h->in), text);
	return -1;
}

static int emit_fail(const struct af_pass_host *api, const char *format, ...)
{
	struct plugin_host *h = plugin_host_of(api);
	char text[400];
	va_list args;

	if (h->err.code)
		return -1;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	af_fail_plain(&h->err, -ECANCELED, "%s", text);
	return -1;
}

/* Names are for programs, and tables and trees of a report have one list of them. */
static bool name_is_good(struct plugin_host *h, const char *what, const char *name)
{
	if (!plugin_is_key(name))
		plugin_fail(h,
		            "%s: the name \"%s\" is not made of lower-case letters, digits and _",
		            what, name ? name : "");
	else if (af_tables_find(&h->results.tables, name) || af_plugin_tree_find(&h->results, name))
		plugin_fail(h, "%s: there is a table or tree called %s already", what, name);
	return !h->err.code;
}

static bool column_make(struct plugin_host *h, const struct af_pass_column *from,
                        struct af_column *to)
{
	static const enum af_cell_unit units[] = {AF_CELL_TEXT,  AF_CELL_COUNT,   AF_CELL_NS,
	                                          AF_CELL_BYTES, AF_CELL_PERCENT, AF_CELL_NUMBER};
	static const enum af_merge_rule rules[] = {AF_MERGE_DEFAULT, AF_MERGE_KEY,   AF_MERGE_SUM,
	                                           AF_MERGE_MIN,     AF_MERGE_MAX,   AF_MERGE_MEAN,
	                                           AF_MERGE_RATIO,   AF_MERGE_SHARE, AF_MERGE_SAME};

	if (!plugin_is_key(from->key))
		plugin_fail(h,
		            "table(): the key \"%s\" is not made of lower-case letters, digits "
		            "and _",
		            from->key ? from->key : "");
	else if (from->unit >= sizeof units / sizeof *units ||
	         from->merge >= sizeof rules / sizeof *rules)
		plugin_fail(h,
		            "table(): the column %s has unit %u and merge %u, of which one does "
		            "not exist",
		            from->key, from->unit, from->merge);
	if (h->err.code)
		return false;
	struct af_tables *f = &h->results.tables;
	*to = (struct af_column){.key = af_tables_text(f, "%s", from->key),
	                         .title =
	                             af_tables_text(f, "%s", from->title ? from->title : from->key),
	                         .unit = units[from->unit],
	                         .merge = rules[from->merge],
	                         .of = from->of ? af_tables_text(f, "%s", from->of) : NULL,
	                         .per = from->per ? af_tables_text(f, "%s", from->per) : NULL};
	return true;
}

static bool has_key(const struct af_column *columns, uint32_t nr, const char *key)
{
	for (uint32_t c = 0; key && c < nr; c++)
		if (!strcmp(columns[c].key, key))
			return true;
	return !key;
}

/* Rules of columns are of other columns by their keys. */
static bool rules_check(struct plugin_host *h, const struct af_column *columns, uint32_t nr)
{
	for (uint32_t c = 0; c < nr; c++)
		if (!has_key(columns, nr, columns[c].of) || !has_key(columns, nr, columns[c].per))
			return !plugin_fail(h,
			                    "table(): the column %s is of %s per %s, and the table "
			                    "has no such column",
			                    columns[c].key, columns[c].of ? columns[c].of : "-",
			                    columns[c].per ? columns[c].per : "-");
	return true;
}

static bool columns_make(struct plugin_host *h, const struct af_pass_column *from, uint32_t nr,
                         struct af_column *to)
{
	if (!nr || nr > AF_TABLE_COLUMNS)
		return !plugin_fail(h, "table(): %u columns; a table has 1 to %d", nr,
		                    AF_TABLE_COLUMNS);
	for (uint32_t c = 0; c < nr; c++) {
		if (!column_make(h, &from[c], &to[c]))
			return false;
		for (uint32_t b = 0; b < c; b++)
			if (!strcmp(to[b].key, to[c].key))
				return !plugin_fail(h, "table(): two columns have the key %s",
				                    to[c].key);
	}
	return rules_check(h, to, nr);
}

static int emit_table(const struct af_pass_host *api, const char *name, const char *title,
                      const struct af_pass_column *columns, uint32_t nr)
{
	struct plugin_host *h = plugin_host_of(api);
	struct af_tables *f = &h->results.tables;
	struct af_column made[AF_TABLE_COLUMNS];

	if (!name_is_good(h, "table()", name) || !columns_make(h, columns, nr, made))
		return -1;
	struct af_table *t =
	    af_tables_table(f, af_tables_text(f, "%s", name),
	                    af_tables_text(f, "%s", title ? title : name), made, nr);
	uint64_t number = h->by_table.nr + 1;
	*af_map_at(&h->by_table, number, NULL) = (uintptr_t)t;
	return (int)number;
}

static int emit_row(const struct af_pass_host *api, int table, const struct af_pass_cell *cells,
                    uint32_t nr)
{
	struct plugin_host *h = plugin_host_of(api);
	const uint64_t *slot = table > 0 ? af_map_get(&h->by_table, (uint64_t)table) : NULL;
	struct af_table *t = slot ? (struct af_table *)(uintptr_t)*slot : NULL;

	if (!t)
		return plugin_fail(h, "row(): there is no table %d", table);
	if (nr != t->nr_columns)
		return plugin_fail(h, "row(): %u cells for the %u columns of %s", nr, t->nr_columns,
		                   t->name);
	struct af_cell *to = af_table_row(&h->results.tables, t);
	for (uint32_t c = 0; c < nr; c++) {
		to[c].unknown = cells[c].unknown != 0;
		if (t->columns[c].unit != AF_CELL_TEXT) {
			to[c].value = cells[c].value;
			continue;
		}
		const char *text = cells[c].text ? cells[c].text : "";
		to[c].text = af_strtab_get(&h->texts, af_strtab_id_z(&h->texts, text));
	}
	return 0;
}

/* The contract of tree() in pass.h. */
enum { WEIGHTS_MOST = 8 };

static int emit_tree(const struct af_pass_host *api, const char *name, const char *title,
                     const struct af_pass_weight *weights, uint32_t nr)
{
	struct plugin_host *h = plugin_host_of(api);
	struct af_tree_weight made[AF_TREE_WEIGHTS];

	if (!name_is_good(h, "tree()", name))
		return -1;
	if (!nr || nr > WEIGHTS_MOST)
		return plugin_fail(h, "tree(): %u weights; a tree has 1 to %d", nr, WEIGHTS_MOST);
	for (uint32_t w = 0; w < nr; w++) {
		if (!weights[w].name || !*weights[w].name || !weights[w].unit)
			return plugin_fail(h, "tree(): weight %u has no name or no unit", w);
		for (uint32_t v = 0; v < w; v++)
			if (!strcmp(weights[v].name, weights[w].name))
				return plugin_fail(h, "tree(): two weights are called %s",
				                   weights[w].name);
		made[w] = (struct af_tree_weight){weights[w].name, weights[w].unit, 0};
	}
	af_plugin_tree_add(&h->results, name, title ? title : name, made, nr);
	AF_REACH(h->trees, h->results.nr_trees, h->cap_trees);
	return (int)h->results.nr_trees;
}

/* The tree with this number and node, or NULL and a failure. */
static struct af_tree *tree_at(struct plugin_host *h, const char *what, int tree, uint32_t node)
{
	struct af_tree *t = tree > 0 && (uint32_t)tree <= h->results.nr_trees
	                        ? &h->results.trees[tree - 1].tree
	                        : NULL;

	if (!t)
		plugin_fail(h, "%s: there is no tree %d", what, tree);
	else if (node >= t->nr)
		plugin_fail(h, "%s: there is no node %u", what, node);
	return h->err.code ? NULL : t;
}

static uint32_t emit_tree_child(const struct af_pass_host *api, int tree, uint32_t node,
                                const char *text, uint32_t kind)
{
	struct plugin_host *h = plugin_host_of(api);
	struct af_tree *t = tree_at(h, "tree_child()", tree, node);

	if (!t)
		return UINT32_MAX;
	if (!text || !*text || kind >= AF_FRAME_END) {
		plugin_fail(h, "tree_child(): no text, or no kind of frames is %u", kind);
		return UINT32_MAX;
	}
	return af_tree_child(t, node, af_tree_name(t, text, strlen(text), (enum af_frame)kind, 0));
}

static uint32_t emit_tree_stack(const struct af_pass_host *api, int tree, uint32_t node,
                                uint32_t stack)
{
	struct plugin_host *h = plugin_host_of(api);
	struct af_tree *t = tree_at(h, "tree_stack()", tree, node);

	if (t && stack >= h->stacks.nr)
		plugin_fail(h, "tree_stack(): there is no stack %u", stack);
	if (!t || h->err.code)
		return UINT32_MAX;
	return plugin_stack_copy(h, &h->trees[tree - 1], t, node, stack);
}

static int emit_tree_add(const struct af_pass_host *api, int tree, uint32_t node, uint32_t weight,
                         uint64_t value)
{
	struct plugin_host *h = plugin_host_of(api);
	struct af_tree *t = tree_at(h, "tree_add()", tree, node);

	if (!t)
		return -1;
	if (weight >= t->nr_weights)
		return plugin_fail(h, "tree_add(): there is no weight %u", weight);
	af_tree_add(t, node, weight, value);
	return 0;
}

static int track_add(struct plugin_host *h, const char *group, const char *name, const char *unit)
{
	struct af_plugin_results *r = &h->results;

	if (!name || !*name)
		return plugin_fail(h, "%s: the name of a track is missing",
		                   unit ? "counter()" : "track()");
	AF_GROW(r->tracks, r->nr_tracks, r->cap_tracks);
	struct af_plugin_track *t = &r->tracks[r->nr_tracks++];
	t->group = af_strtab_id_z(&r->names, group ? group : "");
	t->name = af_strtab_id_z(&r->names, name);
	t->unit = af_strtab_id_z(&r->names, unit ? unit : "");
	t->counter = unit != NULL;
	return (int)r->nr_tracks;
}

static int emit_track(const struct af_pass_host *api, const char *group, const char *name)
{
	return track_add(plugin_host_of(api), group, name, NULL);
}

static int emit_counter(const struct af_pass_host *api, const char *group, const char *name,
                        const char *unit)
{
	return track_add(plugin_host_of(api), group, name, unit ? unit : "");
}

static bool is_track(const struct plugin_host *h, int track, bool counter)
{
	return track > 0 && (uint32_t)track <= h->results.nr_tracks &&
	       h->results.tracks[track - 1].counter == counter;
}

static int emit_slice(const struct af_pass_host *api, int track, uint64_t start_ns, uint64_t end_ns,
                      const char *name)
{
	struct plugin_host *h = plugin_host_of(api);
	struct af_plugin_results *r = &h->results;

	if (!is_track(h, track, false))
		return plugin_fail(h, "slice(): there is no track %d, or it is a counter's", track);
	if (end_ns < start_ns)
		return plugin_fail(h, "slice(): it ends before it starts");
	AF_GROW(r->slices, r->nr_slices, r->cap_slices);
	r->slices[r->nr_slices++] =
	    (struct af_plugin_slice){.track = (uint32_t)track,
	                             .name = af_strtab_id_z(&r->names, name ? name : ""),
	                             .start_ns = start_ns,
	                             .end_ns = end_ns};
	return 0;
}

static int emit_point(const struct af_pass_host *api, int track, uint64_t time_ns, uint64_t value)
{
	struct plugin_host *h = plugin_host_of(api);
	struct af_plugin_results *r = &h->results;

	if (!is_track(h, track, true))
		return plugin_fail(h, "point(): there is no counter %d", track);
	AF_GROW(r->points, r->nr_points, r->cap_points);
	r->points[r->nr_points++] =
	    (struct af_plugin_point){.track = (uint32_t)track, .time_ns = time_ns, .value = value};
	return 0;
}

void plugin_emit_open(struct plugin_host *h)
{
	struct af_pass_host *api = &h->api;

	api->table = emit_table;
	api->row = emit_row;
	api->tree = emit_tree;
	api->tree_child = emit_tree_child;
	api->tree_stack = emit_tree_stack;
	api->tree_add = emit_tree_add;
	api->track = emit_track;
	api->slice = emit_slice;
	api->counter = emit_counter;
	api->point = emit_point;
	api->fail = emit_fail;
	af_strtab_id_z(&h->results.names, "");
}
