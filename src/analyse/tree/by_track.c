#include "analyse/tree/by_track.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/tree/table.h"
#include "base/arena.h"
#include "base/map.h"

struct owner {
	uint32_t node;      /* the first of its frames, 0: nobody's */
	uint32_t process;   /* the frame of the first process that it is of */
	uint32_t processes; /* how many there are */
	uint64_t total;
};

struct owners {
	struct owner *all;
	uint32_t nr, cap;
	struct af_map by_name; /* of ranks */
};

static const struct {
	const char *word, *title, *titles;
} owner_words[] = {[AF_SPOT_PROCESS] = {"process", "Process", "Processes"},
                   [AF_SPOT_RANK] = {"rank", "Rank", "Ranks"},
                   [AF_SPOT_THREAD] = {"thread", "Thread", "Threads"},
                   [AF_SPOT_DEVICE] = {"device", "Device", "Devices"},
                   [AF_SPOT_QUEUE] = {"stream", "Stream", "Streams"}};

enum af_spot_what af_owners_what(const char *word)
{
	for (int i = AF_SPOT_PROCESS; word && i <= AF_SPOT_QUEUE; i++)
		if (!strcmp(word, owner_words[i].word))
			return (enum af_spot_what)i;
	return AF_SPOT_CODE;
}

/* The frame of the process that @node is in, or is. */
static uint32_t process_above(const struct af_tree *t, uint32_t node)
{
	while (node && af_tree_spot(t, t->nodes[node].name)->what != AF_SPOT_PROCESS)
		node = t->nodes[node].parent;
	return node;
}

/* The owner whose frame is @node: another frame of the same name may be a rank's, too. */
static struct owner *owner_of(struct owners *o, const struct af_tree *t, uint32_t node, bool named)
{
	bool fresh = true;
	uint64_t *slot = named ? af_map_at(&o->by_name, t->nodes[node].name, &fresh) : NULL;

	if (!fresh)
		return &o->all[*slot];
	if (slot)
		*slot = o->nr;
	AF_GROW(o->all, o->nr, o->cap);
	o->all[o->nr] = (struct owner){.node = node, .process = process_above(t, node)};
	return &o->all[o->nr++];
}

static void owners_find(struct owners *o, const struct af_tree *t, uint32_t weight,
                        enum af_spot_what what)
{
	uint64_t rest = t->total[weight][0];

	for (uint32_t n = 1; n < t->nr; n++) {
		if (af_tree_spot(t, t->nodes[n].name)->what != what || !t->total[weight][n])
			continue;
		struct owner *owner = owner_of(o, t, n, what == AF_SPOT_RANK);
		owner->total += t->total[weight][n];
		owner->processes++;
		rest -= t->total[weight][n];
	}
	if (!rest)
		return;
	AF_GROW(o->all, o->nr, o->cap);
	o->all[o->nr++] = (struct owner){.total = rest};
}

static int owner_order(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static const char *node_text(struct af_facts *f, const struct af_tree *t, uint32_t node)
{
	size_t len;
	const char *text = af_tree_text(t, t->nodes[node].name, &len);
	bool brackets = len > 2 && *text == '[' && text[len - 1] == ']';

	return af_facts_text(f, "%.*s", (int)len - 2 * brackets, text + brackets);
}

static const char *process_text(struct af_facts *f, const struct af_tree *t, uint32_t node)
{
	const struct af_spot *spot = af_tree_spot(t, t->nodes[node].name);

	return af_facts_text(f, "%s [%u]", node_text(f, t, node), (unsigned)spot->address);
}

#define OWNER_COLUMNS(C, title, unit)                                                              \
	C(owner, title, AF_CELL_TEXT)                                                              \
	C(total, "Total", unit)                                                                    \
	C(total_share, "Total share", AF_CELL_PERCENT)                                             \
	C(process, "Of process", AF_CELL_TEXT, AF_SHOW_USED)
struct owner_row {
	OWNER_COLUMNS(AF_ROW_CELL, "", AF_CELL_NS)
};

static void owner_row(struct af_facts *f, struct af_table *table, const struct af_tree *t,
                      const struct owner *o, const char *word, uint64_t all)
{
	struct owner_row *c = af_table_row(f, table);
	bool is_process = o->node == o->process;

	c->owner.text = !o->node     ? af_facts_text(f, "[no %s]", word)
	                : is_process ? process_text(f, t, o->node)
	                             : node_text(f, t, o->node);
	c->total.value = o->total;
	c->total_share.value = af_facts_ratio(o->total, all, 1e4);
	c->process.text = !o->process || is_process ? "" : process_text(f, t, o->process);
	if (o->processes > 1)
		c->process.text =
		    af_facts_text(f, "%s and %u more", c->process.text, (unsigned)o->processes - 1);
}

void af_owners_table(struct af_facts *f, const struct af_tree *t, uint32_t weight, const char *word)
{
	enum af_spot_what what = af_owners_what(word);
	struct owners o = {0};
	const struct af_column columns[] = {
	    OWNER_COLUMNS(AF_ROW_COLUMN, owner_words[what].title, af_tree_unit(t, weight))};
	const char *title =
	    af_facts_text(f, "%s by %s", owner_words[what].titles, t->weights[weight].name);
	struct af_table *table = AF_TABLE(f, af_facts_text(f, "%s_top", word), title, columns);

	owners_find(&o, t, weight, what);
	if (o.nr)
		qsort(o.all, o.nr, sizeof *o.all, owner_order);
	for (uint32_t i = 0; i < o.nr; i++)
		owner_row(f, table, t, &o.all[i], word, t->total[weight][0]);
	free(o.all);
	af_map_free(&o.by_name);
}
