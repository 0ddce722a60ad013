/* Packs one tree into the columns of report.html: see pack.h. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "render/html/columns.h"
#include "render/html/pack.h"

/* A tree while it is packed: the nodes in preorder. */
struct walk {
	const struct af_tree *tree;
	uint32_t *nodes, *depths;
};

static void walk_open(struct walk *k, const struct af_tree *t)
{
	*k = (struct walk){t, af_xcalloc(t->nr, sizeof *k->nodes),
	                   af_xcalloc((size_t)t->nr + 1, sizeof *k->depths)};
	for (uint32_t i = 0, node = 0, depth = 0; i < t->nr; i++) {
		k->nodes[i] = node;
		k->depths[i] = depth;
		node = af_tree_next(t, node, false, &depth);
	}
	k->depths[t->nr] = 0;
}

static void walk_close(struct walk *k)
{
	free(k->nodes);
	free(k->depths);
}

/* A weight that is a multiple of an earlier one, as time is of samples, needs no column. */
static int same_column(const struct af_tree *t, const struct html_weight *weights, uint32_t w)
{
	for (uint32_t earlier = 0; earlier < w; earlier++) {
		uint32_t i = 0;
		if (weights[earlier].same >= 0)
			continue;
		while (i < t->nr && t->self[earlier][i] / weights[earlier].scale ==
		                        t->self[w][i] / weights[w].scale)
			i++;
		if (i == t->nr)
			return (int)earlier;
	}
	return -1;
}

static void pack_weights(struct html_tree *h, const struct af_tree *t)
{
	h->nr_weights = t->nr_weights;
	for (uint32_t w = 0; w < t->nr_weights; w++) {
		struct html_weight *weight = &h->weights[w];
		const char *name = t->weights[w].name, *unit = t->weights[w].unit;
		weight->name = af_xstrdup(name ? name : "weight");
		weight->unit = af_xstrdup(unit ? unit : "");
		weight->scale = af_tree_divisor(t, w);
		weight->parts = t->weights[w].scale ? t->weights[w].scale : 1;
		weight->same = same_column(t, h->weights, w);
		weight->by = -1;
	}
}

/*
 * A weight's column: that of leaves first, which is much alike, then that of what is around them.
 */
static uint64_t *column_new(const struct walk *k, uint32_t w, uint64_t scale)
{
	const struct af_tree *t = k->tree;
	uint64_t *column = af_xcalloc(t->nr, sizeof *column);
	uint32_t nr = 0;

	for (int inner = 0; inner < 2; inner++)
		for (uint32_t i = 0; i < t->nr; i++)
			if ((k->depths[i + 1] > k->depths[i]) == inner) {
				uint64_t self = t->self[w][k->nodes[i]];
				if (self) /* pages of zeros take no memory */
					column[nr] = self / scale;
				nr++;
			}
	return column;
}

/*
 * The value that another column predicts: its value times the recent ratio of the two. The page
 * computes the same doubles, so only the difference is stored.
 */
struct ratio {
	double of, by; /* sums in which what was a while ago fades */
};

static double ratio_expects(const struct ratio *r, uint64_t by)
{
	return r->by > 0 ? (double)by * (r->of / r->by) : 0;
}

static void ratio_sees(struct ratio *r, uint64_t of, uint64_t by)
{
	if (!by)
		return;
	r->of += (double)of - r->of / 4;
	r->by += (double)by - r->by / 4;
}

static uint64_t bits_of(uint64_t value)
{
	return value ? 64 - (uint64_t)__builtin_clzll(value) : 0;
}

/* About how many bits @of takes, by itself or as differences; all bits where it cannot be known. */
static uint64_t column_bits(const uint64_t *of, const uint64_t *by, uint32_t nr)
{
	static const double most = 1ull << 52;
	struct ratio r = {0};
	uint64_t bits = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (!by) {
			bits += bits_of(of[i]);
			continue;
		}
		double expected = ratio_expects(&r, by[i]);
		if (expected >= most || (double)of[i] >= most || (double)by[i] >= most)
			return UINT64_MAX;
		bits += bits_of(html_zigzag(of[i], (uint64_t)expected));
		ratio_sees(&r, of[i], by[i]);
	}
	return bits;
}

/* The column from which @w takes the fewest bits; -1: it takes no more by itself. */
static int best_by(const struct html_tree *h, uint64_t *const *columns, uint32_t w)
{
	uint64_t least = column_bits(columns[w], NULL, h->nr_nodes);
	int best = -1;

	for (uint32_t by = 0; by < h->nr_weights; by++) {
		if (by == w || !columns[by] || h->weights[by].by >= 0)
			continue;
		uint64_t bits = column_bits(columns[w], columns[by], h->nr_nodes);
		if (bits < least) {
			least = bits;
			best = (int)by;
		}
	}
	return best;
}

