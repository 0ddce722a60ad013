#include "analyse/world/family.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyse/world/world.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/strtab.h"

/* A member while it is found; node 0 is above all. Parents come before their children. */
struct family_node {
	uint32_t process, count, parent;
	bool merged; /* stands for several, so what is below does too */
	uint64_t busy_ns;
};

/* Below, a process is known by the ordinal of its last image. */
struct family_maker {
	const struct af_world *w;
	const bool *there;
	const uint64_t *busy_ns;
	uint32_t nr;      /* ordinals */
	uint32_t *born;   /* ordinals that are there, by start */
	uint32_t nr_born; /* of them */
	uint32_t *last;   /* by ordinal: the last image of the process */
	uint32_t *first;  /* by last image: the first one */
	uint32_t *parent; /* by last image; 0: none */
	uint32_t *node;   /* by last image; 0: none yet */
	struct family_node *nodes;
	uint32_t nr_nodes, cap_nodes;
	struct af_strtab names;
	struct af_map by_name;  /* (parent node, name) → node of those that merged */
	struct af_map siblings; /* (parent, name) → how many short-lived ones there are */
};

static const struct af_process *process_of(const struct family_maker *m, uint32_t p)
{
	return &m->w->processes[p];
}

static int born_order(const void *a, const void *b, void *arg)
{
	const struct family_maker *m = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t x_ns = process_of(m, x)->start_ns, y_ns = process_of(m, y)->start_ns;

	if (x_ns != y_ns)
		return x_ns < y_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void born_find(struct family_maker *m)
{
	for (uint32_t p = 1; p < m->nr; p++)
		if (m->there[p])
			m->born[m->nr_born++] = p;
	if (m->nr_born)
		qsort_r(m->born, m->nr_born, sizeof *m->born, born_order, m);
}

static void images_find(struct family_maker *m)
{
	struct af_map later = {0};

	for (uint32_t i = m->nr_born; i-- > 0;) {
		uint32_t p = m->born[i];
		const struct af_process *is = process_of(m, p);
		uint64_t *slot = af_map_at(&later, is->pid, NULL);
		const struct af_process *next = *slot ? process_of(m, (uint32_t)*slot) : NULL;
		m->last[p] = next && af_process_goes_on(is, next) ? m->last[*slot] : p;
		m->first[m->last[p]] = p;
		*slot = p;
	}
	af_map_free(&later);
}

/* By ppid: the newest with that pid; of what was running before, whoever has it at all. */
static void parents_find(struct family_maker *m)
{
	struct af_map newest = {0};

	for (int again = 0; again < 2; again++) {
		for (uint32_t i = 0; i < m->nr_born; i++) {
			uint32_t p = m->born[i], last = m->last[p];
			const struct af_process *is = process_of(m, p);
			const uint64_t *by = af_map_get(&newest, is->ppid);
			uint32_t parent = is->parent < m->nr && m->there[is->parent] ? is->parent
			                  : by && is->ppid                           ? (uint32_t)*by
			                                                             : 0;
			if (m->first[last] == p && !m->parent[last] && parent &&
			    m->last[parent] != last)
				m->parent[last] = m->last[parent];
			*af_map_at(&newest, is->pid, NULL) = p;
		}
	}
	af_map_free(&newest);
}

/* A trace may say anything: what leads back to itself has no parent. */
static void parents_without_circles(struct family_maker *m)
{
	uint32_t *met = af_xcalloc(m->nr, sizeof *met); /* in which walk; 0: not yet */

	for (uint32_t p = 1; p < m->nr; p++) {
		for (uint32_t at = p; at && !met[at]; at = m->parent[at]) {
			met[at] = p;
			if (m->parent[at] && met[m->parent[at]] == p)
				m->parent[at] = 0;
		}
	}
	free(met);
}

static bool is_short(const struct family_maker *m, uint32_t last)
{
	uint64_t start_ns = process_of(m, m->first[last])->start_ns,
		 end_ns = process_of(m, last)->end_ns;

	return start_ns && end_ns >= start_ns && end_ns - start_ns < AF_FAMILY_SHORT_NS;
}

/* Ranks of a job are not alike, however short they were. */
static uint64_t name_key(struct family_maker *m, uint64_t under, uint32_t last)
{
	const struct af_process *p = process_of(m, last);
	char text[256];

	snprintf(text, sizeof text, "%s%s", p->rank, p->name);
	return under << 32 | af_strtab_id_z(&m->names, text);
}

static void siblings_count(struct family_maker *m)
{
	for (uint32_t i = 0; i < m->nr_born; i++) {
		uint32_t p = m->born[i];
		if (m->last[p] == p && is_short(m, p))
			++*af_map_at(&m->siblings, name_key(m, m->parent[p], p), NULL);
	}
}

static uint32_t node_add(struct family_maker *m, uint32_t process, uint32_t parent, bool merged)
{
	AF_GROW(m->nodes, m->nr_nodes, m->cap_nodes);
	m->nodes[m->nr_nodes] = (struct family_node){
	    .process = process, .count = 1, .parent = parent, .merged = merged};
	return m->nr_nodes++;
}

static uint32_t node_of_one(struct family_maker *m, uint32_t p)
{
	uint32_t parent = m->parent[p] ? m->node[m->parent[p]] : 0;
	bool fresh;

	if (!is_short(m, p) ||
	    (!m->nodes[parent].merged &&
	     *af_map_at(&m->siblings, name_key(m, m->parent[p], p), NULL) < AF_FAMILY_MERGED))
		return node_add(m, p, parent, false);
	uint64_t *slot = af_map_at(&m->by_name, name_key(m, parent, p), &fresh);
	if (fresh)
		*slot = node_add(m, p, parent, true);
	else
		m->nodes[*slot].count++;
	return (uint32_t)*slot;
}

/* Parents first, however far up: a chain may be as long as there are processes. */
static void nodes_make(struct family_maker *m)
{
	uint32_t *chain = af_xcalloc(m->nr, sizeof *chain);

	node_add(m, 0, 0, false);
	for (uint32_t i = 0; i < m->nr_born; i++) {
		uint32_t nr = 0;
		for (uint32_t at = m->last[m->born[i]]; at && !m->node[at]; at = m->parent[at])
			chain[nr++] = at;
		while (nr-- > 0)
			m->node[chain[nr]] = node_of_one(m, chain[nr]);
	}
	for (uint32_t i = 0; i < m->nr_born; i++)
		m->nodes[m->node[m->last[m->born[i]]]].busy_ns += m->busy_ns[m->born[i]];
	for (uint32_t n = m->nr_nodes; n-- > 1;)
		m->nodes[m->nodes[n].parent].busy_ns += m->nodes[n].busy_ns;
	free(chain);
}

static int node_order(const void *a, const void *b, void *arg)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct family_node *nodes = arg, *nx = &nodes[x], *ny = &nodes[y];

	if (nx->parent != ny->parent)
		return nx->parent < ny->parent ? -1 : 1;
	if (nx->busy_ns != ny->busy_ns)
		return nx->busy_ns < ny->busy_ns ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* Depth first: of each node, what is left of its children; @order has siblings side by side. */
static void members_make(struct af_family *f, const struct family_maker *m)
{
	uint32_t nr = m->nr_nodes, depth = 0;
	uint32_t *order = af_xcalloc(nr, sizeof *order), *next = af_xcalloc(nr + 1, sizeof *next),
		 *index = af_xcalloc(nr, sizeof *index);

	for (uint32_t n = 1; n < nr; n++) {
		order[n - 1] = n;
		next[m->nodes[n].parent + 1]++;
	}
	for (uint32_t n = 0; n < nr; n++)
		next[n + 1] += next[n];
	qsort_r(order, nr - 1, sizeof *order, node_order, m->nodes);
	f->members = af_xcalloc(nr, sizeof *f->members);
	for (uint32_t at = 0;;) {
		const struct family_node *child =
		    next[at] < nr - 1 ? &m->nodes[order[next[at]]] : NULL;
		if (!child || child->parent != at) {
			if (!at)
				break;
			at = m->nodes[at].parent;
			depth--;
			continue;
		}
		f->members[f->nr] = (struct af_family_member){
		    .process = child->process,
		    .count = child->count,
		    .depth = depth,
		    .parent = at ? index[at] : f->nr,
		};
		at = order[next[at]++];
		index[at] = f->nr++;
		depth++;
	}
	f->member_of = af_xcalloc(m->nr, sizeof *f->member_of);
	for (uint32_t p = 0; p < m->nr; p++)
		f->member_of[p] = m->there[p] ? index[m->node[m->last[p]]] : UINT32_MAX;
	free(order);
	free(next);
	free(index);
}

void af_family_make(struct af_family *f, const struct af_world *w, const bool *there,
                    const uint64_t *busy_ns)
{
	struct family_maker m = {.w = w, .there = there, .busy_ns = busy_ns, .nr = w->nr_processes};
	uint32_t **arrays[] = {&m.last, &m.parent, &m.born, &m.first, &m.node};

	*f = (struct af_family){0};
	for (unsigned i = 0; i < sizeof arrays / sizeof *arrays; i++)
		*arrays[i] = af_xcalloc((size_t)m.nr + 1, sizeof **arrays[i]);
	born_find(&m);
	images_find(&m);
	parents_find(&m);
	parents_without_circles(&m);
	siblings_count(&m);
	nodes_make(&m);
	members_make(f, &m);
	f->image_of = m.last;
	f->parent_of = m.parent;
	for (unsigned i = 2; i < sizeof arrays / sizeof *arrays; i++)
		free(*arrays[i]);
	af_map_free(&m.by_name);
	af_map_free(&m.siblings);
	af_strtab_free(&m.names);
	free(m.nodes);
}

void af_family_free(struct af_family *f)
{
	free(f->members);
	free(f->member_of);
	free(f->image_of);
	free(f->parent_of);
	*f = (struct af_family){0};
}
