#include "analyse/tree/by_track.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/tree/table.h"
#include "base/arena.h"
#include "base/map.h"

struct track_sum {
	uint32_t node;      /* the first of its frames, 0: nobody's */
	uint32_t process;   /* the frame of the first process that it is of */
	uint32_t processes; /* how many there are */
	uint64_t total;
};

struct track_sums {
	struct track_sum *all;
	uint32_t nr, cap;
	struct af_map by_name; /* of ranks */
};

static const struct {
	const char *word, *title, *titles;
} track_words[] = {[AF_LOCATION_PROCESS] = {"process", "Process", "Processes"},
                   [AF_LOCATION_RANK] = {"rank", "Rank", "Ranks"},
                   [AF_LOCATION_THREAD] = {"thread", "Thread", "Threads"},
                   [AF_LOCATION_DEVICE] = {"device", "Device", "Devices"},
                   [AF_LOCATION_QUEUE] = {"stream", "Stream", "Streams"}};

enum af_location_what af_by_track_what(const char *word)
{
	for (int i = AF_LOCATION_PROCESS; word && i <= AF_LOCATION_QUEUE; i++)
		if (!strcmp(word, track_words[i].word))
			return (enum af_location_what)i;
	return AF_LOCATION_CODE;
}

/* The frame of the process that @node is in, or is. */
static uint32_t process_above(const struct af_tree *t, uint32_t node)
{
	while (node && af_tree_location(t, t->nodes[node].name)->what != AF_LOCATION_PROCESS)
		node = t->nodes[node].parent;
	return node;
}

/* The track whose frame is @node: another frame of the same name may be a rank's, too. */
static struct track_sum *track_of(struct track_sums *o, const struct af_tree *t, uint32_t node,
                                  bool named)
{
	bool fresh = true;
	uint64_t *slot = named ? af_map_at(&o->by_name, t->nodes[node].name, &fresh) : NULL;

	if (!fresh)
		return &o->all[*slot];
	if (slot)
		*slot = o->nr;
	AF_GROW(o->all, o->nr, o->cap);
	o->all[o->nr] = (struct track_sum){.node = node, .process = process_above(t, node)};
	return &o->all[o->nr++];
}

static void track_sums_find(struct track_sums *o, const struct af_tree *t, uint32_t weight,
                            enum af_location_what what)
{
	uint64_t rest = t->total[weight][0];

	for (uint32_t n = 1; n < t->nr; n++) {
		if (af_tree_location(t, t->nodes[n].name)->what != what || !t->total[weight][n])
			continue;
		struct track_sum *track = track_of(o, t, n, what == AF_LOCATION_RANK);
		track->total += t->total[weight][n];
		track->processes++;
		rest -= t->total[weight][n];
	}
	if (!rest)
		return;
	AF_GROW(o->all, o->nr, o->cap);
	o->all[o->nr++] = (struct track_sum){.total = rest};
}

static int track_sum_order(const void *a, const void *b)
{
	const struct track_sum *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static const char *node_text(struct af_tables *f, const struct af_tree *t, uint32_t node)
{
	size_t len;
	const char *text = af_tree_text(t, t->nodes[node].name, &len);
	bool brackets = len > 2 && *text == '[' && text[len - 1] == ']';

	return af_tables_text(f, "%.*s", (int)len - 2 * brackets, text + brackets);
}

static const char *process_text(struct af_tables *f, const struct af_tree *t, uint32_t node)
{
	const struct af_location *location = af_tree_location(t, t->nodes[node].name);

	return af_tables_text(f, "%s [%u]", node_text(f, t, node), (unsigned)location->address);
}

const char *af_by_track_title(const char *word)
{
	return track_words[af_by_track_what(word)].title;
}

const char *af_by_track_text(struct af_tables *f, const struct af_tree *t, uint32_t node,
                             const char *word)
{
	if (!node)
		return af_tables_text(f, "[no %s]", word);
	return af_by_track_what(word) == AF_LOCATION_PROCESS ? process_text(f, t, node)
	                                                     : node_text(f, t, node);
}

#define TRACK_COLUMNS(C, title, unit)                                                              \
	C(track, title, AF_CELL_TEXT)                                                              \
	C(total, "Total", unit)                                                                    \
	C(total_share, "Total share", AF_CELL_PERCENT)                                             \
	C(process, "Of process", AF_CELL_TEXT, AF_SHOW_USED)
struct track_row {
	TRACK_COLUMNS(AF_ROW_CELL, "", AF_CELL_NS)
};

static void track_row(struct af_tables *f, struct af_table *table, const struct af_tree *t,
                      const struct track_sum *o, const char *word, uint64_t all)
{
	struct track_row *c = af_table_row(f, table);
	bool is_process = o->node == o->process;

	c->track.text = af_by_track_text(f, t, o->node, word);
	c->total.value = o->total;
	c->total_share.value = af_tables_ratio(o->total, all, 1e4);
	c->process.text = !o->process || is_process ? "" : process_text(f, t, o->process);
	if (o->processes > 1)
		c->process.text = af_tables_text(f, "%s and %u more", c->process.text,
		                                 (unsigned)o->processes - 1);
}

void af_by_track_table(struct af_tables *f, const struct af_tree *t, uint32_t weight,
                       const char *word)
{
	enum af_location_what what = af_by_track_what(word);
	struct track_sums o = {0};
	const struct af_column columns[] = {
	    TRACK_COLUMNS(AF_ROW_COLUMN, track_words[what].title, af_tree_unit(t, weight))};
	const char *title =
	    af_tables_text(f, "%s by %s", track_words[what].titles, t->weights[weight].name);
	struct af_table *table = AF_TABLE(f, af_tables_text(f, "%s_top", word), title, columns);

	track_sums_find(&o, t, weight, what);
	AF_SORT(o.all, o.nr, track_sum_order);
	for (uint32_t i = 0; i < o.nr; i++)
		track_row(f, table, t, &o.all[i], word, t->total[weight][0]);
	free(o.all);
	af_map_free(&o.by_name);
}
