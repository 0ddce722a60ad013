/*
 * Building the tree: names interned once, children found through one open-addressing table keyed
 * by (parent, name) with the key in the slot, so a hit costs one cache miss.
 */
#include "analyse/tree/tree.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/tree/private.h"
#include "base/map.h"

const char *af_frame_name(enum af_frame frame)
{
	static const char *const names[] = {
#define AF_F(NAME, text, suffix) text,
	    AF_FRAMES(AF_F)
#undef AF_F
	};
	return frame < AF_FRAME_END ? names[frame] : "";
}

const char *af_frame_suffix(enum af_frame frame)
{
	static const char *const suffixes[] = {
#define AF_F(NAME, text, suffix) suffix,
	    AF_FRAMES(AF_F)
#undef AF_F
	};
	return frame < AF_FRAME_END ? suffixes[frame] : "";
}

void af_tree_open(struct af_tree *t, const struct af_tree_weight *weights, uint32_t nr_weights)
{
	*t = (struct af_tree){.nr_weights = nr_weights};
	if (t->nr_weights > AF_TREE_WEIGHTS)
		t->nr_weights = AF_TREE_WEIGHTS;
	memcpy(t->weights, weights, t->nr_weights * sizeof *weights);
	t->private_ = af_xcalloc(1, sizeof *t->private_);
	tree_append(t, 0, af_tree_name(t, "", 0, AF_FRAME_MARK, 1));
}

void af_tree_close(struct af_tree *t)
{
	struct af_tree_private *p = t->private_;

	if (p) {
		tree_locations_close(t);
		af_arena_free(&p->texts);
		af_strtab_free(&p->modules);
		af_strtab_free(&p->keys);
		free(p->labels);
		free(p->names);
		free(p->name_slots);
		free(p->slots);
		free(p);
	}
	for (uint32_t w = 0; w < AF_TREE_WEIGHTS; w++) {
		tree_total_free(t, w);
		free(t->self[w]);
	}
	free(t->nodes);
	free(t->squares);
	*t = (struct af_tree){0};
}

/* names */

static void names_grow(struct af_tree *t)
{
	struct af_tree_private *p = t->private_;
	uint32_t old_slots = p->cap_names * 2;
	struct tree_name_slot *old = p->name_slots;

	p->cap_names = p->cap_names ? p->cap_names * 2 : 512;
	p->names = af_xrealloc(p->names, p->cap_names * sizeof *p->names);
	p->name_slots = af_xcalloc((size_t)p->cap_names * 2, sizeof *p->name_slots);
	for (uint32_t i = 0; i < old_slots; i++) {
		if (!old[i].id_plus_1)
			continue;
		uint32_t j = old[i].hash & (p->cap_names * 2 - 1);
		while (p->name_slots[j].id_plus_1)
			j = (j + 1) & (p->cap_names * 2 - 1);
		p->name_slots[j] = old[i];
	}
	free(old);
}

uint32_t tree_name_of(struct af_tree *t, const char *text, size_t len, enum af_frame frame,
                      uint32_t location, uint32_t key, int borrowed)
{
	struct af_tree_private *p = t->private_;

	if (len > UINT32_MAX)
		len = UINT32_MAX;
	if (t->nr_names == p->cap_names)
		names_grow(t);

	uint32_t mask = p->cap_names * 2 - 1;
	uint32_t hash = (uint32_t)(af_scatter_bytes(text, len) + frame * 0x9e3779b9u) +
	                location * 0x85ebca6bu + key * 0xc2b2ae35u;
	uint32_t i = hash & mask;
	for (; p->name_slots[i].id_plus_1; i = (i + 1) & mask) {
		if (p->name_slots[i].hash != hash)
			continue;
		const struct tree_name *n = &p->names[p->name_slots[i].id_plus_1 - 1];
		if (n->len == len && n->frame == frame && n->location == location &&
		    n->key == key && !memcmp(n->text, text, len))
			return p->name_slots[i].id_plus_1 - 1;
	}
	if (!borrowed)
		text = af_arena_strdup(&p->texts, text, len);
	p->names[t->nr_names] = (struct tree_name){.text = text,
	                                           .len = (uint32_t)len,
	                                           .frame = frame,
	                                           .location = location & 0xffffff,
	                                           .key = key};
	p->name_slots[i] = (struct tree_name_slot){hash, t->nr_names + 1};
	return t->nr_names++;
}

