/* Whose the weight of a tree is: its processes, ranks, threads, devices or streams, as a table. */
#ifndef AF_ANALYSE_TREE_OWNERS_H
#define AF_ANALYSE_TREE_OWNERS_H

#include "analyse/table/facts.h"
#include "analyse/tree/tree.h"

/* What @word is called: process, rank, thread, device, stream; AF_SPOT_CODE for others and NULL. */
enum af_spot_what af_owners_what(const char *word);

/*
 * Add the table "WORD_top" to @f, the heaviest first, of a tree with spots whose stacks begin with
 * who they are of (AF_GROUP_TRACK). Ranks are one row each however many processes one has; what is
 * nobody's is a row too, so that all rows together are the tree's total.
 */
void af_owners_table(struct af_facts *f, const struct af_tree *t, uint32_t weight,
                     const char *word);

#endif
