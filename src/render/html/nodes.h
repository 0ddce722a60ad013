/*
 * Finds the node of a tree in report.html for a stack of a timeline: it follows the names from the
 * root. Where the tree does not go on as the stack does, it takes the last node reached.
 *
 *	html_nodes_open → { html_nodes_of }* → html_nodes_free
 */
#ifndef AF_RENDER_HTML_NODES_H
#define AF_RENDER_HTML_NODES_H

#include <stdint.h>

#include "base/map.h"
#include "render/html/pack.h"

struct af_tree;

struct html_nodes {
	const struct html_tree *tree;
	uint32_t *ends; /* by node in preorder: the first behind those below it; and NODES_LISTED */
	struct af_map children; /* of listed nodes: parent and name's id in the pack → child */
	uint32_t *of;           /* by node of the stacks: in preorder plus 1, and NODES_ENDED */
	uint32_t cap;
	uint32_t *ids; /* by name of the stacks: in the pack, 0: not asked yet */
	uint32_t nr_ids;
};

/* @tree is in the pack, and stays there. */
void html_nodes_open(struct html_nodes *n, const struct html_tree *tree);
void html_nodes_free(struct html_nodes *n);

/*
 * The node in preorder; 0, the root, for node 0. The stacks may grow between calls, but must be the
 * same ones.
 */
uint32_t html_nodes_of(struct html_nodes *n, struct html_pack *pack, const struct af_tree *stacks,
                       uint32_t node);

#endif