static void column_put(struct af_buf *b, const uint64_t *of, const uint64_t *by, uint32_t nr)
{
	struct ratio r = {0};

	for (uint32_t i = 0; i < nr; i++) {
		af_buf_leb128(b,
		              by ? html_zigzag(of[i], (uint64_t)ratio_expects(&r, by[i])) : of[i]);
		if (by)
			ratio_sees(&r, of[i], by[i]);
	}
}

/*
 * A column from which others are predicted is stored by itself, so the page can decode in any
 * order.
 */
static void pack_columns(struct html_tree *h, const struct walk *k)
{
	uint64_t *columns[AF_TREE_WEIGHTS] = {0};
	bool query[AF_TREE_WEIGHTS] = {0};

	for (uint32_t w = 0; w < h->nr_weights; w++)
		if (h->weights[w].same < 0)
			columns[w] = column_new(k, w, h->weights[w].scale);
	for (uint32_t w = 0; w < h->nr_weights; w++) {
		struct html_weight *weight = &h->weights[w];
		if (!columns[w])
			continue;
		weight->by = query[w] ? -1 : best_by(h, columns, w);
		if (weight->by >= 0)
			query[weight->by] = true;
		column_put(&weight->column, columns[w], weight->by < 0 ? NULL : columns[weight->by],
		           h->nr_nodes);
	}
	for (uint32_t w = 0; w < h->nr_weights; w++)
		free(columns[w]);
}

static void pack_nodes(struct html_tree *h, struct html_pack *p, const struct walk *k)
{
	const struct af_tree *t = k->tree;
	uint32_t *ids = af_xcalloc((size_t)t->nr_names + 1, sizeof *ids); /* 0: not seen yet */

	for (uint32_t i = 0; i < t->nr; i++) {
		uint32_t name = t->nodes[k->nodes[i]].name;
		if (i && !ids[name])
			ids[name] = html_pack_frame(p, t, name);
		h->names[i] = i ? ids[name] : 0;
		af_buf_leb128(&h->depths, i ? k->depths[i - 1] + 1 - k->depths[i] : 0);
		if (k->depths[i] > h->depth)
			h->depth = k->depths[i];
	}
	free(ids);
}

struct html_tree *html_pack_add(struct html_pack *p, const struct af_tree *t, const char *label)
{
	struct html_tree *h = af_xcalloc(1, sizeof *h);
	struct walk k;

	h->label = af_xstrdup(label ? label : "");
	h->nr_nodes = t->nr;
	h->names = af_xcalloc(t->nr, sizeof *h->names);
	walk_open(&k, t);
	pack_weights(h, t);
	pack_nodes(h, p, &k);
	pack_columns(h, &k);
	walk_close(&k);
	if (!p->last)
		p->last = &p->first;
	*p->last = h;
	p->last = &h->next;
	p->nr_trees++;
	return h;
}

/*
 * Ids of names: those of first children first, then those of the others as the distance from the
 * child before; it is short because children are in order of names.
 */
static void names_column(const struct html_pack *p, const struct html_tree *t, struct af_buf *b)
{
	uint32_t *last = af_xcalloc((size_t)t->depth + 1, sizeof *last), nr = html_pack_nr_names(p);
	struct af_buf others = {0};
	struct af_cursor at = af_buf_cursor(&t->depths);

	for (uint32_t i = 0, depth = 0; i < t->nr_nodes; i++) {
		uint32_t back = (uint32_t)af_cursor_uleb(&at), rank = p->rank[t->names[i]];
		depth += i ? 1 - back : 0;
		if (back)
			af_buf_leb128(&others, ((uint64_t)rank + nr - last[depth]) % nr);
		else
			af_buf_leb128(b, rank);
		last[depth] = rank;
	}
	if (others.len)
		af_buf_add(b, others.data, others.len);
	af_buf_free(&others);
	free(last);
}

int html_pack_tree(const struct html_pack *p, const struct html_tree *t, struct af_buf *out)
{
	struct af_buf sections[3 + AF_TREE_WEIGHTS] = {t->depths};

	for (uint32_t w = 0; w < t->nr_weights; w++) {
		af_buf_leb128(&sections[2], (unsigned)(t->weights[w].by + 1));
		if (t->weights[w].same < 0)
			sections[3 + w] = t->weights[w].column;
	}
	names_column(p, t, &sections[1]);
	int rc = html_pack_sections(sections, 3 + t->nr_weights, out);
	af_buf_free(&sections[1]);
	af_buf_free(&sections[2]);
	return rc;
}