uint32_t af_tree_name(struct af_tree *t, const char *text, size_t len, enum af_frame frame,
                      int borrowed)
{
	return tree_name_of(t, text, len, frame, 0, 0, borrowed);
}

/* Mostly the same text comes again, at the same address. */
static void name_in(struct af_tree *t, uint32_t name, const char *module)
{
	struct tree_name *n = &t->private_->names[name];

	if (n->reported == module || n->module == MODULES)
		return;
	uint32_t id = af_strtab_id_z(&t->private_->modules, module);
	n->module = n->module && n->module != id ? MODULES : id;
	n->reported = module;
}

uint32_t af_tree_name_at(struct af_tree *t, const char *text, size_t len, enum af_frame frame,
                         const struct af_location *location)
{
	uint32_t name = tree_name_of(t, text, len, frame, tree_location_number(t, location),
	                             tree_key_number(t, frame, location), 0);

	if (location && location->module)
		name_in(t, name, location->module);
	if (location && location->source)
		tree_source_add(t, name, location->source, location->source_line, false);
	return name;
}

void tree_source_add(struct af_tree *t, uint32_t name, const char *file, uint32_t line,
                     bool several)
{
	struct tree_name *n = &t->private_->names[name];

	n->source_several |= several;
	if (n->source_reported == file && n->source_line == line)
		return;
	n->source_reported = file;
	line &= INT32_MAX;
	if (n->source) {
		int order = strcmp(af_strtab_get(&t->private_->modules, n->source), file);

		if (!order && n->source_line == line)
			return;
		n->source_several = true;
		if (order < 0 || (!order && n->source_line < line))
			return;
	}
	n->source = af_strtab_id_z(&t->private_->modules, file);
	n->source_line = line;
}

struct af_tree_source af_tree_source(const struct af_tree *t, uint32_t name)
{
	const struct tree_name *n = &t->private_->names[name];
	const char *file = n->source ? af_strtab_get(&t->private_->modules, n->source) : NULL;

	return (struct af_tree_source){file, n->source_line, n->source_several};
}

const char *af_tree_module(const struct af_tree *t, uint32_t name)
{
	uint32_t module = t->private_->names[name].module;

	return !module             ? NULL
	       : module == MODULES ? ""
	                           : af_strtab_get(&t->private_->modules, module);
}

const char *af_tree_text(const struct af_tree *t, uint32_t name, size_t *len)
{
	*len = t->private_->names[name].len;
	return t->private_->names[name].text;
}

enum af_frame af_tree_frame(const struct af_tree *t, uint32_t name)
{
	return t->private_->names[name].frame;
}

void af_tree_vary(struct af_tree *t, uint32_t node, double square)
{
	AF_REACH(t->squares, node, t->nr_squares);
	t->squares[node] += square;
}

uint64_t af_tree_divisor(const struct af_tree *t, uint32_t weight)
{
	const uint64_t *values = t->self[weight];
	uint64_t divisor = 0;

	for (uint32_t i = 0; i < t->nr && divisor != 1; i++)
		for (uint64_t a = values[i]; a;) {
			uint64_t rest = divisor % a;
			divisor = a;
			a = rest;
		}
	return divisor ? divisor : 1;
}

/* nodes */

bool tree_is_zero(const uint64_t *column, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (column[i])
			return false;
	return true;
}

void tree_total_free(struct af_tree *t, uint32_t weight)
{
	if (t->total[weight] != t->self[weight])
		free(t->total[weight]);
	t->total[weight] = NULL;
}

/* Many columns stay zero: no page of them is written, so they take no memory. */
static void nodes_grow(struct af_tree *t)
{
	AF_GROW(t->nodes, t->nr, t->cap);
	for (uint32_t w = 0; w < t->nr_weights; w++) {
		uint64_t *old = t->self[w];
		t->self[w] = af_xcalloc(t->cap, sizeof *t->self[w]);
		if (!tree_is_zero(old, t->nr))
			memcpy(t->self[w], old, t->nr * sizeof *old);
		if (t->total[w] == old)
			t->total[w] = t->self[w];
		free(old);
	}
}

