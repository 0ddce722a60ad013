/*
 * Finishing the tree: totals in one reverse pass (parents precede children), and child order by
 * ranking each used name once and then placing all nodes by rank. No child list is ever sorted.
 */
#include "analyse/tree/tree.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/tree/private.h"

static void finish_totals(struct af_tree *t, uint32_t weight)
{
	uint64_t *self = t->self[weight], *total;

	tree_total_free(t, weight);
	if (tree_is_zero(self, t->nr)) {
		t->total[weight] = self;
		return;
	}
	t->total[weight] = total = af_xcalloc(t->nr, sizeof *total);
	memcpy(total, self, t->nr * sizeof *total);
	for (uint32_t i = t->nr - 1; i > 0; i--) {
		uint64_t *up = &total[t->nodes[i].parent];
		if (__builtin_add_overflow(*up, total[i], up)) {
			*up = UINT64_MAX;
			t->saturated = true;
		}
	}
}

static void finish_depth(struct af_tree *t)
{
	uint32_t *depth = af_xcalloc(t->nr, sizeof *depth);

	t->private_->depth = 0;
	for (uint32_t i = 1; i < t->nr; i++) {
		depth[i] = depth[t->nodes[i].parent] + 1;
		if (depth[i] > t->private_->depth)
			t->private_->depth = depth[i];
	}
	free(depth);
}

/* A name as it ends a folded line (leaf) or goes on (inner). */
struct rank_key {
	uint64_t head; /* the first eight bytes, big-endian */
	uint32_t name;
	bool inner;
};

/* Byte @i of text, suffix and what follows; the text itself is exhausted at @i. */
static int key_tail(const struct tree_name *n, const struct rank_key *k, uint32_t i)
{
	const char *suffix = af_frame_suffix(n->frame);
	size_t len = strlen(suffix);

	if (i < n->len)
		return (unsigned char)n->text[i];
	if (i < n->len + len)
		return suffix[i - n->len];
	return i == n->len + len ? (k->inner ? ';' : ' ') : -1;
}

static int key_compare(const void *a, const void *b, void *private)
{
	const struct rank_key *ka = a, *kb = b;
	const struct af_tree_private *p = private;

	if (ka->head != kb->head)
		return ka->head < kb->head ? -1 : 1;
	const struct tree_name *na = &p->names[ka->name];
	const struct tree_name *nb = &p->names[kb->name];
	uint32_t shared = na->len < nb->len ? na->len : nb->len;
	int order = memcmp(na->text, nb->text, shared);
	for (uint32_t i = shared; !order; i++) {
		int ca = key_tail(na, ka, i), cb = key_tail(nb, kb, i);
		if (ca < 0 && cb < 0)
			break;
		order = ca - cb;
	}
	if (order)
		return order;
	/* Same line text, other kind: foo as native and as Python. */
	if (na->frame != nb->frame)
		return na->frame < nb->frame ? -1 : 1;
	if (na->key != nb->key)
		return strcmp(af_strtab_get(&p->keys, na->key), af_strtab_get(&p->keys, nb->key));
	return na->location < nb->location ? -1 : na->location > nb->location;
}

static uint64_t key_head(const struct tree_name *n, const struct rank_key *k)
{
	uint64_t head = 0;

	for (uint32_t i = 0; i < 8; i++) {
		int c = key_tail(n, k, i);
		head = head << 8 | (c < 0 ? 0 : (uint64_t)c);
	}
	return head;
}

/* Which key a node sorts by: two a name, leaf and inner. */
static uint32_t node_key(const struct af_tree *t, uint32_t node)
{
	return t->nodes[node].name * 2 + (t->nodes[node].first_child != 0);
}

/* Fill @rank, by node_key(), with dense ranks; returns how many. */
static uint32_t rank_names(const struct af_tree *t, uint32_t *rank)
{
	struct tree_name *names = t->private_->names;
	uint32_t nr_keys = 0;

	for (uint32_t i = 1; i < t->nr; i++)
		rank[node_key(t, i)] = 1;
	for (uint32_t i = 0; i < t->nr_names * 2; i++)
		nr_keys += rank[i];

	struct rank_key *keys = af_xcalloc(nr_keys, sizeof *keys);
	for (uint32_t i = 0, k = 0; i < t->nr_names * 2; i++) {
		if (!rank[i])
			continue;
		keys[k] = (struct rank_key){.name = i / 2, .inner = i & 1};
		keys[k].head = key_head(&names[i / 2], &keys[k]);
		k++;
	}
	qsort_r(keys, nr_keys, sizeof *keys, key_compare, t->private_);
	for (uint32_t k = 0; k < nr_keys; k++)
		rank[keys[k].name * 2 + keys[k].inner] = k;
	free(keys);
	return nr_keys;
}

/* All nodes but the root, by rank of their name. */
static uint32_t *nodes_by_rank(const struct af_tree *t)
{
	uint32_t *rank = af_xcalloc((size_t)t->nr_names * 2, sizeof *rank);
	uint32_t nr_ranks = rank_names(t, rank);
	uint32_t *start = af_xcalloc((size_t)nr_ranks + 1, sizeof *start);
	uint32_t *order = af_xcalloc(t->nr, sizeof *order);

	for (uint32_t i = 1; i < t->nr; i++)
		start[rank[node_key(t, i)] + 1]++;
	for (uint32_t r = 0; r < nr_ranks; r++)
		start[r + 1] += start[r];
	for (uint32_t i = 1; i < t->nr; i++)
		order[start[rank[node_key(t, i)]]++] = i;
	free(start);
	free(rank);
	return order;
}

/* Prepending from the last to the first leaves each list in order. */
static void finish_order(struct af_tree *t)
{
	uint32_t *order = t->ordered ? NULL : nodes_by_rank(t);

	for (uint32_t i = 0; i < t->nr; i++)
		t->nodes[i].first_child = t->nodes[i].next_sibling = 0;
	for (uint32_t i = t->nr - 1; i-- > 0;) {
		uint32_t node = order ? order[i] : i + 1;
		struct af_tree_node *parent = &t->nodes[t->nodes[node].parent];
		t->nodes[node].next_sibling = parent->first_child;
		parent->first_child = node;
	}
	free(order);
}

void af_tree_finish(struct af_tree *t)
{
	tree_drop_slots(t);
	for (uint32_t w = 0; w < t->nr_weights; w++)
		finish_totals(t, w);
	finish_depth(t);
	/* Weights may have been added to the nodes of a finished tree: its order stands. */
	if (!t->private_->finished)
		finish_order(t);
	t->private_->finished = true;
}

uint32_t af_tree_depth(const struct af_tree *t)
{
	return t->private_->depth;
}
