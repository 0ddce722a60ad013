/* The rows of a tally, grouped, as tables. */
#include <stdlib.h>
#include <string.h>

#include "analyse/table/group_by.h"
#include "analyse/tally/columns.h"
#include "analyse/tally/private.h"
#include "analyse/tally/tally.h"

/* Rows that are one, and what all of one table are together. */
struct grouped {
	enum af_tally_group group;
	bool percentiles, many_hosts;
	struct af_tally is;
	const struct af_tally_row *rows; /* of it */
	uint32_t nr;
	struct af_call_stats all[AF_TALLY_LEVELS];     /* of calls with times */
	struct af_call_stats untimed[AF_TALLY_LEVELS]; /* of the others */
	bool timed[AF_TALLY_LEVELS];
};

static void grouped_make(struct grouped *g, const struct af_tally *t)
{
	af_tally_join(&g->is, t, g->group);
	g->rows = g->is.rows;
	g->nr = g->is.nr;
	for (uint32_t i = 0; i < g->nr; i++) {
		const struct af_tally_row *row = &g->rows[i];
		g->timed[row->level] |= row->source == AF_TALLY_TIMED;
		af_stats_merge(row->source == AF_TALLY_TIMED ? &g->all[row->level]
		                                             : &g->untimed[row->level],
		               &row->stats);
	}
}

static void grouped_free(struct grouped *g)
{
	for (int i = 0; i < AF_TALLY_LEVELS; i++) {
		af_stats_free(&g->all[i]);
		af_stats_free(&g->untimed[i]);
	}
	af_tally_free(&g->is);
}

static void cells_times(struct af_api_row *c, const struct af_call_stats *s, bool timed,
                        uint64_t all_ns)
{
	const struct af_histogram *times = &s->times;
	uint64_t worked = s->count - s->failed;

	c->time_ns.value = s->time_ns;
	c->share.value = af_tables_ratio(s->time_ns, all_ns, 1e4);
	c->calls.value = s->count;
	c->mean_ns.value = worked ? s->time_ns / worked : 0;
	c->min_ns.value = s->min_ns;
	c->max_ns.value = s->max_ns;
	c->p50_ns.value = af_histogram_percentile(times, 50, s->min_ns, s->max_ns);
	c->p95_ns.value = af_histogram_percentile(times, 95, s->min_ns, s->max_ns);
	c->p99_ns.value = af_histogram_percentile(times, 99, s->min_ns, s->max_ns);
	c->failed.value = s->failed;
	c->bytes.value = s->bytes;
	c->time_ns.unknown = c->share.unknown = !timed;
	c->mean_ns.unknown = c->min_ns.unknown = c->max_ns.unknown = !timed || !worked;
	c->p50_ns.unknown = c->p95_ns.unknown = c->p99_ns.unknown = !timed || !worked;
}

/* Is the column of @key for people? A process has its rank beside it; one host needs no column. */
static bool shows_key(const struct grouped *g, enum af_tally_group key)
{
	if (key == AF_TALLY_BY_HOST && !g->many_hosts && g->group != AF_TALLY_BY_HOST)
		return false;
	return tally_has_key(g->group, key) || (key == AF_TALLY_BY_RANK && g->group > key);
}

/* Columns of keys and of percentiles are for those who asked for them. */
static void columns_show(const struct grouped *g, struct af_column *columns, uint32_t nr)
{
	static const struct {
		const char *key;
		enum af_tally_group group;
	} keys[] = {{"host", AF_TALLY_BY_HOST},
	            {"rank", AF_TALLY_BY_RANK},
	            {"process", AF_TALLY_BY_PROCESS},
	            {"thread", AF_TALLY_BY_THREAD}};

	for (uint32_t c = 0; c < nr; c++) {
		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
			if (!strcmp(columns[c].key, keys[i].key))
				columns[c].show =
				    shows_key(g, keys[i].group) ? AF_SHOW_USED : AF_SHOW_NEVER;
		if (g->percentiles && columns[c].key[0] == 'p' && strchr("59", columns[c].key[1]))
			columns[c].show = AF_SHOW_USED;
	}
}

