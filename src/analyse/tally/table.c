/* The rows of a tally, grouped, as tables. */
#include <stdlib.h>
#include <string.h>

#include "analyse/table/group_by.h"
#include "analyse/tally/columns.h"
#include "analyse/tally/tally.h"
#include "base/buf.h"

/* Rows that are one, and those of one table. */
struct grouped {
	enum af_tally_group group;
	bool percentiles, many_hosts;
	struct af_tally_row *rows;
	uint32_t nr, cap;
	struct af_call_stats all[AF_TALLY_LEVELS];
	bool timed[AF_TALLY_LEVELS];
};

/* Names of the group's keys; each says that those before it are keys, too. */
static bool has_key(enum af_tally_group group, enum af_tally_group key)
{
	if (group == AF_TALLY_BY_RANK || key == AF_TALLY_BY_RANK)
		return key == group;
	return key <= group;
}

static void key_text(struct af_buf *key, const char *text)
{
	af_buf_add(key, text, strlen(text) + 1);
}

static void key_of(struct af_buf *key, const struct af_tally_row *row, enum af_tally_group group)
{
	key->len = 0;
	af_buf_char(key, (char)row->level);
	af_buf_char(key, (char)row->source);
	key_text(key, row->api);
	key_text(key, row->function);
	key_text(key, row->driver);
	if (has_key(group, AF_TALLY_BY_HOST))
		key_text(key, row->host);
	if (has_key(group, AF_TALLY_BY_RANK))
		key_text(key, row->rank);
	if (has_key(group, AF_TALLY_BY_PROCESS))
		key_text(key, row->process);
	if (has_key(group, AF_TALLY_BY_THREAD))
		key_text(key, row->thread);
}

/* A text that is not the same in all rows is no property of the group. */
static void text_merge(const char **to, const char *from)
{
	if (strcmp(*to, from) != 0)
		*to = "";
}

static void grouped_add(struct grouped *g, struct af_keys *keys, struct af_buf *key,
                        const struct af_tally_row *row)
{
	bool fresh;

	AF_GROW(g->rows, g->nr, g->cap);
	key_of(key, row, g->group);
	uint64_t *slot = af_keys_at(keys, key->data, key->len, &fresh);
	if (fresh) {
		g->rows[g->nr] = *row;
		g->rows[g->nr].stats = (struct af_call_stats){0};
		*slot = g->nr++;
	}
	struct af_tally_row *to = &g->rows[*slot];
	text_merge(&to->category, row->category);
	text_merge(&to->host, row->host);
	text_merge(&to->rank, row->rank);
	text_merge(&to->process, row->process);
	text_merge(&to->thread, row->thread);
	to->moves &= row->moves;
	af_stats_merge(&to->stats, &row->stats);
	g->timed[row->level] |= row->source == AF_TALLY_TIMED;
	af_stats_merge(&g->all[row->level], &row->stats);
}

static void grouped_make(struct grouped *g, const struct af_tally *t)
{
	struct af_keys keys = {0};
	struct af_buf key = {0};

	for (uint32_t i = 0; i < t->nr; i++)
		grouped_add(g, &keys, &key, &t->rows[i]);
	af_keys_free(&keys);
	af_buf_free(&key);
}

static void grouped_free(struct grouped *g)
{
	for (uint32_t i = 0; i < g->nr; i++)
		af_stats_free(&g->rows[i].stats);
	for (int i = 0; i < AF_TALLY_LEVELS; i++)
		af_stats_free(&g->all[i]);
	free(g->rows);
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
	return has_key(g->group, key) || (key == AF_TALLY_BY_RANK && g->group > key);
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
	const char *apis = "";
	uint32_t nr = 0;

	for (uint32_t i = 0; i < g->nr; i++) {
		bool seen = g->rows[i].level != (uint32_t)level || !*g->rows[i].api;
		for (uint32_t j = 0; j < i && !seen; j++)
			seen = g->rows[j].level == (uint32_t)level &&
			       !strcmp(g->rows[j].api, g->rows[i].api);
		if (seen)
			continue;
		apis = nr++ ? af_tables_text(f, "%s, %s", apis, g->rows[i].api) : g->rows[i].api;
	}
	if (nr_apis)
		*nr_apis = nr;
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
	cells_times((struct af_api_row *)af_table_total(f, t), &g->all[level], g->timed[level],
	            g->all[level].time_ns);
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

static uint64_t count_distinct(const struct af_tally *t, enum af_tally_group key)
{
	struct af_keys seen = {0};
	struct af_buf text = {0};

	for (uint32_t i = 0; i < t->nr; i++) {
		const struct af_tally_row *r = &t->rows[i];
		text.len = 0;
		key_text(&text, r->host);
		if (key >= AF_TALLY_BY_PROCESS)
			key_text(&text, r->process);
		if (key >= AF_TALLY_BY_THREAD)
			key_text(&text, r->thread);
		af_keys_at(&seen, text.data, text.len, NULL);
	}
	uint64_t nr = seen.nr;
	af_keys_free(&seen);
	af_buf_free(&text);
	return nr;
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
	c->hosts.value = count_distinct(t, AF_TALLY_BY_HOST);
	c->processes.value = count_distinct(t, AF_TALLY_BY_PROCESS);
	c->threads.value = count_distinct(t, AF_TALLY_BY_THREAD);
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
	g.many_hosts = count_distinct(t, AF_TALLY_BY_HOST) > 1;
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
