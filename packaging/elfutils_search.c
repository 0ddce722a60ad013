/*
 * Functions that libelf.a and libdw.a of elfutils 0.192 (Debian 13) need and lack: the search
 * trees of elfutils' lib/eu-search.h, tsearch(3) with a lock that packagers leave off. The archives
 * give the tree its room; of it only the first word, the root, is used here. One thread at a time
 * uses an Elf or a Dwarf here, and each has trees of its own.
 */
#include <search.h>
#include <stddef.h>

struct search_tree {
	void *root;
};

typedef int compare_fn(const void *, const void *);

void *eu_tsearch(const void *key, struct search_tree *tree, compare_fn *compare);
void *eu_tfind(const void *key, struct search_tree *tree, compare_fn *compare);
void *eu_tdelete(const void *key, struct search_tree *tree, compare_fn *compare);
void eu_tdestroy(struct search_tree *tree, void (*free_node)(void *));
void eu_search_tree_init(struct search_tree *tree);
void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *));

void *eu_tsearch(const void *key, struct search_tree *tree, compare_fn *compare)
{
	return tsearch(key, &tree->root, compare);
}

void *eu_tfind(const void *key, struct search_tree *tree, compare_fn *compare)
{
	return tfind(key, &tree->root, compare);
}

void *eu_tdelete(const void *key, struct search_tree *tree, compare_fn *compare)
{
	return tdelete(key, &tree->root, compare);
}

void eu_tdestroy(struct search_tree *tree, void (*free_node)(void *))
{
	tdestroy(tree->root, free_node);
	tree->root = NULL;
}

void eu_search_tree_init(struct search_tree *tree)
{
	tree->root = NULL;
}

void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *))
{
	eu_tdestroy(tree, free_node);
}
