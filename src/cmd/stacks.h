/* A file of folded text, or standard input, as a tree. */
#ifndef AF_CMD_STACKS_H
#define AF_CMD_STACKS_H

#include <stdbool.h>

#include "analyse/tree.h"
#include "base/buf.h"
#include "base/fs.h"

struct af_err;

struct af_stacks {
	struct af_tree tree; /* finished; it borrows the text */
	struct af_file file; /* mapped, or else */
	struct af_buf text;  /* read */
};

/*
 * Read @name ("-": standard input) for the command @who, which tells on standard error what did not
 * parse. To be closed also after a failure.
 */
int af_stacks_open(struct af_stacks *s, const char *name, const char *who, struct af_err *err);

/*
 * The same of an open file that is called @name; with @two counts a line, before and after, each a
 * column.
 */
int af_stacks_read(struct af_stacks *s, int fd, const char *name, bool two, const char *who,
                   struct af_err *err);
void af_stacks_close(struct af_stacks *s);

#endif