/* The APIs of a level, for its title: "CUDA, OpenCL". */
static const char *level_apis(const struct grouped *g, int level, struct af_tables *f,
                              uint32_t *nr_apis)
{
	const char *apis = "", *last = "";
	struct af_keys seen = {0};
	bool fresh;

	for (uint32_t i = 0; i < g->nr; i++) {
		const struct af_tally_row *r = &g->rows[i];
		if (r->level != (uint32_t)level || !*r->api || !strcmp(r->api, last))
			continue;
		last = r->api;
		af_keys_at(&seen, AF_KEY_TEXT(r->api), &fresh);
		if (fresh)
			apis = seen.nr > 1 ? af_tables_text(f, "%s, %s", apis, r->api) : r->api;
	}
	if (nr_apis)
		*nr_apis = (uint32_t)seen.nr;
	af_keys_free(&seen);
	return af_tables_text(f, "%s", apis);
}

static const char *copy(struct af_tables *f, const char *text)
{
	return *text ? af_tables_text(f, "%s", text) : "";
}

static void row_api(const struct grouped *g, const struct af_tally_row *r, struct af_tables *f,
                    struct af_table *t)
{
	struct af_api_row *c = af_table_row(f, t);

	c->function.text = copy(f, r->function);
	c->driver.text = copy(f, r->driver);
	c->api.text = copy(f, r->api);
	c->category.text = copy(f, r->category);
	c->host.text = copy(f, r->host);
	c->rank.text = copy(f, r->rank);
	c->process.text = copy(f, r->process);
	c->thread.text = copy(f, r->thread);
	cells_times(c, &r->stats, r->source == AF_TALLY_TIMED, g->all[r->level].time_ns);
}

static void table_api(const struct grouped *g, int level, struct af_tables *f)
{
	static const struct {
		const char *table, *title;
	} levels[AF_TALLY_LEVELS] = {
	    [AF_TALLY_DEVICE] = {"api", "Calls of device APIs"},
	    [AF_TALLY_RUNTIME] = {"api_runtime", "Calls of runtimes"},
	    [AF_TALLY_MPI] = {"api_mpi", "Calls of MPI"},
	};
	struct af_column columns[] = {AF_API_COLUMNS(AF_ROW_COLUMN)};
	uint32_t nr_apis;
	const char *apis = level_apis(g, level, f, &nr_apis), *title = levels[level].title;

	columns_show(g, columns, sizeof columns / sizeof *columns);
	for (uint32_t c = 0; c < sizeof columns / sizeof *columns && nr_apis > 1; c++)
		if (!strcmp(columns[c].key, "api"))
			columns[c].show = AF_SHOW_USED;
	if (*apis && level != AF_TALLY_MPI)
		title = af_tables_text(f, "%s: %s", title, apis);
	struct af_table *t = AF_TABLE(f, levels[level].table, title, columns);
	for (uint32_t i = 0; i < g->nr; i++)
		if (g->rows[i].level == (uint32_t)level)
			row_api(g, &g->rows[i], f, t);
	struct af_api_row *total = (struct af_api_row *)af_table_total(f, t);
	cells_times(total, &g->all[level], g->timed[level], g->all[level].time_ns);
	total->calls.value += g->untimed[level].count;
	total->failed.value += g->untimed[level].failed;
	total->bytes.value += g->untimed[level].bytes;
}

static void cells_bytes(struct af_traffic_row *c, const struct af_call_stats *s, uint64_t all)
{
	c->bytes.value = s->bytes;
	c->share.value = af_tables_ratio(s->bytes, all, 1e4);
	c->calls.value = s->sized;
	c->mean_bytes.value = s->sized ? s->bytes / s->sized : 0;
	c->min_bytes.value = s->min_bytes;
	c->max_bytes.value = s->max_bytes;
	c->p50_bytes.value = af_histogram_percentile(&s->sizes, 50, s->min_bytes, s->max_bytes);
	c->p95_bytes.value = af_histogram_percentile(&s->sizes, 95, s->min_bytes, s->max_bytes);
	c->p99_bytes.value = af_histogram_percentile(&s->sizes, 99, s->min_bytes, s->max_bytes);
}