uint32_t tree_append(struct af_tree *t, uint32_t parent, uint32_t name)
{
	if (t->nr == t->cap)
		nodes_grow(t);
	t->nodes[t->nr] = (struct af_tree_node){.parent = parent, .name = name};
	return t->nr++;
}

void tree_drop_slots(struct af_tree *t)
{
	free(t->private_->slots);
	t->private_->slots = NULL;
	t->private_->nr_slots = t->private_->nr_in_slots = 0;
}

/* A chart's lists are turned around by finish; building wants the latest child first again. */
void tree_unfinish(struct af_tree *t)
{
	t->private_->finished = false;
	if (!t->ordered)
		return;
	for (uint32_t i = 0; i < t->nr; i++)
		t->nodes[i].first_child = 0;
	for (uint32_t i = 1; i < t->nr; i++) {
		struct af_tree_node *parent = &t->nodes[t->nodes[i].parent];
		t->nodes[i].next_sibling = parent->first_child;
		parent->first_child = i;
	}
}

static uint32_t slot_of(const struct af_tree_private *p, uint32_t parent, uint32_t name)
{
	uint32_t mask = p->nr_slots - 1;
	uint32_t i = (uint32_t)af_scatter((uint64_t)parent << 32 | name) & mask;

	while (p->slots[i].node && (p->slots[i].parent != parent || p->slots[i].name != name))
		i = (i + 1) & mask;
	return i;
}

/* Is a node the only child of its parent? Only other nodes are in the slots. */
static bool is_alone(const struct af_tree *t, uint32_t node)
{
	return !t->nodes[t->nodes[t->nodes[node].parent].first_child].next_sibling;
}

static void slot_set(struct af_tree_private *p, const struct af_tree_node *n, uint32_t node)
{
	struct tree_node_slot *slot = &p->slots[slot_of(p, n->parent, n->name)];

	p->nr_in_slots += !slot->node;
	*slot = (struct tree_node_slot){n->parent, n->name, node};
}

/* Room for two nodes more at a load of two thirds at most. */
static void slots_grow(struct af_tree *t)
{
	struct af_tree_private *p = t->private_;
	uint32_t nr_slots = p->nr_slots ? p->nr_slots : 1024, nr = 2;

	for (uint32_t i = 1; i < t->nr; i++)
		nr += !is_alone(t, i);
	while (nr_slots / 3 * 2 <= nr)
		nr_slots *= 2;
	free(p->slots); /* First, for the peak: every slot can be made again from the nodes. */
	p->slots = af_xcalloc(nr_slots, sizeof *p->slots);
	p->nr_slots = nr_slots;
	p->nr_in_slots = 0;
	for (uint32_t i = 1; i < t->nr; i++)
		if (!is_alone(t, i))
			slot_set(p, &t->nodes[i], i);
}

static uint32_t tree_link(struct af_tree *t, uint32_t parent, uint32_t name)
{
	uint32_t node = tree_append(t, parent, name);

	t->nodes[node].next_sibling = t->nodes[parent].first_child;
	t->nodes[parent].first_child = node;
	return node;
}

uint32_t af_tree_child(struct af_tree *t, uint32_t parent, uint32_t name)
{
	struct af_tree_private *p = t->private_;

	if (p->finished)
		tree_unfinish(t);
	if (t->ordered) {
		uint32_t latest = t->nodes[parent].first_child;
		if (latest && t->nodes[latest].name == name)
			return latest;
		return tree_link(t, parent, name);
	}
	/* Most nodes of deep stacks have one child. */
	uint32_t first = t->nodes[parent].first_child;
	if (!first)
		return tree_link(t, parent, name);
	if (t->nodes[first].name == name)
		return first;
	if (p->nr_slots / 3 * 2 <= p->nr_in_slots + 2)
		slots_grow(t);
	if (!t->nodes[first].next_sibling)
		slot_set(p, &t->nodes[first], first);
	uint32_t known = p->slots[slot_of(p, parent, name)].node;
	if (known)
		return known;
	uint32_t node = tree_link(t, parent, name);
	slot_set(p, &t->nodes[node], node);
	return node;
}

int af_tree_weight(const struct af_tree *t, const char *name)
{
	for (uint32_t w = 0; w < t->nr_weights; w++)
		if (!strcmp(t->weights[w].name, name))
			return (int)w;
	return -1;
}
