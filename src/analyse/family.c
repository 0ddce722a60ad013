#include "analyse/family.h"

#include <stdlib.h>

#include "analyse/world.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/strtab.h"

/* Members while they are found: lists of children in order of arrival. */
struct family_node {
	uint32_t process, count;
	uint32_t parent, first, last, next; /* indexes; node 0 is above all */
};

struct family_maker {
	const struct af_world *w;
	const bool *there;
	uint32_t nr;      /* processes */
	uint32_t *parent; /* by ordinal; 0: none */
	uint32_t *node;   /* by ordinal; 0: none yet */
	struct family_node *nodes;
	uint32_t nr_nodes, cap_nodes;
	struct af_map by_name; /* (parent node, name) → node of the short-lived ones */
	struct af_strtab names;
};

static bool is_short(const struct family_maker *m, uint32_t p)
{
	const struct af_process *process = &m->w->processes[p];

	return process->start_ns && process->end_ns >= process->start_ns &&
	       process->end_ns - process->start_ns < AF_FAMILY_SHORT_NS;
}

/* By ppid: pids are reused, and one process may be several images. */
static void parents_by_pid(struct family_maker *m)
{
	const struct af_process *all = m->w->processes;
	struct af_map newest = {0};

	for (uint32_t p = 1; p < m->nr; p++) {
		if (!m->there[p])
			continue;
		if (!m->parent[p]) {
			const uint64_t *by = af_map_get(&newest, all[p].ppid);
			m->parent[p] = by && all[p].ppid ? (uint32_t)*by : 0;
		}
		*af_map_at(&newest, all[p].pid, NULL) = p;
	}
	/* Of a system that was running before, the parent may have been met after its child. */
	for (uint32_t p = 1; p < m->nr; p++) {
		const uint64_t *by = af_map_get(&newest, all[p].ppid);
		if (m->there[p] && !m->parent[p] && all[p].ppid && by && *by != p &&
		    all[*by].pid != all[p].pid)
			m->parent[p] = (uint32_t)*by;
	}
	af_map_free(&newest);
}

/* A trace may say anything: what leads back to itself has no parent. */
static void parents_without_circles(struct family_maker *m)
{
	uint32_t *met = af_xcalloc(m->nr, sizeof *met); /* in which walk; 0: not yet */

	for (uint32_t p = 1; p < m->nr; p++) {
		uint32_t at = p;
		while (at && !met[at]) {
			met[at] = p;
			if (m->parent[at] && met[m->parent[at]] == p)
				m->parent[at] = 0;
			at = m->parent[at];
		}
	}
	free(met);
}

static void parents_find(struct family_maker *m)
{
	for (uint32_t p = 1; p < m->nr; p++) {
		uint32_t parent = m->w->processes[p].parent;
		if (m->there[p] && parent < m->nr && parent != p && m->there[parent])
			m->parent[p] = parent;
	}
	parents_by_pid(m);
	parents_without_circles(m);
}

static uint32_t node_add(struct family_maker *m, uint32_t process, uint32_t parent)
{
	AF_GROW(m->nodes, m->nr_nodes, m->cap_nodes);
	uint32_t n = m->nr_nodes++;
	m->nodes[n] = (struct family_node){.process = process, .count = 1, .parent = parent};
	if (!n)
		return n;
	struct family_node *up = &m->nodes[parent];
	if (up->last)
		m->nodes[up->last].next = n;
	else
		up->first = n;
	up->last = n;
	return n;
}

static uint32_t node_of_one(struct family_maker *m, uint32_t p)
{
	uint64_t parent = m->parent[p] ? m->node[m->parent[p]] : 0;
	bool fresh;

	if (!is_short(m, p))
		return node_add(m, p, (uint32_t)parent);
	uint32_t name = af_strtab_id_z(&m->names, m->w->processes[p].name);
	/* clang-tidy 14 takes a part for an int. */
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
	uint64_t *slot = af_map_at(&m->by_name, parent << 32 | name, &fresh);
	if (fresh)
		*slot = node_add(m, p, (uint32_t)parent);
	else
		m->nodes[*slot].count++;
	return (uint32_t)*slot;
}

/* Parents first, however far up: a chain may be as long as there are processes. */
static void nodes_make(struct family_maker *m)
{
	uint32_t *chain = af_xcalloc(m->nr, sizeof *chain);

	node_add(m, 0, 0);
	for (uint32_t p = 1; p < m->nr; p++) {
		uint32_t nr = 0;
		if (!m->there[p])
			continue;
		for (uint32_t at = p; at && !m->node[at]; at = m->parent[at])
			chain[nr++] = at;
		while (nr-- > 0)
			m->node[chain[nr]] = node_of_one(m, chain[nr]);
	}
	free(chain);
}

static void members_make(struct af_family *f, const struct family_maker *m)
{
	uint32_t *index = af_xcalloc(m->nr_nodes, sizeof *index);
	uint32_t depth = 0;

	f->members = af_xcalloc(m->nr_nodes, sizeof *f->members);
	for (uint32_t n = m->nodes[0].first; n;) {
		const struct family_node *node = &m->nodes[n];
		index[n] = f->nr;
		f->members[f->nr] = (struct af_family_member){
		    .process = node->process,
		    .count = node->count,
		    .depth = depth,
		    .parent = node->parent ? index[node->parent] : f->nr,
		};
		f->nr++;
		if (node->first) {
			n = node->first;
			depth++;
			continue;
		}
		while (n && !m->nodes[n].next) {
			n = m->nodes[n].parent;
			depth -= n != 0;
		}
		n = n ? m->nodes[n].next : 0;
	}
	f->member_of = af_xcalloc(m->nr, sizeof *f->member_of);
	for (uint32_t p = 0; p < m->nr; p++)
		f->member_of[p] = m->node[p] ? index[m->node[p]] : UINT32_MAX;
	free(index);
}

void af_family_make(struct af_family *f, const struct af_world *w, const bool *there)
{
	struct family_maker m = {.w = w, .there = there, .nr = w->nr_processes};

	*f = (struct af_family){0};
	if (!m.nr)
		return;
	m.parent = af_xcalloc(m.nr, sizeof *m.parent);
	m.node = af_xcalloc(m.nr, sizeof *m.node);
	parents_find(&m);
	nodes_make(&m);
	members_make(f, &m);
	af_map_free(&m.by_name);
	af_strtab_free(&m.names);
	free(m.nodes);
	free(m.parent);
	free(m.node);
}

void af_family_free(struct af_family *f)
{
	free(f->members);
	free(f->member_of);
	*f = (struct af_family){0};
}
