/*
 * A tree as bytes, for another process of this version of aflame, and back. The reader trusts no
 * byte: -EBADMSG.
 */
#ifndef AF_ANALYSE_TREE_BYTES_H
#define AF_ANALYSE_TREE_BYTES_H

#include "analyse/tree/tree.h"

struct af_buf;
struct af_cursor;
struct af_err;

/* Append @t to @to: names with their modules and locations, nodes, self weights. */
void af_tree_write(const struct af_tree *t, struct af_buf *to);

/*
 * Add a tree that af_tree_write() has written to @t, which is open: columns of equal names add up,
 * others are passed over. Finish @t again. After a failure @t may have a part of it.
 */
int af_tree_read(struct af_tree *t, struct af_cursor *from, struct af_err *err);

#endif