static bool has_traffic(const struct af_tally_row *r, int level)
{
	return r->level == (uint32_t)level && r->moves && r->stats.sized;
}

static void row_traffic(const struct af_tally_row *r, uint64_t all, struct af_tables *f,
                        struct af_table *t)
{
	struct af_traffic_row *c = af_table_row(f, t);

	c->function.text = copy(f, r->function);
	c->api.text = copy(f, r->api);
	c->host.text = copy(f, r->host);
	c->rank.text = copy(f, r->rank);
	c->process.text = copy(f, r->process);
	c->thread.text = copy(f, r->thread);
	cells_bytes(c, &r->stats, all);
}

/* By level as the calls: what a runtime copies, its driver copies for it. */
static void table_traffic(const struct grouped *g, int level, struct af_tables *f)
{
	static const struct {
		const char *table, *title;
	} levels[AF_TALLY_LEVELS] = {
	    [AF_TALLY_DEVICE] = {"traffic", "Explicit memory traffic: bytes of calls"},
	    [AF_TALLY_RUNTIME] = {"traffic_runtime",
	                          "Explicit memory traffic: bytes of calls of runtimes"},
	    [AF_TALLY_MPI] = {"messages", "Messages: bytes of calls of MPI"},
	};
	struct af_column columns[] = {AF_TRAFFIC_COLUMNS(AF_ROW_COLUMN)};
	struct af_call_stats all = {0};
	struct af_table *t = NULL;

	columns_show(g, columns, sizeof columns / sizeof *columns);
	for (uint32_t i = 0; i < g->nr; i++)
		if (has_traffic(&g->rows[i], level))
			af_stats_merge(&all, &g->rows[i].stats);
	for (uint32_t i = 0; i < g->nr; i++) {
		if (!has_traffic(&g->rows[i], level))
			continue;
		if (!t)
			t = AF_TABLE(f, levels[level].table, levels[level].title, columns);
		row_traffic(&g->rows[i], all.bytes, f, t);
	}
	if (t)
		cells_bytes((struct af_traffic_row *)af_table_total(f, t), &all, all.bytes);
	af_stats_free(&all);
}

static void table_tally(const struct af_tally *t, const struct grouped *g, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_TALLY_COLUMNS(AF_ROW_COLUMN)};
	const char *apis = "";

	for (int level = AF_TALLY_LEVELS; level-- > 0;) {
		const char *of = level_apis(g, level, f, NULL);
		apis = !*apis ? of : *of ? af_tables_text(f, "%s, %s", apis, of) : apis;
	}
	struct af_table *table = AF_TABLE(f, "tally", "What was counted", columns);
	struct af_tally_total_row *c = af_table_row(f, table);
	c->apis.text = apis;
	c->hosts.value = t->hosts.nr;
	c->processes.value = t->with_calls;
	c->threads.value = t->threads_with_calls;
	c->devices.value = t->devices.nr;
	c->open_calls.value = t->nr_open;
	c->lost_events.value = t->nr_lost;
	c->unknown_calls.value = t->nr_strange;
}

void af_tally_tables(const struct af_tally *t, enum af_tally_group group, bool percentiles,
                     struct af_tables *f)
{
	bool has[AF_TALLY_LEVELS] = {false};
	struct grouped g = {.group = group, .percentiles = percentiles};

	if (!t->nr)
		return;
	g.many_hosts = t->hosts.nr > 1;
	grouped_make(&g, t);
	for (uint32_t i = 0; i < g.nr; i++)
		has[g.rows[i].level] = true;
	table_tally(t, &g, f);
	for (int level = AF_TALLY_LEVELS; level-- > 0;)
		if (has[level])
			table_api(&g, level, f);
	for (int level = AF_TALLY_LEVELS; level-- > 0;)
		table_traffic(&g, level, f);
	grouped_free(&g);
}
