/* A file of folded text, or standard input, as a tree. */
#ifndef AF_CMD_SHARED_STACKS_H
#define AF_CMD_SHARED_STACKS_H

#include <stdbool.h>

#include "analyse/tree/tree.h"
#include "base/buf.h"
#include "base/system/fs.h"

struct af_err;

struct af_stacks {
	struct af_tree tree; /* finished; it borrows the text */
	const char *data;
	size_t size;

	/* private: the text is */
	struct af_file file; /* mapped, or else */
	struct af_buf text;  /* read, or made UTF-8 */
};

struct af_stacks_how {
	const char *who;      /* the command, which reports unparsed lines on standard error */
	const char *encoding; /* of the text; NULL: UTF-8 */
	bool two;             /* counts a line, before and after, each a column */
	bool ordered;         /* lines are in order of time, as of a flame chart */
};

/*
 * Read @name ("-": standard input). Close it also after a failure; the same holds for the functions
 * below.
 */
int af_stacks_open(struct af_stacks *s, const char *name, const struct af_stacks_how *how,
                   struct af_err *err);

/* The same for an open file that messages call @name. */
int af_stacks_read(struct af_stacks *s, int fd, const char *name, const struct af_stacks_how *how,
                   struct af_err *err);

/* Read only the text: the tree is not open, but may be opened then, and is closed with the rest. */
int af_stacks_text(struct af_stacks *s, const char *name, const char *encoding, struct af_err *err);

/* Free the tree, the text and the mapped file. A zeroed struct is fine. */
void af_stacks_close(struct af_stacks *s);

#endif
